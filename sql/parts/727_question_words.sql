CREATE FUNCTION mnemo._conversation_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN string_to_array(
    'able absolutely according across actually advice advise afraid afternoon against ago agree'
    ' ah ahead allow allowed alone along already alright although amazing among amount announce'
    ' answer anybody anymore anyway anywhere apart apparently appear appreciate approach area'
    ' around arrive aside asking assume attempt attention autumn aware away awesome bad'
    ' basically bear beat became becaus become began begin behind believe belong below beneath'
    ' beside between beyond big bit book booked booking both bother bring brought busy buying'
    ' call called calling care careful carry case catch caught caus certain certainly chance'
    ' change check choice choose chose chosen claim clear clearly close closest comfortable'
    ' coming common compare completely concern confirm confused consider constantly contain'
    ' continue convince correct correctly count couple course cover currently dare date day dead'
    ' deal dear decent decide decided decision deep definitely depend describe deserve despite'
    ' detail determine die differ difference different difficult direct directly discover'
    ' discuss doing doubt dozen drive driving drop drove due during eager early easily easy eh'
    ' either else elsewhere end ended enough entire entirely especially essentially even evening'
    ' event eventually everybody everywhere exact exactly example except excited exist expect'
    ' explain express extra extremely eye fact fail fair fairly fall familiar fancy far fast'
    ' favorite favourite feel feeling felt fetching few figure final finally finding fine finish'
    ' first fit fix follow fond forever forget forgot forgotten form former forty forward free'
    ' frequently front full fully fun funny further future gather general generally getting'
    ' giving glad gladly gotta grab guess hand handle handy hang happen happened happening happy'
    ' hard hardly hate head heading hear heard heavy hell hello help helpful hey hi hint hmm'
    ' hold honest honestly hope hoping hour huge hungry hurry idea ideal ideally imagine'
    ' immediately important impossible impress include indeed info inform information inside'
    ' instance instead intend intention interested interesting involve issue item join joke keen'
    ' keep kept key kidding kindly knowing large last late lately later latest lead lean learn'
    ' least leave left less letting level likely liking limit line list listed little live load'
    ' local long longer looking lose lost loud low lucky main mainly maintain making manage mark'
    ' matter maybe mean meant meanwhile mention mentioned mere mess message middle mind minute'
    ' miss missed missing mistake mix moment month morning mostly move naturally near nearby'
    ' nearest nearly necessarily necessary neither next nice night nobody none noon normal'
    ' normally note notice nowaday nowhere obvious obviously occasion occasionally odd offer oh'
    ' ok okay once opinion option original otherwise ought outside overall owe pack packing'
    ' particular particularly pass past perfect perfectly perhap personal personally pick picked'
    ' piece place plain plan planned planning plenty plus point pop position possible possibly'
    ' potential practically prefer preferably preference preferred present pretty previous'
    ' previously probably problem proper properly provide pull purpose push putting question'
    ' quick quickly quiet quite random rather rave reach react read ready real realise realiz'
    ' reason recent recently recommend recommendation refer regard regarding regular regularly'
    ' related reliable reliably rely remain reminder reply request require reserve reserved'
    ' respond rest result review right rough roughly round rule running rush sake satisfied save'
    ' saying scratch second seeing seem seemed select send sense sensible separate serious'
    ' seriously set settle settled several share short shortly shot showing side sign similar'
    ' simple simply since single sit situation slightly slow slowly small smart smile somebody'
    ' somehow sometime somewhat somewhere soon sorry sound space speak special specific'
    ' specifically spend spoke spot spring stand standard start started state stay stick stop'
    ' stopping straight strange stuck stupid such suddenly suggest suggestion suit suitable'
    ' suited summer suppose supposed sure surely surprise suspect swear sweet swing switch'
    ' taking talk talking telling tend term test thank therefore thinking third though three'
    ' thrilled throw till today together tomorrow tonight top total totally touch toward track'
    ' tricky tried trouble true trust trusty truth try trying turn twice two typical typically'
    ' ultimately under understand understood unless until unusual upon upset urgent useful usual'
    ' various via view visit vital wait waiting walk wanna want wanting warn wasted watch week'
    ' weekday weird whatever whenever wherever whether whichever while whilst whoever whole'
    ' willing winter wise wish within without won wonder wonderful wondering word work worked'
    ' world worry worse worst worth wow wrap write wrong year yes yesterday young', ' ');
COMMENT ON FUNCTION mnemo._conversation_words() IS
    'English words, as _terms folds them, that carry a conversation and seldom its subject: they '
    'ask for something only where a question has no other words.';

CREATE FUNCTION mnemo._word_forms(
    p_word text
)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN length(p_word) < 4 OR p_word COLLATE "C" ~ '[^a-z]' THEN '{}'::text[]
    WHEN right(p_word, 3) = 'ing' THEN
        CASE WHEN substr(p_word, length(p_word) - 4, 2)
            IN ('bb', 'dd', 'ff', 'gg', 'mm', 'nn', 'pp', 'rr', 'tt')
        THEN ARRAY[left(p_word, -4)]
        ELSE ARRAY[left(p_word, -3), left(p_word, -3) || 'e'] END
    WHEN right(p_word, 2) IN ('ed', 'er') THEN
        CASE WHEN substr(p_word, length(p_word) - 3, 2)
            IN ('bb', 'dd', 'ff', 'gg', 'mm', 'nn', 'pp', 'rr', 'tt')
        THEN ARRAY[left(p_word, -3), left(p_word, -2) || 'ing']
        ELSE ARRAY[left(p_word, -1), left(p_word, -2), left(p_word, -2) || 'ing'] END
    WHEN right(p_word, 1) = 'e' THEN ARRAY[left(p_word, -1) || 'ing', p_word || 'd']
    WHEN translate(right(p_word, 3), 'aeiobdgmnprtcfhjklsvw', 'uuuullllllllyyyyyyyyy')
        IN ('lul', 'yul')
    THEN ARRAY[p_word || right(p_word, 1) || 'ing', p_word || 'ing']
    ELSE ARRAY[p_word || 'ing', p_word || 'ed'] END;
