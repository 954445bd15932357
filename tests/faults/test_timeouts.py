"""A timeout in the middle of each function that writes: nothing of the call is kept."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql

from mnemo_pg.errors import SERVER_CODES, TimedOutError
from tests.support.calls import contents, scalar
from tests.support.consistency import inconsistencies
from tests.support.every import drop_roles, prepare

_PRIVILEGES = """
    SELECT md5(string_agg(p.proname || coalesce(p.proacl::text, ''), ',' ORDER BY p.proname))
      FROM pg_proc AS p WHERE p.pronamespace = 'mnemo'::regnamespace
"""


def test_each_writing_function_at_each_table_that_it_writes(
    dsn: str, db: psycopg.Connection
) -> None:
    """Somebody locks one of its tables, so it stops there, with what comes before it done."""
    calls = [call for call in prepare(db) if call.volatile]
    stops = 0
    with psycopg.connect(dsn) as holder:
        for call in calls:
            before, privileges = contents(db), scalar(db, _PRIVILEGES)
            with db.transaction(force_rollback=True):
                call.run(db)
                after = contents(db)
            for table in (name for name in before if before[name] != after.get(name)):
                holder.execute(
                    sql.SQL("LOCK TABLE {} IN SHARE MODE").format(sql.Identifier("mnemo", table))
                )
                for setting, code in (("lock_timeout", "55P03"), ("statement_timeout", "57014")):
                    db.execute(sql.SQL("SET {} = '30ms'").format(sql.Identifier(setting)))
                    with pytest.raises(psycopg.OperationalError) as caught:
                        call.run(db)
                    db.execute(sql.SQL("RESET {}").format(sql.Identifier(setting)))
                    assert caught.value.sqlstate == code, (call.function, table)
                    assert SERVER_CODES[code] is TimedOutError
                    stops += 1
                holder.rollback()
            assert contents(db) == before, call.function
            assert scalar(db, _PRIVILEGES) == privileges, call.function
        assert stops > 40
        for call in calls:
            with db.transaction(force_rollback=True):
                call.run(db)
    assert inconsistencies(db) == []
    drop_roles(db)
