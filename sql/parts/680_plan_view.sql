CREATE FUNCTION mnemo._is_admin() RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SECURITY DEFINER
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    RETURN mnemo._level_of(mnemo._effective_role()) IS NOT DISTINCT FROM 'admin';
END
$fn$;
COMMENT ON FUNCTION mnemo._is_admin() IS
    'Whether the caller has level admin. A view calls functions with its user''s privileges, so '
    'administrators may execute this one.';

-- A barrier, or a cheap function of the reader's would be run before the level is looked at.
CREATE VIEW mnemo.plan WITH (security_barrier) AS
SELECT p.id,
       p.org_id,
       p.origin_org_id,
       p.owner_agent_id,
       p.scope,
       p.query,
       p.signature_tokens,
       p.steps,
       p.details,
       p.chunk_ids,
       p.outcome_score,
       p.context,
       p.tags,
       p.thread_id,
       p.source_id,
       p.consolidation_state,
       p.version,
       p.created_at,
       p.updated_at,
       p.expires_at,
       p.signature_size,
       p.quarantined,
       p.deleted_at,
       p.content_hash,
       coalesce(f.uses, 0) AS uses,
       coalesce(f.successes, 0) AS successes,
       coalesce(f.failures, 0) AS failures,
       f.last_success,
       f.last_reported_at,
       s.standing,
       s.endurance < coalesce(
           (SELECT c.value FROM mnemo.settings AS c
             WHERE c.name = 'retire_threshold' AND c.org_id = p.origin_org_id),
           (SELECT c.value FROM mnemo.settings AS c
             WHERE c.name = 'retire_threshold' AND c.org_id = '*'), '0.05')::double precision
           AS retired,
       p.reason
  FROM mnemo._plan AS p
  LEFT JOIN mnemo.plan_fare AS f
    ON f.org_id = p.org_id AND f.plan_id = p.id AND f.reporter_org_id = p.origin_org_id
  LEFT JOIN mnemo.plan_signature AS s
    ON s.org_id = p.org_id AND s.plan_id = p.id AND s.grantee_agent_id IS NULL
 WHERE mnemo._is_admin();
COMMENT ON VIEW mnemo.plan IS
    'The plans of every organisation as typed columns, live or not. For administrators: nobody '
    'else sees a row; applications use recall_plan, list_plans and get_plan. What not to do '
    '(mnemo.remember_failure) is among them: reason is not NULL there.';
COMMENT ON COLUMN mnemo.plan.id IS 'Id of the plan.';
COMMENT ON COLUMN mnemo.plan.org_id IS 'Organisation that sees it; * for global plans.';
COMMENT ON COLUMN mnemo.plan.origin_org_id IS 'Organisation that wrote it.';
COMMENT ON COLUMN mnemo.plan.owner_agent_id IS 'Agent that owns it.';
COMMENT ON COLUMN mnemo.plan.scope IS 'private, shared, public or global.';
COMMENT ON COLUMN mnemo.plan.query IS 'The question that the plan answered.';
COMMENT ON COLUMN mnemo.plan.signature_tokens IS 'Tokens of the query, sorted by code point.';
COMMENT ON COLUMN mnemo.plan.steps IS 'What was done, in order.';
COMMENT ON COLUMN mnemo.plan.details IS 'JSON array, one value a step; NULL when none were given.';
COMMENT ON COLUMN mnemo.plan.chunk_ids IS 'Chunks that led to the answer.';
COMMENT ON COLUMN mnemo.plan.outcome_score IS 'How well it worked, from 0 to 1.';
COMMENT ON COLUMN mnemo.plan.context IS 'What the plan depends on; NULL for nothing.';
COMMENT ON COLUMN mnemo.plan.tags IS 'The caller''s tags.';
COMMENT ON COLUMN mnemo.plan.thread_id IS 'Conversation or run; NULL for none.';
COMMENT ON COLUMN mnemo.plan.source_id IS 'Identifier of the source; NULL when unknown.';
COMMENT ON COLUMN mnemo.plan.consolidation_state IS 'Live in raw, active, pending, consolidated.';
COMMENT ON COLUMN mnemo.plan.version IS 'Counts the changes, from 1.';
COMMENT ON COLUMN mnemo.plan.created_at IS 'When it was remembered.';
COMMENT ON COLUMN mnemo.plan.updated_at IS 'When its record last changed.';
COMMENT ON COLUMN mnemo.plan.expires_at IS 'From then on not recalled; NULL for never.';
COMMENT ON COLUMN mnemo.plan.signature_size IS 'Number of tokens.';
COMMENT ON COLUMN mnemo.plan.quarantined IS 'Held back from recall.';
COMMENT ON COLUMN mnemo.plan.deleted_at IS 'When it was deleted; NULL while it lives.';
COMMENT ON COLUMN mnemo.plan.content_hash IS 'SHA-256 of the record (docs/hash-format.md).';
COMMENT ON COLUMN mnemo.plan.uses IS
    'What agents of its owner''s organisation reported: how often. Reports that wait are not in it.';
COMMENT ON COLUMN mnemo.plan.successes IS 'How often they reported that it worked.';
COMMENT ON COLUMN mnemo.plan.failures IS 'How often they reported that it did not.';
COMMENT ON COLUMN mnemo.plan.last_success IS 'Whether it worked by the latest report; NULL for none.';
COMMENT ON COLUMN mnemo.plan.last_reported_at IS 'When the latest report was made; NULL for none.';
COMMENT ON COLUMN mnemo.plan.standing IS
    'What ranks it among plans of equal similarity, 0 to 1; NULL for one that is not live.';
COMMENT ON COLUMN mnemo.plan.retired IS
    'Whether its owner''s organisation replays it no more; NULL for one that is not live.';
COMMENT ON COLUMN mnemo.plan.reason IS
    'Why the steps failed, of what mnemo.remember_failure stored; NULL for plans.';
