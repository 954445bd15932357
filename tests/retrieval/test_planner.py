"""Plans made of texts: names, topics, attributes, intent, queries; what is hidden stays hidden."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.privileges.hostile import HOSTILE_PATH
from tests.support.calls import contents, refused, rows, scalar, value
from tests.support.records import remember, remember_plan
from tests.support.reuse import emptied

AGENT, ORG = "ana", "acme"
WHO = {"agent_id": AGENT, "org_id": ORG}
NOW = "2026-03-04T10:30:00Z"
SKIP = {"requires_memory": False, "intent": "none", "confidence": 1, "entities": [], "topics": [],
        "lexical_queries": [], "predicates": [], "temporal": None}  # fmt: skip


def know(conn: psycopg.Connection, content: str, **facets: Any) -> Any:
    """A memory of the agent."""
    return remember(conn, content, **{**WHO, **facets})


def family(conn: psycopg.Connection) -> None:
    """What the agent of most tests remembers."""
    know(conn, "Rhea is the user's wife.", kind="relationship", subject="Rhea",
         predicate="spouse", entities=["my wife", "Rhea"], aliases=["wife"])  # fmt: skip
    know(conn, "Rhea likes the Fennelmark.", kind="relationship_preference", subject="rhea",
         predicate="venue preference", entities=["rhea", "Fennelmark"])  # fmt: skip
    know(conn, "The user drinks a cortado.", kind="preference", subject="user",
         predicate="beverage_preference", entities=["I", "me", "my"], aliases=["my coffee order"],
         )  # fmt: skip
    know(conn, "Dinner in Bandra went badly.", kind="episodic", subject="user",
         predicate="recent_event", entities=["me", "Bandra"])  # fmt: skip
    know(conn, "Priya leads the team of the user.", kind="relationship", subject="priya",
         predicate="social_relation", entities=["my team lead", "the boss"])  # fmt: skip
    know(conn, "The user collects a cake for Priya.", kind="commitment", subject="user",
         predicate="errand", entities=["me", "priya"])  # fmt: skip
    know(conn, "The Blue Pergola Café is a place.", subject="blue pergola café",
         predicate="local_place")  # fmt: skip
    know(conn, "The Blue team plays.", subject="blue")
    know(conn, "莉亚 eats little.", subject="莉亚", entities=["莉亚小姐"])


@pytest.fixture(scope="module")
def known(module_dsn: str) -> Iterator[psycopg.Connection]:
    """A connection to a store of a few people, in which nothing else is committed."""
    with emptied(module_dsn) as conn:
        family(conn)
    with psycopg.connect(module_dsn) as conn:
        yield conn


@pytest.fixture
def db(known: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """In a transaction that is rolled back after the test."""
    known.execute("SELECT 1")
    yield known
    known.rollback()


def plan(conn: psycopg.Connection, text: str, **arguments: Any) -> dict[str, Any]:
    """The plan of a text."""
    made = value(conn, "plan_retrieval", text=text, **{**WHO, "now": NOW, **arguments})
    assert isinstance(made, dict)
    return made


def names(made: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Surface and canonical form of the entities."""
    return [(e["surface"], e["canonical"]) for e in made["entities"]]


