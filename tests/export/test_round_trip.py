"""What is stored comes back as it was: every table, every column, every byte."""

from __future__ import annotations

import io
import json
import random
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, LiteralString, cast

import psycopg
import pytest

from mnemo_pg import AsyncMnemo, Mnemo
from mnemo_pg.atransfer import export_lines as export_lines_async
from mnemo_pg.atransfer import import_lines as import_lines_async
from mnemo_pg.importer import LineError
from mnemo_pg.transfer import TransferSummary, export_lines, import_lines
from tests.export.conftest import stored
from tests.export.rows import fill
from tests.support.calls import contents, rows, tables
from tests.support.server import Server

# Tables that an export leaves out, because import derives their rows from the others.
DERIVED = {
    "plan_fare", "plan_identity", "plan_signature", "term_vector", "term_posting", "term_total",
    "term_frequency", "term_change",
}  # fmt: skip
# Columns that hold one value only, with the reason.
CONSTANT = {
    "chain_head.anchor_seq": "one retention a chain",
    "vector_model.rules_version": "one version of the rules",
    "settings.updated_at": "set in one transaction",
    "plan_report.folded": "every report is summed up",
}


def bytes_of(lines: list[str]) -> io.BytesIO:
    """A file of these lines."""
    return io.BytesIO("".join(f"{line}\n" for line in lines).encode())


def brought(dsn: str, lines: list[str], **options: Any) -> tuple[TransferSummary, list[LineError]]:
    """Import lines; what became of them, and the bad ones."""
    bad: list[LineError] = []
    with Mnemo(dsn) as m:
        return import_lines(m, bytes_of(lines), bad.append, **options), bad


def exported(dsn: str, **options: Any) -> list[str]:
    """The lines of an export."""
    with Mnemo(dsn) as m:
        return list(export_lines(m, **options))


@pytest.fixture(scope="module")
def full(server: Server, template: str) -> Any:
    """A database with rows of every sort."""
    dsn = server.create_database("full", template)
    with psycopg.connect(dsn, autocommit=True) as conn:
        fill(conn, random.Random(20), 45)
        yield conn
    server.drop_database("full")


def columns(conn: psycopg.Connection[Any]) -> list[tuple[str, str]]:
    """Every column of every table."""
    return rows_of(
        conn,
        "SELECT c.relname, a.attname FROM pg_class AS c JOIN pg_attribute AS a"
        " ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind IN ('r', 'p')",
    )


def rows_of(conn: psycopg.Connection[Any], query: str, *given: Any) -> list[Any]:
    """The rows of a query of a test."""
    return conn.execute(cast(LiteralString, query), given or None).fetchall()


def kept(conn: psycopg.Connection[Any]) -> set[str]:
    """The tables that an export holds."""
    return {name for (name,) in rows_of(conn, "SELECT table_name FROM mnemo._export_sections()")}


def test_every_table_is_exported_or_derived(full: psycopg.Connection[Any]) -> None:
    """A new table has to be named in _export_sections or here."""
    # Tables of models are exported as one.
    stored_tables = {name for name in tables(full) if not name.startswith("vectors_")}
    assert kept(full) - {"embedding"} | DERIVED == stored_tables
    assert not kept(full) & DERIVED


def test_the_rows_of_the_test_fill_every_column(full: psycopg.Connection[Any]) -> None:
    """A new column needs values in rows.py, or the round trip would prove nothing about it."""
    poor = {
        f"{table}.{column}"
        for table, column in columns(full)
        if table in kept(full) - {"role_level", "role_binding"} - without_vectors(full)
        for ((distinct,),) in [
            rows_of(full, f'SELECT count(DISTINCT "{column}"::text) FROM mnemo."{table}"')
        ]
        if distinct < 2
    }
    assert poor - set(CONSTANT) == set()


def without_vectors(conn: psycopg.Connection[Any]) -> set[str]:
    """What has no rows on a server without pgvector."""
    extension = "SELECT FROM pg_extension WHERE extname = 'vector'"
    return set() if rows_of(conn, extension) else {"vector_model"}


def test_everything_comes_back(full: psycopg.Connection[Any], bare: Callable[[], str]) -> None:
    """Also what is derived; and the next export gives the same bytes."""
    lines = exported(full.info.dsn)
    target = bare()
    summary, bad = brought(target, lines)
    assert bad == []
    assert (summary.complete, summary.lines, summary.present) == (True, len(lines), 0)
    assert summary.imported == len(lines) - 2
    with psycopg.connect(target) as conn:
        assert stored(conn) == stored(full)
    assert exported(target) == lines
    again, bad = brought(target, lines)
    assert bad == []
    assert (again.imported, again.present) == (0, summary.imported)
    with psycopg.connect(target) as conn:
        assert stored(conn) == stored(full)


