-- Which built-in rules are worth asking: a regular expression of all of them would cost more than
-- the rest of a write, and looking for the parts that none of them can do without next to nothing.

CREATE FUNCTION mnemo._has(
    p_text text,
    p_part text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN strpos(p_text COLLATE "C", p_part) > 0;
COMMENT ON FUNCTION mnemo._has(text, text) IS 'Whether a text contains another, byte by byte.';

CREATE FUNCTION mnemo._command_candidates(
    p_text text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    CASE WHEN mnemo._has(p_text, 'ignor') OR mnemo._has(p_text, 'disregard')
        OR mnemo._has(p_text, 'forget') OR mnemo._has(p_text, 'overrid')
        OR mnemo._has(p_text, 'bypass') THEN 'instruction_override' END,
    CASE WHEN mnemo._has(p_text, 'vergiss') OR mnemo._has(p_text, 'vergessen')
        OR mnemo._has(p_text, 'missacht') OR mnemo._has(p_text, 'verwirf')
        THEN 'instruction_override_de' END,
    CASE WHEN mnemo._has(p_text, ' oubli') THEN 'instruction_override_fr' END,
    CASE WHEN mnemo._has(p_text, ' olvid') THEN 'instruction_override_es' END,
    CASE WHEN mnemo._has(p_text, ' prompt ') OR mnemo._has(p_text, ' instructions ')
        THEN 'prompt_leak' END,
    CASE WHEN mnemo._has(p_text, 'developer mode') OR mnemo._has(p_text, ' dan mode')
        OR mnemo._has(p_text, ' god mode') OR mnemo._has(p_text, ' admin mode')
        OR mnemo._has(p_text, 'jailbr') OR mnemo._has(p_text, 'unrestricted mode')
        OR mnemo._has(p_text, 'unfiltered mode') OR mnemo._has(p_text, 'anything now')
        OR mnemo._has(p_text, 'restrict') OR mnemo._has(p_text, 'guardrails')
        OR mnemo._has(p_text, ' bound by') THEN 'unlocked_mode' END,
    CASE WHEN mnemo._has(p_text, '<|') OR mnemo._has(p_text, 'inst]')
        OR mnemo._has(p_text, 'sys>') OR mnemo._has(p_text, '###')
        OR mnemo._has(p_text, ': you') OR mnemo._has(p_text, ':you')
        THEN 'template_marker' END
];
COMMENT ON FUNCTION mnemo._command_candidates(text) IS
    'The rules of _command_rules that could match, NULL for each that could not, by parts that '
    'their patterns cannot do without. Who asks adds the languages where '
    'instruction_override is one, and the rules for other scripts where a text has them';

CREATE FUNCTION mnemo._address_candidates(
    p_text text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[
    CASE WHEN mnemo._has(p_text, ' ai ') OR mnemo._has(p_text, ' llm ')
        OR mnemo._has(p_text, ' language model ') OR mnemo._has(p_text, ' agent')
        OR mnemo._has(p_text, ' chatbot') OR mnemo._has(p_text, ' bot')
        OR mnemo._has(p_text, ' claude ') OR mnemo._has(p_text, ' gpt ')
        OR mnemo._has(p_text, ' chatgpt ') OR mnemo._has(p_text, ' gemini ')
        OR mnemo._has(p_text, ' copilot ') THEN 'addressed_to_agent' END,
    CASE WHEN mnemo._has(p_text, ' from now on ') OR mnemo._has(p_text, ' henceforth ')
        OR mnemo._has(p_text, ' from this ') OR mnemo._has(p_text, ' going forward ')
        OR mnemo._has(p_text, ' future ') OR mnemo._has(p_text, ' in every ')
        OR mnemo._has(p_text, ' in each ') OR mnemo._has(p_text, ' in all ')
        OR mnemo._has(p_text, ' at every ') OR mnemo._has(p_text, ' at each ')
        OR mnemo._has(p_text, ' at all ') OR mnemo._has(p_text, ' whenever ')
        OR mnemo._has(p_text, ' every time ') THEN 'standing_order' END,
    CASE WHEN mnemo._has(p_text, ' you must ') OR mnemo._has(p_text, ' you have to ')
        OR mnemo._has(p_text, ' you are required ') OR mnemo._has(p_text, ' you shall ')
        OR mnemo._has(p_text, ' you will ') OR mnemo._has(p_text, ' you should ')
        OR mnemo._has(p_text, ' always ') OR mnemo._has(p_text, ' only ') THEN 'obedience' END,
    CASE WHEN mnemo._has(p_text, ' your ') THEN 'memory_claim' END,
    CASE WHEN mnemo._has(p_text, ' i am ') OR mnemo._has(p_text, ' this is ')
        OR mnemo._has(p_text, ' we are ') OR mnemo._has(p_text, ' here speaks ')
        OR mnemo._has(p_text, ' speaking as ') OR mnemo._has(p_text, ' official ')
        OR mnemo._has(p_text, ' authori') OR mnemo._has(p_text, ' urgent ')
        OR mnemo._has(p_text, ' mandatory ') OR mnemo._has(p_text, 'this ')
        OR mnemo._has(p_text, 'following ') THEN 'authority_claim' END,
    CASE WHEN mnemo._has(p_text, ' you are n') OR mnemo._has(p_text, ' pretend ')
        OR mnemo._has(p_text, ' as if you ') OR mnemo._has(p_text, ' as though you ')
        OR mnemo._has(p_text, ' act as a') OR mnemo._has(p_text, ' jailbr')
        OR mnemo._has(p_text, ' your new ') OR mnemo._has(p_text, ' your real ')
        OR mnemo._has(p_text, ' your true ') THEN 'persona_swap' END,
    CASE WHEN mnemo._has(p_text, ' tell ') OR mnemo._has(p_text, ' inform ')
        OR mnemo._has(p_text, ' notify ') OR mnemo._has(p_text, ' mention ')
        OR mnemo._has(p_text, ' reveal ') OR mnemo._has(p_text, ' disclose ')
        OR mnemo._has(p_text, ' warn ') OR mnemo._has(p_text, ' telling ')
        OR mnemo._has(p_text, ' informing ') OR mnemo._has(p_text, ' notifying ')
        OR mnemo._has(p_text, ' warning ') THEN 'concealment' END,
    CASE WHEN mnemo._has(p_text, 'password') OR mnemo._has(p_text, 'credentials')
        OR mnemo._has(p_text, 'api key') OR mnemo._has(p_text, 'secret')
        OR mnemo._has(p_text, 'tokens') OR mnemo._has(p_text, 'private key')
        OR mnemo._has(p_text, 'conversation') OR mnemo._has(p_text, 'chat history')
        OR mnemo._has(p_text, ' memor') THEN 'exfiltration' END
];
COMMENT ON FUNCTION mnemo._address_candidates(text) IS
    'The rules of _address_rules that could match, NULL for each that could not';
