CREATE FUNCTION mnemo._conversation_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN string_to_array(
    'able absolutely accept according accus achieve acquire across act actual actually adapt'
    ' add adjust admit adopt advice advise affect afford afraid afternoon against ago ah ahead'
    ' aim alive allow allowed alone along already alright alter although amazing among amount'
    ' announce annoy annoyed answer anybody anymore anyway anywhere apart apparent apparently'
    ' appear appreciate approach approve area argue around arrange arranged arrive aside asking'
    ' assess assist assume assure attach attempt attend attending attention attract autumn awake'
    ' aware away awesome bad base basically bear beat beautiful became becaus become beg began'
    ' begin behind believe belong below bend beneath beside bet between beyond big bit blame'
    ' bloke blow book booked booking bored boring both bother bought break breathe bring brought'
    ' build burn bury busy buy buying calculate call called calling care careful carry carrying'
    ' case cast catch caught caus cease certain certainly chance change chap chase cheap check'
    ' cheer choice choose chose chosen claim clear clearly close closest cold collapse combine'
    ' comfort comfortable coming command comment commit common communicate compare complain'
    ' complaint complete completely compose concentrate concern conclude conduct confess confirm'
    ' confused conquer consider constantly construct consult contain continue contribute convert'
    ' convince cool cope copy correct correctly count counter couple course cover crazy create'
    ' cross cry cure current currently daily dare dark day dead deal dear decent decide decided'
    ' decision deep definitely demand deny depart depend describe deserve design desire despite'
    ' destroy detail detect determine develop devote die differ difference different difficult'
    ' dig direct directly dirty disappoint discover discuss dislike display divide doing'
    ' dominate donate double doubt dozen drag draw dream drop drove dry due during eager early'
    ' earn ease easily easy educate eh either elect else elsewhere emerge employ empty enable'
    ' encourage end ended engage enough ensure entertain entire entirely equal escape especially'
    ' essentially establish estimate even evening event eventually everybody everywhere exact'
    ' exactly examine example exceed except exchange excited excus execute exhausted exist'
    ' expand expect expensive explain explore expose express extend extra extremely eye face'
    ' fact fail fair fairly fall familiar fancy far fast favorite favour favourite fear feed'
    ' feel feeling felt fetching few fight figure fill final finally finance finding fine finish'
    ' fire first fit fix float flow fold folk follow fond force forever forget forgot forgotten'
    ' form former forty forward free freez frequently fresh front fulfil full fully fun function'
    ' funny further future gain gather general generally getting giving glad gladly glorious'
    ' gorgeous gotta govern grab grant greet grow guarantee guess guide guy half hand handle'
    ' handled handy hang happen happened happening happy hard hardly hate head heading heal hear'
    ' heard heavy hell hello help helpful hey hi hide hint hire hit hmm hold honest honestly'
    ' hope hoping hot hour huge hunt hurry hurt idea ideal ideally ignore illustrate imagine'
    ' immediate immediately important impose impossible impress improve include increase indeed'
    ' indicate influence info inform information initial injure inside insist install instance'
    ' instant instead intend intention interested interesting introduce invent invest'
    ' investigate invite invited inviting involve issue item join joint joke judge jump justify'
    ' keen keep kept key kick kidding kill kindly knock knowing lady large last late lately'
    ' later latest laugh launch lay lead lean learn least leave leaving left lend lent less'
    ' letting level lick lie light likely liking limit line link list listed little live load'
    ' local long longer looking lose lost lovely low lucky mad main mainly maintain major making'
    ' manage managed mark marry match matter maybe mean meant meanwhile measure melt mend'
    ' mention mentioned mere mess message middle mind minor minute miss missed missing mistake'
    ' mix modern moment monitor month morning mostly motivate mount move murder mutual narrow'
    ' natural naturally near nearby nearest nearly necessarily necessary neither next nice night'
    ' nobody nod none noon normal normally note notice nowaday nowhere observe obtain obvious'
    ' obviously occasion occasionally occupy occur odd offer official oh ok okay once open'
    ' operate opinion oppose option ordinary organise organised organising original otherwise'
    ' ought outside overall overcome overdue owe pack packing participate particular'
    ' particularly pass past perfect perfectly perform perhap permanent permit personal'
    ' personally persuade pick picked piece place plain plan planned planning plead pleasant'
    ' pleased plenty plus point poor pop popular position possess possible possibly postpone'
    ' potential pour practically praise pray predict prefer preferably preference preferred'
    ' prepare prepared pretty prevent previous previously pricey prime private probably problem'
    ' proceed produce promote proper properly propose protect prove provide provoke publish pull'
    ' punish pure purpose pursue push putting qualify question quick quickly quit quite quote'
    ' raise random range rapid rare rate rather rave raw reach react ready real realise realiz'
    ' reason rebuild receive recent recently reckon recognise recommend recommendation recover'
    ' reduce refer refus regard regarding regret regular regularly reject relate related relax'
    ' release relevant reliable reliably relieve rely remain reminder remote remove repeat'
    ' replace reply represent request require rescue reserve reserved resign resist resolve'
    ' respective respond rest restore restrict result retain retire reveal reverse review reward'
    ' rich right rise risk rob roll rough roughly round rub ruin rule rush sake satisfied'
    ' satisfy save saying scratch scream search second secure seeing seek seem seemed seiz'
    ' select send senior sense sensible separate serious seriously serve served serving set'
    ' settle settled several severe shake shape share sharp shelter shine shock short shortly'
    ' shot shout showing shut shy side sign signal silly similar simple simply since single sink'
    ' sit situation skip sleepy slight slightly slip slow slowly small smart smash smile smooth'
    ' snap social soft sole solid solve somebody somehow sometime somewhat somewhere soon sorry'
    ' sorted sorting sound space speak special specific specifically spend spill spin split'
    ' spoil spoke spot spread spring squeez stable stand standard stare start started state'
    ' static stay steady steal steep stick stir stop stopping straight strain strange stress'
    ' stretch strict strike strip strong struggle stuck stupid submit succeed such suck sudden'
    ' suddenly suffer sufficient suggest suggestion suit suitable suited summer super superb'
    ' supply support suppose supposed sure surely surprise surround survive suspect suspend'
    ' sustain swallow swear sweep sweet swing switch tackle taking talk talking tear tease'
    ' telling tempt tend term terrible test thank therefore thick thin thinking third thorough'
    ' though threaten three thrilled throw tie tight till tiny tired today together tomorrow'
    ' tonight top total totally touch tough toward trace track transfer transform translate trap'
    ' treat tremble tremendous trick tricky tried trouble true trust trusty truth try trying'
    ' turn twice twist two typical typically ugly ultimately under understand understood unite'
    ' unless until unusual upon upset urge urgent useful usual value vanish various vary vast'
    ' via view vital wait waiting wake wander wanna want wanting warm warn waste wasted watch'
    ' wave weaken wear wearing week weekday weird wet whatever whenever wherever whether'
    ' whichever while whilst whisper whoever whole wide wild willing win winter wipe wise wish'
    ' withdraw within without witness won wonder wonderful wondering word work worked world'
    ' worry worse worst worth wound wow wrap write wrong year yell yes yesterday yield young', ' ');
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