def test_a_plan_is_complete_and_normal(db: psycopg.Connection) -> None:
    made = plan(db, "Find a quiet restaurant for my wife", turn_id=3, generation=2)
    assert made == {
        "plan_id": made["plan_id"], "turn_id": 3, "generation": 2, "requires_memory": True,
        "confidence": 0.85, "intent": "personal_recommendation",
        "entities": [{"surface": "my wife", "canonical": "rhea"}],
        "topics": ["quiet", "restaurant"], "predicates": [],
        "lexical_queries": ["rhea quiet restaurant", "quiet restaurant", "rhea"],
        "scopes": [], "kind_filter": [], "subject_hint": None, "predicate_hint": None,
        "temporal": None, "warnings": [],
        "source_transcript_hash": value(
            db, "stable_hash", text="Find a quiet restaurant for my wife"),
    }  # fmt: skip
    assert value(db, "normalize_retrieval_plan", plan=made) == made
    other = plan(db, "Find a quiet restaurant for my wife", turn_id=3, generation=3)
    assert made["plan_id"] != other["plan_id"]


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("What do you remember about my diet and food preferences?",
         ["diet", "food", "preferences"]),
        ("Do you recall, did I tell you, do you know: I said it", []),
        ("what does this say", []), ("what does this label say", ["label"]),
        ("WHAT is the Capital of France?", ["capital", "france"]),
        ("Restaurants, a restaurant and RESTAURANTS", ["restaurants"]),
        ("Wo isst meine Schwester gern?", ["wo", "isst", "meine", "schwester", "gern"]),
        ("¿Qué bebe mi hermana?", ["qué", "bebe", "mi", "hermana"]),
        ("où est Noël", ["où", "est", "noël"]),
        ("何を食べますか", ["何を食べますか"]), ("我喜欢 咖啡 and tea", ["我喜欢", "咖啡", "tea"]),
        ("iPad用ケース", ["ipad", "用ケース"]),
        ("status of PO-2024-0012 for user@example.com",
         ["po-2024-0012", "user@example.com", "status"]),
        ("don't, I'm, you've, we'll, won't", ["won"]), ("x" * 101 + " tea", ["tea"]),
        ("🚀 !!! ...", []), ("the dinner on 2024-02-29", ["dinner"]),
    ],
)  # fmt: skip
def test_topics(db: psycopg.Connection, text: str, topics: list[str]) -> None:
    """Neither function words nor words of asking; words of other languages pass."""
    assert plan(db, text)["topics"] == topics


def test_long_runs_are_cut_and_of_many_topics_the_known_ones_count(db: psycopg.Connection) -> None:
    made = plan(db, "猫" * 40)
    assert [len(topic) for topic in made["topics"]] == [32, 8]
    unknown = " ".join(f"zz{number}" for number in range(30))
    made = plan(db, f"{unknown} dinner {unknown} team cortado")
    assert made["topics"] == [f"zz{n}" for n in range(5)] + ["dinner", "team", "cortado"]
    assert made["lexical_queries"] == [" ".join(made["topics"])]
    # A word of what nobody may read any more is no known one.
    know(db, "zz29 is a secret of the past", status="superseded")
    assert plan(db, f"{unknown} dinner")["topics"] == [f"zz{n}" for n in range(7)] + ["dinner"]
    know(db, "zz29 is a fact")
    assert "zz29" in plan(db, f"{unknown} dinner")["topics"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Rhea's birthday", [("Rhea", "rhea")]), ("RHEA?", [("RHEA", "rhea")]),
        ("rhéa", [("rhéa", "rhea")]), ("arrhea and rheas", [("rheas", "rhea")]),
        ("Ask my wife.", [("my wife", "rhea")]), ("the wife", [("wife", "rhea")]),
        ("my  team\nlead", [("my team lead", "priya")]), ("team", []),
        ("Rhea, my wife", [("my wife", "rhea")]),
        ("Priya and my wife", [("my wife", "rhea"), ("Priya", "priya")]),
        ("at the Blue Pergola Cafe", [("Blue Pergola Cafe", "blue pergola café")]),
        ("at the Blue Pergola", [("Blue", "blue")]),
        ("my coffee order", [("my coffee order", None)]), ("coffee", []),
        ("the Fennelmark", [("Fennelmark", "rhea")]), ("in Bandra", [("Bandra", None)]),
        ("what did she say", [("she", "rhea")]), ("her cake", [("her", "rhea")]),
        ("what did he say", []), ("her and Priya", [("Priya", "priya")]),
        ("my sister and her cake", []),
        ("莉亚喜欢什么", [("莉亚", "莉亚")]), ("给莉亚小姐的礼物", [("莉亚小姐", "莉亚")]),
        ("I, me, my, the user", []),
    ],
)  # fmt: skip
def test_entities(db: psycopg.Connection, text: str, found: list[tuple[str, str | None]]) -> None:
    """Known names as whole words, the longest first, with the subject that they stand for."""
    assert names(plan(db, text)) == found


def test_names_of_six_words_and_of_several_subjects(db: psycopg.Connection) -> None:
    know(db, "x", subject="society of friends of old bridges")
    know(db, "x", subject="society of friends of the old bridges")
    assert names(plan(db, "the Society of Friends of Old Bridges")) == [
        ("Society of Friends of Old Bridges", "society of friends of old bridges")
    ]
    assert names(plan(db, "the Society of Friends of the Old Bridges")) == []
    for number in range(2):
        know(db, "x", subject=f"dentist {number}", aliases=["my dentist"])
    assert names(plan(db, "call my dentist")) == [("my dentist", None)]
    know(db, "x", subject="dentist 2", aliases=["my dentist"])
    made = plan(db, "call my dentist")
    assert (names(made), made["topics"]) == ([], ["call", "dentist"])
    know(db, "x", subject="dentist")
    assert names(plan(db, "call my dentist")) == [("my dentist", "dentist")]


