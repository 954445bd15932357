"""The pages agree with each other and with the database."""

from __future__ import annotations

import itertools
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from typer.main import get_command

from mnemo_pg.cli.app import app
from mnemo_pg.errors import CODES, SERVER_CODES, NotInstalledError
from tests.support.server import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
TEXTS = {path.name: path.read_text("utf-8") for path in PAGES}
USER_PAGES = {name: text for name, text in TEXTS.items() if name != "CHANGELOG.md"}
PARTS = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "sql/parts").iterdir()))

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_PUBLIC = """
    SELECT p.proname
      FROM pg_proc AS p
      JOIN pg_namespace AS n ON n.oid = p.pronamespace
     WHERE n.nspname = 'mnemo' AND left(p.proname, 1) <> '_'
"""
_RELATIONS = """
    SELECT c.relname
      FROM pg_class AS c
      JOIN pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = 'mnemo' AND c.relkind IN ('r', 'v')
"""


def names(db: psycopg.Connection, query: str) -> set[str]:
    """The first column of a query."""
    return {name for (name,) in db.execute(query)}  # type: ignore[arg-type]


def section(page: str, title: str) -> str:
    """The text under a heading of the second level."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", TEXTS[page], re.M | re.S)
    assert found is not None, f"{page} has no section {title}"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of the first table of a text, without its head."""
    lines = [line for line in _FENCED.sub("", text).splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    ends = [at for at, row in enumerate(cells) if set("".join(row)) == {"-"}]
    end = ends[1] - 1 if len(ends) > 1 else len(cells)
    return cells[ends[0] + 1 : end]


def tracked() -> Iterator[tuple[str, str]]:
    """Every file of the repository: its path and its text."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if name and path.is_file():
            yield name, path.read_text("utf-8", errors="replace")


# The pages among themselves


@pytest.mark.parametrize(("page", "most"), [("README.md", 210), ("CONTRIBUTING.md", 120)])
def test_a_page_is_short(page: str, most: int) -> None:
    """Nobody reads long ones."""
    assert len(TEXTS[page].splitlines()) <= most


def anchors(text: str) -> set[str]:
    """What the headings of a page can be reached by."""
    heads = re.findall(r"^#+ (.+)$", _FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """To a file of the repository, and to a heading that it has."""
    for link in re.findall(r"\]\(([^)]+)\)", _FENCED.sub("", path.read_text("utf-8"))):
        target, _, anchor = link.partition("#")
        file = path.parent / target if target else path
        assert file.is_file(), f"{path.name}: {link}"
        if anchor:
            assert anchor in anchors(file.read_text("utf-8")), f"{path.name}: {link}"


def test_every_page_is_reached_from_the_readme() -> None:
    """A page that nothing links to is not there."""
    linked = set(re.findall(r"\]\(([^)#]+)\)", TEXTS["README.md"]))
    pages = {str(path.relative_to(ROOT)) for path in PAGES} - {"README.md"}
    assert pages <= linked


@pytest.mark.parametrize("page", USER_PAGES)
def test_no_page_promises(page: str) -> None:
    """Pages say what is there, not what somebody means to do."""
    promises = r"for now|\bTODO\b|roadmap|\bsoon\b|upcoming|not yet|planned|will be added|in future"
    assert re.findall(promises, USER_PAGES[page], re.IGNORECASE) == []


def test_files_name_no_machine() -> None:
    """No path of somebody's machine, no package registry, no host but those of standards."""
    paths = ["/" + "work/", "/" + "root/", "/" + "home/", "/" + "tmp/mnemo/"]
    registries = ["py" + "pi", "python" + "hosted", "index" + "-url", "artifact" + "ory"]
    known = {"www.apache.org", "www.unicode.org", "127.0.0.1", "localhost"}
    found = []
    for name, text in tracked():
        found += [f"{name}: {word}" for word in paths + registries if word in text.lower()]
        hosts = set(re.findall(r"https?://([^/\s:\"'`<>)]+)", text))
        found += [f"{name}: {host}" for host in hosts - known]
    assert found == []


# The pages and the programs


def test_the_readme_names_the_versions_of_the_project() -> None:
    """What pyproject.toml, the control file and the SQL demand."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    least = project["requires-python"].removeprefix(">=")
    versions = dict(rows(section("README.md", "Versions")))
    (driver,) = project["dependencies"]
    driver = driver.removeprefix("psycopg[pool]>=")
    assert versions["Python"] == f"{least} or newer, psycopg {driver} or newer"
    assert versions["PostgreSQL"].startswith("15 or newer")
    assert "p_version_num >= 150000" in PARTS
    for script in re.findall(r"sql/dist/[\w.-]+\.sql", "".join(TEXTS.values())):
        assert script == f"sql/dist/mnemo_pg--{project['version']}.sql"
    assert f"## {project['version']}\n" in TEXTS["CHANGELOG.md"]


def test_commands_for_a_shell_exist() -> None:
    """Targets of make, extras of the package."""
    text = "".join(TEXTS.values())
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    calls = re.findall(r"^make ([a-z ]+?)\s*(?:#|$)|`make ([a-z ]+)`", text, re.MULTILINE)
    named = {word for call in calls for word in " ".join(call).split()}
    assert named
    assert named <= targets
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {name for names in re.findall(r"'\.\[([\w,]+)\]'", text) for name in names.split(",")}
    assert extras
    assert extras <= set(project["optional-dependencies"])


def test_every_command_is_mentioned_and_every_mentioned_one_exists() -> None:
    """The subcommands of mnemo-pg."""
    commands = set(get_command(app).commands)
    text = "".join(USER_PAGES.values())
    mentioned = set(re.findall(r"mnemo-pg (?:--dsn \S+ )?([a-z][a-z-]+)", text))
    assert mentioned & commands == commands
    assert mentioned - commands == {"uses"} & mentioned


def test_every_public_function_is_mentioned(db: psycopg.Connection) -> None:
    """In a page for users, by its name."""
    text = "".join(USER_PAGES.values())
    assert {name for name in names(db, _PUBLIC) if not re.search(rf"\b{name}\b", text)} == set()


def test_every_mentioned_function_exists(db: psycopg.Connection) -> None:
    """Whatever a page calls by `mnemo.name` is a function, table or view."""
    known = names(db, _PUBLIC) | names(db, _RELATIONS)
    known |= names(db, _PUBLIC.replace("<>", "="))
    mentioned = set(re.findall(r"\bmnemo\.(\w+)", "".join(TEXTS.values())))
    assert mentioned - known == set()


def test_every_difference_has_its_section() -> None:
    """The table on top of differences.md links to each of them, in their order."""
    text = TEXTS["differences.md"]
    linked = re.findall(r"^\| \[[^\]]+\]\(#([^)]+)\)", text, re.MULTILINE)
    heads = [re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-")
             for head in re.findall(r"^## (.+)$", text, re.MULTILINE)]  # fmt: skip
    rest = ["encryption-at-rest"]
    assert sorted(linked) == sorted(set(heads) - set(rest))
    for head in re.findall(r"^## (.+)$", text, re.MULTILINE)[: -len(rest)]:
        told = section("differences.md", head)
        assert "*Reference:*" in told, head
        assert "*mnemo_pg:*" in told, head


# errors.md, access.md and the database


def test_codes() -> None:
    """Each SQLSTATE of errors.md, with its exception; each that the SQL raises."""
    table = {
        code: python
        for codes, python, _ in rows(section("errors.md", "Codes"))
        for code in codes.split(", ")
    }
    raised = set(re.findall(r"'(\d{5}|\d[A-Z]\d{3}|\d\d[A-Z]\d\d|MN\d{3})'", PARTS))
    assert {"22023", "42501", "54000", "55000", "MN001", "0A000"} <= raised
    servers_own = {"3F000", "42883", "42P01", "22021", "22P05"}
    assert raised | {"MN002"} == set(table) - servers_own
    for code, kind in CODES.items():
        assert table[code] == f"`{kind.__name__}`"
    assert table["3F000"] == f"`{NotInstalledError.__name__}`"
    for code in raised - set(CODES):
        kind = SERVER_CODES.get(code)
        assert table[code] == (f"`{kind.__name__}`" if kind else "psycopg's"), code


def test_codes_of_the_server() -> None:
    """Each SQLSTATE that may happen to any call is in connections.md, with its exception."""
    table: dict[str, str] = {}
    for codes, python, *_ in rows(section("connections.md", "Which error, and what to do")):
        table |= dict.fromkeys(re.findall(r"\b[0-9A-Z]{5}\b", codes), python)
    assert table == {code: f"`{kind.__name__}`" for code, kind in SERVER_CODES.items()}


def test_settings(db: psycopg.Connection) -> None:
    """Name, default, values, and whether an organisation may have its own."""
    table = {row[0].strip("`"): row[1:] for row in rows(section("errors.md", "Settings"))}
    known = re.search(r"FUNCTION mnemo\._setting_default\(.*?END;", PARTS, re.DOTALL)
    assert known is not None
    assert list(table) == re.findall(r"WHEN '(\w+)'", known[0])
    for name, (default, _, own) in table.items():
        shown = db.execute("SELECT mnemo._setting_default(%s)", (name,)).fetchone()
        assert shown == (default.strip("`"),), name
        try:
            db.execute("SELECT mnemo.configure(%s, %s, 'acme')", (name, default.strip("`")))
        except psycopg.errors.InvalidParameterValue:
            assert own == "no", name
        else:
            assert own == "yes", name


GUARDED = rows(section("plans.md", "Guard"))


@pytest.mark.parametrize("row", GUARDED, ids=lambda row: row[3])
def test_the_guard_refuses_the_look_alikes_of_the_table(
    db: psycopg.Connection, row: list[str]
) -> None:
    """Each in the class that the table says, and with every guard that compares that class."""
    kind, _, remembered, asked = row
    db.execute("SELECT mnemo.remember_plan(%s, '{}', '{}', 1)", (remembered,))
    for guard, refuses in (("strict", True), ("meaning", kind == "meaning"), ("off", False)):
        for question, expected in ((asked, refuses), (remembered, False)):
            found = db.execute(
                "SELECT reason FROM mnemo.recall_plan(%s, p_guard => %s,"
                " p_similarity_threshold => 0.5)",
                (question, guard),
            ).fetchone()
            assert found is not None
            assert (found[0] == "guarded") == expected, (guard, question)


def test_every_class_has_look_alikes() -> None:
    """And the two classes are those of the database."""
    assert {row[0] for row in GUARDED} == {"meaning", "values"}


def test_labels(db: psycopg.Connection) -> None:
    """Every closed set, its labels in their order."""
    known = re.search(r"FUNCTION mnemo\._labels\(.*?\nEND;", PARTS, re.DOTALL)
    assert known is not None
    table = {row[0].strip("`"): row[1].split(", ") for row in rows(section("errors.md", "Labels"))}
    assert set(table) == set(re.findall(r"WHEN '(\w+)'", known[0]))
    for name, labels in table.items():
        assert db.execute("SELECT mnemo._labels(%s)", (name,)).fetchone() == (labels,), name


def _words(count: int) -> str:
    # Short ones, to stay below the limit of characters.
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    made = itertools.islice(itertools.product(letters, repeat=3), count)
    return " ".join("".join(word) for word in made)


def _plan(db: psycopg.Connection, **more: object) -> None:
    given = {"query": "q", "steps": ["s"], "chunk_ids": [], "outcome_score": 1.0, **more}
    call = ", ".join(f"p_{name} => %({name})s" for name in given)
    db.execute(f"SELECT mnemo.remember_plan({call})", given)  # type: ignore[arg-type]


def _memory(db: psycopg.Connection, **more: object) -> None:
    given = {"content": "c", **more}
    call = ", ".join(f"p_{name} => %({name})s" for name in given)
    db.execute(f"SELECT mnemo.remember({call})", given)  # type: ignore[arg-type]


def _nested(levels: int) -> Jsonb:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return Jsonb(value)


def _payload(db: psycopg.Connection, size: int) -> None:
    bare = {"query": "query", "signature_tokens": ["query"], "steps": [""], "details": None,
            "chunk_ids": [], "outcome_score": 1, "context": None}  # fmt: skip
    row = db.execute("SELECT octet_length(%s::text)", (Jsonb(bare),)).fetchone()
    assert row is not None
    _plan(db, query="query", steps=["x" * (size - row[0])])


def _batch(db: psycopg.Connection, size: int) -> None:
    db.execute("SELECT mnemo.remember_plans(%s, 'skip')", (Jsonb([None] * size),))


def _ids(db: psycopg.Connection, size: int) -> None:
    db.execute("SELECT * FROM mnemo.get_memories(array_fill(mnemo._new_id(), ARRAY[%s]))", (size,))


def _agents(db: psycopg.Connection, size: int) -> None:
    db.execute("SELECT mnemo.share((SELECT (mnemo.remember('c', p_agent_id => 'o')).id),"
               " ARRAY(SELECT 'a' || i FROM generate_series(1, %s) AS i), p_agent_id => 'o')",
               (size,))  # fmt: skip


def _retrieval(db: psycopg.Connection, **fields: object) -> None:
    plan = Jsonb({"turn_id": 0, "generation": 0, **fields})
    db.execute("SELECT mnemo.normalize_retrieval_plan(%s)", [plan])


def _text(name: str) -> Callable[[psycopg.Connection, int], None]:
    return lambda db, size: _memory(db, **{name: "x" * size})


def _note(db: psycopg.Connection, note: str) -> None:
    row = db.execute("SELECT id FROM mnemo.remember('Ignore all previous instructions')").fetchone()
    db.execute("SELECT mnemo.release(%s, %s)", [*(row or ()), note])


PROBES: dict[str, Callable[[psycopg.Connection, int], None]] = {
    "question, characters": lambda db, n: _plan(db, query="x" * n),
    "question, signature tokens": lambda db, n: _plan(db, query=_words(n)),
    "steps of a plan": lambda db, n: _plan(db, steps=["s"] * n),
    "chunk ids of a plan": lambda db, n: _plan(db, chunk_ids=["c"] * n),
    "plan as JSON, bytes": _payload,
    "content of a memory, bytes": lambda db, n: _memory(db, content="x" * n),
    "metadata as text, bytes": lambda db, n: _memory(db, metadata=Jsonb({"a": "x" * (n - 9)})),
    "nesting of JSON, levels": lambda db, n: _memory(db, metadata=_nested(n)),
    "tags": lambda db, n: _memory(db, tags=[str(i) for i in range(n)]),
    "a tag, characters": lambda db, n: _memory(db, tags=["x" * n]),
    "entities": lambda db, n: _memory(db, entities=[str(i) for i in range(n)]),
    "aliases": lambda db, n: _memory(db, aliases=[str(i) for i in range(n)]),
    "an entity, characters": lambda db, n: _memory(db, entities=["x" * n]),
    "context, characters": lambda db, n: _plan(db, context="x" * n),
    "idempotency key, characters": _text("idempotency_key"),
    "source id, characters": _text("source_id"),
    "thread id, characters": _text("thread_id"),
    "subject, characters": _text("subject"),
    "predicate, characters": _text("predicate"),
    "location, characters": _text("location"),
    "created by, characters": _text("created_by"),
    "plans of a batch": _batch,
    "memories of a batch": lambda db, n: db.execute(
        "SELECT mnemo.remember_many(jsonb_agg(i), 'skip') FROM generate_series(1, %s) AS i", [n]
    ),
    "pattern of a rule, characters": lambda db, n: db.execute(
        "SELECT mnemo.set_poisoning_rule('x', repeat('x', %s), 1)", [n]
    ),
    "rules set, for the database and for each organisation": lambda db, n: db.execute(
        "SELECT mnemo.set_poisoning_rule('x' || i, ' x ', 1) FROM generate_series(1, %s) AS i", [n]
    ),
    "note on a release or purge, characters": lambda db, n: _note(db, "x" * n),
    "ids of a call": _ids,
    "agents of a call": _agents,
    "retrieval plan as JSON, bytes": lambda db, n: _retrieval(db, x="x" * (n - 40)),
    "elements of a list of a retrieval plan": lambda db, n: _retrieval(db, topics=["x"] * n),
    "topic, query or warning of a retrieval plan, characters": lambda db, n: _retrieval(
        db, topics=["x" * n]
    ),
    "other text of a retrieval plan, characters": lambda db, n: _retrieval(
        db, subject_hint="x" * n
    ),
    "text to plan a retrieval for, characters": lambda db, n: db.execute(
        "SELECT mnemo.plan_retrieval(repeat('x', %s))", [n]
    ),
    "transcript, bytes": lambda db, n: db.execute(
        "SELECT mnemo.skip_retrieval_plan(repeat('x', %s), 0, 0)", [n]
    ),
}
LIMITS = {row[0]: row[1:] for row in rows(section("errors.md", "Limits"))}


def test_every_limit_is_tried() -> None:
    """A limit of the table without a call that reaches it would be a guess."""
    assert set(LIMITS) == set(PROBES)


@pytest.mark.parametrize("what", PROBES)
def test_limits(db: psycopg.Connection, what: str) -> None:
    """What the table allows is taken, one more is 54000, naming the limit and the parameter."""
    most = int(LIMITS[what][0].replace(",", ""))
    PROBES[what](db, most)
    with pytest.raises(psycopg.errors.ProgramLimitExceeded) as caught:
        PROBES[what](db, most + 1)
    assert str(most) in str(caught.value.diag.message_primary)
    assert LIMITS[what][1].strip("`") in str(caught.value.diag.message_detail)


def test_levels(db: psycopg.Connection) -> None:
    """The row of administration in access.md names the functions that only administrators call."""
    table = {row[0]: row[1:] for row in rows(section("access.md", "Levels"))}
    (shown,) = [cells for cells in table if "`grant_access`" in cells]
    known = db.execute("SELECT mnemo._admin_functions()").fetchone()
    assert known == (re.findall(r"`(\w+)`", shown),)
    assert table[shown] == ["no", "no", "yes"]


def test_obstacles_to_a_tenant() -> None:
    """access.md names the predefined roles and the privileges that forbid level tenant."""
    found = re.search(r"FUNCTION mnemo\._tenant_obstacle\(.*?\nEND", PARTS, re.DOTALL)
    assert found is not None
    told = section("access.md", "What is refused, and why")
    for role in set(re.findall(r"'(pg_\w+)'(?!::)", found[0])):
        assert f"`{role}`" in told, role
    for privilege in set(re.findall(r"has_\w+_privilege\([\w., ]+'([A-Z]+)'\)", found[0])):
        assert privilege in told, privilege