CREATE FUNCTION mnemo._foreign_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN string_to_array(
    'abbiamo aber als appelle au auch auf aus aux avait avec bei bij bin bist ce ces cet'
    ' cette che chez combien como cosa cual cuale cuando cuanta cuanto das dass de degli dein'
    ' deine della delle dello dem denn der des dich dir doch donde du een ein eine einem einen'
    ' einer en er es est esta estan estou estoy et etait euch fur geen gegen gibt gli habe'
    ' haben hatte heb hebben heeft het hij hoe ich ihr ihre ik il ils ist je jij jouw jully'
    ' kann kein keine keinen konnen le les leur lo mais mein meine meinem meinen meiner mes'
    ' meu mi mich mijn minha mio mit mochte moi mon muss naar nach nao ne nicht niet noch noi'
    ' nos nosotro nosso nostro notre nous nuestra nuestro oder onde ont onz ook ou para pas'
    ' por porque pourquoi qu qual quale quali quand quando quanto que quel quelle quem qui'
    ' quien quiene quoi sa schon sehr seid sein seine seit ses seu siamo sich sind soll sollte'
    ' somme somo sono sont sous su sua suis suo ta tengo tenho tes tiene toi tuo uit und une'
    ' uns unser unsere ustede voce voi vom von voor votre vous waar waarom wann wanneer waren'
    ' warum wat weil welchem welchen welcher welke wenn wer werden weshalb wie wieso wij wir'
    ' wird wo wofur wogegen woher wohin womit woruber yo zij zijn zu zum zur', ' ');
