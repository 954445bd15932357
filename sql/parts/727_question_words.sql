CREATE FUNCTION mnemo._conversation_words()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN string_to_array(
    'able absolutely accept according accus achieve acquire across act actual actually ad adapt'
    ' add adjust admit adopt advert advice advise affect afford afraid afternoon against ago ah'
    ' ahead aid aim alive allow allowed alone along already alright alter although amazing among'
    ' amount announce annoy annoyed answer anybody anymore anyway anywhere apart app apparent'
    ' apparently appear apply appreciate approach approve area argue around arrange arranged'
    ' arrive aside asking assess assist assume assure attach attempt attend attending attention'
    ' attract autumn awake aware away awesome bad base basically bear beat beautiful became becaus'
    ' become beg began begin behind believe belong below bend beneath beside bet between beyond'
    ' big bit blame bloke blow book booked booking bored boring both bother bought break breathe'
    ' bring brought build burn bury busy buy buying calculate call called calling cancel care'
    ' careful carry carrying case cast catch caught caus cease center centre certain certainly'
    ' chance change chap chase cheap check cheer choice choose chose chosen claim clear clearly'
    ' click close closest clue cold collapse combine comfort comfortable coming command comment'
    ' commit common communicate compare complain complaint complete completely compose concentrate'
    ' concern conclude conduct confess confirm confused conquer consider constantly construct'
    ' consult contain continue contribute convert convince cool cope copy correct correctly count'
    ' counter couple course cover crazy create cross cry cure current currently daily dare dark'
    ' day dead deal dear decent decide decided decision deep default definitely demand deny depart'
    ' depend describe deserve design desire despite destroy detail detect determine develop devote'
    ' die differ difference different difficult dig direct direction directly dirty disappoint'
    ' discover discuss dislike display divide doing dominate donate double doubt download dozen'
    ' drag draw dream drop drove dry due during eager early ease easily easy educate eh eight'
    ' either elect else elsewhere emerge employ empty enable encourage end ended engage enough'
    ' ensure entertain entire entirely equal escape especially essentially establish estimate even'
    ' evening event eventually everybody everywhere exact exactly examine example exceed except'
    ' exchange excited excus execute exhausted exist expand expect expensive explain explore'
    ' expose express extend extra extremely eye face facility fact fail fair fairly fall familiar'
    ' fancy far fast favorite favour favourite fear feed feel feeling felt fetching few fight'
    ' figure fill final finally finance finding fine finish fire first fit five fix float flow'
    ' fold folk follow fond force forever forget forgot forgotten form former forty forward four'
    ' free freez frequently fresh front fulfil full fully fun function funny further future gain'
    ' gather general generally getting giving glad gladly glorious gorgeous gotta govern grab'
    ' grabbed grant greet grow guarantee guess guide guy half hall hand handing handle handled'
    ' handy hang happen happened happening happier happiest happy hard hardly hate head headed'
    ' heading heal hear heard heavy hell hello help helpful hey hi hide hint hire hit hmm hold'
    ' honest honestly hop hope hoping hot hour huge hunt hurry hurrying hurt idea ideal ideally'
    ' ignore illustrate imagine immediate immediately important impose impossible impress improve'
    ' include increase indeed indicate indoor influence info inform information initial injure'
    ' inside insist install instance instant instead intend intention interested interesting'
    ' introduce invent invest investigate invite invited inviting involve issue item join joint'
    ' joke judge jump justify keen keep kept key kick kidding kill kindly knock knowing label lady'
    ' large last late lately later latest laugh launch lay lead lean learn least leave leaving'
    ' left lend lent less letting level lick lie likely liking limit line link list listed little'
    ' load local location login long longer looking lose lost lovely low lucky mad main mainly'
    ' maintain major making manage managed map mark match matter maybe mean meant meanwhile'
    ' measure melt mend mention mentioned mere mess message messy middle mind minor minute miss'
    ' missed missing mistake mix modern moment monitor month morning mostly motivate mount move'
    ' murder mutual narrow natural naturally navigate near nearby nearest nearly necessarily'
    ' necessary neither next nice night nine nobody nod none noon normal normally note notice'
    ' nowaday nowhere observe obtain obvious obviously occasion occasionally occupy occur odd'
    ' offer official oh ok okay once online open operate opinion oppose option ordinary organise'
    ' organised organising original otherwise ought outdoor outside overall overcome overdue owe'
    ' pack packing page participate particular particularly pass past perfect perfectly perform'
    ' perhap permanent permit personal personally persuade pick picked piece place plain plan'
    ' planned planning plead pleasant pleased plenty plus point poor pop popular position possess'
    ' possible possibly postpone potential pour practically praise pray predict prefer preferably'
    ' preference preferred preorder prepare prepared pretty prevent previous previously pricey'
    ' prime private probably problem proceed produce promote proper properly propose protect prove'
    ' provide provoke publish pull punish pure purpose pursue push putting qualify question quick'
    ' quickly quit quite quote raise random range rapid rare rate rather rave raw reach react'
    ' ready real realise realiz reason rebuild receive recent recently reckon recognise recommend'
    ' recommendation recover reduce refer refus regard regarding register registration regret'
    ' regular regularly reject relate related relax release relevant reliable reliably relieve'
    ' rely remain reminder remote remove renew reorder repeat replace reply represent request'
    ' require rescue reserve reserved resign resist resolve respective respond responsible rest'
    ' restore restrict result retain retire reveal reverse review reward rich right rise risk rob'
    ' roll rough roughly round rub ruin rule rush sake satisfied satisfy save saying scratch'
    ' scream scroll search second secure seeing seek seem seemed seiz select sell selling send'
    ' senior sense sensible separate serious seriously serve served serving set settle settled'
    ' seven several severe shake shape share sharp shelter shine shock short shortly shot shout'
    ' showing shut shy side sign signal silly similar simple simply since single sink sit'
    ' situation six skip sleepy slight slightly slip slot slow slowly small smart smash smile'
    ' smooth snap social soft sold sole solid solve somebody somehow sometime somewhat somewhere'
    ' soon sorry sorted sorting sound space speak special specific specifically spend spill spin'
    ' split spoil spoke spot spread spring squeez stable stand standard stare start started state'
    ' static stay steady steal steep stick stir stop stopping straight strain strange stress'
    ' stretch strict strike strip strong struggle stuck stupid submit succeed such suck sudden'
    ' suddenly suffer sufficient suggest suggestion suit suitable suited summer super superb'
    ' supply support suppose supposed surely surprise surround survive suspect suspend sustain'
    ' swallow swap swear sweep sweet swing switch tackle taking talk talking tap tear tease'
    ' telling tempt ten tend term terrible test thank therefore thick thin thinking third thorough'
    ' though threaten three thrilled throw tie tight till tiny tip tired today together tomorrow'
    ' tonight top total totally touch tough toward trace track transfer transform translate trap'
    ' treat tremble tremendous trick tricky tried trouble true trust trusty truth try trying turn'
    ' twice twist two typical typically ugly ultimately under understand understood unite unless'
    ' unsubscribe until unusual upload upon upset urge urgent useful usual value vanish various'
    ' vary vast verify via view vital wait waiting wake wander wanna want wanting warm warn waste'
    ' wasted watch wave weaken wear wearing website week weekday weird wet whatever whenever'
    ' wherever whether whichever while whilst whisper whoever whole wide wild willing win winter'
    ' wipe wise wish withdraw within without witness won wonder wonderful wondering word world'
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
