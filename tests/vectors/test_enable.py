"""Models: what is made for them, where pgvector is, who may touch it, and how they go again."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest

from tests.support.calls import row, rows, scalar, value
from tests.vectors.conftest import error, need_pgvector

Connection = psycopg.Connection[Any]
NAMES = ("plain", 'a"b', "it's; DROP TABLE mnemo.memory", "\u6771\u4eac \U0001f600", "x" * 256,
         "Plain", "%I %s $1")  # fmt: skip


@pytest.fixture
def vdb(db: Connection) -> Connection:
    """A database with pgvector in schema types, and no model."""
    db.autocommit = True
    need_pgvector(db)
    return db


def enable(conn: Connection, model: str, dimensions: int = 3, **more: Any) -> None:
    rows(conn, "enable_vectors", model=model, dimensions=dimensions, **more)


def nearest(conn: Connection, embedding: str, model: str | None = None) -> list[str]:
    found = rows(conn, "recall", query=None, strategy="semantic", embedding=embedding, model=model)
    return [record["content"] for record in found]


def test_without_pgvector_all_but_embeddings_works(db: Connection) -> None:
    db.autocommit = True
    refusal = error(db, "enable_vectors", model="m", dimensions=3)
    assert (refusal.sqlstate, refusal.message) == (
        "0A000", "pgvector is not installed in this database",
    )  # fmt: skip
    assert "CREATE EXTENSION vector" in refusal.hint
    assert value(db, "refresh_models") == 0
    row(db, "remember", content="a memory")
    for given in ({"embedding": "[1]"}, {"model": "m"}, {"embedding": "[1]", "model": "m"}):
        assert error(db, "remember", content="x", **given).sqlstate == "55000"
        assert error(db, "recall", query="x", **given).sqlstate == "55000"
    assert error(db, "disable_vectors", model="m").sqlstate == "55000"
    assert [found["content"] for found in rows(db, "recall", query="memory")] == ["a memory"]


def test_any_name_is_safe_and_models_stand_side_by_side(vdb: Connection) -> None:
    for number, name in enumerate(NAMES):
        enable(vdb, name, number + 1)
    for number, name in enumerate(NAMES):
        row(vdb, "remember", content=name, model=name, embedding=str([1] * (number + 1)))
    for number, name in enumerate(NAMES):
        assert nearest(vdb, str([1] * (number + 1)), name) == [name]
    refusal = error(vdb, "remember", content="x", embedding="[1,2]")
    assert (refusal.sqlstate, refusal.detail) == ("22023", {"parameter": "p_model"})
    refusal = error(vdb, "recall", query=None, strategy="semantic", embedding="[1]", model="PLAIN")
    assert (refusal.sqlstate, refusal.detail) == ("55000", {"parameter": "p_model"})


@pytest.mark.parametrize("distance", ["cosine", "l2", "inner_product"])
@pytest.mark.parametrize(
    ("dimensions", "indexed"), [(2000, "vector"), (2001, "halfvec"), (4000, "halfvec"), (4001, "")]
)
def test_indexes_by_dimensions(
    vdb: Connection, dimensions: int, indexed: str, distance: str
) -> None:
    """And a vector of numbers that halves cannot hold is told apart where it is searched."""
    enable(vdb, "wide", dimensions, distance=distance)
    classes = vdb.execute(
        "SELECT o.opcname FROM pg_index AS i JOIN pg_opclass AS o ON o.oid = i.indclass[0]"
        " JOIN pg_class AS c ON c.oid = i.indexrelid WHERE c.relname ~ '^vectors_.*_embedding_idx$'"
        " ORDER BY c.relname"
    ).fetchall()
    short = {"inner_product": "ip"}.get(distance, distance)
    # Plans are always compared by cosine.
    made = [(f"{indexed}_{short}_ops",), (f"{indexed}_cosine_ops",)]
    assert classes == (made if indexed else [])
    for content, numbers in (("near", [3.0, 0.001]), ("far", [-3.0, 0.001])):
        row(vdb, "remember", content=content, embedding=str([*numbers, *[0.0] * (dimensions - 2)]))
    assert nearest(vdb, str([1.0, *[0.0] * (dimensions - 1)])) == ["near", "far"]


def test_the_same_again_is_nothing_and_another_is_refused(vdb: Connection) -> None:
    enable(vdb, "m")
    row(vdb, "remember", content="x", embedding="[1,2,3]")
    functions = "SELECT array_agg(oid ORDER BY oid) FROM pg_proc WHERE proname ~ '^_vector'"
    before = scalar(vdb, functions)
    enable(vdb, "m")
    enable(vdb, "m", distance="cosine")
    assert scalar(vdb, functions) == before
    assert nearest(vdb, "[1,2,3]") == ["x"]
    for name, given in (("dimensions", 4), ("distance", "l2")):
        refusal = error(vdb, "enable_vectors", **{"model": "m", "dimensions": 3, name: given})
        assert (refusal.sqlstate, refusal.detail) == ("22023", {"parameter": f"p_{name}"})
        assert "disable_vectors" in refusal.hint


@pytest.mark.parametrize(
    ("given", "sqlstate", "parameter"),
    [
        ({"model": None}, "22023", "p_model"),
        ({"model": "\u3000"}, "22023", "p_model"),
        ({"model": "x" * 257}, "54000", "p_model"),
        ({"dimensions": None}, "22023", "p_dimensions"),
        ({"dimensions": 0}, "22023", "p_dimensions"),
        ({"dimensions": 16_001}, "22023", "p_dimensions"),
        ({"distance": None}, "22023", "p_distance"),
        ({"distance": "Cosine"}, "22023", "p_distance"),
    ],
)
def test_bad_arguments(
    db: Connection, given: dict[str, Any], sqlstate: str, parameter: str
) -> None:
    """Found before anybody asks for pgvector."""
    refusal = error(db, "enable_vectors", **{"model": "m", "dimensions": 3, **given})
    assert (refusal.sqlstate, refusal.detail) == (sqlstate, {"parameter": parameter})


def test_disabled_models_leave_nothing(vdb: Connection) -> None:
    before = rows_of_catalog(vdb)
    enable(vdb, "m")
    enable(vdb, "other", 2)
    row(vdb, "remember", content="x", embedding="[1,2,3]", model="m")
    assert value(vdb, "disable_vectors", model="m") == 1
    assert value(vdb, "disable_vectors", model="other") == 0
    assert rows_of_catalog(vdb) == before
    assert error(vdb, "recall", query="x", embedding="[1,2,3]").sqlstate == "55000"
    enable(vdb, "m", 5, distance="l2")
    assert len(rows(vdb, "recall", query="x")) == 1


def rows_of_catalog(conn: Connection) -> list[Any]:
    """What there is in the schema."""
    return conn.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'mnemo'::regnamespace UNION ALL"
        " SELECT proname FROM pg_proc WHERE pronamespace = 'mnemo'::regnamespace UNION ALL"
        " SELECT typname FROM pg_type WHERE typnamespace = 'mnemo'::regnamespace ORDER BY 1"
    ).fetchall()


def test_refreshing_makes_what_is_missing(vdb: Connection) -> None:
    enable(vdb, "m")
    enable(vdb, "wide", 2500)
    row(vdb, "remember", content="x", embedding="[1,2,3]", model="m")
    before = rows_of_catalog(vdb)
    suffix = scalar(vdb, "SELECT suffix FROM mnemo.vector_model WHERE name = 'm'")
    vdb.execute(f"DROP INDEX mnemo.vectors_{suffix}_embedding_idx")  # type: ignore[arg-type]
    vdb.execute(f"DROP TABLE mnemo.vectors_{suffix}_plans CASCADE")  # type: ignore[arg-type]
    vdb.execute(f"DROP FUNCTION mnemo._vector_nearest_{suffix}")  # type: ignore[arg-type]
    vdb.execute(
        f"CREATE FUNCTION mnemo._vector_older_{suffix}() RETURNS int LANGUAGE sql RETURN 1"  # type: ignore[arg-type]
    )
    vdb.execute("UPDATE mnemo.vector_model SET rules_version = 0")
    assert value(vdb, "refresh_models") == 2
    assert rows_of_catalog(vdb) == before
    assert nearest(vdb, "[1,2,3]", "m") == ["x"]
    assert scalar(vdb, "SELECT min(rules_version) FROM mnemo.vector_model") > 0


def test_what_is_made_is_closed_and_no_member_of_the_extension(vdb: Connection) -> None:
    """Whatever default privileges say."""
    role = f"reader_{random.randrange(10**9)}"
    vdb.execute(f'CREATE ROLE "{role}"')  # type: ignore[arg-type]
    for kind in ("FUNCTIONS", "TABLES"):
        vdb.execute(
            f'ALTER DEFAULT PRIVILEGES IN SCHEMA mnemo GRANT ALL ON {kind} TO "{role}", PUBLIC'  # type: ignore[arg-type]
        )
    enable(vdb, "m")
    for again in (False, True):
        if again:
            value(vdb, "refresh_models")
        assert vdb.execute(
            "SELECT p.proname FROM pg_proc AS p, aclexplode(coalesce(p.proacl,"
            " acldefault('f', p.proowner))) AS a WHERE p.proname ~ '^_vector_.*_[0-9a-f]{16}$'"
            " AND a.grantee <> p.proowner UNION ALL SELECT c.relname FROM pg_class AS c,"
            " aclexplode(c.relacl) AS a WHERE c.relname ~ '^vectors_' AND a.grantee <> c.relowner"
        ).fetchall() == []  # fmt: skip
    assert not scalar(
        vdb, "SELECT count(*) FROM pg_depend AS d JOIN pg_class AS c ON c.oid = d.objid"
        " WHERE c.relname ~ '^vectors_' AND d.deptype = 'e'"
    )  # fmt: skip
    vdb.execute(f'DROP OWNED BY "{role}"')  # type: ignore[arg-type]
    vdb.execute(f'DROP ROLE "{role}"')  # type: ignore[arg-type]


def test_what_is_made_needs_nothing_else_of_the_schema(vdb: Connection) -> None:
    """Or an update of mnemo_pg could not drop what it changes."""
    enable(vdb, "m")
    assert vdb.execute(
        "SELECT p.proname, d.refobjid::regprocedure::text FROM pg_proc AS p JOIN pg_depend AS d"
        " ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid"
        " JOIN pg_proc AS o ON d.refclassid = 'pg_proc'::regclass AND o.oid = d.refobjid"
        " WHERE p.proname ~ '^_vector_.*_[0-9a-f]{16}$' AND o.pronamespace = p.pronamespace"
    ).fetchall() == []  # fmt: skip


def test_a_hostile_path_and_a_move_of_pgvector_change_no_answer(vdb: Connection) -> None:
    enable(vdb, "m")
    row(vdb, "remember", content="x", embedding="[1,2,3]")
    row(vdb, "remember", content="y", embedding="[-1,2,3]")
    vdb.execute(
        "CREATE SCHEMA trap;"
        "CREATE TYPE trap.vector AS (a int);"
        "CREATE FUNCTION trap.away(types.vector, types.vector) RETURNS float8 LANGUAGE plpgsql"
        " AS 'BEGIN RAISE EXCEPTION ''trapped''; END';"
        "CREATE OPERATOR trap.<=> (LEFTARG = types.vector, RIGHTARG = types.vector,"
        " FUNCTION = trap.away);"
        "CREATE FUNCTION trap.vector_dims(types.vector) RETURNS int LANGUAGE plpgsql"
        " AS 'BEGIN RAISE EXCEPTION ''trapped''; END';"
        "SET search_path = trap, types, pg_catalog"
    )
    assert nearest(vdb, "[1,2,3]") == ["x", "y"]
    row(vdb, "remember", content="z", embedding="[1,-2,3]")
    enable(vdb, "second", 2)
    vdb.execute("RESET search_path; CREATE SCHEMA moved; ALTER EXTENSION vector SET SCHEMA moved")
    assert nearest(vdb, "[1,2,3]", "m") == ["x", "y", "z"]
    row(vdb, "remember", content="w", embedding="[0,0,1]", model="m")
    assert value(vdb, "refresh_models") == 2
    enable(vdb, "third", 2)
    assert set(nearest(vdb, "[1,2,3]", "m")) == {"w", "x", "y", "z"}


def test_a_schema_closed_to_the_owner(vdb: Connection) -> None:
    """Who owns mnemo_pg needs USAGE on pgvector's schema, and is told so."""
    owner = f"owner_{random.randrange(10**9)}"
    vdb.execute(f'CREATE ROLE "{owner}" NOLOGIN')  # type: ignore[arg-type]
    vdb.execute(f'GRANT ALL ON SCHEMA mnemo TO "{owner}"')  # type: ignore[arg-type]
    try:
        vdb.execute(f'REASSIGN OWNED BY CURRENT_USER TO "{owner}"')  # type: ignore[arg-type]
    except psycopg.errors.DependentObjectsStillExist:
        for (statement,) in vdb.execute(
            f"SELECT format('ALTER %s %s OWNER TO \"{owner}\"', x.kind, x.name) FROM ("  # type: ignore[arg-type]
            " SELECT 'FUNCTION' AS kind, oid::regprocedure::text AS name FROM pg_proc"
            " WHERE pronamespace = 'mnemo'::regnamespace UNION ALL SELECT CASE relkind WHEN 'v'"
            " THEN 'VIEW' ELSE 'TABLE' END, oid::regclass::text FROM pg_class WHERE relnamespace ="
            " 'mnemo'::regnamespace AND relkind IN ('r', 'v') UNION ALL SELECT 'SCHEMA', 'mnemo'"
            ") AS x"
        ).fetchall():
            vdb.execute(statement)
    vdb.execute("REVOKE ALL ON SCHEMA types FROM PUBLIC")
    refusal = error(vdb, "enable_vectors", model="m", dimensions=3)
    assert refusal.sqlstate == "42501"
    assert refusal.hint == f"GRANT USAGE ON SCHEMA types TO {owner}"
    vdb.execute(f'GRANT USAGE ON SCHEMA types TO "{owner}"')  # type: ignore[arg-type]
    enable(vdb, "m")
    row(vdb, "remember", content="x", embedding="[1,2,3]")
    assert nearest(vdb, "[1,2,3]") == ["x"]
    owned = "SELECT relowner::regrole::text FROM pg_class WHERE relname ~ '^vectors_.{16}$'"
    assert scalar(vdb, owned) == owner
    vdb.execute(f'REASSIGN OWNED BY "{owner}" TO CURRENT_USER')  # type: ignore[arg-type]
    vdb.execute(f'DROP OWNED BY "{owner}"')  # type: ignore[arg-type]
    vdb.execute(f'DROP ROLE "{owner}"')  # type: ignore[arg-type]


def test_two_at_once(vdb: Connection) -> None:
    """The second waits for the first, and finds the model."""
    with psycopg.connect(vdb.info.dsn) as first, psycopg.connect(vdb.info.dsn) as second:
        enable(first, "m")
        second.execute("SET lock_timeout = '200ms'")
        assert error(second, "enable_vectors", model="m", dimensions=3).sqlstate == "55P03"
        second.rollback()
        first.commit()
        enable(second, "m")
        second.commit()
    assert scalar(vdb, "SELECT count(*) FROM mnemo.vector_model") == 1
