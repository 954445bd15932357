"""The words of a question: which of them ask, in which forms, and what they are related to."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.support.calls import scalar

Asked = dict[str, tuple[int, dict[str, float]]]


@pytest.fixture(scope="module")
def conn(module_dsn: str) -> Iterator[psycopg.Connection]:
    """A connection to the database of the file."""
    with psycopg.connect(module_dsn, autocommit=True) as conn:
        yield conn


def asked(conn: psycopg.Connection, text: str) -> Asked:
    """Each word with its strength and the factors of its forms."""
    found: Asked = {}
    for word, strength, form, factor in conn.execute(
        "SELECT word, strength, form, factor FROM mnemo._question_terms(%s) ORDER BY place", [text]
    ):
        found.setdefault(word, (strength, {}))[1][form] = factor
    return found


def test_the_lists_hold_words_as_they_are_folded(conn: psycopg.Connection) -> None:
    """Else no word could be found in them; a word is not its own relative."""
    related = scalar(conn, "SELECT mnemo._related_words()")
    spoken = set(scalar(conn, "SELECT mnemo._conversation_words()"))
    stop = set(scalar(conn, "SELECT mnemo._stop_words()"))
    idioms = {key for key, value in related.items() if not value}
    assert all(" " in idiom for idiom in idioms)
    words = {word for words in related.values() for word in words.split()}
    every = sorted({part for key in related for part in key.split(" ")} | words | spoken)
    folded = conn.execute(
        "SELECT u.word FROM unnest(%s::text[]) AS u(word)"
        " WHERE mnemo._terms(u.word) <> ARRAY[u.word]", [every],
    ).fetchall()  # fmt: skip
    assert folded == []
    assert len(related) > 600
    assert len(spoken) > 900
    for key, value in related.items():
        others = value.split()
        assert value == " ".join(others)
        assert others == sorted(set(others) - {key}), key
        assert not stop & set(others), key
    assert not stop & spoken


def test_function_words_of_other_languages_ask_for_little(conn: psycopg.Connection) -> None:
    """So a question in German is answered by the one word that matters; alone they still ask."""
    foreign = scalar(conn, "SELECT mnemo._foreign_words()")
    assert foreign == sorted(set(foreign))
    assert not set(foreign) & set(scalar(conn, "SELECT mnemo._stop_words()"))
    assert not set(foreign) & set(scalar(conn, "SELECT mnemo._weak_words()"))
    assert not set(foreign) & set(scalar(conn, "SELECT mnemo._conversation_words()"))
    for word in foreign:
        assert scalar(conn, "SELECT mnemo._terms(%s)", word) == [word]
    facts = [
        {"content": "Die Nutzerin ist allergisch gegen Haselnüsse.", "subject": "user"},
        {"content": "Der Steuerberater sitzt in der Königstraße.", "subject": "user"},
        {"content": "Le médecin traitant est le docteur Lefèvre.", "subject": "user"},
        {"content": "El dentista es la doctora Prado.", "subject": "user"},
    ]
    conn.execute("SELECT mnemo.remember_many(%s, p_agent_id => 'fritz')", [Jsonb(facts)])
    for question, place in (
        ("Wogegen bin ich allergisch?", 0), ("Wo ist mein Steuerberater?", 1),
        ("Qui est mon médecin ?", 2), ("¿Quién es mi dentista?", 3),
        ("Was ist meine Schuhgröße?", None), ("Quelle est ma pointure ?", None),
    ):  # fmt: skip
        found = conn.execute(
            "SELECT content FROM mnemo.retrieve(mnemo.plan_retrieval(%s, 'fritz'), 'fritz')",
            [question],
        ).fetchall()
        assert found == ([] if place is None else [(facts[place]["content"],)]), question


def test_function_characters_of_chinese_and_japanese_ask_for_little(
    conn: psycopg.Connection,
) -> None:
    """Pairs with a particle or an asking word: what is left asks, and has to be answered."""
    words = asked(conn, "我对什么过敏?")
    assert {w for w, (strength, _) in words.items() if strength == 2} == {"过敏"}
    # A character between two of those is asked by one pair, which the other answers too.
    words = asked(conn, "私の猫は何")
    assert words["の猫"] == (2, {"の猫": 1, "猫は": 0.85})
    facts = [
        # Allergic to peanuts; lives in Shanghai; the cat is Mimi; the wife works in a hospital.
        "用户对花生过敏。",
        "用户住在上海。",
        "用户的猫叫咪咪。",
        "用户的妻子在医院工作。",
        # An allergy to buckwheat; lives in Osaka; the wife's name is Yuki.
        "ユーザーはそばアレルギーがある。",
        "ユーザーは大阪に住んでいます。",
        "妻の名前はゆきです。",
    ]
    conn.execute(
        "SELECT mnemo.remember_many(%s, p_agent_id => 'mei')",
        [Jsonb([{"content": fact} for fact in facts])],
    )
    for question, place in (
        ("我对什么过敏?", 0),
        ("我住在哪里?", 1),
        ("我的猫叫什么名字?", 2),
        ("我妻子在哪里工作?", 3),
        ("私は何にアレルギーがありますか?", 4),
        ("どこに住んでいますか?", 5),
        ("妻の名前は何ですか?", 6),
        # Blood type, the dog's name, birthday; the dog's name, blood type, birthday.
        ("我的血型是什么?", None),
        ("我的狗叫什么名字?", None),
        ("我的生日是几号?", None),
        ("犬の名前は何ですか?", None),
        ("私の血液型は何ですか?", None),
        ("誕生日はいつですか?", None),
    ):  # fmt: skip
        found = conn.execute(
            "SELECT content FROM mnemo.retrieve(mnemo.plan_retrieval(%s, 'mei'), 'mei')",
            [question],
        ).fetchall()
        assert found == ([] if place is None else [(facts[place],)]), question


def test_words_that_ask_and_words_that_talk(conn: psycopg.Connection) -> None:
    """2 asks, 1 asks where there is nothing else, 0 never does; stop words are not there."""
    found = asked(conn, "Actually, please recommend the restaurant that my wife was mentioning")
    assert {word: strength for word, (strength, _) in found.items()} == {
        "actually": 1, "please": 0, "recommend": 1, "restaurant": 2, "wife": 2, "mentioning": 1,
    }  # fmt: skip
    assert asked(conn, "what is the") == {} == asked(conn, "")


def test_forms_and_related_words(conn: psycopg.Connection) -> None:
    """The word counts most, another form of it less, a related word half."""
    _, climbing = asked(conn, "climbing")["climbing"]
    assert climbing["climbing"] == 1
    assert climbing["climb"] == 0.85
    assert climbing["gym"] == 0.5
    assert asked(conn, "barista")["barista"][1]["coffee"] == 0.5
    # What a form of it is related to counts as well; a word that only talks has no relatives.
    assert "bicycle" in asked(conn, "cyclists")["cyclist"][1]
    assert set(asked(conn, "please")["please"][1]) == {"please"}


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("climb", ["climbing", "climbed"]), ("running", ["run"]), ("dining", ["din", "dine"]),
        ("climber", ["climbe", "climb", "climbing"]), ("trimmed", ["trim", "trimming"]),
        ("trim", ["trimming", "triming"]), ("dine", ["dining", "dined"]), ("gym", []),
        ("caf\u00e9s", []), ("b2b-climbing", []),
    ],
)  # fmt: skip
def test_forms_of_a_word(conn: psycopg.Connection, word: str, forms: list[str]) -> None:
    """Endings of English; nothing for short words and other letters."""
    assert scalar(conn, "SELECT mnemo._word_forms(%s)", word) == forms


def test_a_phrase_means_what_its_words_do_not(conn: psycopg.Connection) -> None:
    """To work out is no work; the second word asks for nothing more."""
    found = asked(conn, "where do I work out")
    assert found["work"][0] == 2
    assert found["work"][1]["gym"] == 0.5
    assert found["out"][0] == 0
    assert "gym" not in asked(conn, "the work is out there")["work"][1]
    assert asked(conn, "where do I live")["live"][1].keys() >= {"home", "residence", "lived"}
    assert "concert" not in asked(conn, "where does she live")["live"][1]
    assert asked(conn, "live music this week")["live"][1]["concert"] == 0.5


def test_whom_words_mean(conn: psycopg.Connection) -> None:
    """The third person before the first, but not somebody just spoken of; else nobody."""
    for text, meant in (
        ("does she like it", "partner"), ("my wife", "partner"), ("my gym", "user"),
        ("the user's gym", "user"), ("the gym", None), ("", None), ("the user's wife", "partner"),
        ("what is the gym", "general"), ("is water wet", "general"), ("water is wet", None),
        ("my dentist, what is she called", "user"), ("she has a dentist", "partner"),
        ("a friend came, what does he like", "general"),
        ("Tom's wife", None), ("my sister's husband", "user"), ("where's my wife", "partner"),
        ("what's hubby like", "partner"), ("Tom's wife and my wife", "partner"),
    ):  # fmt: skip
        assert scalar(conn, "SELECT mnemo._meant_by(mnemo._terms(%s))", text) == meant, text


def test_when_it_is_asked_is_not_what_is_asked(conn: psycopg.Connection) -> None:
    """What it happens before or after, and idioms, ask for little; phrases have relatives."""
    found = asked(conn, "my coffee before the meeting, on the way to work or at the party")
    assert {word: strength for word, (strength, _) in found.items()} == {
        "coffee": 2, "before": 0, "meeting": 1, "way": 0, "work": 1, "party": 1,
    }  # fmt: skip
    assert asked(conn, "the party after the meeting, which meeting")["meeting"][0] == 2
    found = asked(conn, "I am running late for my hair appointment")
    assert (found["running"][0], found["late"][0], found["hair"][0]) == (0, 0, 2)
    assert asked(conn, "who does my short back and sides")["short"][1]["haircut"] == 0.5
    assert asked(conn, "what has she got her eye on")["eye"][1]["wishlist"] == 0.5
    planned = scalar(
        conn,
        "SELECT mnemo.plan_retrieval('Running late for the gym after the meeting, what do I have "
        "to do for my record player?', 'nobody')",
    )
    assert planned["topics"] == ["gym", "after meeting", "to do", "record player"]


def test_a_name_that_nobody_knows_asks_twice(conn: psycopg.Connection) -> None:
    """What is known of others is no answer; a known name, and one without a capital, ask once."""
    facts = [
        {"content": "The user's barber is Deepa.", "subject": "user", "predicate": "barber",
         "tags": ["hair", "haircut"]},
        {"content": "Rhea's hairdresser is Anisha.", "subject": "Rhea", "predicate": "barber",
         "tags": ["hair", "haircut"]},
        {"content": "The user drinks tea.", "subject": "user", "predicate": "drink"},
    ]  # fmt: skip
    conn.execute("SELECT mnemo.remember_many(%s, p_agent_id => 'ines')", [Jsonb(facts)])
    for question, place in (
        ("Who cuts Oskar's hair?", None), ("What does Jonas drink?", None),
        ("Who cuts Rhea's hair?", 1), ("Is Deepa my barber?", 0), ("Who cuts my hair?", 0),
        ("What does Ludmila drink with her hair?", None), ("Is Girish still my barber?", 0),
        ("What do I drink on Monday?", 2),
    ):  # fmt: skip
        by_hand = {
            "turn_id": 1, "generation": 1, "intent": "ambient", "lexical_queries": [question],
        }  # fmt: skip
        planned = scalar(conn, "SELECT mnemo.plan_retrieval(%s, 'ines')", question)
        for plan in (by_hand, planned):
            found = conn.execute(
                "SELECT content FROM mnemo.retrieve(%s, 'ines')", [Jsonb(plan)]
            ).fetchall()
            assert found[:1] == ([] if place is None else [(facts[place]["content"],)]), plan
    for text, names in (
        ("where does Oskar live, and is Ludmila's car blue", ["ludmila", "oskar"]),
        ("what did I do in March for Christmas", []), ("what's up", []), ("Where's Oskar", []),
        ("Does Jonas know", ["jona"]), ("WHERE DOES OSKAR LIVE", []), ("it is Monday's", []),
    ):  # fmt: skip
        assert sorted(scalar(conn, "SELECT mnemo._strangers(%s)", text)) == names, text


def test_a_general_question_needs_more(conn: psycopg.Connection) -> None:
    """Half of its words answer nothing that is asked of nobody; of the user they do."""
    conn.execute(
        "SELECT * FROM mnemo.remember('The user drinks sparkling water.', p_subject => 'user',"
        " p_predicate => 'beverage preference', p_tags => ARRAY['water'], p_agent_id => 'olaf')"
    )
    for question, number in (
        ("What colour is water?", 0), ("Is water a molecule?", 0),
        ("What water do I have with soup?", 1), ("water colour", 1), ("Which water?", 1),
    ):  # fmt: skip
        by_hand = {
            "turn_id": 1, "generation": 1, "intent": "ambient", "lexical_queries": [question],
        }  # fmt: skip
        planned = scalar(conn, "SELECT mnemo.plan_retrieval(%s, 'olaf')", question)
        for plan in (by_hand, planned):
            found = scalar(conn, "SELECT count(*) FROM mnemo.retrieve(%s, 'olaf')", Jsonb(plan))
            assert found == number, plan


def test_where_somebody_lives_is_no_question_about_music(conn: psycopg.Connection) -> None:
    """To live somewhere is to have a home; live music is music."""
    facts = [
        {"content": "The user's favourite band is Khruangbin.", "predicate": "music preference",
         "tags": ["music"]},
        {"content": "The user moved to Utrecht in 2021.", "predicate": "residence",
         "tags": ["home"]},
        {"content": "Biscuit is a beagle.", "predicate": "pet", "tags": ["dog"]},
    ]  # fmt: skip
    conn.execute(
        "SELECT mnemo.remember_many(%s, p_agent_id => 'eva')",
        [Jsonb([{"subject": "user", **fact} for fact in facts])],
    )
    for question, place in (
        ("Where do I live?", 1), ("Is there live music I would like?", 0),
        ("What breed is my dog?", 2),
    ):  # fmt: skip
        found = conn.execute(
            "SELECT content FROM mnemo.retrieve(mnemo.plan_retrieval(%s, 'eva'), 'eva')",
            [question],
        ).fetchall()
        assert found[0] == (facts[place]["content"],), question


def test_the_wife_of_somebody_else_is_not_the_users(conn: psycopg.Connection) -> None:
    """After a possessive a relation is that of whom it names, whoever plans the question."""
    facts = [
        {"content": "Rhea is the wife of the user.", "kind": "relationship", "subject": "Rhea",
         "predicate": "spouse", "entities": ["Rhea", "my wife"]},
        {"content": "Rhea works as a glazier.", "subject": "Rhea", "predicate": "job"},
        {"content": "Ana is a sister of the user.", "kind": "relationship", "subject": "Ana",
         "predicate": "family", "entities": ["Ana", "my sister"]},
        {"content": "Ines is the wife of Bruno.", "kind": "relationship", "subject": "Ines",
         "predicate": "known people", "entities": ["Ines", "Bruno's wife"]},
        {"content": "Ines grows dahlias.", "subject": "Ines", "predicate": "hobby"},
    ]  # fmt: skip
    conn.execute(
        "SELECT mnemo.remember_many(%s, p_agent_id => 'uma')",
        [Jsonb([{"source_type": "user_input", **fact} for fact in facts])],
    )
    for question, places in (
        ("What is my wife's job?", {1}), ("What's my wife's job?", {1}),
        ("Where's my wife working?", {1}), ("What is Tom's wife's job?", set()),
        ("Who is Tom's wife?", set()), ("What does my brother's wife do for a job?", set()),
        ("What does Bruno's wife grow?", {4}), ("Who is Bruno's wife?", {3}),
    ):  # fmt: skip
        by_hand = {
            "turn_id": 1, "generation": 1, "intent": "ambient", "lexical_queries": [question],
        }  # fmt: skip
        planned = scalar(conn, "SELECT mnemo.plan_retrieval(%s, 'uma')", question)
        for plan in (by_hand, planned):
            found = conn.execute(
                "SELECT content FROM mnemo.retrieve(%s, 'uma')", [Jsonb(plan)]
            ).fetchall()
            # Whoever is meant may be told more of.
            assert {facts[place]["content"] for place in places} <= {row[0] for row in found}
            if not places:
                assert found == [], (question, plan)
            assert places & {0, 1} or not {facts[0]["content"], facts[1]["content"]} & {
                row[0] for row in found
            }, (question, plan)  # fmt: skip
    planned = scalar(conn, "SELECT mnemo.plan_retrieval('Who is Tom''s wife?', 'uma')")
    assert planned["topics"] == ["tom", "tom's wife"]


def test_words_of_two_senses_lead_where_the_question_means(conn: psycopg.Connection) -> None:
    """A piano is tuned without a band; what is ordered may be no errand; seafood is one thing."""
    facts = [
        {"content": "The user's favourite band is Khruangbin.", "predicate": "music preference",
         "tags": ["music"]},
        {"content": "Mr Vogel tunes the piano.", "predicate": "tuner"},
        {"content": "The user is allergic to shellfish.", "predicate": "food allergy"},
        {"content": "The user picks up the order at the bakery.", "predicate": "errand",
         "tags": ["order", "collect"]},
        {"content": "The user has a cat, Miso.", "predicate": "pet", "tags": ["cat"]},
        {"content": "The boat is called Zephyr.", "predicate": "boat name"},
    ]  # fmt: skip
    conn.execute(
        "SELECT mnemo.remember_many(%s, p_agent_id => 'pia')",
        [Jsonb([{"subject": "user", **fact} for fact in facts])],
    )
    for question, place in (
        ("Who tunes my piano?", 1), ("Can I order the prawns?", 2), ("Is shrimp safe for me?", 2),
        ("Is there an order to collect?", 3), ("What is my cat called?", 4),
        ("What is the name of my cat?", 4), ("What is my boat called?", 5),
    ):  # fmt: skip
        found = conn.execute(
            "SELECT content FROM mnemo.retrieve(mnemo.plan_retrieval(%s, 'pia'), 'pia')",
            [question],
        ).fetchall()
        assert found == [(facts[place]["content"],)], question


def test_the_name_of_a_thing_is_that_of_a_subject_of_its_own(conn: psycopg.Connection) -> None:
    """My cat is whom memory calls a cat, not who feeds it; a thing that others have too is not."""
    facts = [
        {"content": "The user feeds the cat at seven.", "subject": "user", "predicate": "routine",
         "tags": ["cat"]},
        {"content": "Miso is a tabby cat.", "subject": "Miso"},
        {"content": "Miso dislikes the vacuum cleaner.", "subject": "miso"},
        {"content": "Devan rides an Idlewood bike.", "subject": "Devan", "tags": ["bike"],
         "kind": "relationship_preference"},
        {"content": "The user rides a Thornbury bike.", "subject": "user", "tags": ["bike"]},
        {"content": "Rex is a dog.", "subject": "Rex"},
        {"content": "Bella is a dog.", "subject": "Bella"},
    ]  # fmt: skip
    conn.execute("SELECT mnemo.remember_many(%s, p_agent_id => 'mia')", [Jsonb(facts)])
    for question, thing in (
        ("What is my cat called?", "miso"), ("what's the name of my tabby cat", "miso"),
        ("What is my cat's name?", "miso"), ("what is my bike called", None),
        ("what is my dog called", None), ("does my cat like me", None),
        ("what is my boat called", None), ("the name of the game", None),
    ):  # fmt: skip
        planned = scalar(conn, "SELECT mnemo.plan_retrieval(%s, 'mia')", question)
        assert [e["canonical"] for e in planned["entities"]] == [thing] * (thing is not None)
        found = conn.execute(
            "SELECT content FROM mnemo.retrieve(%s, 'mia')", [Jsonb(planned)]
        ).fetchall()
        if thing:
            assert "Miso" in found[0][0], question
        if "bike" in question:
            assert found[0][0] == facts[4]["content"]


def test_a_related_word_alone_answers_no_larger_question(conn: psycopg.Connection) -> None:
    """Where most of the asked words are unknown, one relative is no evidence."""
    conn.execute(
        "SELECT * FROM mnemo.remember('The user drinks a cortado.', p_subject => 'user',"
        " p_predicate => 'beverage preference', p_tags => ARRAY['coffee'], p_agent_id => 'ana')"
    )

    def answers(query: str) -> int:
        plan = {"turn_id": 1, "generation": 1, "intent": "ambient", "lexical_queries": [query]}
        found: int = scalar(conn, "SELECT count(*) FROM mnemo.retrieve(%s, 'ana')", Jsonb(plan))
        return found

    assert answers("which caffeine, tonight") == 1
    assert answers("caffeine molecule structure") == 0
    assert answers("molecule structure") == 0
