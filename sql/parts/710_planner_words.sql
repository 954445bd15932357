-- Every word list of the planner. Words that are compared one by one stand as _fold_phrase leaves
-- them, without plurals. The phrases of _planner_phrases stand as they are written, in lower case
-- and with spaces for apostrophes, and are parts of a regular expression.

CREATE FUNCTION mnemo._function_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._stop_words() || string_to_array(
    'myself yourself himself herself itself oneself ourselve yourselve themselve someone'
    ' somebody something somewhere somehow sometime anyone anybody anything anywhere anyhow'
    ' anyway everyone everybody everything everywhere nobody nothing nowhere none whoever'
    ' whatever whichever whenever wherever however such same other another each every either'
    ' neither both all any some many much more most few fewer less least several enough one'
    ' own lot bit kind sort type way thing stuff about above across after again against along'
    ' among around away back becaus before behind below beneath beside between beyond despite'
    ' down during except inside instead near off out outside over past per regarding round'
    ' since through throughout till toward under until unless up upon via versus while whether'
    ' within without though although also too very quite rather really actually just only even'
    ' ever never alway usually often still yet already almost maybe perhap now soon later else'
    ' once etc eg ie dont didnt doesnt isnt arent wasnt werent cant couldnt shouldnt wouldnt'
    ' hasnt havent hadnt im ive youre youve theyre don didn doesn isn aren wasn weren couldn'
    ' shouldn wouldn hasn haven hadn gonna gotta wanna yes yeah ok okay hi hello hey oh please'
    ' thank like go goe going went gone come came coming get got getting gotten make made'
    ' making take took taken taking put use used using doing let try good great better', ' ');
COMMENT ON FUNCTION mnemo._function_words() IS
    'English words without a topic: those that are never indexed, and pronouns, prepositions, '
    'adverbs and verbs of any sentence. Words of other languages are all topical.';

CREATE FUNCTION mnemo._asking_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN string_to_array(
    'remember remembered remembering recall recalled remind reminded reminder forget forgot'
    ' forgotten tell told telling know knew known knowing say said saying mention mentioned'
    ' ask asked asking answer explain describe show showed shown find found finding look'
    ' looked looking see saw seen search give gave given help wonder wondering guess think'
    ' thought thinking believe suppose mean meant check confirm speak spoke talk talked'
    ' talking discuss discussed recommend recommended recommendation suggest suggested'
    ' suggestion advise compare compared happen happened happening', ' ');
COMMENT ON FUNCTION mnemo._asking_words() IS
    'English words by which something is asked for, and which say nothing about what.';

CREATE FUNCTION mnemo._relation_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN string_to_array(
    'wife husband spous partner fiance fiancee girlfriend boyfriend mother mom mum mummy'
    ' mommy father dad daddy parent stepmother stepfather sister brother sibling son daughter'
    ' child children kid baby aunt aunty uncle cousin niece nephew grandmother grandma granny'
    ' grandfather grandpa grandparent grandson granddaughter grandchild grandchildren'
    ' godmother godfather godson goddaughter family friend flatmate roommate housemate'
    ' neighbour neighbor colleague coworker boss manager mentor landlord landlady', ' ');
COMMENT ON FUNCTION mnemo._relation_words() IS
    'English words for people by what they are to the user.';

CREATE FUNCTION mnemo._role_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._relation_words() || string_to_array(
    'accountant agent architect assistant babysitter baker banker barber barista builder'
    ' carpenter carer chef cleaner client coach cook counsellor customer dentist doctor driver'
    ' editor electrician employee employer engineer florist gardener girl boy guest guide gp'
    ' hairdresser hairstylist host hostess instructor interpreter journalist lady lawyer man'
    ' mechanic member midwife nanny nurse optician painter pharmacist photographer'
    ' physiotherapist physio plumber postman principal professor psychologist receptionist'
    ' secretary solicitor stylist supervisor surgeon tailor teacher tenant therapist trainer'
    ' tutor vet waiter waitress woman mate buddy pal guy bloke lad neighbor teammate workmate'
    ' stranger', ' ');
