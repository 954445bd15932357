"""Tenants: whom they may act for, and that nothing widens it."""

from __future__ import annotations

import json
from uuid import UUID

import psycopg
import pytest

from tests.privileges.helpers import (
    AGENT,
    ORG,
    OTHER_AGENT,
    OTHER_ORG,
    PURE,
    Connection,
    Function,
    acting,
    call,
    functions,
    grant,
    named,
    new_role,
    new_tenant,
    outcome,
    outcome_as,
    refusal,
    remember,
    remember_plan,
    rows,
    rows_as,
    text,
    value,
)

ME = "SELECT DISTINCT origin_org_id, owner_agent_id FROM mnemo.list_plans(1000, NULL, {}, {})"
STORE = (
    "SELECT * FROM mnemo.remember_plan('a question of mine', ARRAY['s'], '{{}}', 1,"
    " p_agent_id => {}, p_org_id => {})"
)


def sql_text(word: str | None) -> str:
    """A text constant, or NULL."""
    return "NULL" if word is None else "'" + word.replace("'", "''") + "'"


def acts_as(conn: Connection, role: str, agent_id: str | None, org_id: str | None) -> object:
    """The (organisation, agent) that a plan is stored for, or the SQLSTATE."""
    try:
        with acting(conn, role), conn.transaction():
            plan_id = value(conn, STORE.format(sql_text(agent_id), sql_text(org_id)).replace(
                "SELECT *", "SELECT id"
            ))  # fmt: skip
    except psycopg.Error as error:
        conn.execute("RESET ROLE")
        return error.sqlstate
    return rows(
        conn, "SELECT origin_org_id, agent_id FROM mnemo.memory WHERE id = %s", plan_id
    )[0]  # fmt: skip


# Bindings, then what (agent, organisation) becomes of the named ones.
CASES: list[
    tuple[
        list[tuple[str, str | None]],
        list[tuple[str | None, str | None, object]],
    ]
] = [
    (
        [("acme", "bot")],
        [
            (None, None, ("acme", "bot")),
            ("bot", None, ("acme", "bot")),
            (None, "acme", ("acme", "bot")),
            ("bot", "acme", ("acme", "bot")),
            ("boss", None, "42501"),
            ("boss", "acme", "42501"),
            (None, "evil", "42501"),
            ("bot", "evil", "42501"),
            ("default", None, "42501"),
            (None, "default", "42501"),
        ],
    ),
    (
        [("acme", None)],
        [
            (None, None, ("acme", "default")),
            ("bot", None, ("acme", "bot")),
            ("boss", "acme", ("acme", "boss")),
            ("bot", "evil", "42501"),
            (None, "default", "42501"),
        ],
    ),
    (
        [("acme", "bot"), ("acme", "boss")],
        [
            ("bot", None, ("acme", "bot")),
            ("boss", "acme", ("acme", "boss")),
            ("third", None, "42501"),
            ("third", "acme", "42501"),
            ("bot", "evil", "42501"),
            # Two fit and none is named: an argument is missing.
            (None, None, "22023"),
            (None, "acme", "22023"),
        ],
    ),
    (
        [("acme", "bot"), ("evil", "boss")],
        [
            ("bot", "acme", ("acme", "bot")),
            (None, "acme", ("acme", "bot")),
            (None, "evil", ("evil", "boss")),
            # Bindings are pairs, not two lists.
            ("boss", "acme", "42501"),
            ("bot", "evil", "42501"),
            ("bot", "third", "42501"),
            (None, None, "22023"),
        ],
    ),
    (
        [("acme", "bot"), ("acme", None)],
        [
            (None, None, ("acme", "default")),
            ("whoever", None, ("acme", "whoever")),
            (None, "evil", "42501"),
        ],
    ),
    (
        [("acme", "bot"), ("evil", None)],
        [
            ("whoever", "evil", ("evil", "whoever")),
            ("whoever", "acme", "42501"),
        ],
    ),
]