def test_what_the_users_own_records_mention_may_be_anybody(db: psycopg.Connection) -> None:
    """Records about the user say who somebody is only where no others do."""
    for _ in range(5):
        know(db, "The user cooks for his wife.", subject="user", entities=["my wife", "Zed"])
    assert names(plan(db, "my wife and Zed")) == [("my wife", "rhea"), ("Zed", None)]
    assert names(plan(db, "what did she say")) == [("she", "rhea")]
    # She is nobody where only the user's own records know a wife.
    other = {"agent_id": "ben", "org_id": ORG}
    know(db, "x", subject="user", entities=["me", "my wife"], **other)
    assert names(plan(db, "my wife", **other)) == [("my wife", None)]
    assert plan(db, "what did she say", **other)["entities"] == []


def test_at_most_five_entities_the_longest(db: psycopg.Connection) -> None:
    for name in ("a1", "b1", "c1", "d1 x", "e1", "f1 y z"):
        know(db, "x", subject=name)
    made = plan(db, "a1 b1 c1 d1 x e1 f1 y z")
    assert [e["canonical"] for e in made["entities"]] == ["f1 y z", "d1 x", "a1", "b1", "c1"]
    assert made["lexical_queries"] == ["f1 y z d1 x a1 b1 c1"]


def test_the_user_is_no_entity_but_where_nothing_else_is_asked(db: psycopg.Connection) -> None:
    for text in (
        "what do you know about me",
        "do you remember what I like",
        "What did I do yesterday?",
    ):
        made = plan(db, text)
        assert [e["canonical"] for e in made["entities"]] == ["user"], text
        assert made["lexical_queries"][-1] == "user"
    for text in ("can you help me", "I like it", "me", "what should I do"):
        assert plan(db, text)["requires_memory"] is False, text
    # What happened at a time need not say when; what is planned for a day does.
    for text, surface, topics in (
        ("what happened last week", "user", []), ("what did we do on Monday?", "we", []),
        ("what am I doing on Monday?", "I", ["monday"]),
    ):  # fmt: skip
        made = plan(db, text)
        assert (names(made), made["topics"]) == ([(surface, "user")], topics), text
    assert plan(db, "how are you today")["entities"] == []
    # The user's own pronoun tells whom a question means; the word user is no topic.
    assert plan(db, "my cortado")["lexical_queries"] == ["my cortado"]
    made = plan(db, "the user's cortado")
    assert (made["topics"], made["lexical_queries"]) == (["cortado"], ["user cortado"])
    # Where memory has no such subject, me is nobody and a user is a topic.
    other = {"agent_id": "ben", "org_id": ORG}
    assert plan(db, "what do you know about me", **other)["requires_memory"] is False
    assert plan(db, "the user's cortado", **other)["topics"] == ["user", "cortado"]
    # It may have another name.
    know(db, "Ben is himself.", subject="ben", aliases=["me", "I"], **other)
    assert names(plan(db, "what do you know about me", **other)) == [("me", "ben")]


def test_a_text_without_topics_and_names_needs_no_memory(db: psycopg.Connection) -> None:
    for text in ("", " \n\u3000", "do you remember?", "what is it", "🚀", "...", "is he?"):
        made = plan(db, text)
        assert {key: made[key] for key in SKIP} == SKIP, text
        assert made == value(db, "skip_retrieval_plan", transcript=text, turn_id=0, generation=0)


