-- The rest of the English list, in the same form.

CREATE FUNCTION mnemo._guard_english_more()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN $list$
order: from / to / into / than / against / by / before prior / after / until till
order: since / instead / onto / toward towards / behind / ahead
near: above=more below=less over=more under=less beyond=more underneath=less
part: on=on off=off in=in out=out up=up down=down
parts: and or but with
join: vs versus while whereas then
prep: of for at about per as during within across around between among through via upon
prep: regarding concerning
skip: a an the this that these those my your his her its our their mine yours i me we us you he him
skip: she it they them am is are was were be been being do does did doing done have has had having
skip: can could will would shall should may might must ought if so there here what which who whom
skip: whose when where why how please thanks thank also just too very really quite some any each
skip: every all both other another such own ok okay oh hi hey hello yes yeah well now let lets let's
skip: i'm i'd i'll i've it's that's what's who's where's how's there's here's o'clock ours theirs re
skip: eg ie etc vs mr mrs ms dr whether because get gets getting got gotten want wants
skip: need needs like kindly exactly actually currently still even ever already again soon much many
skip: ha ya yo uh um eh ah ex ye kinda gonna wanna gotta
eager: how want wants wanted need needs needed like going have has had able unable try tries trying
eager: tried wish ready used supposed ought allowed required forgot remember learn plan planning
eager: hoping hope time way ways steps best safe easy hard possible difficult enough love prefer
eager: looking refuse refused decide decided gotta got
verb: accept access account act add adjust advise aim analyze analyse answer apply appoint approve
verb: arrange ask assess assign assist attach avoid backup bake balance ban be become begin believe
verb: bill block book borrow bring build buy calculate call cancel capture carry change charge chat
verb: check choose clean clear click close code collect come commit compare compile complain complete
verb: compute configure confirm connect consider consult contact continue contribute control convert
verb: cook copy count cover crash create cut deal debug decide define delay delete deliver deploy
verb: describe design detect determine develop dial diagnose disable discuss display do download
verb: draft draw drink drive drop earn eat edit email enable end enforce enroll ensure enter escape
verb: estimate evaluate execute exercise expand expect explain explore export express extend extract
verb: fail file fill filter find finish fit fix fly follow forget format fund generate get give go
verb: grant grow guess handle happen have hear help hide hire hold identify ignore implement improve
verb: include increase inform insert inspect install invest invite join keep kill know launch lead
verb: learn leave lend let limit list listen live load locate lock log look lose lower mail maintain
verb: make manage map mark measure meet merge migrate mix modify monitor move name notify obtain
verb: offer open operate optimize order organize pack pay perform phone pick place plan play point
verb: post prepare present prevent print process produce protect provide publish pull purchase push
verb: put qualify quote raise reach read rebuild receive recommend record recover redeem redirect
verb: reduce refer refresh refund register reinstall reject release remember remind remove rename
verb: renew rent repair repeat replace reply report request require reschedule reserve reset resolve
verb: respond restart restore retrieve return revert review roll rotate run save say scale scan
verb: schedule search see select sell send serve set setup share ship show sign skip sleep solve
verb: sort speak specify speed spell spend split start stay stop store stream study submit subscribe
verb: suggest sum summarize summarise support survive swap switch sync take talk teach tell test
verb: think track trade train transfer translate transport travel troubleshoot try turn understand
verb: undo uninstall unlock unsubscribe update upgrade upload use validate verify view visit wait
verb: wake walk want warn wash watch wear win wipe withdraw work worry write
word: give given status flight flights invoice invoices list lists order orders row rows user users
word: customer customers patient patients file files password passwords account accounts report
word: reports number numbers name names price prices cost costs total average difference meaning
word: definition example examples steps instructions question questions answer answers problem issue issues error
word: errors best latest top new old current weather time date help good details information info
word: convert lookup whats whos hows wheres tests test plans plan employees tasks task tickets ticket
word: products product items item data emails email messages message rules rule payments payment
word: summary overview explanation guide recipe recipes directions meetings meeting papers paper
word: documents document records record services service logs log alerts alert events event flag
phrasal: turn~ switch~ power~ log~~ sign~ check~ opt~~ scale~ speed~ shut flip~~ toggle~ plug~~ zoom~
phrasal: phase~ round~ ramp~ clock~ boot~ spin step~~ scroll~ page~ swipe~ vote~ thumbs roll~ fade~
phrasal: size~ crank~ slow~
tie: pay pays paid owe~ invite~ beat beats defeat~ notify~ manage~ supervise~
tie: lead leads led follow~ love~ hate~ trust~ own~ contain~ precede~ exceed~ outperform~
tie: hire~ sue~ acquire~ extend~ inherit~ invoke~ outrank~ owe attack~ replace~ kill~ eat~
tie: marry marries married teach teaches taught like likes mention~
tie: lend lends lending lent borrow~ buy buys bought sell sells sold send sends sent inform~ warn~
tie: infect~ treat~ inhibit~ regulate~ orbit~ protect~ feed feeds fed calls uses owns hires
tie: cite~ override~ implement~ trigger~ depend~ affect~
tie: influence~ employ~ sponsor~ represent~ accuse~ blame~ tell tells told know
tie: knows knew meet meets met see sees saw divide~ imply implies implied inherits supersede~ chase~
even: compare~ comparison compared difference differences versus relate~ related similar equal
swap: replace~ substitute~ swap~~ exchange~ trade~ replacing
few: few couple several
near-time: last=last next=next this=this previous=last past=last current=this coming=next
near-time: upcoming=next following=next
number: zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11
number: twelve=12 thirteen=13 fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19
number: twenty=20 thirty=30 forty=40 fifty=50 sixty=60 seventy=70 eighty=80 ninety=90 hundred=100
number: thousand=1000 million=1000000 billion=1000000000 dozen=12 first=1 second=2 third=3 fourth=4
number: fifth=5 sixth=6 seventh=7 eighth=8 ninth=9 tenth=10 eleventh=11 twelfth=12 half=0.5 double=2x
number: twice=2x triple=3x thrice=3x
span: second seconds sec secs / minute minutes mins / hour hours hr hrs / day days / week weeks
span: / month months / quarter quarters / year years yr yrs / decade decades / century centuries
span: / night nights / sprint sprints / semester semesters / season seasons / fortnight
unit: kg kilogram+ kilo kilos / gram+ grams / mg milligram+ / pound+ lb lbs / ounce+ oz / ton+ tonne+
unit: / km kilometer+ kilometre+ / meter+ metre+ / cm centimeter+ centimetre+ / mm millimeter+
unit: / mile+ mi / yard+ yd / foot feet ft / inch inches / acre+ / hectare+ / liter+ litre+
unit: / ml milliliter+ millilitre+ / gallon+ gal / cup+ / tablespoon+ tbsp / teaspoon+ tsp
unit: / celsius / fahrenheit / kelvin / kb kilobyte+ kib / mb megabyte+ mib / gb gigabyte+ gib gigs
unit: / tb terabyte+ tib / pb petabyte+ / kbps / mbps / gbps / hz hertz / khz / mhz / ghz
unit: / watt+ / kw kilowatt+ / kwh / volt+ / ms millisecond+ / mph / kph kmh / % percent pct
unit: / $ usd dollar+ us$ bucks / eur euro+ \u20ac / gbp \u00a3 / jpy yen \u00a5 / inr rupee+ \u20b9 / cny yuan rmb / chf franc+
unit: / cad / aud / sek / nok / dkk / krw / btc bitcoin+ / cent+ / pence / peso+ / ruble+ rub
unit: / cal calorie+ kcal / pm p.m / ppm / rpm / psi / fps / dpi
time: today / tomorrow tmrw tmr / yesterday / tonight / monday+ mon / tuesday+ tue tues
time: / wednesday+ wed / thursday+ thu thur thurs / friday+ fri / saturday+ / sunday+
time: / january jan / february feb / april apr / june jun / july jul / august aug / september sep sept
time: / october oct / november nov / december dec / morning+ / afternoon+ / evening+ / noon
time: / midnight / weekend+ / weekday+ / daily / weekly / monthly / quarterly / yearly annual annually
time: / hourly / nightly / summer / winter / autumn / ago / biweekly / christmas / easter
month: may march
$list$;
COMMENT ON FUNCTION mnemo._guard_english_more() IS
    'The word list of English, part two: order, values, function words. Never NULL. Raises nothing.';