async def test_the_asynchronous_side_does_the_same(
    full: psycopg.Connection[Any], bare: Callable[[], str]
) -> None:
    target = bare()
    async with AsyncMnemo(full.info.dsn) as m:
        lines = [line async for line in export_lines_async(m)]
    assert lines == exported(full.info.dsn)
    bad: list[LineError] = []
    async with AsyncMnemo(target) as m:
        summary = await import_lines_async(m, bytes_of(lines), bad.append, abort=True)
    assert summary.imported == len(lines) - 2
    assert bad == []
    assert exported(target) == lines


def test_pages_of_any_size_are_the_same_export(full: psycopg.Connection[Any]) -> None:
    whole = [r["record"] for r in rows(full, "export_records", limit=10_000)]
    for limit in (1, 7):
        found: list[str] = []
        while page := rows(full, "export_records", limit=limit, last=found[-1] if found else None):
            assert [r["rank"] for r in page] == list(range(1, len(page) + 1))
            assert len(page) <= limit
            found += [r["record"] for r in page]
        assert found == whole


def test_a_page_ends_after_four_megabytes(source: psycopg.Connection[Any]) -> None:
    for _ in range(2):
        rows(source, "remember", content="\x01" * 500_000)
    first = rows(source, "export_records")
    # The header, a setting, and the records: the second line passes the limit.
    assert [json.loads(r["record"])["table"] for r in first[2:]] == ["memory"] * 2
    rest = rows(source, "export_records", last=first[-1]["record"])
    assert [json.loads(r["record"])["table"] for r in rest] == ["event"] * 2


def test_settings_of_the_session_change_no_byte(full: psycopg.Connection[Any]) -> None:
    lines = exported(full.info.dsn)
    with psycopg.connect(full.info.dsn, autocommit=True) as conn:
        for name, value in (
            ("timezone", "Asia/Kathmandu"), ("datestyle", "SQL, DMY"), ("bytea_output", "escape"),
            ("extra_float_digits", "0"), ("intervalstyle", "iso_8601"), ("xmloption", "content"),
            ("standard_conforming_strings", "off"), ("enable_indexscan", "off"),
        ):  # fmt: skip
            rows_of(conn, "SELECT set_config(%s, %s, false)", name, value)
        with Mnemo(conn) as m:
            assert list(export_lines(m)) == lines


def test_one_organisation(full: psycopg.Connection[Any], bare: Callable[[], str]) -> None:
    """All that it owns, the global records that it wrote with their grants and events, no more."""
    whole = [json.loads(line) for line in exported(full.info.dsn)]
    lines = exported(full.info.dsn, org_id="acme")
    found = [json.loads(line) for line in lines[1:-1]]
    written = {r["row"]["id"] for r in whole if r["table"] == "memory"
               and r["row"]["origin_org_id"] == "acme"}  # fmt: skip
    wanted = [
        r for r in whole
        if r["row"].get("org_id") == "acme"
        or (r["table"] == "memory" and r["row"]["origin_org_id"] == "acme")
        or (r["table"] in ("acl", "embedding") and r["row"]["org_id"] == "*"
            and r["row"]["memory_id"] in written)
        or (r["table"] == "plan_report" and r["row"]["org_id"] == "*"
            and r["row"]["plan_id"] in written and r["row"]["reporter_org_id"] == "acme")
        or r["table"] == "vector_model"
    ]  # fmt: skip
    assert {r["row"].get("org_id", "*") for r in wanted} == {"acme", "*"}
    assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, wanted))
    target = bare()
    summary, bad = brought(target, lines)
    assert (summary.imported, bad) == (len(wanted), [])
    assert exported(target, org_id="acme") == lines
    assert len(exported(target)) == len(lines)


def test_an_export_is_one_state(source: psycopg.Connection[Any]) -> None:
    """What is written while it runs is not in it, whatever table comes later."""
    for index in range(5):
        rows(source, "remember", content=f"before {index}")
    with Mnemo(source.info.dsn) as m, Mnemo(source.info.dsn) as writer:
        lines = export_lines(m)
        first = next(lines)
        writer.remember("meanwhile", idempotency_key="k")
        rest = list(lines)
    assert json.loads(first)["table"] == "export"
    assert not any("meanwhile" in line for line in rest)
    kinds = [json.loads(line)["table"] for line in rest]
    counts = [kinds.count(kind) for kind in ("memory", "event", "idempotency")]
    assert counts == [5, 5, 0]


def test_an_export_joins_a_transaction_of_the_caller(source: psycopg.Connection[Any]) -> None:
    """Nothing of the connection is changed: what the transaction wrote is in it, and it goes on."""
    with psycopg.connect(source.info.dsn) as conn:
        m = Mnemo(conn)
        m.remember("mine")
        assert any('"mine"' in line for line in export_lines(m))
        m.remember("more")
        conn.rollback()
    assert len(exported(source.info.dsn)) == 3


