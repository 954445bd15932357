"""The content hash: docs/hash-format.md, the database and an independent implementation agree."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.reference import hash as reference
from tests.support.calls import refused, row, scalar
from tests.support.installs import install
from tests.support.server import ROOT, Server

DOCUMENT = (ROOT / "docs" / "hash-format.md").read_text(encoding="utf-8")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The first microsecond of PostgreSQL, the last of the year 9999.
FIRST, LAST = -210_866_803_200_000_000, 253_402_300_799_999_999
LISTS = ("tags", "entities", "aliases")
TIMES = ("valid_from", "created_at")


class Vector(NamedTuple):
    """A test vector of the document: the columns as JSON text, the encoding, the hash."""

    title: str
    fields: str
    encoding: bytes
    digest: bytes


def _vectors() -> list[Vector]:
    found = re.findall(
        r"^### (Vector \d+: .*?)\n.*?```json\n(.*?)\n```.*?Encoding, (\d+) bytes:\n\n"
        r"```hex\n(.*?)\n```\n\nSHA-256: `([0-9a-f]{64})`",
        DOCUMENT,
        re.DOTALL | re.MULTILINE,
    )
    for title, _, length, encoding, _ in found:
        assert len(bytes.fromhex(encoding)) == int(length), title
    return [
        Vector(title, fields, bytes.fromhex(encoding), bytes.fromhex(digest))
        for title, fields, _, encoding, digest in found
    ]


VECTORS = _vectors()


def _micros(moment: datetime | str | int | Decimal) -> int:
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    if isinstance(moment, datetime):
        return (moment - EPOCH) // timedelta(microseconds=1)
    return int(moment)


def _iso(micros: int) -> str:
    """A time as PostgreSQL reads it: unlike datetime, with years before 1 and after 9999."""
    days, rest = divmod(micros, 86_400_000_000)
    # Howard Hinnant's civil_from_days.
    days += 719_468
    era, day_of_era = divmod(days, 146_097)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year = year_of_era + era * 400 + (month <= 2)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
    shown, suffix = (year, "") if year > 0 else (1 - year, " BC")
    return f"{shown:04}-{month:02}-{day:02} {clock}+00{suffix}"


def _record(fields: str) -> dict[str, Any]:
    """The columns of JSON text as the reference implementation takes them."""
    record = json.loads(fields, parse_float=Decimal, parse_int=Decimal)
    record["nonce"] = bytes.fromhex(record["nonce"])
    record["id"] = UUID(record["id"])
    if record["confidence"] is not None:
        record["confidence"] = float(record["confidence"])
    for name in TIMES:
        record[name] = _micros(record[name])
    return record


# The values that JSON has in another form than the column's input.
POPULATE = """
    SELECT mnemo._content_hash(jsonb_populate_record(
               NULL::mnemo.memory,
               f.fields || f.times
                   || jsonb_build_object('nonce', '\\x' || (f.fields ->> 'nonce'))))
      FROM unnest(%s::jsonb[], %s::jsonb[]) WITH ORDINALITY AS f(fields, times, place)
     ORDER BY f.place