EXPLICIT, ADVICE, COMPARISON, PRIOR, PERSON, AMBIENT = (
    "explicit_recall", "personal_recommendation", "comparison", "prior_event_reference",
    "relationship_reference", "ambient",
)  # fmt: skip
INTENTS = {
    EXPLICIT: ["remember the dinner", "I remembered tea", "recall tea", "remind me of tea",
               "do you know who I met for tea", "do you know my tea", "what do you know of tea",
               "what do you know about my tea", "did I tell you of tea", "did we mention tea",
               "I've told you of tea", "I said tea", "what's my tea", "whats my tea",
               "who is my tea master", "I forgot the tea", "tell me my tea",
               "is tea in your memory"],
    ADVICE: ["recommend a tea", "tea recommendations", "any suggestions for tea", "advice on tea",
             "should I drink tea", "which tea could we drink", "find a tea", "find some tea",
             "book me a table", "pick a tea", "plan an outing", "any ideas for tea",
             "a present for tea lovers", "is tea good for sleep", "which tea suits",
             "looking for tea", "somewhere for tea", "would I like tea", "help me choose tea",
             "what to cook with tea"],
    COMPARISON: ["compare tea and milk", "tea versus milk", "tea vs. milk", "tea rather than milk",
                 "tea instead of milk", "the difference between tea and milk", "which of the teas",
                 "which one is tea", "pros and cons of tea", "is tea better or milk",
                 "which is stronger, tea or milk"],
    PRIOR: ["tea last time", "last night's tea", "the tea the other day", "tea yesterday",
            "the tea two days ago", "tea earlier", "the previous tea", "tea in the past",
            "tea recently", "what happened at tea", "that time at tea", "when was tea",
            "did I drink tea", "have we got tea", "how was the tea", "I went for tea",
            "tea last week", "tea in 2024", "tea in February"],
    PERSON: ["my sister's tea", "tea with friends", "Rhea and tea", "tea for her",
             "my team lead's tea"],
    AMBIENT: ["tea", "a tea tomorrow", "tea or milk", "tea at Bandra", "the user's tea",
              "tea at the Blue Pergola Cafe", "tea today"],
}  # fmt: skip


@pytest.mark.parametrize("intent", INTENTS)
def test_intents(db: psycopg.Connection, intent: str) -> None:
    """Each phrase of the lists tells its intent; confidence follows strong signals."""
    for text in INTENTS[intent]:
        made = plan(db, text)
        assert made["intent"] == intent, text
        strong = intent in (EXPLICIT, PERSON) or made["entities"] != []
        assert made["confidence"] == (0.85 if strong else 0.6), text
    if intent in (ADVICE, COMPARISON, PRIOR):
        assert plan(db, INTENTS[intent][0] + " with my sister")["confidence"] == 0.85


def test_precedence_of_intents(db: psycopg.Connection) -> None:
    parts = ["do you remember", "any suggestions", "tea versus milk", "last night", "my sister"]
    order = [EXPLICIT, ADVICE, COMPARISON, PRIOR, PERSON]
    for number, intent in enumerate(order):
        later = parts[number:]
        random.Random(number).shuffle(later)
        assert plan(db, ", ".join(later))["intent"] == intent


def test_attributes_and_hints(db: psycopg.Connection) -> None:
    """Attributes that memory has are predicates; a hint is given for a pair that it has too."""

    def hints(text: str) -> tuple[Any, ...]:
        made = plan(db, text)
        return made["predicates"], made["subject_hint"], made["predicate_hint"]

    assert hints("venue preference of Rhea") == (["venue_preference"], "rhea", "venue_preference")
    assert hints("venue preferences of Rhea")[0] == ["venue_preference"]
    assert hints("my venue preference") == (["venue_preference"], None, None)
    assert hints("my errands") == (["errand"], "user", "errand")
    assert hints("the errand") == (["errand"], None, "errand")
    assert hints("her errand, her venue preference") == (
        ["venue_preference", "errand"], "rhea", "venue_preference")  # fmt: skip
    assert hints("her errand") == (["errand"], None, None)
    assert hints("the preference of my wife") == ([], None, None)
    assert hints("the venue of the preference") == ([], None, None)


def invisible(conn: psycopg.Connection) -> list[str]:
    """Records that the agent may not read or that do not count, by the name that they know."""
    for name in ("expired", "deleted", "quarantined", "archived"):
        know(conn, "x", subject=f"{name} name", aliases=[f"{name} alias"],
             predicate=f"{name}_attribute", entities=[f"{name} entity"])  # fmt: skip
    for name, change in (
        ("expired", "expires_at = now() - interval '1 second'"), ("deleted", "deleted_at = now()"),
        ("quarantined", "quarantined = true"), ("archived", "consolidation_state = 'archived'"),
    ):  # fmt: skip
        conn.execute(f"UPDATE mnemo.memory SET {change} WHERE subject = '{name} name'")  # type: ignore[arg-type]
    more: dict[str, dict[str, Any]] = {
        "superseded": {"status": "superseded"}, "retracted": {"status": "retracted"},
        "future": {"valid_from": "9000-01-01T00:00Z"},
        "past": {"valid_from": "2001-01-01T00:00Z", "valid_to": "2002-01-01T00:00Z"},
        "stranger": {"agent_id": "ben"}, "ungranted": {"agent_id": "ben", "scope": "shared"},
        "foreign": {"org_id": "other", "scope": "public"},
    }  # fmt: skip
    for name, facets in more.items():
        know(conn, "x", subject=f"{name} name", aliases=[f"{name} alias"],
             predicate=f"{name}_attribute", entities=[f"{name} entity"], **facets)  # fmt: skip
    return ["expired", "deleted", "quarantined", "archived", *more]