def test_roles(server: Server, source: psycopg.Connection[Any], bare: Callable[[], str]) -> None:
    """Levels and bindings come on demand, with the privileges that belong to them."""
    source.execute("CREATE ROLE export_app; CREATE ROLE export_tenant; CREATE ROLE export_gone")
    target = bare()
    try:
        for role, level in (("export_app", "application"), ("export_tenant", "tenant"),
                            ("export_gone", "admin")):  # fmt: skip
            rows(source, "grant_access", role=role, level=level)
        rows(source, "bind_role", role="export_tenant", org_id="acme", agent_id="bot")
        rows(source, "bind_role", role="export_tenant", org_id="globex")
        assert not any("role_" in line for line in exported(source.info.dsn))
        lines = exported(source.info.dsn, roles=True)
        one = [
            json.loads(line)["table"]
            for line in exported(source.info.dsn, org_id="acme", roles=True)
        ]
        assert "role_level" not in one
        assert one.count("role_binding") == 1
        source.execute("DROP OWNED BY export_gone; DROP ROLE export_gone")
        _, bad = brought(target, lines)
        (gone,) = [number for number, line in enumerate(lines, 1) if "export_gone" in line]
        assert [(error.line, "export_gone" in error.error) for error in bad] == [(gone, True)]
        with psycopg.connect(target, autocommit=True) as conn:
            found = contents(conn)["role_binding"]
            assert found == contents(source)["role_binding"]
            rows(source, "revoke_access", role="export_gone")
            assert contents(conn)["role_level"] == contents(source)["role_level"]
            conn.execute("SET ROLE export_tenant")
            assert rows(conn, "remember", content="x", org_id="acme", agent_id="bot")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                rows(conn, "remember", content="x", org_id="acme", agent_id="other")
        assert brought(target, lines)[0].imported == 0
    finally:
        server.drop_database(psycopg.conninfo.conninfo_to_dict(target)["dbname"])  # type: ignore[arg-type]
        source.execute("DROP OWNED BY export_app, export_tenant")
        source.execute("DROP ROLE export_app, export_tenant; DROP ROLE IF EXISTS export_gone")


def load(conn: psycopg.Connection[Any], count: int) -> None:
    """Records in number, a tenth of them plans."""
    conn.execute(
        "SELECT count(*) FROM generate_series(1, %s::int) AS i CROSS JOIN LATERAL mnemo.remember("
        "'memory ' || i || ' about invoices ' || md5(i::text), p_tags => ARRAY['t' || i %% 10],"
        " p_metadata => jsonb_build_object('i', i), p_subject => 'subject ' || i %% 100,"
        " p_agent_id => 'a' || i %% 50)",
        (count * 9 // 10,),
    )
    conn.execute(
        "SELECT count(*) FROM generate_series(1, %s::int) AS i CROSS JOIN LATERAL"
        " mnemo.remember_plan('How do I reset ' || md5(i::text), ARRAY['a', 'b'], ARRAY['c'], 0.9,"
        " p_agent_id => 'a' || i %% 50)",
        (count // 10,),
    )


@pytest.mark.parametrize(
    "count", [600, pytest.param(1_000_000, marks=[pytest.mark.long, pytest.mark.timeout(7200)])]
)
def test_many_records_in_constant_memory(
    source: psycopg.Connection[Any], bare: Callable[[], str], tmp_path: Path, count: int
) -> None:
    """Export, import, export again; the process grows by no more than some batches."""
    load(source, count)
    first, second = tmp_path / "first", tmp_path / "second"
    target = bare()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()
    export_to(source.info.dsn, first)
    middle = time.monotonic()
    with Mnemo(target) as m, first.open("rb") as file:
        summary = import_lines(m, file, lambda bad: pytest.fail(bad.error))
    ended = time.monotonic()
    export_to(target, second)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    lines = summary.lines
    print(f"{lines:,} lines: out {lines / (middle - started):,.0f}/s, in"
          f" {lines / (ended - middle):,.0f}/s, memory +{grown / 1024:.0f} MB")  # fmt: skip
    assert summary.complete
    assert lines == 2 * count + 3
    assert grown < 64 * 1024
    with first.open("rb") as left, second.open("rb") as right:
        while block := left.read(1 << 20):
            assert block == right.read(1 << 20)
        assert right.read(1) == b""


def export_to(dsn: str, path: Path) -> None:
    """An export as a file."""
    with Mnemo(dsn) as m, path.open("w", encoding="utf-8", newline="\n") as file:
        for line in export_lines(m):
            file.write(line + "\n")
