"""What a database says about schema mnemo, in a form that two databases can be compared by.

Nothing in it depends on object numbers, on the caller's search_path or on the way of installing.
`strays` is the other half: every object of the database that lies outside schema mnemo.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

Snapshot = dict[str, dict[str, tuple[Any, ...]]]

# A list of grants in a fixed order, with the built-in default spelled out.
_ACL = """ARRAY(
    SELECT concat_ws(' ', coalesce(r.rolname, 'PUBLIC'), a.privilege_type, g.rolname,
                     CASE WHEN a.is_grantable THEN 'grantable' END)
      FROM aclexplode(coalesce({acl}, acldefault('{kind}', {owner}))) AS a
      LEFT JOIN pg_roles AS r ON r.oid = a.grantee
      LEFT JOIN pg_roles AS g ON g.oid = a.grantor
     ORDER BY 1)"""


def _acl(kind: str, acl: str, owner: str) -> str:
    return _ACL.format(kind=kind, acl=acl, owner=owner)


# Each query gives a key in its first column; the rest is compared.
QUERIES: dict[str, str] = {
    "schema": f"""
        SELECT n.nspname, pg_get_userbyid(n.nspowner), {_acl("n", "n.nspacl", "n.nspowner")},
               obj_description(n.oid, 'pg_namespace')
          FROM pg_namespace AS n WHERE n.nspname = 'mnemo'""",
    "object": """
        SELECT DISTINCT o.type || ' ' || o.identity
          FROM pg_depend AS d
          CROSS JOIN pg_identify_object(d.classid, d.objid, d.objsubid) AS o
         WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = 'mnemo'::regnamespace""",
    "relation": f"""
        SELECT c.relname, c.relkind, c.relpersistence, pg_get_userbyid(c.relowner),
               {_acl("r", "c.relacl", "c.relowner")}, c.reloptions, t.reloptions AS toast,
               c.relrowsecurity, c.relforcerowsecurity, c.relreplident, c.relispartition,
               (SELECT a.amname FROM pg_am AS a WHERE a.oid = c.relam),
               (SELECT s.spcname FROM pg_tablespace AS s WHERE s.oid = c.reltablespace),
               obj_description(c.oid, 'pg_class')
          FROM pg_class AS c
          LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid
         WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind <> 'i'""",
    "column": """
        SELECT c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
               pg_get_expr(f.adbin, f.adrelid), coalesce(a.attstattarget, -1), a.attstorage,
               a.attcompression, a.attidentity, a.attgenerated, a.attoptions, a.attacl,
               CASE WHEN a.attcollation <> 0 THEN a.attcollation::regcollation::text END,
               col_description(c.oid, a.attnum)
          FROM pg_class AS c
          JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
          LEFT JOIN pg_attrdef AS f ON f.adrelid = c.oid AND f.adnum = a.attnum
         WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind <> 'i'""",
    "column order": """
        SELECT c.relname,
               array_agg(a.attname::text ORDER BY a.attnum)
          FROM pg_class AS c
          JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind <> 'i'
         GROUP BY c.relname""",
    "constraint": """
        SELECT coalesce(c.conrelid::regclass::text, c.contypid::regtype::text) || ' ' || c.conname,
               c.contype, pg_get_constraintdef(c.oid), c.convalidated, c.condeferrable,
               c.condeferred, c.conislocal, c.coninhcount, c.connoinherit,
               obj_description(c.oid, 'pg_constraint')
          FROM pg_constraint AS c WHERE c.connamespace = 'mnemo'::regnamespace""",
    "index": """
        SELECT c.relname, pg_get_indexdef(c.oid), c.reloptions, i.indisunique,
               i.indnullsnotdistinct, i.indisprimary, i.indisvalid, i.indisready, i.indimmediate,
               i.indisclustered, i.indisreplident,
               (SELECT array_agg(coalesce(a.attstattarget, -1) ORDER BY a.attnum)
                  FROM pg_attribute AS a WHERE a.attrelid = c.oid),
               (SELECT s.spcname FROM pg_tablespace AS s WHERE s.oid = c.reltablespace),
               obj_description(c.oid, 'pg_class')
          FROM pg_class AS c
          JOIN pg_index AS i ON i.indexrelid = c.oid
         WHERE c.relnamespace = 'mnemo'::regnamespace""",
    "function": f"""
        SELECT p.oid::regprocedure::text, pg_get_functiondef(p.oid), p.prokind, p.prosecdef,
               p.proconfig, p.provolatile, p.proparallel, p.proisstrict, p.proleakproof,
               p.procost, p.prorows, p.prosupport::text, pg_get_userbyid(p.proowner),
               {_acl("f", "p.proacl", "p.proowner")}, obj_description(p.oid, 'pg_proc')
          FROM pg_proc AS p
         WHERE p.pronamespace = 'mnemo'::regnamespace AND p.prokind <> 'a'""",
    "view": """
        SELECT c.relname, pg_get_viewdef(c.oid)
          FROM pg_class AS c
         WHERE c.relnamespace = 'mnemo'::regnamespace AND c.relkind IN ('v', 'm')""",
    "type": f"""
        SELECT t.typname, t.typtype, t.typcategory, format_type(t.typbasetype, t.typtypmod),
               t.typnotnull, t.typdefault, pg_get_userbyid(t.typowner),
               {_acl("T", "t.typacl", "t.typowner")},
               (SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder)
                  FROM pg_enum AS e WHERE e.enumtypid = t.oid),
               obj_description(t.oid, 'pg_type')
          FROM pg_type AS t
         WHERE t.typnamespace = 'mnemo'::regnamespace AND t.typelem = 0""",
    "trigger": """
        SELECT t.tgrelid::regclass || ' ' || t.tgname, pg_get_triggerdef(t.oid), t.tgenabled
          FROM pg_trigger AS t
          JOIN pg_class AS c ON c.oid = t.tgrelid
         WHERE c.relnamespace = 'mnemo'::regnamespace AND NOT t.tgisinternal""",
    "rule": """
        SELECT c.relname || ' ' || r.rulename, pg_get_ruledef(r.oid), r.ev_enabled
          FROM pg_rewrite AS r
          JOIN pg_class AS c ON c.oid = r.ev_class
         WHERE c.relnamespace = 'mnemo'::regnamespace""",
    "policy": """
        SELECT p.tablename || ' ' || p.policyname, p.permissive, p.roles::text[], p.cmd, p.qual,
               p.with_check
          FROM pg_policies AS p WHERE p.schemaname = 'mnemo'""",
    "comment": """
        SELECT o.type || ' ' || o.identity, d.description
          FROM pg_description AS d
          CROSS JOIN pg_identify_object(d.classoid, d.objoid, d.objsubid) AS o
         WHERE o.schema = 'mnemo' OR o.identity = 'mnemo'""",
}

# Numbers below this belong to the objects that initdb made.
_FIRST_NUMBER = 16384


def take(dsn: str) -> Snapshot:
    """The snapshot of a database: section -> key -> everything known about it."""
    with psycopg.connect(dsn, client_encoding="UTF8") as conn:
        return of(conn)


def of(conn: psycopg.Connection[Any]) -> Snapshot:
    """The same as seen inside a transaction that has begun or begins here."""
    conn.execute(
        "SET LOCAL search_path = pg_catalog; SET LOCAL IntervalStyle = 'postgres';"
        " SET LOCAL DateStyle = 'ISO'; SET LOCAL TimeZone = 'UTC';"
        " SET LOCAL extra_float_digits = 1;"
        " SET LOCAL standard_conforming_strings = on; SET LOCAL bytea_output = 'hex'"
    )
    found: Snapshot = {}
    for section, query in QUERIES.items():
        rows = conn.execute(query).fetchall()
        found[section] = {row[0]: row[1:] for row in rows}
        assert len(found[section]) == len(rows), f"two rows of section {section} have one key"
    return found


def objects(conn: psycopg.Connection[Any]) -> set[str]:
    """What stands in the schema, by kind and name."""
    return {row[0] for row in conn.execute(QUERIES["object"]).fetchall()}


def differences(one: Snapshot, other: Snapshot) -> list[str]:
    """One line for each entry that is not the same in both; empty when they are equal."""
    lines = []
    for section in sorted(one.keys() | other.keys()):
        left, right = one.get(section, {}), other.get(section, {})
        for key in sorted(left.keys() | right.keys()):
            if left.get(key) != right.get(key):
                lines.append(f"{section} {key}: {left.get(key)} <> {right.get(key)}")
    return lines


def strays(dsn: str) -> set[str]:
    """Every object outside schema mnemo that initdb did not make, roles and databases included.

    Objects of all catalogs with object numbers, so that a new kind of object cannot be forgotten.
    """
    # Text of a database in SQL_ASCII would come as bytes.
    with psycopg.connect(dsn, client_encoding="UTF8") as conn:
        conn.execute("SET LOCAL search_path = pg_catalog")
        catalogs = [
            row[0]
            for row in conn.execute(
                "SELECT c.relname FROM pg_class AS c"
                "  JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'oid'"
                " WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind = 'r'"
                "   AND c.relname NOT IN ('pg_enum', 'pg_largeobject_metadata')"
            )
        ]
        found: set[str] = set()
        for catalog in catalogs:
            found.update(
                f"{kind} {identity}"
                for kind, identity in conn.execute(
                    sql.SQL(
                        "SELECT o.type, o.identity FROM {catalog} AS x"
                        " CROSS JOIN pg_identify_object(x.tableoid, x.oid, 0) AS o"
                        " WHERE x.oid >= %s AND o.schema IS DISTINCT FROM 'mnemo'"
                        "   AND o.schema IS DISTINCT FROM 'pg_toast'"
                    ).format(catalog=sql.Identifier(catalog)),
                    [_FIRST_NUMBER],
                )
                if identity != "mnemo" and "mnemo." not in identity
            )
        for row in conn.execute(
            "SELECT 'setting of database ' || setdatabase || ' role ' || setrole || ' '"
            "       || array_to_string(setconfig, ' ') FROM pg_db_role_setting"
        ):
            found.add(row[0])
        return found