def test_names_of_invisible_records_are_unknown(db: psycopg.Connection) -> None:
    for name in invisible(db):
        text = f"{name} name, {name} alias, {name} entity, {name} attribute"
        made = plan(db, text)
        assert (made["entities"], made["predicates"]) == ([], []), name
    # A plan of the same words, and a record that lost its list's head to dead ones.
    remember_plan(db, "expired name of a plan", **WHO)
    assert names(plan(db, "expired name")) == []
    for _ in range(40):
        know(db, "x", subject="expired name")
    db.execute("UPDATE mnemo.memory SET expires_at = now() WHERE subject = 'expired name'")
    know(db, "x", aliases=["expired name"], subject="still here")
    assert names(plan(db, "expired name")) == [("expired name", "still here")]


def test_names_of_all_that_the_agent_may_read(db: psycopg.Connection) -> None:
    def shared(name: str, **more: Any) -> Any:
        return know(db, "x", subject=name, **{"agent_id": "ben", **more})

    shared("public name", scope="public")
    shared("global name", scope="global", org_id="other")
    granted = shared("granted name", scope="shared")
    delegated = shared("delegated name", scope="shared")
    text = "public name, global name, granted name, delegated name"
    assert {e["canonical"] for e in plan(db, text)["entities"]} == {"public name", "global name"}
    giver = {"agent_id": "ben", "org_id": ORG}
    rows(db, "share", id=granted, to_agents=[AGENT], **giver)
    rows(db, "delegate", to_agent=AGENT, ids=[delegated], **giver)
    assert {e["canonical"] for e in plan(db, text)["entities"]} == {
        "public name", "global name", "granted name", "delegated name",
    }  # fmt: skip
    rows(db, "unshare", id=granted, from_agents=[AGENT], **giver)
    db.execute("UPDATE mnemo.delegation SET revoked_at = now()")
    assert len(plan(db, text)["entities"]) == 2


def test_the_time_given_revives_nothing(db: psycopg.Connection) -> None:
    know(db, "x", subject="short lived", ttl="1 hour")
    assert names(plan(db, "short lived")) == [("short lived", "short lived")]
    later = scalar(db, "SELECT now() + interval '2 hours'")
    assert names(plan(db, "short lived", now=later)) == []
    db.execute("UPDATE mnemo.memory SET expires_at = now() WHERE subject = 'short lived'")
    assert names(plan(db, "short lived", now="2020-01-01T00:00Z")) == []


def test_a_plan_finds_what_it_was_made_of(db: psycopg.Connection) -> None:
    """And generic or visual questions find nothing."""

    def found(text: str) -> list[str]:
        return [r["content"] for r in rows(db, "retrieve", plan=plan(db, text), **WHO)]

    assert "Rhea likes the Fennelmark." in found("where does my wife like to go, Fennelmark?")
    assert found("how did the dinner in Bandra go last week")[:1] == [
        "Dinner in Bandra went badly."
    ]
    for text in ("what is the capital of France", "what does this label say", "who wrote Hamlet"):
        assert found(text) == []


def test_bad_arguments(db: psycopg.Connection) -> None:
    for changes, code, parameter in (
        ({"text": None}, "22023", "p_text"), ({"turn_id": -1}, "22023", "p_turn_id"),
        ({"turn_id": None}, "22023", "p_turn_id"), ({"generation": -1}, "22023", "p_generation"),
        ({"now": "infinity"}, "22023", "p_now"), ({"text": "x" * 100_001}, "54000", "p_text"),
        ({"text": "x" * 100_001, "generation": None}, "22023", "p_generation"),
        ({"org_id": "*"}, "22023", "p_org_id"), ({"agent_id": "a b"}, "22023", "p_agent_id"),
    ):  # fmt: skip
        with refused(code, parameter):
            value(db, "plan_retrieval", **{"text": "x", **WHO, **changes})
    made = plan(db, "tea", turn_id=2**63 - 1, generation=2**63 - 1)
    assert made["turn_id"] == made["generation"] == 2**63 - 1


