-- What the guard knows of English. A list is lines of 'section: entries'; a line that starts with
-- the divider ' / ' goes on with the line before. After a word, ~ adds the forms of a regular verb
-- (~~ with the last consonant doubled), + a plural, and a colon makes it a mere label. Sections:
--   pair      opposites, the sides divided by ' / ', the first word of a side standing for all of it
--   weak      the same, but the first side is too common to be meaning: it counts as a value
--   order, span, unit, time      synonyms divided by ' / ', the first word standing for all
--   part, near, near-time, number      word=what it stands for
--   not, parts, join, prep, skip, month, noun      plain words; noun: function words of a language
--             that writes all nouns with a capital
--   word, verb, phrasal, tie, eager, even, swap    words that may also stand in another section:
--             ordinary first words of a question, verbs in their base form, verbs with a particle,
--             verbs between a subject and an object, words before an infinitive, words that compare
--             evenly, words of exchange
-- A word means what the first of these says: not, part, near, near-time, order, pair, weak, number,
-- span, unit, time, month, parts, join, prep, skip, word. Earlier languages win over later ones.

CREATE FUNCTION mnemo._guard_english()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN $list$
not: not no never none neither nor without cannot nothing nobody nowhere hardly except excluding
not: don't doesn't didn't isn't aren't wasn't weren't can't couldn't won't wouldn't shouldn't
not: mustn't hasn't haven't hadn't ain't needn't mightn't shan't dont doesnt didnt isnt arent wasnt
not: werent cant couldnt wont wouldnt shouldnt mustnt hasnt havent hadnt aint lacking unless
not: inactive invalid incorrect incomplete inaccurate insecure inconsistent insufficient ineligible
not: inappropriate inaccessible incompatible inefficient ineffective informal inadequate
not: insignificant impossible improper impolite immature immutable imperfect immobile irregular
not: irrelevant irreversible irresponsible irrational illegal illegible illogical illegitimate
not: nonexistent nonpaid nonpayment nonsmoking nonsmoker nonrefundable noncompliant nonfiction
not: disconnect~ disallow~ disapprove~ disagree~ dislike~ dissatisfied disregard~ disobey~
not: disprove~ discontinue~ disengage~ disqualify~ disassemble~ disassociate~ dishonest disloyal
not: disarm~ disrespect~ disincentive decommission~ deregister~ deallocate~ detach~ deselect~
not: inedible inexperienced inflexible infrequent involuntary incapable incoherent inconvenient
not: indirect indirectly infertile insoluble intangible intolerant indefinite infinite inoperable
not: incorrectly improperly illegally invalidate~ asymptomatic insincere insane incurable
not: misconfigured mismatch~ abnormal atypical asymmetric non
pair: on: enable~ activate~ activation / off: disable~ deactivate~ inactivate~ deactivation
pair: lock~ locking / unlock~
pair: allow~ permit~~ grant~ authorize~ authorise~ whitelist~ allowlist~
pair: / deny~ forbid forbids forbidden forbidding block~ revoke~ prohibit~ ban~~ refuse~
pair: / blacklist~ denylist~ blocklist~
pair: buy buys buying bought buyer+ purchase~ / sell sells selling sold seller+
pair: increase~ raise~ increment~ boost~ grow grows grew growing grown growth rise rises rose
pair: / rising risen gain~ / decrease~ reduce~ decrement~ lower~ shrink shrinks shrank shrinking
pair: / decline~ diminish~ reduction drop~~ fall falls fell falling fallen
pair: more greater bigger larger exceed~ / less fewer smaller
pair: most highest biggest largest maximum maximal max maximize~ maximise~ top greatest
pair: / least lowest smallest fewest minimum minimal min minimize~ minimise~ bottom
weak: plus / minus
weak: open~ reopen~ / close~ shut shuts shutting closure
weak: start~ begin begins beginning began begun launch~ resume~ / stop~~ end~ finish~ halt~ quit
weak: / terminate~ pause~
pair: add~ insert~ append~ / remove~ subtract~ removal
pair: create~ creation / delete~ deletion destroy~ erase~
pair: include~ including / exclude~ exclusion
pair: import~ / export~
pair: upload~ / download~
pair: encrypt~ encryption / decrypt~ decryption
pair: encode~ / decode~
pair: compress~ zip~~ / decompress~ extract~ unzip~~
pair: push~ / pull~
pair: read reads reading / write writes writing wrote written
pair: accept~ acceptance / reject~ rejection
pair: pass~ / fail~ failure+
pair: succeed~ success successful successfully / failed: unsuccessful unsuccessfully
pair: win wins winning won winner+ / lose loses losing lost loser+
pair: safe safely harmless / dangerous unsafe harmful hazardous
weak: hot hotter hottest warm~ heat~ / cold colder coldest cool~
weak: high higher tall / low
pair: profit+ profitable gains / loss losses unprofitable
weak: credit~ / debit~
pair: deposit~ / withdraw withdraws withdrawing withdrew withdrawn withdrawal+
pair: lend lends lending lent lender+ / borrow~ borrower+
pair: arrive~ arrival+ / depart~ departure+
pair: older elder / younger
weak: newest latest newer / oldest earliest
weak: earlier sooner / later
pair: early / late
pair: inbound incoming ingress inflow+ / outbound outgoing egress outflow+
pair: internal internally / external externally
pair: public publicly / private privately
pair: sender+ / receiver+ recipient+
weak: send sends sending sent / receive~
pair: parent+ ancestor+ / child children descendant+
pair: upstream / downstream
pair: manual manually / automatic automatically automated
pair: sync synchronous synchronously / async asynchronous asynchronously
weak: gross / net
pair: strength+ / weakness weaknesses
pair: pro pros / con cons
pair: advantage+ benefit+ upside+ / disadvantage+ drawback+ downside+
pair: upgrade~ / downgrade~
pair: promote~ promotion / demote~ demotion
pair: mount~ / dismount~
pair: install~ / uninstall~
pair: login logins signin / logout logouts signout logoff
pair: checkin / checkout
pair: ascending asc ascend~ / descending desc descend~
weak: left / right
pair: true / false
pair: positive / negative
pair: male men man boy+ / female women woman girl+
weak: mother+ mom / father+ dad
weak: son sons / daughter+
weak: brother+ / sister+
weak: husband / wife
pair: north northern / south southern / east eastern / west western
pair: inside indoor indoors / outside outdoor outdoors
pair: input+ / output+
weak: front / rear
weak: visible shown unhide / invisible hidden hide hides hiding
weak: good / bad
weak: better / worse
weak: best / worst
weak: fast faster fastest quick quicker / slow slower slowest slowly
pair: accelerate~ / decelerate~
weak: cheap cheaper cheapest inexpensive / expensive pricier costlier costly
weak: long longer longest / short shorter shortest
weak: heavy heavier heaviest / light: lighter lightest
weak: thick thicker / thin thinner
weak: wide wider widest / narrow~ narrower narrowest
weak: full / empty~
weak: strong stronger strongest / weak weaker weakest
weak: easy easier easiest / hard: harder hardest difficult
weak: simple simpler simplest / complex complicated
weak: rich richer richest / poor poorer poorest
pair: major / minor
pair: majority / minority
pair: optional optionally / mandatory required compulsory obligatory
pair: temporary temporarily / permanent permanently
pair: active actively / dormant
pair: online / offline
pair: static / dynamic dynamically
pair: local locally onsite / remote remotely offsite
pair: legal legally lawful / unlawful
pair: guilty / innocent
weak: alive / dead
weak: birth born / death died dying
weak: attack~ offense offensive / defend~ defense defensive
pair: ally allies friend+ / enemy enemies foe+
weak: love~ adore~ / hate~ detest~
weak: remember~ / forget forgets forgetting forgot forgotten
weak: hire~ recruit~ / fire~ dismiss~ layoff layoffs
pair: employer+ / employee+
weak: teacher+ / student+
weak: doctor+ / patient+
pair: landlord+ / tenant+
weak: client+ / server+
pair: producer+ / consumer+
weak: supplier+ / supply~ / demand~
pair: importer+ / exporter+
pair: plaintiff+ / defendant+
pair: debtor+ / creditor+
weak: asset+ / liability liabilities
weak: income revenue+ earnings / expense+ expenditure+ spending
pair: surplus / deficit
pair: overpaid overpay~ overpayment+ / underpaid underpay~ underpayment+
pair: overestimate~ / underestimate~
pair: overweight / underweight
pair: overflow~ / underflow~
pair: prepaid / postpaid
pair: pretax / posttax aftertax
pair: uptime / downtime
pair: upvote~ / downvote~
pair: uplink / downlink
pair: expand~ expansion / collapse~ contraction
pair: freeze freezes froze frozen freezing / thaw~ melt~
pair: wet / dry dries dried
pair: daytime / nighttime
weak: clean~ / dirty
pair: lossless / lossy
pair: stateful / stateless
pair: mutable / readonly
pair: wired / wireless
pair: singular / plural
pair: vertical vertically / horizontal horizontally
pair: clockwise / counterclockwise anticlockwise
pair: bull bullish / bear bearish
pair: maternity / paternity
pair: inpatient+ / outpatient+
weak: useful helpful / useless
weak: same identical equal equals / different differ~
weak: always / sometimes
weak: often frequently usually / rarely seldom
weak: entire whole / partial partially
pair: forward~ forwards / backward backwards
pair: acquire~ acquisition+ / divest~ divestiture+
pair: hypertension hyperglycemia hyperthyroidism hyperthermia
pair: / hypotension hypoglycemia hypothyroidism hypothermia
pair: benign / malignant
pair: chronic / acute
pair: microeconomics micro / macroeconomics macro
weak: primary / secondary
pair: senior / junior
pair: former / latter
pair: superior / inferior
weak: merge~ join~ combine~ / split splits splitting separate~
pair: lengthen~ / shorten~
weak: widen~ / tighten~
pair: praise~ / criticize~ criticise~ criticism
pair: confirm~ / cancel~ cancelled cancelling cancellation
weak: save~ keep keeps keeping kept / discard~
pair: first: / last:
pair: before: / after: / since: / until:
pair: up: / down:
pair: in: / out:
pair: previous: / next:
$list$;
COMMENT ON FUNCTION mnemo._guard_english() IS
    'The word list of English, part one: negation and opposites. Never NULL. Raises nothing.';