@pytest.mark.parametrize("inherited", [False, True])
@pytest.mark.parametrize(("bindings", "calls"), CASES)
def test_whom_a_tenant_acts_for(
    tx: Connection,
    bindings: list[tuple[str, str | None]],
    calls: list[tuple[str | None, str | None, object]],
    inherited: bool,
) -> None:
    """Unnamed ones mean the binding; everything outside it is refused. Inherited bindings count."""
    role = new_tenant(tx, *bindings)
    if inherited:
        role = new_role(tx, f"IN ROLE {role}")
    assert [acts_as(tx, role, agent, org) for agent, org, _ in calls] == [
        expected for *_, expected in calls
    ]


def test_bindings_of_several_roles_add_up(tx: Connection) -> None:
    first, second = new_tenant(tx, ("acme", "bot")), new_tenant(tx, ("evil", "boss"))
    both = new_role(tx, f"IN ROLE {first}, {second}")
    assert acts_as(tx, both, None, "acme") == ("acme", "bot")
    assert acts_as(tx, both, None, "evil") == ("evil", "boss")
    assert acts_as(tx, both, "boss", "acme") == "42501"


def test_the_default_agent_of_the_organisation_is_meant(tx: Connection) -> None:
    """A binding to any agent leaves the agent to the settings; the default organisation does not
    matter to a tenant."""
    role = new_tenant(tx, ("acme", None))
    tx.execute("SELECT mnemo.configure('default_agent_id', 'clerk', 'acme')")
    tx.execute("SELECT mnemo.configure('default_org_id', 'evil')")
    assert acts_as(tx, role, None, None) == ("acme", "clerk")