"""


def _sql_hashes(conn: psycopg.Connection, fields: list[str]) -> list[bytes]:
    times = [
        json.dumps({name: _iso(_micros(json.loads(text)[name])) for name in TIMES})
        for text in fields
    ]
    return [found for (found,) in conn.execute(POPULATE, (fields, times))]


def _stored(conn: psycopg.Connection, record_id: UUID) -> tuple[dict[str, Any], bytes]:
    """A stored record as the reference implementation takes it, and its hash."""
    with conn.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(
            "SELECT m.*, m.metadata::text AS text FROM mnemo.memory AS m WHERE m.id = %s",
            (record_id,),
        ).fetchone()
    assert found is not None
    found["metadata"] = json.loads(found["text"], parse_float=Decimal, parse_int=Decimal)
    for name in TIMES:
        found[name] = _micros(found[name])
    return {name: found[name] for name in reference.COLUMNS}, found["content_hash"]


# ---- the document


def test_the_document_has_vectors() -> None:
    assert len(VECTORS) >= 4
    assert DOCUMENT.count("SHA-256: `") == len(VECTORS)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.title)
def test_vector_against_the_reference(vector: Vector) -> None:
    assert reference.encode(_record(vector.fields)) == vector.encoding
    assert reference.content_hash(_record(vector.fields)) == vector.digest


def test_vectors_against_the_database(db: psycopg.Connection) -> None:
    hashes = _sql_hashes(db, [vector.fields for vector in VECTORS])
    assert [found.hex() for found in hashes] == [vector.digest.hex() for vector in VECTORS]


def _documented(heading: str, column: int) -> list[str]:
    section = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = [line.split("|")[column] for line in section.splitlines() if line.startswith("| ")]
    return [name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)]


def test_every_column_is_documented_as_bound_or_not(db: psycopg.Connection) -> None:
    columns = [
        name
        for (name,) in db.execute(
            "SELECT a.attname FROM pg_attribute AS a"
            " WHERE a.attrelid = 'mnemo.memory'::regclass AND a.attnum > 0 AND NOT a.attisdropped"
        )
    ]
    bound = _documented("The encoding", 2)
    assert tuple(bound) == reference.COLUMNS
    assert sorted(bound + _documented("What is not in it, and why", 1)) == sorted(columns)


# ---- random records


class Generator:
    """Random records: text from all planes, JSON of any shape, extreme numbers and times."""

    PLANES = ((0x20, 0x7E), (0xA0, 0x24F), (0x300, 0x36F), (0x400, 0x5FF), (0x900, 0xD7FF),
              (0xE000, 0xFFFF), (0x10000, 0x1FFFF), (0x20000, 0x3FFFF), (0x40000, 0xEFFFF),
              (0xF0000, 0x10FFFF), (0x01, 0x1F))  # fmt: skip
    FLOATS = (
        0.0,
        -0.0,
        1.0,
        0.1,
        0.7,
        5e-324,
        2.2250738585072014e-308,
        1 - 2**-53,
        2**-1074,
        1 / 3,
    )

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self, most: int = 12) -> str:
        r = self.random
        special = ("", "\\", "\\x41", "\\000", "'", '"', "N", "T", "\n", "{}", "NULL", "\ufeff")
        if r.random() < 0.1:
            return r.choice(special)
        return "".join(chr(r.randint(*r.choice(self.PLANES))) for _ in range(r.randrange(most + 1)))

    def string(self, value: str) -> str:
        return json.dumps(value, ensure_ascii=self.random.random() < 0.5)

    def number(self) -> str:
        """A JSON number in any of its spellings."""
        r = self.random
        kind = r.randrange(6)
        if kind == 0:
            return r.choice(("0", "-0", "0.0", "-0.00", "0e5", "1e3", "1E+3", "1.50", "1e-7"))
        whole = str(r.randrange(10 ** r.choice((1, 3, 20, 60))))
        fraction = "" if kind < 3 else "." + "".join(r.choices("0012345", k=r.randint(1, 30)))
        exponent = (
            ""
            if kind in (1, 3)
            else f"{r.choice('eE')}{r.choice(('', '+', '-'))}{r.randint(0, 40)}"
        )
        if kind == 5 and r.random() < 0.1:
            exponent = f"e{r.choice((-300, 308, 400, 5000, -5000))}"
        return r.choice(("", "-")) + whole + fraction + exponent

    def json(self, depth: int) -> str:
        """JSON text, nested up to the depth."""
        r = self.random
        kind = r.randrange(8) if depth > 0 else r.randrange(5)
        if kind < 2:
            return self.string(self.text())
        if kind < 4:
            return self.number()
        if kind == 4:
            return r.choice(("true", "false", "null"))
        if kind == 5 and r.random() < 0.2:
            return "[" * depth + self.json(0) + "]" * depth
        if kind <= 6:
            return "[" + ", ".join(self.json(depth - 1) for _ in range(r.randrange(5))) + "]"
        return self.json_object(depth)

    def json_object(self, depth: int) -> str:
        members = (
            f"{self.string(self.text(4))}: {self.json(depth - 1)}"
            for _ in range(self.random.randrange(6))
        )
        return "{" + ", ".join(members) + "}"

    def optional(self) -> str | None:
        return None if self.random.random() < 0.4 else self.text()

    def texts(self) -> list[str]:
        return [self.text(5) for _ in range(self.random.choice((0, 0, 1, 2, 7)))]

    def micros(self) -> int:
        r = self.random
        return r.choice((
            r.randint(FIRST, LAST), r.randint(-(10**15), 2 * 10**15), r.randint(-(10**6), 10**6),
            r.choice((0, -1, 1, FIRST, LAST, 946_684_800_000_000, 946_684_799_999_999)),
        ))  # fmt: skip

    def confidence(self) -> float | None:
        r = self.random
        return r.choice((None, r.random(), r.random() * 10.0 ** -r.randrange(320),
                         r.choice(self.FLOATS)))  # fmt: skip

    def fields(self) -> str:
        """A record as JSON text."""
        columns: dict[str, Any] = {
            "nonce": self.random.randbytes(16).hex(),
            "id": str(UUID(bytes=self.random.randbytes(16))),
            **{name: self.text() for name in reference.TEXTS_BEFORE},
            **{name: self.optional() for name in (*reference.TEXTS_BETWEEN, "location")},
            **{name: self.texts() for name in LISTS},
            "temporal_scope": self.text(),
            "confidence": self.confidence(),
            **{name: self.micros() for name in TIMES},
        }
        shown = json.dumps(columns, ensure_ascii=self.random.random() < 0.5)
        return f'{shown[:-1]}, "metadata": {self.json_object(self.random.choice((0, 1, 3, 6)))}}}'


@pytest.mark.parametrize("seed", range(4))
def test_random_records(db: psycopg.Connection, seed: int) -> None:
    generator = Generator(seed)
    fields = [generator.fields() for _ in range(800)]
    for text, found in zip(fields, _sql_hashes(db, fields), strict=True):
        assert found.hex() == reference.content_hash(_record(text)).hex(), text


def test_numbers_of_many_digits(db: psycopg.Connection) -> None:
    """As far as jsonb goes: 131,072 digits before the decimal point, 16,383 after it."""
    for number in (
        "1e131071",
        "-9.5e131000",
        "1e-16383",
        "1." + "0" * 16000 + "1",
        "7." + "7" * 4000,
    ):
        text = VECTORS[0].fields.replace('"metadata": {}', f'"metadata": {{"n": [{number}]}}')
        (found,) = _sql_hashes(db, [text])
        assert found == reference.content_hash(_record(text)), number[:20]


def test_deep_json_is_hashed_or_refused(db: psycopg.Connection) -> None:
    """Nesting too deep for the server is an error of the API, not of its stack."""
    for depth in (10, 50, 90, 500, 1000, 3000, 5000):
        text = '{"a":' * depth + "[1.50]" + "}" * depth
        value: Any = [Decimal("1.50")]
        for _ in range(depth):
            value = {"a": value}
        if depth > 100:
            with refused("54000", "p_metadata"):
                db.execute("SELECT mnemo.remember('deep', p_metadata => %s::jsonb)", (text,))
            continue
        answer = db.execute(
            "SELECT r.id FROM mnemo.remember('deep', p_metadata => %s::jsonb) AS r", (text,)
        ).fetchone()
        assert answer is not None
        nonce_and_more = db.execute(
            "SELECT content_hash, nonce, id, created_at FROM mnemo.memory WHERE id = %s", answer
        ).fetchone()
        assert nonce_and_more is not None
        record = _record(VECTORS[0].fields) | {
            "content": "deep", "metadata": value, "nonce": nonce_and_more[1],
            "id": nonce_and_more[2], "created_at": _micros(nonce_and_more[3]),
            "valid_from": _micros(nonce_and_more[3]),
        }  # fmt: skip
        assert nonce_and_more[0] == reference.content_hash(record), depth


def test_wide_json(db: psycopg.Connection) -> None:
    """Metadata of very many small values is hashed in reasonable time."""
    db.execute("SET statement_timeout = '20s'")
    text = "[" + ", ".join(["[]"] * 120_000) + "]"
    answer = row(db, "remember", content="wide", metadata={"a": json.loads(text)})
    record, found = _stored(db, answer["id"])
    assert found == reference.content_hash(record)


# ---- stored records


FULL: dict[str, Any] = {
    "content": "Zoë prefers tea\\n with 'milk' \U0001f680",
    "memory_type": "semantic", "scope": "public", "importance": 0.123456789012345678,
    "tags": ["b", "a", "b"], "metadata": {"a": [1.5, {"é": None}], "b": True},
    "source_type": "tool_output", "source_id": "doc:17", "thread_id": "t", "created_by": "me",
    "ttl": timedelta(days=3), "kind": "preference", "subject": "  ZOË   van Dijk ",
    "predicate": "Prefers Tea", "entities": ["tea", "milk"], "aliases": ["z"], "location": "北京",
    "confidence": 0.30000000000000004, "status": "active",
    "valid_from": datetime(1950, 5, 6, 7, 8, 9, 123457, tzinfo=UTC),
    "valid_to": datetime(2050, 5, 6, tzinfo=UTC), "temporal_scope": "scheduled",
    "agent_id": "agent-1", "org_id": "org-1",
}  # fmt: skip


@pytest.mark.parametrize("scope", ["private", "shared", "public", "global"])
def test_a_stored_record_carries_its_hash(db: psycopg.Connection, scope: str) -> None:
    answer = row(db, "remember", **FULL | {"scope": scope})
    record, found = _stored(db, answer["id"])
    assert found == answer["content_hash"] == reference.content_hash(record)
    assert record["org_id"] == ("*" if scope == "global" else "org-1")
    assert len(record["nonce"]) == 16


def test_a_stored_plan_carries_its_hash(db: psycopg.Connection) -> None:
    answer = row(
        db, "remember_plan", query="How do I pay?", steps=["a", "b"], chunk_ids=["c"],
        outcome_score=0.9, details=json.dumps([{"n": 1.50}, None]), tags=["x"], context="v1",
    )  # fmt: skip
    record, found = _stored(db, answer["id"])
    assert found == reference.content_hash(record)


def test_minus_zero_is_zero(db: psycopg.Connection) -> None:
    """Only as a double: JSON has one zero."""
    answer = row(db, "remember", content="x", confidence=-0.0, metadata={"n": -0.0})
    record, found = _stored(db, answer["id"])
    assert str(record["confidence"]) == "-0.0"
    assert found == reference.content_hash(record | {"confidence": 0.0})
    assert found == reference.content_hash(record)


def test_nonces_differ(db: psycopg.Connection) -> None:
    """Two records of the same words have different hashes."""
    hashes = {row(db, "remember", content="same")["content_hash"] for _ in range(20)}
    assert len(hashes) == 20


def test_infinities_are_refused(db: psycopg.Connection) -> None:
    for name, bad in (("confidence", float("inf")), ("confidence", float("nan")),
                      ("valid_from", "infinity"), ("valid_from", "-infinity")):  # fmt: skip
        with refused("22023", f"p_{name}"):
            row(db, "remember", content="x", **{name: bad})


# ---- what binds


CHANGES: dict[str, Any] = {
    "nonce": "\\x" + "11" * 16, "id": "00000000-0000-7000-8000-00000000000f",
    "org_id": "org-2", "origin_org_id": "org-2", "agent_id": "agent-2", "memory_type": "episodic",
    "content": "Zoë prefers tea", "tags": ["a", "b"], "metadata": {"a": [1.5, {"é": None}]},
    "source_type": "agent", "source_id": None, "thread_id": "", "created_by": "you",
    "kind": None, "subject": "zoë", "predicate": "prefers", "entities": ["tea"], "aliases": [],
    "location": None, "confidence": 0.3, "valid_from": "1950-05-06T07:08:09.123456Z",
    "temporal_scope": "persistent", "created_at": "2020-01-01T00:00:00Z",
}  # fmt: skip
FREE: dict[str, Any] = {
    "scope": "private", "importance": 1, "consolidation_state": "archived", "quarantined": True,
    "quarantine_reason": "no", "version": 9, "prev_version_id": CHANGES["id"], "access_count": 7,
    "updated_at": "2020-01-01T00:00:00Z", "last_accessed_at": "2020-01-01T00:00:00Z",
    "expires_at": None, "deleted_at": "2020-01-01T00:00:00Z",
    "redacted_at": "2020-01-01T00:00:00Z", "status": "retracted", "valid_to": None,
    "content_hash": "\\x00",
}  # fmt: skip


def test_each_bound_column_changes_the_hash_and_no_other(db: psycopg.Connection) -> None:
    assert sorted(CHANGES) == sorted(reference.COLUMNS)
    answer = row(db, "remember", **FULL)
    for name, changed in {**CHANGES, **FREE}.items():
        found, differs = db.execute(
            "SELECT mnemo._content_hash(c), to_jsonb(c) -> %s IS DISTINCT FROM to_jsonb(m) -> %s"
            "  FROM mnemo.memory AS m"
            " CROSS JOIN LATERAL jsonb_populate_record(m, %s::jsonb) AS c WHERE m.id = %s",
            (name, name, json.dumps({name: changed}), answer["id"]),
        ).fetchall()[0]  # fmt: skip
        assert differs, f"the test does not change {name}"
        assert (found != answer["content_hash"]) == (name in CHANGES), name


def test_nothing_slides_from_one_value_into_another(db: psycopg.Connection) -> None:
    """Without lengths and types, pairs like these would have the same hash."""
    changes: list[dict[str, Any]] = [
        {"tags": []}, {"tags": [""]}, {"tags": ["ab"]}, {"tags": ["a", "b"]}, {"tags": ["b", "a"]},
        {"tags": ["a"], "entities": ["b"]}, {"entities": ["a", "b"]}, {"aliases": ["a", "b"]},
        {"source_id": "x"}, {"thread_id": "x"}, {"created_by": "x"}, {"source_id": ""},
        {"subject": "a", "predicate": "b"}, {"subject": "b", "predicate": "a"}, {"subject": "ab"},
        {"metadata": {"a": "1"}}, {"metadata": {"a": 1}}, {"metadata": {"a": True}},
        {"metadata": {"a": "true"}}, {"metadata": {"a": None}}, {"metadata": {"a": "null"}},
        {"metadata": {"a": []}}, {"metadata": {"a": {}}}, {"metadata": {"a": [[]]}},
        {"metadata": {"a": ["b", "c"]}}, {"metadata": {"a": ["c", "b"]}},
        {"metadata": {"a": [["b"], "c"]}}, {"metadata": {"a": ["b", ["c"]]}},
        {"metadata": {"a": {"b": "c"}}}, {"metadata": {"a": ["bc"]}}, {"metadata": {"ab": "c"}},
        {"metadata": {"a": 10}}, {"metadata": {"a": -1}}, {"metadata": {"a": 0.1}},
        {"content": "cafe\u0301"}, {"content": "caf\u00e9"}, {"content": "N"}, {"content": ""},
        {"confidence": 0}, {"confidence": 5e-324}, {"confidence": None},
    ]  # fmt: skip
    record = json.loads(VECTORS[0].fields) | {"confidence": 1}
    hashes = _sql_hashes(db, [json.dumps(record | change) for change in changes])
    assert len(set(hashes)) == len(changes)


def test_spellings_of_a_number_and_bounds_of_an_array_do_not_count(db: psycopg.Connection) -> None:
    record = VECTORS[0].fields
    for spellings in (
        ("1", "1.0", "1.000", "1e0", "10e-1", "0.1E1"), ("0", "-0", "0.00", "-0e9"),
        ("1500", "1.5e3", "1500.0"), ("-0.0025", "-2.5e-3", "-2.50E-3"),
    ):  # fmt: skip
        texts = [record.replace('"metadata": {}', f'"metadata": {{"n": {n}}}') for n in spellings]
        assert len(set(_sql_hashes(db, texts))) == 1, spellings
    assert scalar(db, "SELECT mnemo._bytes_of_list('[5:6]={a,b}') = mnemo._bytes_of_list('{a,b}')")


# ---- what it must not depend on


SETTINGS: list[dict[str, str]] = [
    {"TimeZone": "Asia/Kathmandu"}, {"TimeZone": "America/St_Johns"}, {"TimeZone": "<+99>-99"},
    {"DateStyle": "German, DMY"}, {"DateStyle": "SQL, MDY"}, {"DateStyle": "Postgres, YMD"},
    {"IntervalStyle": "iso_8601"}, {"IntervalStyle": "sql_standard"},
    {"extra_float_digits": "-15"}, {"extra_float_digits": "0"}, {"extra_float_digits": "3"},
    {"lc_numeric": "C"}, {"lc_time": "POSIX"}, {"lc_monetary": "C.UTF-8"}, {"lc_messages": "C"},
    {"client_encoding": "LATIN1"}, {"client_encoding": "EUC_JP"}, {"client_encoding": "SQL_ASCII"},
    {"bytea_output": "escape"}, {"search_path": "evil, pg_catalog"}, {"search_path": ""},
    {"standard_conforming_strings": "off", "escape_string_warning": "off"},
    {"backslash_quote": "on"}, {"quote_all_identifiers": "on"}, {"array_nulls": "off"},
    {"transform_null_equals": "on"}, {"plpgsql.variable_conflict": "use_column"},
    {"plpgsql.variable_conflict": "use_variable"}, {"plpgsql.extra_errors": "all"},
    {"xmloption": "document"}, {"plan_cache_mode": "force_generic_plan"},
    {"enable_sort": "off", "enable_hashagg": "off"}, {"default_toast_compression": "pglz"},
    {"check_function_bodies": "off"}, {"default_transaction_isolation": "serializable"},
]  # fmt: skip

# A caller's own functions and operators in front of ours.
EVIL = """
CREATE SCHEMA IF NOT EXISTS evil;
CREATE FUNCTION evil.sha256(bytea) RETURNS bytea LANGUAGE sql RETURN '\\x66'::bytea;
CREATE FUNCTION evil.int8send(bigint) RETURNS bytea LANGUAGE sql RETURN ''::bytea;
CREATE FUNCTION evil.octet_length(text) RETURNS integer LANGUAGE sql RETURN 0;
CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql RETURN '2000-01-01'::timestamptz;
CREATE FUNCTION evil.paste(bytea, bytea) RETURNS bytea LANGUAGE sql RETURN $1;
CREATE OPERATOR evil.|| (LEFTARG = bytea, RIGHTARG = bytea, FUNCTION = evil.paste);
"""


@pytest.fixture(scope="module")
def busy(server: Server, template: str) -> Iterator[str]:
    """A database of this module with records in it; tests add to it."""
    dsn = server.create_database("test_hash_settings", template)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(EVIL)
        conn.execute("SELECT mnemo.configure('merge_plans', 'off')")
        row(conn, "remember", **FULL)
        row(conn, "remember", content="before 1970", valid_from="1969-12-31 23:59:59.999999+00",
            metadata={"a": {"b": [1, 2.50, "\\x41", {"c": "é"}]}}, confidence=1 / 3)  # fmt: skip
        row(conn, "remember_plan", query="How do I pay?", steps=["a"], chunk_ids=[],
            outcome_score=0.9)  # fmt: skip
    yield dsn
    server.drop_database("test_hash_settings")


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: ",".join(map("=".join, s.items())))
def test_no_setting_of_a_session_matters(busy: str, settings: dict[str, str]) -> None:
    """Old hashes verify under the setting, and what is written under it verifies without it."""
    with psycopg.connect(busy, autocommit=True) as conn:
        for name, value in settings.items():
            conn.execute("SELECT set_config(%s, %s, false)", (name, value))
        wrong = scalar(
            conn,
            "SELECT count(*) FROM mnemo.memory AS m"
            " WHERE mnemo._content_hash(m) IS DISTINCT FROM m.content_hash",
        )
        assert wrong == 0
        ascii_only = FULL | {"content": "tea \\x41 'x'", "subject": "ZOE  x", "location": "here",
                             "metadata": {"a": [1.25, {"b\\": None}], "B": "\\x41"}}  # fmt: skip
        answer = row(conn, "remember", **ascii_only)
        plan = row(conn, "remember_plan", query="How to pay?", steps=["a\\b"], chunk_ids=["c"],
                   outcome_score=0.6234567890123457)  # fmt: skip
    with psycopg.connect(busy, autocommit=True) as conn:
        record, found = _stored(conn, answer["id"])
        assert found == reference.content_hash(record)
        assert (record["content"], record["subject"]) == ("tea \\x41 'x'", "zoe x")
        assert record["metadata"] == {"a": [Decimal("1.25"), {"b\\": None}], "B": "\\x41"}
        assert record["confidence"] == FULL["confidence"]
        assert record["valid_from"] == _micros(FULL["valid_from"])
        record, found = _stored(conn, plan["id"])
        assert found == reference.content_hash(record)
        payload = record["metadata"]["experience_plan"]
        assert float(payload["outcome_score"]) == 0.6234567890123457
        assert payload["steps"] == ["a\\b"]


def _other_locales(server: Server) -> dict[str, str]:
    found = {"libc": "LOCALE_PROVIDER libc LOCALE 'C'"}
    if server.version_num >= 170000:
        found["builtin"] = "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C'"
    with server.connect() as conn:
        if conn.execute("SELECT FROM pg_collation WHERE collprovider = 'i'").fetchone():
            found["icu"] = "LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LOCALE 'C'"
    return found


def test_no_locale_of_a_database_matters(server: Server) -> None:
    """Keys of JSON objects sort by bytes, whatever the database's collation is."""
    generator = Generator(77)
    fields = [generator.fields() for _ in range(300)]
    for name, options in _other_locales(server).items():
        database = f"test_hash_{name}"
        dsn = server.create_database(database, "template0", options)
        install(server, database, "psql")
        with psycopg.connect(dsn, autocommit=True) as conn:
            vectors = _sql_hashes(conn, [vector.fields for vector in VECTORS])
            assert vectors == [vector.digest for vector in VECTORS], name
            for text, found in zip(fields, _sql_hashes(conn, fields), strict=True):
                assert found == reference.content_hash(_record(text)), name
        server.drop_database(database)
