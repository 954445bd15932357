-- Short lists of other languages, in the form of the English one.

CREATE FUNCTION mnemo._guard_german()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'not: nicht kein keine keinen keinem keiner keines nie niemals niemand ohne weder au\u00DFer nirgends
not: unbezahlt unbezahlte unbezahlten ung\u00FCltig ung\u00FCltige unm\u00F6glich
part: ein=on an=on aus=off ab=off
pair: on: einschalten eingeschaltet anschalten angeschaltet aktivieren aktiviere aktiviert aktivierte
pair: / off: ausschalten ausgeschaltet abschalten abgeschaltet deaktivieren deaktiviere deaktiviert
pair: erlauben erlaubt zulassen zugelassen / verbieten verboten sperren gesperrt blockieren blockiert
pair: kaufen kaufe gekauft kauf / verkaufen verkaufe verkauft verkauf
pair: erh\u00F6hen erh\u00F6he erh\u00F6ht steigern / senken senke gesenkt verringern reduzieren
pair: mehr gr\u00F6\u00DFer / weniger kleiner
pair: maximal maximale h\u00F6chste h\u00F6chsten meiste meisten / minimal minimale niedrigste wenigsten
pair: hinzuf\u00FCgen hinzugef\u00FCgt / entfernen entfernt
pair: erstellen erstellt anlegen / l\u00F6schen l\u00F6sche gel\u00F6scht
pair: hochladen hochgeladen / herunterladen heruntergeladen
pair: importieren importiert / exportieren exportiert
pair: verschl\u00FCsseln verschl\u00FCsselt / entschl\u00FCsseln entschl\u00FCsselt
pair: annehmen angenommen akzeptieren / ablehnen abgelehnt
pair: bestanden erfolgreich / gescheitert fehlgeschlagen
pair: installieren installiert / deinstallieren deinstalliert
pair: anmelden angemeldet / abmelden abgemeldet
pair: sicher / gef\u00E4hrlich unsicher
pair: vorteile vorteil / nachteile nachteil
pair: eingehend eingehende eingehenden / ausgehend ausgehende ausgehenden
pair: gewinn gewinne / verlust verluste
weak: \u00F6ffnen \u00F6ffne ge\u00F6ffnet offen / schlie\u00DFen schlie\u00DFe geschlossen
weak: starten starte gestartet / stoppen stoppe gestoppt beenden beendet
weak: erste ersten erster erstes / letzte letzten letzter letztes
weak: hoch hohe / niedrig niedrige
weak: brutto / netto
order: from: von / to: nach / than: als / against: gegen / before: vor bevor / until: bis / since: seit
order: instead: statt anstatt / by: durch
parts: und oder aber
prep: f\u00FCr bei \u00FCber unter zwischen w\u00E4hrend
phrasal: schalte schalten schalt stelle stellen drehe drehen mache machen knipse
skip: die du er es sie ihr wir da so um wo zu ob was war hat habe haben ihre mein meine man mit sind
skip: auch nur noch schon bitte danke ja gr\u00F6\u00DFe
noun: der das den dem des eine einen einer einem ist wie ich kann kannst k\u00F6nnen welche welcher warum
noun: wann wer wird werden wurde wurden zum zur im am vom beim f\u00FCr sich
number: null=0 zwei=2 drei=3 vier=4 f\u00FCnf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zw\u00F6lf=12
number: zwanzig=20 drei\u00DFig=30 vierzig=40 f\u00FCnfzig=50 hundert=100 tausend=1000 zweite=2 zweiten=2
number: dritte=3 dritten=3 vierte=4 vierten=4
span: day: tag tage tagen / week: woche wochen / month: monat monate monaten / year: jahr jahre jahren
span: hour: stunde stunden / minute: minuten / quarter: quartal quartale
time: today: heute / tomorrow: morgen / yesterday: gestern / monday: montag / tuesday: dienstag
time: wednesday: mittwoch / thursday: donnerstag / friday: freitag / saturday: samstag sonnabend
time: sunday: sonntag / january: januar / february: februar / march: m\u00E4rz / may: mai / june: juni
time: july: juli / october: oktober / december: dezember / evening: abend abends / morning: fr\u00FCh morgens
time: noon: mittag mittags / weekend: wochenende / daily: t\u00E4glich t\u00E4gliche / weekly: w\u00F6chentlich
time: monthly: monatlich monatliche / yearly: j\u00E4hrlich
near-time: letzte=last n\u00E4chste=next n\u00E4chsten=next n\u00E4chster=next diese=this diesen=this diesem=this
near-time: dieser=this dieses=this
';
COMMENT ON FUNCTION mnemo._guard_german() IS
    'A short word list of German. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._guard_french()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'not: pas jamais aucun aucune rien personne sans ni sauf non
