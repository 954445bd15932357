-- What texts that want to command an agent say. A pattern is matched with the text in lower case,
-- once as its words with single spaces between, before and after them, once as it stands.

CREATE TYPE mnemo._rule AS (
    name text,
    pattern text,
    weight double precision,
    applies_to text[],
    builtin boolean
);
COMMENT ON TYPE mnemo._rule IS
    'A rule of poisoning: name, regular expression (NULL for a rule that counts), what a hit adds, '
    'source types that it is asked for (NULL: all; plan stands for plans), whether the expression '
    'is built in.';

CREATE FUNCTION mnemo._untrusted_sources() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['tool_output', 'retrieval', 'model_response', 'import'];
COMMENT ON FUNCTION mnemo._untrusted_sources() IS
    'Source types whose words nobody chose on behalf of the agent or its people.';

CREATE FUNCTION mnemo._command_rules() RETURNS SETOF mnemo._rule
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 12
BEGIN ATOMIC
    SELECT v.name, v.pattern, v.weight, NULL::text[], true
      FROM (VALUES
        ('instruction_override', 0.7::double precision,
         ' (ignor(e|ing)|disregard(ing)?|forget(ting)?|overrid(e|ing)|bypass(ing)?)'
         ' ((all|any|every|everything|the|your|my|of|these|those|other|and|both) )*'
         '((previous|prior|earlier|above|preceding|existing|former|foregoing|system|safety'
         '|developer)(ly)? ([a-z]+ )?(instructions?|prompts?|rules?|guidelines?|directives?'
         '|directions|constraints|restrictions|policy|policies|commands?|orders|programming'
         '|messages?) '
         '|your (own )?(instructions|guidelines|rules|restrictions|programming|training|policies) '
         '|(above|before this|you (were|have been) told|i said|said (above|before)) '
         '|(instructions?|rules|guidelines|directives) ((that )?(you|were) |given |above '
         '|before ))'),
        ('instruction_override_de', 0.7,
         ' (ignorier[a-z]*|vergiss|vergessen sie|missachte[a-z]*|verwirf) '
         '((alle|samtliche|die|deine|ihre|jede|bitte|obigen) )*'
         '((vorherigen|bisherigen|obigen|vorigen|fruheren|vorangegangenen) )?'
         '(anweisung(en)?|instruktion(en)?|regeln|vorgaben|befehle|anordnungen) '),
        ('instruction_override_fr', 0.7,
         ' (ignore|ignorez|ignorer|oublie|oubliez|oublier) ((toutes|tous|les|tes|vos|ces|tout) )+'
         '(instructions|consignes|regles|directives) '),
        ('instruction_override_es', 0.7,
         ' (ignora|ignore|ignorar|ignorad|olvida|olvide|olvidar) '
         '((todas|todos|toda|las|los|tus|sus|as|le|tutte|anteriores) )+'
         '(instrucciones|reglas|indicaciones|directrices|instrucoes|regras|istruzioni|regole) '),
        ('instruction_override_zh', 0.7,
         E'(\\u5FFD\\u7565|\\u65E0\\u89C6|\\u5FD8\\u8BB0|\\u5FD8\\u6389|\\u4E0D\\u8981\\u7406\\u4F1A)'
         '[^ ]{0,10}(\\u6307\\u4EE4|\\u6307\\u793A|\\u63D0\\u793A\\u8BCD|\\u89C4\\u5219|\\u547D\\u4EE4)'),
        ('instruction_override_ja', 0.7,
         E'(\\u4EE5\\u524D|\\u3053\\u308C\\u307E\\u3067|\\u4E0A\\u8A18|\\u3059\\u3079\\u3066|\\u524D\\u306E)'
         '[^ ]{0,10}(\\u6307\\u793A|\\u547D\\u4EE4|\\u30EB\\u30FC\\u30EB)[^ ]{0,4}'
         '(\\u7121\\u8996|\\u5FD8\\u308C)'),
        ('prompt_leak', 0.6,
         ' (reveal|print|show|repeat|output|display|leak|expose|send|share|tell|give|recite|dump) '
         '((me|us|all|of|the|your|its|full|entire|hidden|secret|complete|initial|original|out) )*'
         '((system|hidden|secret|initial|developer|original) prompt'
         '|your ([a-z]+ )?instructions) '),
        ('unlocked_mode', 0.5,
         ' (developer|dan|god|jailbreak|jailbroken|unrestricted|unfiltered|admin) mode '
         '(is )?(now )?(enabled|activated|engaged|on) | do anything now '
         '|without (any )?(restrictions|guardrails) '
         '|(no longer|not) (bound|restricted) by '
         '([a-z]+ ){0,3}(rules|policies|guidelines|restrictions|instructions|limits) '),
        ('template_marker', 0.6,
         '<[|](im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)[|]>'
         '|[[]/?inst[]]|<</?sys>>|(^|[^#])###? ?(system|new instructions?)( prompt)? ?:'
         '|(^|[^a-z0-9])(system|assistant)[]]?: ?you (are|must|will|should) '),
        ('hidden_text', 0.6, E'[\\U000E0020-\\U000E007E]{8}')
      ) AS v(name, weight, pattern);
END;
COMMENT ON FUNCTION mnemo._command_rules() IS
    'Built-in rules for phrases that want to take an agent over, whatever their source.';