def test_tenants_plan_for_themselves_alone(db: psycopg.Connection) -> None:
    db.execute("CREATE ROLE planner_tenant; GRANT USAGE ON SCHEMA mnemo TO planner_tenant")
    rows(db, "grant_access", role="planner_tenant", level="tenant")
    rows(db, "bind_role", role="planner_tenant", org_id=ORG, agent_id=AGENT)
    know(db, "x", subject="bens own", agent_id="ben")
    db.execute("SET LOCAL ROLE planner_tenant")
    assert names(value(db, "plan_retrieval", text="my wife")) == [("my wife", "rhea")]
    assert value(db, "plan_retrieval", text="bens own")["entities"] == []
    for who in ({"agent_id": "ben"}, {"org_id": "other"}):
        for function in ("plan_retrieval", "memory_map"):
            text = {"text": "bens own"} if function == "plan_retrieval" else {}
            with refused("42501"):
                value(db, function, **text, **who)
    db.execute("RESET ROLE")


SEEDS = [
    "", " ", "'", "\\", "%s", "(?:", "[", "my", "my wife", "she", "Rhea", "rhea's", "user", "I",
    "2024", "31 February", "last", "the other day", "0000-00-00", "99 months ago", "in 9999 years",
    "9999 years ago", "next week", "莉亚", "東京", "é", "e\u0301", "\u0301", "İ", "ß", "🚀",
    "\u200d", "x" * 300, "or", "which", "venue preference", "a@b.c", "c++", "PO-1/2", "\n", "\t",
    "ﬁ", "\U0010efcd", "__experience_plan__", "user:", "name rhea", "|", "*",
]  # fmt: skip


def test_a_thousand_random_texts(db: psycopg.Connection) -> None:
    """Every text has a plan that is normal, bounded, the same again whatever a session sets, and
    nothing is written."""
    chooser = random.Random(5)
    texts = [
        chooser.choice(["", " ", ", "]).join(chooser.choices(SEEDS, k=chooser.randint(0, 7)))
        for _ in range(1000)
    ]
    held = contents(db)
    statement = (
        "SELECT array_agg(mnemo.plan_retrieval(t.text, 'ana', 'acme', p_now => %s)"
        " ORDER BY t.place) FROM unnest(%s::text[]) WITH ORDINALITY AS t(text, place)"
    )
    first = scalar(db, statement, NOW, texts)
    assert len(first) == 1000
    assert scalar(
        db, "SELECT bool_and(mnemo.normalize_retrieval_plan(p) = p) FROM unnest(%s::jsonb[]) AS p",
        [psycopg.types.json.Jsonb(made) for made in first],
    )  # fmt: skip
    assert max(len(str(made)) for made in first) < 6000
    assert 100 < sum(made["requires_memory"] for made in first) < 1000
    for setting in (
        "TimeZone = 'Pacific/Kiritimati'", "DateStyle = 'SQL, DMY'",
        "standard_conforming_strings = off", "IntervalStyle = 'sql_standard'",
        "extra_float_digits = -15",
    ):  # fmt: skip
        db.execute(f"SET LOCAL {setting}")  # type: ignore[arg-type]
    db.execute(HOSTILE_PATH.replace("SET ", "SET LOCAL "))
    assert scalar(db, statement, NOW, texts[:250]) == first[:250]
    db.execute("RESET ALL")
    assert contents(db) == held


def test_the_longest_text(db: psycopg.Connection) -> None:
    """Names at its beginning and end are found; what lies far within may be missed."""
    chooser = random.Random(6)
    words = [f"w{chooser.randrange(5000)}" for _ in range(15_000)]
    text = ("Priya " + " ".join(words))[:99_990] + " my wife"
    assert names(plan(db, text)) == [("my wife", "rhea"), ("Priya", "priya")]
    for text in ("猫" * 100_000, "a " * 50_000, "\u0301" * 100_000, "2 days " * 14_000):
        made = plan(db, text)
        assert len(made["topics"]) <= 8
