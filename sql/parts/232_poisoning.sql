CREATE TABLE mnemo.poisoning_rule (
    org_id text NOT NULL,
    name text NOT NULL,
    pattern text,
    weight double precision,
    applies_to text[],
    enabled boolean NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT poisoning_rule_pkey PRIMARY KEY (org_id, name),
    CONSTRAINT poisoning_rule_org_id_check CHECK (org_id = '*' OR mnemo._is_identifier(org_id)),
    CONSTRAINT poisoning_rule_weight_check CHECK (weight BETWEEN 0 AND 1)
);
COMMENT ON TABLE mnemo.poisoning_rule IS
    'Rules of poisoning that an administrator added, changed or switched off; those built in are '
    'in _builtin_rules.';
COMMENT ON COLUMN mnemo.poisoning_rule.org_id IS
    'Organisation that the rule holds for; * for the whole database.';
COMMENT ON COLUMN mnemo.poisoning_rule.name IS
    'Name of the rule; that of a built-in rule changes it.';
COMMENT ON COLUMN mnemo.poisoning_rule.pattern IS
    'Regular expression; NULL for that of the built-in rule.';
COMMENT ON COLUMN mnemo.poisoning_rule.weight IS
    'What a hit adds, 0 to 1; NULL for the weight of the built-in rule.';
COMMENT ON COLUMN mnemo.poisoning_rule.applies_to IS
    'Source types, and plan for plans, that it is asked for; NULL for those of the built-in rule, '
    'of a rule of its own for all.';
COMMENT ON COLUMN mnemo.poisoning_rule.enabled IS 'False for a rule that is switched off.';
COMMENT ON COLUMN mnemo.poisoning_rule.updated_at IS 'When it was last set.';

CREATE INDEX memory_quarantined_idx ON mnemo.memory (org_id, origin_org_id, id)
    WHERE quarantined AND deleted_at IS NULL;