COMMENT ON FUNCTION mnemo._word_forms(text) IS
    'Other forms that an English word may have, besides plurals: climb for climbing, climbing for '
    'climb, both for climber and climbed; some are no words. Empty for words of fewer than four '
    'letters or of other letters. NULL gives NULL. Raises nothing.';

CREATE FUNCTION mnemo._word_strengths()
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_object(
        mnemo._weak_words(), array_fill('0'::text, ARRAY[cardinality(mnemo._weak_words())]))
    || jsonb_object(
        mnemo._conversation_words(),
        array_fill('1'::text, ARRAY[cardinality(mnemo._conversation_words())]))
    || jsonb_object(
        mnemo._stop_words(), array_fill('-1'::text, ARRAY[cardinality(mnemo._stop_words())]));
COMMENT ON FUNCTION mnemo._word_strengths() IS
    'The words that ask for little: 1 for those of _conversation_words, 0 for those of _weak_words,'
    ' -1 for stop words. A constant, asked faster than the lists.';

CREATE FUNCTION mnemo._question_terms(
    p_text text
)
RETURNS TABLE (
    place bigint,
    word text,
    strength integer,
    form text,
    term bigint,
    factor double precision,
    evidence double precision
)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 40
BEGIN ATOMIC
    WITH token AS MATERIALIZED (
        SELECT t.word, min(t.place) AS place, min(t.phrase) AS phrase,
               mnemo._word_strengths() ->> t.word AS strength
          FROM (
            SELECT u.word, u.place, mnemo._related_words() ->> (
                       u.word || ' ' || lead(u.word) OVER (ORDER BY u.place)) AS phrase
              FROM unnest(mnemo._terms(p_text)) WITH ORDINALITY AS u(word, place)
          ) AS t
         GROUP BY t.word
    ), asked AS MATERIALIZED (
        SELECT t.word, t.place, t.phrase,
               CASE WHEN t.strength IS NULL OR t.phrase IS NOT NULL THEN 2
               ELSE t.strength::integer END AS strength,
               CASE WHEN t.strength = '0' AND t.phrase IS NULL THEN '{}'::text[]
               ELSE mnemo._word_forms(t.word) END AS forms
          FROM token AS t
         WHERE t.strength IS DISTINCT FROM '-1' OR t.phrase IS NOT NULL
    )
    SELECT f.place, f.word, f.strength, f.form, mnemo._hash64(f.form), max(f.factor),
           max(f.evidence)
      FROM (
        SELECT a.place, a.word, a.strength, a.word AS form, 1.0::double precision AS factor,
               1.0::double precision AS evidence
          FROM asked AS a
        UNION ALL
        SELECT a.place, a.word, a.strength, v.form, 0.85, 0.9
          FROM asked AS a CROSS JOIN LATERAL unnest(a.forms) AS v(form)
        UNION ALL
        SELECT a.place, a.word, a.strength, r.form, 0.5, 0.72
          FROM asked AS a
          CROSS JOIN LATERAL unnest(a.word || a.forms || a.phrase) WITH ORDINALITY AS v(form, place)
          CROSS JOIN LATERAL unnest(string_to_array(
                CASE WHEN v.place = 2 + cardinality(a.forms) THEN v.form
                ELSE mnemo._related_words() ->> v.form END, ' ')) AS r(form)
         WHERE a.strength > 0
      ) AS f
     GROUP BY f.place, f.word, f.strength, f.form;
END;
COMMENT ON FUNCTION mnemo._question_terms(text) IS
    'What may answer each word of a question, stop words aside. place: of the word. strength: 2 a '
    'word that asks for something; 1 a word of _conversation_words, which does so only where there '
    'is no other; 0 a word of _weak_words, which never does. form: the word itself, another form '
    'of it or a related word; term: its hash. factor: what a hit of it counts in ranking (1 the '
    'word, 0.85 a form, 0.5 a related word). evidence: how far a hit shows that the record speaks '
    'of what the word asks for (1, 0.9, 0.72). A word that begins a phrase of _related_words, such '
    'as work out, has the related words of the phrase too. No row for a text without words.';

CREATE FUNCTION mnemo._meant_person(
    p_text text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN mnemo._terms(p_text) && ARRAY['she', 'her', 'he', 'him', 'his', 'wife', 'husband', 'spous',
        'fiancee', 'fiance', 'girlfriend', 'boyfriend', 'hubby', 'missu']::text[] THEN 'partner'
    WHEN mnemo._terms(p_text) && ARRAY['i', 'me', 'my', 'mine', 'myself', 'we', 'us', 'our',
        'user']::text[] THEN 'user' END;
COMMENT ON FUNCTION mnemo._meant_person(text) IS
    'Whom a text means that names nobody: partner for a pronoun of the third person or a word for '
    'a spouse, that is the one subject that has a name of _partner_names; user for the first '
    'person; else NULL. NULL for NULL.';

CREATE FUNCTION mnemo._partner_names()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['wife', 'husband', 'spous', 'fiancee', 'fiance', 'girlfriend', 'boyfriend', 'partner']
    ::text[];
COMMENT ON FUNCTION mnemo._partner_names() IS
    'Names, as _fold_name gives them, of the person that she or he means where nobody is named, '
    'best first: the first that exactly one subject has.';
