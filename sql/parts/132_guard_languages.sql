-- Short lists of other languages, in the form of the English one; characters beyond ASCII are
-- written as in JSON.

CREATE FUNCTION mnemo._guard_german()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'
not: nicht kein keine keinen keinem keiner keines nie niemals niemand ohne weder au\\u00dfer nirgends
not: unbezahlt unbezahlte unbezahlten ung\\u00fcltig ung\\u00fcltige unm\\u00f6glich
part: ein=on an=on aus=off ab=off
pair: on: einschalten eingeschaltet anschalten angeschaltet aktivieren aktiviere aktiviert aktivierte
pair: / off: ausschalten ausgeschaltet abschalten abgeschaltet deaktivieren deaktiviere deaktiviert
pair: erlauben erlaubt zulassen zugelassen / verbieten verboten sperren gesperrt blockieren blockiert
pair: kaufen kaufe gekauft kauf / verkaufen verkaufe verkauft verkauf
pair: erh\\u00f6hen erh\\u00f6he erh\\u00f6ht steigern / senken senke gesenkt verringern reduzieren
pair: mehr gr\\u00f6\\u00dfer / weniger kleiner
pair: maximal maximale h\\u00f6chste h\\u00f6chsten meiste meisten / minimal minimale niedrigste wenigsten
pair: hinzuf\\u00fcgen hinzugef\\u00fcgt / entfernen entfernt
pair: erstellen erstellt anlegen / l\\u00f6schen l\\u00f6sche gel\\u00f6scht
pair: hochladen hochgeladen / herunterladen heruntergeladen
pair: importieren importiert / exportieren exportiert
pair: verschl\\u00fcsseln verschl\\u00fcsselt / entschl\\u00fcsseln entschl\\u00fcsselt
pair: annehmen angenommen akzeptieren / ablehnen abgelehnt
pair: bestanden erfolgreich / gescheitert fehlgeschlagen
pair: installieren installiert / deinstallieren deinstalliert
pair: anmelden angemeldet / abmelden abgemeldet
pair: sicher / gef\\u00e4hrlich unsicher
pair: vorteile vorteil / nachteile nachteil
pair: eingehend eingehende eingehenden / ausgehend ausgehende ausgehenden
pair: gewinn gewinne / verlust verluste
weak: \\u00f6ffnen \\u00f6ffne ge\\u00f6ffnet offen / schlie\\u00dfen schlie\\u00dfe geschlossen
weak: starten starte gestartet / stoppen stoppe gestoppt beenden beendet
weak: erste ersten erster erstes / letzte letzten letzter letztes
weak: hoch hohe / niedrig niedrige
weak: brutto / netto
order: from: von / to: nach / than: als / against: gegen / before: vor bevor / until: bis / since: seit
order: instead: statt anstatt / by: durch
parts: und oder aber
prep: f\\u00fcr bei \\u00fcber unter zwischen w\\u00e4hrend
phrasal: schalte schalten schalt stelle stellen drehe drehen mache machen knipse
skip: die du er es sie ihr wir da so um wo zu ob habe haben ihre mein meine sind
skip: auch nur noch schon bitte danke ja gr\\u00f6\\u00dfe
noun: der das den dem des eine einen einer einem ist wie ich kann kannst k\\u00f6nnen welche welcher warum
noun: wann wer wird werden wurde wurden zum zur im am vom beim f\\u00fcr sich
number: zwei=2 drei=3 vier=4 f\\u00fcnf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 zw\\u00f6lf=12
number: zwanzig=20 drei\\u00dfig=30 vierzig=40 f\\u00fcnfzig=50 hundert=100 tausend=1000 zweite=2 zweiten=2
number: dritte=3 dritten=3 vierte=4 vierten=4
span: day: tag tage tagen / week: woche wochen / month: monat monate monaten / year: jahr jahre jahren
span: hour: stunde stunden / minute: minuten / quarter: quartal quartale
time: today: heute / tomorrow: morgen / yesterday: gestern / monday: montag / tuesday: dienstag
time: wednesday: mittwoch / thursday: donnerstag / friday: freitag / saturday: samstag sonnabend
time: sunday: sonntag / january: januar / february: februar / march: m\\u00e4rz / may: mai / june: juni
time: july: juli / october: oktober / december: dezember / evening: abend abends / morning: fr\\u00fch morgens
time: noon: mittag mittags / weekend: wochenende / daily: t\\u00e4glich t\\u00e4gliche / weekly: w\\u00f6chentlich
time: monthly: monatlich monatliche / yearly: j\\u00e4hrlich
near-time: letzte=last n\\u00e4chste=next n\\u00e4chsten=next n\\u00e4chster=next diese=this diesen=this diesem=this
near-time: dieser=this dieses=this
';
COMMENT ON FUNCTION mnemo._guard_german() IS
    'A short word list of German. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._guard_french()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'