def test_bindings_say_nothing_without_level_tenant(tx: Connection) -> None:
    """An application stays free, a role without a level stays out."""
    application = grant(tx, new_role(tx), "application", ("acme", "bot"))
    assert acts_as(tx, application, None, None) == ("default", "default")
    assert acts_as(tx, application, "boss", "evil") == ("evil", "boss")
    nobody = new_role(tx)
    tx.execute("SELECT mnemo.bind_role(%s, 'acme', 'bot')", (nobody,))
    tx.execute(text(f"GRANT USAGE ON SCHEMA mnemo TO {nobody}"))
    tx.execute(text(f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA mnemo TO {nobody}"))
    assert acts_as(tx, nobody, None, None) == "42501"


NAMES_THAT_MATCH_NOTHING = [
    "%", "_", "", "*", " ", "acme-corp", "acme.", "acm", "acme%", "acm_", "ACME", "Acme", " acme",
    "acme ", "acme/bot", "acme\n", "(acme)", "a.me", "^acme$", "acme|evil", "{acme}", "NULL",
    "\u0430cme", "ac\u200bme", "x" * 300, "'", "';--", '"acme"', "john_doe", "acme,evil",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES_THAT_MATCH_NOTHING)
def test_names_are_compared_exactly(tx: Connection, name: str) -> None:
    """Neither patterns nor prefixes nor look-alikes of a bound name are bound."""
    remember_plan(tx)
    role = new_tenant(tx, ("acme", "acme"), ("john-doe", "john-doe"))
    for agent, org in ((None, name), ("acme", name), (name, "acme"), (name, "john-doe")):
        assert acts_as(tx, role, agent, org) == "42501", (agent, org)


@pytest.mark.parametrize("name", NAMES_THAT_MATCH_NOTHING)
def test_names_that_match_nothing_cannot_be_bound_if_ill_formed(tx: Connection, name: str) -> None:
    """bind_role takes what remember takes: letters, digits, - _ . : @ /, 1 to 256 of them."""
    role = grant(tx, new_role(tx), "tenant")
    well_formed = len(name) <= 256 and bool(name) and all(
        c.isascii() and (c.isalnum() or c in "-_.:@/") for c in name
    )  # fmt: skip
    expected = "ok" if well_formed else "22023"
    assert outcome(tx, "SELECT mnemo.bind_role(%s, %s)", role, name) == expected
    assert outcome(tx, "SELECT mnemo.bind_role(%s, 'acme', %s)", role, name) == expected
    if not well_formed:
        for function in ("bind_role", "unbind_role"):
            error = refusal(tx, f"SELECT mnemo.{function}(%s, %s)", role, name)
            assert json.loads(error.diag.message_detail or "") == {"parameter": "p_org_id"}
            error = refusal(tx, f"SELECT mnemo.{function}(%s, 'acme', %s)", role, name)
            assert json.loads(error.diag.message_detail or "") == {"parameter": "p_agent_id"}


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [("acme", "acme-corp"), ("acme-corp", "acme"), ("john_doe", "john-doe"), ("a", "a/b"),
     ("a.b", "a"), ("A", "a"), ("_", "x"), ("a_b", "axb")],
)  # fmt: skip
def test_similar_organisations_and_agents_see_nothing_of_each_other(
    tx: Connection, mine: str, theirs: str
) -> None:
    query = "how do I reset the password"
    remember_plan(tx, query, "public", agent_id="bot", org_id=theirs)
    remember_plan(tx, query, "private", agent_id=theirs, org_id=mine)
    remember(tx, query, "public", agent_id="bot", org_id=theirs)
    remember(tx, query, "private", agent_id=theirs, org_id=mine)
    role = new_tenant(tx, (mine, mine))
    for nothing in (
        "SELECT * FROM mnemo.list_plans()",
        "SELECT * FROM mnemo.recall(NULL)",
        f"SELECT * FROM mnemo.recall_plans('{query}')",
        f"SELECT * FROM mnemo.recall_plan('{query}') WHERE hit OR candidates_considered > 0",
    ):
        assert rows_as(tx, role, nothing) == [], nothing


# Every public function that takes an identity


def with_identity(conn: Connection) -> list[Function]:
    """Public functions with p_agent_id or p_org_id that do not administrate."""
    return [
        f for f in functions(conn)
        if f.public and f.parameters.keys() & {"p_agent_id", "p_org_id"}
        and f.name not in ("bind_role", "unbind_role", "configure")
    ]  # fmt: skip


BAD = {
    "text": ["NULL", "''", "'\u3000'", "repeat('x', 100001)", "'no such label'"],
    "text[]": ["NULL", "'{}'", "ARRAY[NULL]", "ARRAY['']", "'{{a},{b}}'"],
    "double precision": ["NULL", "'NaN'", "'Infinity'", "-1", "2"],
    "bigint": ["NULL", "0", "-1", "1001"],
    "jsonb": ["NULL", "'[]'", "'1'", "'{\"experience_plan\": 1}'"],
    "boolean": ["NULL"],
    "interval": ["NULL", "'-1 day'", "'0'"],
    "timestamp with time zone": ["NULL", "'infinity'", "'-infinity'"],
    "uuid": ["NULL"],
    "uuid[]": ["NULL", "'{}'", "ARRAY[NULL]::uuid[]"],
    "regclass": ["NULL", "'pg_class'::regclass"],
    "bytea": ["NULL", "''"],
}


def test_another_identity_is_refused_whatever_else_is_wrong(tx: Connection) -> None:
    """42501 for good arguments, and with each other argument made bad in turn, and with all."""
    tx.execute("SELECT mnemo.configure('experience_memory', 'off')")
    role = new_tenant(tx)
    checked = with_identity(tx)
    assert len(checked) >= 30
    for function in checked:
        others = [
            {"p_agent_id": "NULL", "p_org_id": f"'{OTHER_ORG}'"},
            {"p_agent_id": f"'{OTHER_AGENT}'", "p_org_id": "NULL"},
            {"p_agent_id": f"'{AGENT}'", "p_org_id": f"'{OTHER_ORG}'"},
            {"p_agent_id": f"'{OTHER_AGENT}'", "p_org_id": f"'{ORG}'"},
            {"p_agent_id": f"'{AGENT}'", "p_org_id": "'*'"},
            {"p_agent_id": "'%'", "p_org_id": f"'{ORG}'"},
            {"p_agent_id": "''", "p_org_id": f"'{ORG}'"},
        ]
        if function.name == "setting":
            others = [{"p_org_id": f"'{OTHER_ORG}'"}, {"p_org_id": "'*'"}, {"p_org_id": "''"}]
        free = [p for p in function.parameters if p not in ("p_agent_id", "p_org_id")]
        bad = [{p: worse} for p in free for worse in BAD[function.parameters[p]]]
        all_bad = [{p: BAD[function.parameters[p]][-1] for p in free}]
        for given in others:
            query = call(function, **given)
            assert outcome_as(tx, role, query) == "42501", query
        for wrong in bad + all_bad:
            query = call(function, **others[0], **wrong)
            assert outcome_as(tx, role, query) == "42501", query


def test_an_unbound_tenant_is_refused_whatever_else_is_wrong(tx: Connection) -> None:
    """Also by functions without an identity, and without anything to do."""
    role = grant(tx, new_role(tx), "tenant")
    for function in functions(tx):
        if not function.public or function.name in PURE:
            continue
        queries = [call(function)]
        for parameter, kind in function.parameters.items():
            queries += [call(function, **{parameter: worse}) for worse in BAD[kind]]
        for query in queries:
            assert outcome_as(tx, role, query) == "42501", query


def test_naming_the_binding_changes_nothing(tx: Connection) -> None:
    """NULL, and the names of the binding, give the same answers."""
    remember_plan(tx)
    memory_id = remember(tx)
    role = new_tenant(tx)
    for query in (
        f"SELECT id FROM mnemo.get_memories(ARRAY['{memory_id}'::uuid] {{}})",
        "SELECT id, similarity FROM mnemo.recall_plan('how do I reset the password' {})",
        "SELECT id FROM mnemo.recall(NULL {})",
    ):
        unnamed = rows_as(tx, role, query.format(""))
        named_too = rows_as(
            tx, role, query.format(f", p_agent_id => '{AGENT}', p_org_id => '{ORG}'")
        )
        assert unnamed == named_too != []


# remember_plans


GOOD = {"query": "what now", "steps": ["s"], "chunk_ids": [], "outcome_score": 1}
OUTSIDE = [
    {"org_id": OTHER_ORG},
    {"agent_id": OTHER_AGENT},
    {"agent_id": OTHER_AGENT, "org_id": OTHER_ORG},
    {"org_id": "*"},
    {"org_id": ""},
    {"agent_id": "%"},
    {"scope": "global"},
]
WORSE = [
    {},
    {"query": None},
    {"query": " "},
    {"steps": 5},
    {"steps": [None]},
    {"chunk_ids": None},
    {"outcome_score": "x"},
    {"outcome_score": None},
    {"scope": "no such scope"},
    {"ttl": "-1 day"},
    {"ttl": "soon"},
    {"no such key": 1},
    {"tags": ["__experience_plan__"]},
]


@pytest.mark.parametrize("mode", ["on", "off"])
@pytest.mark.parametrize("outside", OUTSIDE)
def test_elements_outside_the_binding_are_refused(
    tx: Connection, outside: dict[str, object], mode: str
) -> None:
    """42501 in both ways of treating errors, whatever else is wrong with the element."""
    tx.execute("SELECT mnemo.configure('experience_memory', %s)", (mode,))
    role = new_tenant(tx)
    query = "SELECT * FROM mnemo.remember_plans(%s, %s)"
    for worse in WORSE:
        if "scope" in outside and "scope" in worse:
            continue
        batch = json.dumps([GOOD | outside | worse])
        assert outcome_as(tx, role, query, batch, "abort") == "42501", worse
        with acting(tx, role):
            ((position, plan_id, stored, status, error),) = rows(tx, query, batch, "skip")
        assert (position, plan_id, stored, status) == (1, None, False, "failed")
        assert error.startswith("42501: "), (worse, error)


def test_elements_inside_the_binding_are_stored_beside_others(tx: Connection) -> None:
    """skip loses none of its own and lets none of the others in; abort writes nothing."""
    role = new_tenant(tx)
    batch = json.dumps([GOOD, GOOD | {"org_id": OTHER_ORG}, GOOD | {"org_id": ORG}, GOOD | {
        "agent_id": OTHER_AGENT}, GOOD | {"agent_id": AGENT, "org_id": ORG}])  # fmt: skip
    assert outcome_as(tx, role, "SELECT * FROM mnemo.remember_plans(%s)", batch) == "42501"
    with acting(tx, role):
        answers = rows(tx, "SELECT * FROM mnemo.remember_plans(%s, 'skip')", batch)
    assert [answer[3] for answer in answers] == ["stored", "failed", "merged", "failed", "merged"]
    assert rows(
        tx,
        "SELECT DISTINCT org_id, origin_org_id, agent_id FROM mnemo.memory WHERE id = ANY (%s)",
        [answer[1] for answer in answers],
    ) == [(ORG, ORG, AGENT)]
    assert value(tx, "SELECT count(*) FROM mnemo.memory WHERE org_id = %s", OTHER_ORG) == 0


# Scope global


def test_tenants_do_not_write_scope_global(tx: Connection) -> None:
    """Applications do. 42501 comes before every other argument."""
    role = new_tenant(tx)
    application = grant(tx, new_role(tx), "application")
    for query, may in (
        ("SELECT * FROM mnemo.remember('x', 'global')", "ok"),
        ("SELECT * FROM mnemo.remember(NULL, 'global')", "22023"),
        ("SELECT * FROM mnemo.remember('x', 'global', p_importance => 'NaN')", "22023"),
        ("SELECT * FROM mnemo.remember_plan('x', '{s}', '{}', 1, p_scope => 'global')", "ok"),
        ("SELECT * FROM mnemo.remember_plan('x', '{s}', '{}', 0, p_scope => 'global')", "ok"),
        ("SELECT * FROM mnemo.remember_plan(NULL, NULL, NULL, NULL, p_scope => 'global')", "22023"),
    ):
        assert outcome_as(tx, role, query) == "42501", query
        assert outcome_as(tx, application, query) == may, query
    tx.execute("SELECT mnemo.configure('experience_memory', 'off')")
    assert outcome_as(tx, role, query) == "42501"


def test_tenants_do_not_change_global_records_of_their_agent(tx: Connection) -> None:
    """They read them like everybody."""
    role = new_tenant(tx)
    for record in (
        remember(tx, scope="global"), remember_plan(tx, scope="global"),
        remember(tx, scope="global", agent_id=OTHER_AGENT, org_id=OTHER_ORG),
    ):  # fmt: skip
        assert len(rows_as(tx, role, f"SELECT FROM mnemo.get_memories('{{{record}}}')")) == 1
        for query in (
            f"SELECT * FROM mnemo.forget('{{{record}}}')",
            f"SELECT * FROM mnemo.share('{record}', '{{x}}')",
            f"SELECT * FROM mnemo.unshare('{record}', '{{x}}')",
        ):
            assert outcome_as(tx, role, query) in ("42501", "22023"), query
        assert outcome_as(tx, role, f"SELECT * FROM mnemo.forget('{{{record}}}')") == "42501"


# Other organisations' ids and settings


@pytest.fixture
def foreign_ids(tx: Connection) -> list[UUID]:
    """Records that the tenant of (acme, bot) must not learn anything about."""
    ids = []
    for make in (remember, remember_plan):
        for scope in ("private", "shared", "public"):
            ids.append(make(tx, scope=scope, agent_id=OTHER_AGENT, org_id=OTHER_ORG))
            ids.append(make(tx, scope=scope, agent_id=AGENT, org_id=OTHER_ORG))
        ids.append(make(tx, agent_id=OTHER_AGENT, org_id=ORG))
        deleted = make(tx)
        tx.execute("SELECT mnemo.forget(ARRAY[%s], p_agent_id => 'bot', p_org_id => 'acme')",
                   (deleted,))  # fmt: skip
        ids.append(deleted)
    return ids


def test_foreign_ids_are_answered_like_unknown_ones(
    tx: Connection, foreign_ids: list[UUID]
) -> None:
    """Unknown, foreign, invisible and deleted records: the same code, words and hint, the given id
    apart."""
    role = new_tenant(tx)
    unknown = UUID("01980000-0000-7000-8000-000000000000")
    queries = [
        "SELECT * FROM mnemo.get_plan({})",
        "SELECT * FROM mnemo.forget(ARRAY[{}])",
        "SELECT * FROM mnemo.share({}, ARRAY['bot'])",
        "SELECT * FROM mnemo.share({}, ARRAY['x'], 'share')",
        "SELECT * FROM mnemo.unshare({}, ARRAY['boss'])",
        "SELECT mnemo.check_permission({}, 'read')",
        "SELECT mnemo.check_permission({}, 'share')",
        "SELECT * FROM mnemo.get_memories(ARRAY[{}])",
    ]

    def answer(query: str, record: UUID) -> object:
        shown = f"'{record}'::uuid"
        with acting(tx, role):
            try:
                with tx.transaction():
                    return rows(tx, query.format(shown))
            except psycopg.Error as error:
                told = (error.sqlstate, error.diag.message_primary, error.diag.message_detail,
                        error.diag.message_hint, error.diag.context)  # fmt: skip
                return str(told).replace(str(record), "ID")

    for query in queries:
        # CONTEXT has a line more in the first run, before plans are cached.
        for _ in range(3):
            expected = answer(query, unknown)
        assert "MN001" in str(expected) or expected in ([], [(False,)]), query
        for record in foreign_ids:
            assert answer(query, record) == expected, query


def test_foreign_ids_do_not_slip_in_beside_own_ones(
    tx: Connection, foreign_ids: list[UUID]
) -> None:
    """get_memories leaves them out, forget does nothing at all."""
    role, own = new_tenant(tx), remember(tx)
    mixed = [foreign_ids[0], own, *foreign_ids[1:]]
    with acting(tx, role):
        assert rows(tx, "SELECT id FROM mnemo.get_memories(%s)", mixed) == [(own,)]
        assert refusal(tx, "SELECT * FROM mnemo.forget(%s)", mixed).sqlstate == "MN001"
        assert rows(tx, "SELECT id FROM mnemo.get_memories(%s)", [own]) == [(own,)]


def test_nothing_of_others_is_listed_found_or_counted(
    tx: Connection, foreign_ids: list[UUID]
) -> None:
    role = new_tenant(tx)
    for query in (
        "SELECT * FROM mnemo.list_plans(1000)",
        "SELECT * FROM mnemo.recall('the secret of the house', 1000)",
        "SELECT * FROM mnemo.recall(NULL, 1000, 'exact', p_scope => 'public')",
        "SELECT * FROM mnemo.recall_plans('how do I reset the password', p_limit => 1000)",
    ):
        assert rows_as(tx, role, query) == [], query
    assert rows_as(
        tx, role, "SELECT hit, reason, candidates_considered, near_miss"
        " FROM mnemo.recall_plan('how do I reset the password')",
    ) == [(False, "none_similar", 0, None)]  # fmt: skip


def test_tenants_read_the_settings_of_their_organisation_only(tx: Connection) -> None:
    """And change none; the words of the database come through where nothing overrides them."""
    tx.execute("SELECT mnemo.configure('similarity_threshold', '0.8', 'acme')")
    tx.execute("SELECT mnemo.configure('similarity_threshold', '0.9', 'evil')")
    tx.execute("SELECT mnemo.configure('success_threshold', '0.55')")
    role = new_tenant(tx)
    get = "SELECT mnemo.setting('similarity_threshold' {})"
    assert rows_as(tx, role, get.format("")) == [("0.8",)]
    assert rows_as(tx, role, get.format(", 'acme'")) == [("0.8",)]
    assert rows_as(tx, role, "SELECT mnemo.setting('success_threshold')") == [("0.55",)]
    for org in ("evil", "default", "*", "", "acme-corp"):
        assert outcome_as(tx, role, get.format(f", '{org}'")) == "42501"
        assert outcome_as(tx, role, f"SELECT mnemo.setting(NULL, '{org}')") == "42501"
    for query in (
        "SELECT mnemo.configure('similarity_threshold', '0.5', 'acme')",
        "SELECT mnemo.configure('similarity_threshold', NULL)",
    ):
        assert outcome_as(tx, role, query) == "42501"


def test_settings_of_a_tenant_with_several_agents(tx: Connection) -> None:
    """A setting has no agent: the organisation is enough."""
    role = new_tenant(tx, ("acme", "bot"), ("acme", "boss"))
    setting = "SELECT mnemo.setting('success_threshold' {})"
    assert rows_as(tx, role, setting.format("")) == [("0.5",)]
    assert rows_as(tx, role, setting.format(", 'acme'")) == [("0.5",)]
    both = new_tenant(tx, ("acme", "bot"), ("evil", "boss"))
    assert outcome_as(tx, both, setting.format("")) == "22023"
    assert rows_as(tx, both, setting.format(", 'evil'")) == [("0.5",)]


# bind_role and unbind_role


def test_binding_twice_is_one_binding(tx: Connection) -> None:
    role = new_tenant(tx, ("acme", "bot"), ("acme", "bot"), ("acme", None), ("acme", None))
    assert value(tx, "SELECT count(*) FROM mnemo.role_binding WHERE role_name = %s", role) == 2


def test_unbinding_takes_back_exactly_one_binding_at_once(tx: Connection) -> None:
    role = new_tenant(tx, ("acme", "bot"), ("acme", None), ("evil", "boss"))
    tx.execute("SELECT mnemo.unbind_role(%s, 'acme')", (role,))
    assert acts_as(tx, role, "whoever", "acme") == "42501"
    assert acts_as(tx, role, None, "acme") == ("acme", "bot")
    tx.execute("SELECT mnemo.unbind_role(%s, 'acme', 'bot')", (role,))
    assert acts_as(tx, role, None, None) == ("evil", "boss")
    tx.execute("SELECT mnemo.unbind_role(%s, 'evil', 'boss')", (role,))
    assert acts_as(tx, role, None, None) == "42501"


@pytest.mark.parametrize(
    ("org_id", "agent_id"),
    [("acme", None), ("acme", "boss"), ("evil", "bot"), ("acme-corp", "bot")],
)
def test_unbinding_what_is_not_bound_is_an_error(
    tx: Connection, org_id: str, agent_id: str | None
) -> None:
    role = new_tenant(tx)
    query = "SELECT mnemo.unbind_role(%s, %s, %s)"
    assert refusal(tx, query, role, org_id, agent_id).sqlstate == "22023"
    assert acts_as(tx, role, None, None) == ("acme", "bot")


def test_a_call_that_is_running_does_not_keep_a_binding(tx: Connection) -> None:
    """Prepared statements and cached plans look again."""
    role = new_tenant(tx)
    tx.execute("PREPARE mine AS SELECT * FROM mnemo.list_plans()")
    for _ in range(6):
        assert outcome_as(tx, role, "EXECUTE mine") == "ok"
    tx.execute("SELECT mnemo.unbind_role(%s, 'acme', 'bot')", (role,))
    assert outcome_as(tx, role, "EXECUTE mine") == "42501"
    tx.execute("DEALLOCATE mine")


def test_acting_for_a_name_needs_no_such_agent_before(tx: Connection) -> None:
    """Agents and organisations are names; a tenant's own may be new."""
    role = new_tenant(tx, ("brand/new:org", "who@else.example"))
    assert acts_as(tx, role, None, None) == ("brand/new:org", "who@else.example")
    arguments = named({"p_agent_id": "'who@else.example'", "p_org_id": "'brand/new:org'"})
    assert outcome_as(tx, role, f"SELECT * FROM mnemo.list_plans({arguments})") == "ok"
