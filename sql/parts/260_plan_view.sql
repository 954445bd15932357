CREATE VIEW mnemo.plan AS
SELECT m.id,
       m.org_id,
       m.origin_org_id,
       m.agent_id AS owner_agent_id,
       m.scope,
       m.metadata #>> '{experience_plan,query}' AS query,
       ARRAY(
           SELECT jsonb_array_elements_text(m.metadata #> '{experience_plan,signature_tokens}')
       ) AS signature_tokens,
       ARRAY(SELECT jsonb_array_elements_text(m.metadata #> '{experience_plan,steps}')) AS steps,
       nullif(m.metadata #> '{experience_plan,details}', 'null') AS details,
       ARRAY(
           SELECT jsonb_array_elements_text(m.metadata #> '{experience_plan,chunk_ids}')
       ) AS chunk_ids,
       (m.metadata #>> '{experience_plan,outcome_score}')::double precision AS outcome_score,
       m.metadata #>> '{experience_plan,context}' AS context,
       array_remove(m.tags, '__experience_plan__') AS tags,
       m.thread_id,
       m.source_id,
       m.consolidation_state,
       m.version,
       m.created_at,
       m.updated_at,
       m.expires_at,
       jsonb_array_length(m.metadata #> '{experience_plan,signature_tokens}')::bigint
           AS signature_size,
       m.quarantined,
       m.deleted_at,
       m.content_hash
  FROM mnemo.memory AS m
 WHERE m.tags @> ARRAY['__experience_plan__'];
COMMENT ON VIEW mnemo.plan IS
    'The plans of every organisation as typed columns, live or not. For administrators; '
    'applications use recall_plan, list_plans and get_plan.';
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