not: pas jamais aucun aucune rien sans ni sauf non
pair: on: activer active activez activ\\u00e9 activ\\u00e9e allumer / off: d\\u00e9sactiver d\\u00e9sactive d\\u00e9sactivez
pair: / d\\u00e9sactiv\\u00e9 d\\u00e9sactiv\\u00e9e \\u00e9teindre
pair: autoriser autoris\\u00e9 permettre permis / interdire interdit bloquer bloqu\\u00e9 refuser refus\\u00e9
pair: acheter ach\\u00e8te achat / vendre vend vente
pair: augmenter augmente hausse / diminuer diminue r\\u00e9duire baisse baisser
pair: plus davantage / moins
pair: maximum maximal / minimal
pair: ajouter ajoute / supprimer supprime retirer enlever
pair: importer / exporter
pair: t\\u00e9l\\u00e9verser / t\\u00e9l\\u00e9charger
pair: chiffrer / d\\u00e9chiffrer
pair: installer / d\\u00e9sinstaller
pair: accepter accept\\u00e9 / rejeter rejet\\u00e9
pair: r\\u00e9ussi r\\u00e9ussir succ\\u00e8s / \\u00e9chou\\u00e9 \\u00e9chouer \\u00e9chec
pair: avantages avantage / inconv\\u00e9nients inconv\\u00e9nient
pair: connecter / d\\u00e9connecter
pair: entrant entrants / sortant sortants
pair: b\\u00e9n\\u00e9fice b\\u00e9n\\u00e9fices / perte pertes
weak: ouvrir ouvre ouvert ouverte / fermer ferme ferm\\u00e9 ferm\\u00e9e
weak: d\\u00e9marrer commencer / arr\\u00eater arr\\u00eate terminer
weak: premier premi\\u00e8re / dernier derni\\u00e8re
weak: haut / bas
order: from: depuis / to: vers \\u00e0 / before: avant / after: apr\\u00e8s / until: jusque jusqu / against: contre
parts: et ou mais avec
prep: pour dans par chez entre pendant
skip: le la les un une des de du au aux en y il elle je tu nous vous ils ce cet cette sa se son ta te ma
skip: mon ne si est sont ont o\\u00f9 qui que quoi quel quelle quels quelles comment pourquoi quand s''il merci
skip: d\\u00e8s
number: z\\u00e9ro=0 deux=2 trois=3 quatre=4 cinq=5 sept=7 huit=8 neuf=9 dix=10 vingt=20 trente=30 cent=100
number: mille=1000 deuxi\\u00e8me=2 troisi\\u00e8me=3
span: day: jour jours / week: semaine semaines / month: mois / year: ann\\u00e9e ann\\u00e9es an ans / hour: heure heures
time: today: aujourd''hui / tomorrow: demain / yesterday: hier / monday: lundi / tuesday: mardi
time: wednesday: mercredi / thursday: jeudi / friday: vendredi / saturday: samedi / sunday: dimanche
time: january: janvier / february: f\\u00e9vrier / april: avril / may: mai / june: juin
time: july: juillet / august: ao\\u00fbt / september: septembre / october: octobre / november: novembre
time: december: d\\u00e9cembre / morning: matin / evening: soir / noon: midi
near-time: prochain=next prochaine=next pass\\u00e9=last pass\\u00e9e=last
';
COMMENT ON FUNCTION mnemo._guard_french() IS
    'A short word list of French. Never NULL. Raises nothing.';

CREATE FUNCTION mnemo._guard_spanish()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'
not: nunca jam\\u00e1s ning\\u00fan ninguno ninguna nadie sin tampoco excepto salvo
pair: on: activar activa activado activada encender / off: desactivar desactiva desactivado desactivada
pair: / apagar
pair: permitir permitido autorizar / prohibir prohibido bloquear bloqueado denegar
pair: comprar compra / vender vende venta
pair: aumentar aumenta subir / disminuir disminuye reducir bajar
pair: m\\u00e1s mayor / menos menor
pair: m\\u00e1ximo m\\u00e1xima / m\\u00ednimo m\\u00ednima
pair: a\\u00f1adir agregar / eliminar quitar borrar
pair: importar / exportar
pair: cifrar / descifrar
pair: instalar / desinstalar
pair: aceptar aceptado / rechazar rechazado
pair: ventajas ventaja / desventajas desventaja
pair: conectar / desconectar
pair: entrante entrantes / saliente salientes
pair: ganancia ganancias / p\\u00e9rdida p\\u00e9rdidas
weak: abrir abre abierto abierta / cerrar cierra cerrado cerrada
weak: iniciar empezar comenzar / parar detener terminar
weak: primer primero primera / \\u00faltimo \\u00faltima
weak: alto alta / bajo baja
order: from: desde / to: hacia / before: antes / after: despu\\u00e9s / until: hasta / against: contra
parts: y o pero con
prep: para por entre durante
skip: el los las unos unas del al lo yo t\\u00fa mi su tu te me nos les es son est\\u00e1 est\\u00e1n qu\\u00e9 qui\\u00e9n c\\u00f3mo cu\\u00e1l
skip: cu\\u00e1ndo d\\u00f3nde por favor gracias s\\u00ed ya ha he
number: cero=0 uno=1 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 veinte=20
number: treinta=30 cien=100
span: day: d\\u00eda d\\u00edas / week: semana semanas / month: mes meses / year: a\\u00f1o a\\u00f1os / hour: hora horas
time: today: hoy / tomorrow: ma\\u00f1ana / yesterday: ayer / monday: lunes / tuesday: martes
time: wednesday: mi\\u00e9rcoles / thursday: jueves / friday: viernes / saturday: s\\u00e1bado / sunday: domingo
time: january: enero / february: febrero / march: marzo / april: abril / june: junio
time: july: julio / august: agosto / september: septiembre / october: octubre / november: noviembre
time: december: diciembre / evening: tarde noche / weekly: semanal / daily: diario diaria / monthly: mensual
near-time: pr\\u00f3ximo=next pr\\u00f3xima=next pasado=last pasada=last este=this esta=this
';
COMMENT ON FUNCTION mnemo._guard_spanish() IS
    'A short word list of Spanish. Never NULL. Raises nothing.';