COMMENT ON FUNCTION mnemo._foreign_words() IS
    'Articles, pronouns, prepositions, asking and auxiliary words of German, French, Spanish, '
    'Italian, Portuguese and Dutch, folded, but for those that are English words or names.';

CREATE FUNCTION mnemo._word_strengths()
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_object(
        mnemo._weak_words(), array_fill('0'::text, ARRAY[cardinality(mnemo._weak_words())]))
    || jsonb_object(
        mnemo._foreign_words(), array_fill('1'::text, ARRAY[cardinality(mnemo._foreign_words())]))
    || jsonb_object(
        mnemo._conversation_words(),
        array_fill('1'::text, ARRAY[cardinality(mnemo._conversation_words())]))
    || jsonb_object(
        mnemo._stop_words(), array_fill('-1'::text, ARRAY[cardinality(mnemo._stop_words())]));
COMMENT ON FUNCTION mnemo._word_strengths() IS
    'The words that ask for little: 1 for those of _conversation_words and _foreign_words, 0 for '
    'those of _weak_words, -1 for stop words. A constant, asked faster than the lists.';

CREATE FUNCTION mnemo._form_strength(
    p_word text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN mnemo._word_strengths() ? p_word OR mnemo._related_words() ? p_word
    THEN mnemo._word_strengths() ->> p_word
    ELSE coalesce(
        mnemo._word_strengths() ->> (mnemo._word_forms(p_word))[1],
        mnemo._word_strengths() ->> (mnemo._word_forms(p_word))[2]) END;
COMMENT ON FUNCTION mnemo._form_strength(text) IS
    'The entry of a word that ends in ing or ed in _word_strengths; for one that has none there '
    'and no related words, that of the word it is a form of. NULL for none.';

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
        SELECT t.word, min(t.place) AS place, min(t.phrase) AS phrase, max(t.pair) AS pair,
               CASE WHEN bool_and(t.others) THEN 0.72::double precision ELSE 1 END AS part,
               CASE WHEN max(t.pair) = '' THEN '1'
               WHEN min(t.phrase) IS NULL AND bool_and(t.before IS NOT NULL) THEN '0'
               WHEN right(t.word, 3) = 'ing' OR right(t.word, 2) = 'ed'
               THEN mnemo._form_strength(t.word)
               ELSE mnemo._word_strengths() ->> t.word END AS strength
          FROM (
            SELECT u.word, u.place, mnemo._is_of_another(
                        lag(u.word, 2) OVER w, lag(u.word) OVER w, u.word) IS TRUE AS others,
                   mnemo._function_pair(
                        lag(u.word) OVER w, u.word, lead(u.word) OVER w) AS pair,
                   mnemo._related_words() ->> (u.word || ' ' || lead(u.word) OVER w) AS phrase,
                   mnemo._related_words() ->> (lag(u.word) OVER w || ' ' || u.word) AS before
              FROM unnest(mnemo._terms(p_text)) WITH ORDINALITY AS u(word, place)
            WINDOW w AS (ORDER BY u.place)
          ) AS t
         GROUP BY t.word
    ), asked AS MATERIALIZED (
        SELECT t.word, t.place, t.phrase, t.part,
               CASE WHEN t.strength IS NULL OR t.phrase IS NOT NULL THEN 2
               ELSE t.strength::integer END AS strength,
               CASE WHEN t.strength = '0' AND t.phrase IS NULL THEN '{}'::text[]
               WHEN t.pair <> '' THEN ARRAY[t.pair]
               ELSE mnemo._word_forms(t.word) END AS forms
          FROM token AS t
         WHERE t.strength IS DISTINCT FROM '-1' OR t.phrase IS NOT NULL
    )
    SELECT f.place, f.word, f.strength, f.form, mnemo._hash64(f.form), max(f.factor),
           max(f.evidence * f.part)
      FROM (
        SELECT a.place, a.word, a.strength, a.word AS form, 1.0::double precision AS factor,
               1.0::double precision AS evidence, a.part
          FROM asked AS a
        UNION ALL
        SELECT a.place, a.word, a.strength, v.form, 0.85, 0.9, a.part
          FROM asked AS a CROSS JOIN LATERAL unnest(a.forms) AS v(form)
        UNION ALL
        SELECT a.place, a.word, a.strength, r.form, 0.5, 0.72, a.part
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
    'word that asks for something; 1 a word of _conversation_words or of _function_pair, which '
    'does so only where there is no other; 0 a word of _weak_words, which never does. form: the '
    'word itself, another form of it or a related word; term: its hash. factor: what a hit of it '
    'counts in ranking (1 the word, 0.85 a form, 0.5 a related word). evidence: how far a hit '
    'shows that the record speaks of what the word asks for (1, 0.9, 0.72), 0.72 of that for a '
    'relation of somebody else, who need not be the user''s. The first word of a '
    'phrase of _related_words, such as work out, asks with the related words of the phrase, the '
    'second for nothing. No row for a text without words.';

CREATE FUNCTION mnemo._spouse_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['wife', 'husband', 'spous', 'fiancee', 'fiance', 'girlfriend', 'boyfriend', 'hubby',
    'missu']::text[];
COMMENT ON FUNCTION mnemo._spouse_words() IS 'English words for a spouse, folded.';

CREATE FUNCTION mnemo._own_spouse(
    p_words text[]
)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN EXISTS (
    SELECT FROM unnest(p_words) WITH ORDINALITY AS u(word, place)
     WHERE u.word = ANY (mnemo._spouse_words()) AND mnemo._is_of_another(
            p_words[u.place - 2], p_words[u.place - 1], u.word) IS NOT TRUE
);
COMMENT ON FUNCTION mnemo._own_spouse(text[]) IS
    'Whether one of the words is a spouse that is not somebody else''s.';

CREATE FUNCTION mnemo._meant_by(
    p_words text[]
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_words && ARRAY['she', 'her', 'he', 'him', 'his']::text[]
        OR p_words && mnemo._spouse_words()
            AND (NOT p_words @> ARRAY['s'::text] OR mnemo._own_spouse(p_words))
    THEN 'partner'
    WHEN p_words && ARRAY['i', 'me', 'my', 'mine', 'myself', 'we', 'us', 'our', 'user']::text[]
    THEN 'user' END;
COMMENT ON FUNCTION mnemo._meant_by(text[]) IS
    'Whom words, as _terms gives them, mean that name nobody: partner for a pronoun of the third '
    'person or a word for the user''s own spouse, that is the one subject with a name of '
    '_partner_names; user for the first person; else NULL. NULL for NULL.';

CREATE FUNCTION mnemo._partner_names()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['wife', 'husband', 'spous', 'fiancee', 'fiance', 'girlfriend', 'boyfriend', 'partner']
    ::text[];
COMMENT ON FUNCTION mnemo._partner_names() IS
    'Names, as _fold_name gives them, of the person that she or he means where nobody is named, '
    'best first: the first that exactly one subject has.';
