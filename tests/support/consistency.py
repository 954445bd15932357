"""One look at the whole store for work that was done by halves."""

from __future__ import annotations

import psycopg

# Each line: what is wrong, and which record. A record that was written has its first event, and the
# other way round; a plan that can be recalled has its signature rows: one of its own and, while it
# is shared, one for each agent that it was granted to.
_QUERY = """
WITH plan AS (
    SELECT m.org_id, m.id, m.content, m.scope, m.metadata, m.expires_at
      FROM mnemo.memory AS m
     WHERE m.tags @> ARRAY['__experience_plan__'] AND mnemo._is_live(m, now())
)
SELECT 'record without its first event', m.org_id, m.id::text
  FROM mnemo.memory AS m
 WHERE NOT EXISTS (
        SELECT FROM mnemo.event AS e
         WHERE e.memory_org_id = m.org_id AND e.memory_id = m.id
           AND e.event_type = CASE WHEN m.tags @> ARRAY['__experience_plan__']
                              THEN 'plan_write' ELSE 'memory_write' END)
UNION ALL
SELECT 'event without its record', e.memory_org_id, e.memory_id::text
  FROM mnemo.event AS e
 WHERE e.memory_id IS NOT NULL
   AND NOT EXISTS (
        SELECT FROM mnemo.memory AS m WHERE m.org_id = e.memory_org_id AND m.id = e.memory_id)
UNION ALL
SELECT 'deleted record without the event', m.org_id, m.id::text
  FROM mnemo.memory AS m
 WHERE m.deleted_at IS NOT NULL
   AND NOT EXISTS (
        SELECT FROM mnemo.event AS e
         WHERE e.memory_org_id = m.org_id AND e.memory_id = m.id
           AND e.event_type = 'memory_delete')
UNION ALL
SELECT 'record that an event deleted and that is there', m.org_id, m.id::text
  FROM mnemo.memory AS m
 WHERE m.deleted_at IS NULL
   AND EXISTS (
        SELECT FROM mnemo.event AS e
         WHERE e.memory_org_id = m.org_id AND e.memory_id = m.id
           AND e.event_type = 'memory_delete')
UNION ALL
SELECT 'plan without its signature row', p.org_id, p.id::text
  FROM plan AS p
 WHERE NOT EXISTS (
        SELECT FROM mnemo.plan_signature AS s
         WHERE s.org_id = p.org_id AND s.plan_id = p.id AND s.grantee_agent_id IS NULL)
UNION ALL
SELECT 'signature row without its plan', s.org_id, s.plan_id::text
  FROM mnemo.plan_signature AS s
 WHERE NOT EXISTS (
        SELECT FROM mnemo.memory AS m
         WHERE m.org_id = s.org_id AND m.id = s.plan_id AND m.deleted_at IS NULL
           AND m.tags @> ARRAY['__experience_plan__'])
UNION ALL
SELECT 'signature row that differs from its plan', s.org_id, s.plan_id::text
  FROM mnemo.plan_signature AS s
  JOIN plan AS p ON p.org_id = s.org_id AND p.id = s.plan_id
 WHERE s.signature <> mnemo._signature_tokens(p.content)
UNION ALL
SELECT 'grant without its signature row', a.org_id, a.memory_id::text
  FROM mnemo.acl AS a
  JOIN plan AS p ON p.org_id = a.org_id AND p.id = a.memory_id AND p.scope = 'shared'
 WHERE NOT EXISTS (
        SELECT FROM mnemo.plan_signature AS s
         WHERE s.org_id = a.org_id AND s.plan_id = a.memory_id AND s.grantee_agent_id = a.agent_id)
UNION ALL
SELECT 'signature row without its grant', s.org_id, s.plan_id::text
  FROM mnemo.plan_signature AS s
 WHERE s.grantee_agent_id IS NOT NULL
   AND NOT EXISTS (
        SELECT FROM mnemo.acl AS a
         WHERE a.org_id = s.org_id AND a.memory_id = s.plan_id AND a.agent_id = s.grantee_agent_id)
UNION ALL
SELECT 'grant without the event', a.org_id, a.memory_id::text
  FROM mnemo.acl AS a
 WHERE NOT EXISTS (
        SELECT FROM mnemo.event AS e
         WHERE e.memory_org_id = a.org_id AND e.memory_id = a.memory_id
           AND e.event_type = 'memory_share')
UNION ALL
SELECT 'idempotency key without its record', i.org_id, i.key
  FROM mnemo.idempotency AS i
 WHERE NOT EXISTS (
        SELECT FROM mnemo.memory AS m WHERE m.org_id = i.memory_org_id AND m.id = i.memory_id)
ORDER BY 1, 2, 3
"""


def inconsistencies(conn: psycopg.Connection) -> list[tuple[str, str, str]]:
    """What was done by halves: kind, organisation, id. Empty when everything is whole.

    For stores that only the public functions wrote, and from which nothing was purged.
    """
    return conn.execute(_QUERY).fetchall()