COMMENT ON FUNCTION mnemo._role_words() IS
    'English words for people that she or he may refer back to: relations and occupations, folded.';

CREATE FUNCTION mnemo._third_persons(
    p_pronoun text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_pronoun
    WHEN 'she' THEN ARRAY['she', 'her', 'herself']::text[]
    WHEN 'he' THEN ARRAY['he', 'him', 'his', 'himself']::text[]
END;
COMMENT ON FUNCTION mnemo._third_persons(text) IS
    'The forms of the English pronoun she or he, folded. NULL for another.';

CREATE FUNCTION mnemo._pronoun_of_partner(
    p_words text[]
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN EXISTS (
    SELECT FROM unnest(p_words) WITH ORDINALITY AS u(word, place)
     WHERE u.word = ANY (mnemo._third_persons('she') || mnemo._third_persons('he'))
       AND NOT p_words[1 : u.place - 1] && mnemo._role_words()
);
COMMENT ON FUNCTION mnemo._pronoun_of_partner(text[]) IS
    'Whether she or he stands in folded words with nobody before it to whom it refers back, as in '
    'my dentist said she is away. NULL gives false.';

CREATE FUNCTION mnemo._is_of_another(
    p_before text,
    p_mark text,
    p_word text
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_mark = 's' AND p_word = ANY (mnemo._relation_words()) AND p_before IS NOT NULL
    AND p_before <> ALL (mnemo._stop_words() || 'user'::text);
COMMENT ON FUNCTION mnemo._is_of_another(text, text, text) IS
    'Whether the last of three folded words is a person by what he is to somebody named before, as '
    'in Tom''s wife or my sister''s husband, and not to the user, as in where''s my wife or how''s '
    'dad. NULL or false for all else.';

CREATE FUNCTION mnemo._first_persons()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['i', 'me', 'my', 'mine', 'myself', 'we', 'us', 'our', 'user']::text[];
COMMENT ON FUNCTION mnemo._first_persons() IS 'English words by which a text means its user.';

CREATE FUNCTION mnemo._pronoun_partners(
    p_pronoun text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_pronoun = ANY (mnemo._third_persons('she'))
    THEN ARRAY['wife', 'girlfriend', 'fiancee', 'spous', 'partner']::text[]
    WHEN p_pronoun = ANY (mnemo._third_persons('he'))
    THEN ARRAY['husband', 'boyfriend', 'fiance', 'spous', 'partner']::text[]
END;
COMMENT ON FUNCTION mnemo._pronoun_partners(text) IS
    'Names, folded, of the person that she or he means where nobody is named, best first. NULL for '
    'another word.';

CREATE FUNCTION mnemo._asks_in_general(
    p_words text[]
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_words && ARRAY['what', 'which', 'who', 'whom', 'whose', 'where', 'when', 'why', 'how']
        ::text[]
    OR p_words[1] IN ('is', 'are', 'was', 'were', 'do', 'doe', 'did', 'can', 'could', 'will',
        'would', 'should');
COMMENT ON FUNCTION mnemo._asks_in_general(text[]) IS
    'Whether words, as _terms gives them, make a question: an asking word, or a verb in front. '
    'NULL for NULL.';

CREATE FUNCTION mnemo._calendar_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN string_to_array(
    'monday tuesday wednesday thursday friday saturday sunday january february march april'
    ' may june july august september october november december weekend spring summer autumn'
    ' winter christmas halloween valentine', ' ');
COMMENT ON FUNCTION mnemo._calendar_words() IS
    'English names of days, months, seasons and feasts, and the weekend: of all time words those '
    'that lead to what may stand in what is remembered.';

CREATE FUNCTION mnemo._timeless(
    p_plain text[],
    p_first integer,
    p_last integer
)
RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT p.place
      FROM generate_series(p_first, p_last) AS p(place)
     WHERE p_plain[p.place] <> ALL (mnemo._calendar_words())
);
COMMENT ON FUNCTION mnemo._timeless(text[], integer, integer) IS
    'The places from p_first to p_last whose words are not of _calendar_words. Empty for NULL.';

CREATE FUNCTION mnemo._planner_phrases(
    p_set text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ' (?:' || array_to_string(CASE p_set
    WHEN 'explicit_recall' THEN ARRAY[
        'remember(?:ed)?', 'recall', 'remind', 'what do you know', 'know about m[ey]',
        'do you know (?:what|who|whom|where|when|which|how|if) i',
        'do you know (?:who |what |where |when |if |about )?my',
        'did (?:i|we) (?:tell|say|mention)', '(?:have|had|ve) (?:i )?(?:told|mentioned)',
        'i (?:told|mentioned|said)', '(?:what|who|where|when|which) (?:is|are|was|were|s) my',
        'whats my', 'whos my', 'i (?:ve |have )?forg(?:et|ot|otten)', 'tell me (?:about )?my',
        '(?:your|in|from) memor(?:y|ies)'
    ]
    WHEN 'personal_recommendation' THEN ARRAY[
        'recommend(?:s|ed|ation|ations)?', 'suggest(?:s|ed|ion|ions)?', 'advi[sc]e', 'propose',
        'should (?:i|we)', '(?:what|where|which)(?: [^ ]+)? (?:should|could|can|shall) (?:i|we)',
        'find (?:a|an|me|us|some|something|somewhere)',
        '(?:pick|choose|order|get|book|reserve) (?:me|us)',
        '(?:pick|choose|book|reserve|plan) (?:a|an|some|something|somewhere)',
        '(?:any|some|an|gift|present) ideas?', 'ideas? for', '(?:gift|present|something|treat) for',
        '(?:good|best|right|suitable|safe) for', 'suits?', 'looking for', 'somewhere',
        'what would i (?:like|enjoy|prefer)', 'would i (?:like|enjoy|prefer)',
        'help me (?:choose|find|pick|decide|plan)',
        '(?:what|where) to (?:get|buy|cook|wear|eat|drink|go|watch|read|order|give|bring|do)'
    ]
    WHEN 'comparison' THEN ARRAY[
        'compar(?:e|es|ed|ing|ison)', 'versus', 'vs', 'instead of', 'pros and cons',
        '(?:better|worse|more|less|rather|nicer|cheaper) than', 'differ(?:s|ence|ences)?',
        'which of', 'which one', 'which is (?:better|best)',
        '(?:which|better|prefer|rather|either|choose) (?:[^ ]+ )*or'
    ]
    WHEN 'prior_event_reference' THEN ARRAY[
        'last (?:time|night)', 'the other (?:day|night|evening|week)', 'yesterday', 'ago',
        'earlier', 'previous(?:ly)?', 'in the past', 'recently', 'lately', 'happened', 'that time',
        'the time (?:i|we|when)', 'when (?:did|was|were)', '(?:did|was|were|have|had) (?:i|we)',
        'how (?:did|was|were)', 'i (?:was|went|did|met|saw|had)', 'we (?:were|went|did|met|saw|had)'
    ]
    WHEN 'past' THEN ARRAY[
        'did', 'didn', 'didnt', 'was', 'were', 'had', 'went', 'been', 'met', 'saw', 'ate',
        'happened'
    ]
    WHEN 'future' THEN ARRAY[
        'will', 'll', 'shall', 'going to', 'gonna', 'upcoming', 'plan(?:s|ned|ning)?',
        'schedule[ds]?', 'am i', 'are we', 'do (?:i|we) have', 'coming up'
    ]
    END, '|') || ')(?= )';
COMMENT ON FUNCTION mnemo._planner_phrases(text) IS
    'The pattern of the English phrases that tell an intent (explicit_recall, '
    'personal_recommendation, comparison, prior_event_reference), or that what is asked lies in '
    'the past or in the future, in a text of folded words with one space before, between and '
    'after them. NULL for another set.';