CREATE FUNCTION mnemo._address_rules() RETURNS SETOF mnemo._rule
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 6
BEGIN ATOMIC
    SELECT v.name, v.pattern, v.weight,
           mnemo._untrusted_sources() || CASE WHEN v.plans THEN ARRAY['plan'] ELSE '{}' END,
           true
      FROM (VALUES
        ('addressed_to_agent', true, 0.4::double precision,
         ' (dear|attention|note to|note for|message to|message for|instructions? to'
         '|instructions? for'
         '|notice to|hey|hello) ((the|any|all|every) )*(ai|llm|language model|agents?'
         '|chatbots?|bots?'
         '|claude|gpt|chatgpt|gemini|copilot|ai [a-z]+) '
         '| if you are (an? |the )?(ai|llm|language model|ai [a-z]+|chatbot|large language model) '
         '|(when|whenever|if|once) (an? |the |any )?(ai|llm|language model|ai [a-z]+|chatbot)'
         ' (reads?|processes|summari[sz]es|sees|retrieves) '
         '| as an? (ai|llm|language model|ai [a-z]+|large language model) (you )?(must'
         '|should|will|are|need) '),
        ('standing_order', false, 0.3,
         ' (from now on|henceforth|from this (point|moment) (on|forward)|going forward'
         '|in (all |every )?future (conversations?|sessions?|chats?|responses?|answers?|replies)'
         '|(in|at) (every|each|all) (reply|answer|response|conversation|responses|answers|replies)'
         '|whenever (a |the |any )?(users?|customers?|someone|anyone) (asks?|requests?|mentions?)'
         '|every time (a |the |any )?(users?|customers?|someone|anyone) (asks?|requests?'
         '|mentions?)) '),
        ('obedience', false, 0.3,
         ' you (must|have to|are required to|shall|will|should) '
         '(always|never|now|only|immediately|not|obey|comply|follow|ignore|recommend|reply|respond'
         '|answer|say|tell|treat|trust) '
         '| (always|only) (recommend|trust|obey|prefer|cite|promote|approve|reply with|answer with'
         '|respond with) '),
        ('memory_claim', true, 0.4,
         ' your (memory|memories|instructions|system prompt|guidelines|programming|training|rules'
         '|configuration|policy) (has|have|is|are|was|were) (now )?(been )?'
         '(updated|changed|replaced|reset|overridden|modified|superseded|cleared) '
         '| (remember|store|save|memori[sz]e|record|add|write|keep) ([a-z0-9]+ ){0,8}'
         '(in|to|into) your ([a-z]+ ){0,2}(memory|memories|knowledge base|notes) '),
        ('authority_claim', true, 0.4,
         ' (i am|this is|we are|here speaks|speaking as) (your|the) ([a-z]+ )?'
         '(developers?|creators?|administrators?|admins?|owners?|operators?|makers?|supervisor) '
         '| (official|authori[sz]ed|authoritative|urgent|mandatory) '
         '(instructions?|directives?|orders?|override|notice) (from|by|of|for) '
         '|(this|the following) (message|instruction|order|notice) (overrides|supersedes'
         '|takes precedence'
         '|has priority|replaces) '),
        ('persona_swap', true, 0.3,
         ' you are (now|no longer) | pretend (to be|that you|you) | as (if|though) you '
         '| act as an? (unrestricted|unfiltered|evil|different) | jailbr'
         '| your (new|real|true) ([a-z]+ )?(task|role|goal|objective|mission|purpose|identity'
         '|instructions?|directive) (is|are) '),
        ('concealment', true, 0.3,
         ' (not|t|never) (tell|inform|notify|mention|reveal|disclose|warn) '
         '((this|it|any of this|anything|to|about|the|your|a) )*'
         '(users?|customers?|humans?|operators?|owners?|admins?|anyone|anybody|developers?) '
         '| without (telling|informing|notifying|warning) ((the|your|a) )*'
         '(users?|customers?|humans?|operators?|owners?|admins?|anyone|anybody|developers?) '),
        ('exfiltration', true, 0.4,
         ' (send|forward|post|upload|exfiltrate|email|transmit|leak|copy|submit|append|encode) '
         '((all|the|your|every|any|its|their|of|users?|customers?|s|entire|full|stored) )*'
         '(passwords?|credentials|api keys?|secrets|tokens|private keys?|secret keys?'
         '|conversations?|chat history|memory|memories) ([a-z0-9]+ ){0,6}'
         '(to|into|in) (https?|www|the following|this|an? (url|address|server|webhook)|[a-z0-9]+ '
         '(com|net|org|io|example|ru|cn)) ')
      ) AS v(name, plans, weight, pattern);
END;
COMMENT ON FUNCTION mnemo._address_rules() IS
    'Built-in rules for texts that speak to the agent about itself; for untrusted sources alone, '
    'since people and agents may well give standing orders, and partly for plans, whose steps are '
    'orders.';

CREATE FUNCTION mnemo._counting_rules() RETURNS SETOF mnemo._rule
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 3
BEGIN ATOMIC
    SELECT v.name, NULL::text, 0.2::double precision,
           ARRAY['agent', 'tool_output', 'retrieval', 'model_response'], true
      FROM (VALUES ('importance_outlier'), ('length_outlier'), ('burst')) AS v(name);
END;
COMMENT ON FUNCTION mnemo._counting_rules() IS
    'Built-in rules that compare a record with the newest ones of its agent. Two of them together '
    'do not flag a record that says nothing suspicious.';

CREATE FUNCTION mnemo._builtin_rules() RETURNS SETOF mnemo._rule
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 20
BEGIN ATOMIC
    SELECT * FROM mnemo._command_rules()
    UNION ALL
    SELECT * FROM mnemo._address_rules()
    UNION ALL
    SELECT * FROM mnemo._counting_rules();
END;
COMMENT ON FUNCTION mnemo._builtin_rules() IS
    'The rules of poisoning that are built in; poisoning_rule changes them.';