pair: on: activer active activez activ\u00E9 activ\u00E9e allumer / off: d\u00E9sactiver d\u00E9sactive d\u00E9sactivez
pair: / d\u00E9sactiv\u00E9 d\u00E9sactiv\u00E9e \u00E9teindre
pair: autoriser autoris\u00E9 permettre permis / interdire interdit bloquer bloqu\u00E9 refuser refus\u00E9
pair: acheter ach\u00E8te achat / vendre vend vente
pair: augmenter augmente hausse / diminuer diminue r\u00E9duire baisse baisser
pair: plus davantage / moins
pair: maximum maximal / minimal
pair: ajouter ajoute / supprimer supprime retirer enlever
pair: importer / exporter
pair: t\u00E9l\u00E9verser / t\u00E9l\u00E9charger
pair: chiffrer / d\u00E9chiffrer
pair: installer / d\u00E9sinstaller
pair: accepter accept\u00E9 / rejeter rejet\u00E9
pair: r\u00E9ussi r\u00E9ussir succ\u00E8s / \u00E9chou\u00E9 \u00E9chouer \u00E9chec
pair: avantages avantage / inconv\u00E9nients inconv\u00E9nient
pair: connecter / d\u00E9connecter
pair: entrant entrants / sortant sortants
pair: b\u00E9n\u00E9fice b\u00E9n\u00E9fices / perte pertes
weak: ouvrir ouvre ouvert ouverte / fermer ferme ferm\u00E9 ferm\u00E9e
weak: d\u00E9marrer commencer / arr\u00EAter arr\u00EAte terminer
weak: premier premi\u00E8re / dernier derni\u00E8re
weak: haut / bas
order: from: depuis / to: vers \u00E0 / before: avant / after: apr\u00E8s / until: jusque jusqu / against: contre
parts: et ou mais avec
prep: pour dans par chez entre pendant
skip: le la les un une des de du au aux en y il elle je tu nous vous ils ce cet cette sa se son ta te ma
skip: mon ne si est sont ont o\u00F9 qui que quoi quel quelle quels quelles comment pourquoi quand s''il merci
skip: d\u00E8s
number: z\u00E9ro=0 deux=2 trois=3 quatre=4 cinq=5 sept=7 huit=8 neuf=9 dix=10 vingt=20 trente=30 cent=100
number: mille=1000 deuxi\u00E8me=2 troisi\u00E8me=3
span: day: jour jours / week: semaine semaines / month: mois / year: ann\u00E9e ann\u00E9es an ans / hour: heure heures
time: today: aujourd''hui / tomorrow: demain / yesterday: hier / monday: lundi / tuesday: mardi
time: wednesday: mercredi / thursday: jeudi / friday: vendredi / saturday: samedi / sunday: dimanche
time: january: janvier / february: f\u00E9vrier / march: mars / april: avril / may: mai / june: juin
time: july: juillet / august: ao\u00FBt / september: septembre / october: octobre / november: novembre
time: december: d\u00E9cembre / morning: matin / evening: soir / noon: midi
near-time: prochain=next prochaine=next pass\u00E9=last pass\u00E9e=last
';
COMMENT ON FUNCTION mnemo._guard_french() IS
    'A short word list of French. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._guard_spanish()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'not: nunca jam\u00E1s ning\u00FAn ninguno ninguna nadie sin tampoco excepto salvo
pair: on: activar activa activado activada encender / off: desactivar desactiva desactivado desactivada
pair: / apagar
pair: permitir permitido autorizar / prohibir prohibido bloquear bloqueado denegar
pair: comprar compra / vender vende venta
pair: aumentar aumenta subir / disminuir disminuye reducir bajar
pair: m\u00E1s mayor / menos menor
pair: m\u00E1ximo m\u00E1xima / m\u00EDnimo m\u00EDnima
pair: a\u00F1adir agregar / eliminar quitar borrar
pair: importar / exportar
pair: cifrar / descifrar
pair: instalar / desinstalar
pair: aceptar aceptado / rechazar rechazado
pair: ventajas ventaja / desventajas desventaja
pair: conectar / desconectar
pair: entrante entrantes / saliente salientes
pair: ganancia ganancias / p\u00E9rdida p\u00E9rdidas
weak: abrir abre abierto abierta / cerrar cierra cerrado cerrada
weak: iniciar empezar comenzar / parar detener terminar
weak: primer primero primera / \u00FAltimo \u00FAltima
weak: alto alta / bajo baja
order: from: desde / to: hacia / before: antes / after: despu\u00E9s / until: hasta / against: contra
parts: y o pero con
prep: para por entre durante
skip: el los las unos unas del al lo yo t\u00FA mi su tu te me nos les es son est\u00E1 est\u00E1n qu\u00E9 qui\u00E9n c\u00F3mo cu\u00E1l
skip: cu\u00E1ndo d\u00F3nde por favor gracias s\u00ED ya ha he
number: cero=0 uno=1 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 veinte=20
number: treinta=30 cien=100 mil=1000
span: day: d\u00EDa d\u00EDas / week: semana semanas / month: mes meses / year: a\u00F1o a\u00F1os / hour: hora horas
time: today: hoy / tomorrow: ma\u00F1ana / yesterday: ayer / monday: lunes / tuesday: martes
time: wednesday: mi\u00E9rcoles / thursday: jueves / friday: viernes / saturday: s\u00E1bado / sunday: domingo
time: january: enero / february: febrero / march: marzo / april: abril / may: mayo / june: junio
time: july: julio / august: agosto / september: septiembre / october: octubre / november: noviembre
time: december: diciembre / evening: tarde noche / weekly: semanal / daily: diario diaria / monthly: mensual
near-time: pr\u00F3ximo=next pr\u00F3xima=next pasado=last pasada=last este=this esta=this
';
COMMENT ON FUNCTION mnemo._guard_spanish() IS
    'A short word list of Spanish. Never NULL. Raises nothing.';
