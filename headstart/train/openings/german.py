"""Sentences in German, to be translated. Written for this purpose."""

from headstart.train.openings.grammar import items, lines
from headstart.train.openings.tongue import Tongue

GERMAN = Tongue(
    name="German",
    clauses=lines("""
        Der Stadtrat hat gestern beschlossen, die alte Brücke zu sanieren
        Meine Schwester arbeitet seit drei Jahren in einem kleinen Krankenhaus
        Die Kinder spielten den ganzen Nachmittag im Garten
        Wir haben den letzten Zug nach {place_german} verpasst
        Viele Menschen in {place_german} fahren jeden Morgen mit dem Fahrrad zur Arbeit
        Der Bäcker an der Ecke verkauft das beste Brot der Stadt
        Die Regierung will die Steuern auf Lebensmittel senken
        Niemand konnte erklären, warum das Licht plötzlich ausging
        Im Winter ist der See so fest gefroren, dass man darauf laufen kann
        Ich habe vergessen, die Blumen zu gießen
        Das Museum bleibt wegen Bauarbeiten bis {month_german} geschlossen
        Unser Lehrer erzählte uns von seiner Reise nach {place_german}
        Die Firma sucht {n:3-40} neue Mitarbeiter für ihr Werk in {place_german}
        Nach dem Sturm lagen überall umgestürzte Bäume auf der Straße
        Der Arzt riet ihm, weniger Salz zu essen
        Sie kaufte sich von ihrem ersten Gehalt ein gebrauchtes Auto
        Die Preise für Wohnungen in {place_german} sind in diesem Jahr um {n:2-19} Prozent gestiegen
        Mein Großvater konnte wunderbar Geschichten erzählen
        Das Parlament stimmt am Donnerstag über das neue Gesetz ab
        Es regnete so stark, dass das Spiel abgebrochen werden musste
        Forscher haben in der Wüste die Reste eines alten Dorfes gefunden
        Man sollte vor dem Essen immer die Hände waschen
        Der Bus hält nur noch zweimal am Tag in unserem Dorf
        Die Polizei bittet Zeugen, sich zu melden
        Er wollte eigentlich Musiker werden
        Die meisten Gäste waren schon gegangen, als der Kuchen kam
        Das Buch handelt von einer Familie, die am Meer lebt
        Die Sitzung begann mit einer halben Stunde Verspätung
        Wer früh aufsteht, hat mehr vom Tag
        Hast du schon gehört, dass {name} umzieht
        Der Zug nach {place_german} hatte am Morgen mehr als {n:20-90} Minuten Verspätung
        Die Zahl der Arbeitslosen ist im {month_german} auf den tiefsten Stand seit {n:3-30} Jahren gefallen
        Der Trainer war mit der Leistung seiner Mannschaft nicht zufrieden
        In vielen Schulen fehlen Lehrer für Mathematik und Physik
        Bei einem Unfall auf der Autobahn bei {place_german} wurden {n:2-12} Menschen verletzt
        Der Verein hat seinen neuen Vertrag noch nicht unterschrieben
        Das Gericht will sein Urteil erst im {month_german} verkünden
        Auf dem Flohmarkt fand ich eine Uhr aus dem Jahr {n:1890-1990}
        Wegen des hohen Wassers mussten {n:20-900} Familien ihre Häuser verlassen
        Die Gewerkschaft fordert {n:3-12} Prozent mehr Lohn
        Die Ausstellung zeigt Briefe und Fotos aus der Nachkriegszeit
        Am Wochenende werden in {place_german} mehr als {n:2-90} Tausend Besucher erwartet
        Der Minister räumte ein, dass man den Fehler früher hätte bemerken müssen
        Die neue Straßenbahn soll den Flughafen mit der Innenstadt verbinden
        Zum ersten Mal seit Langem gibt es im Dorf wieder einen Laden
        Der Roman wurde in {n:5-40} Sprachen übersetzt
        Ein Teil der Ernte wurde durch den Frost vernichtet
        Die beiden Länder wollen künftig enger zusammenarbeiten
        Den Schlüssel habe ich beim Nachbarn abgegeben
        Nur wenige Wähler kannten den Namen der Kandidatin
        Was gestern noch als sicher galt, wird heute in Frage gestellt
        Der Eintritt ist frei, Spenden sind willkommen
        Ohne die Hilfe der Freiwilligen hätte das Fest nicht stattfinden können
        Könnten Sie mir bitte sagen, wie ich zum Bahnhof komme
        Für Kinder unter {n:5-14} Jahren ist das Gerät nicht geeignet
    """),
    subjects=items("""
        Der Bürgermeister, Meine Tante, Ein junger Forscher, Die Nachbarin, Der alte Fischer,
        Das Mädchen aus {place_german}, {name}, Der Chef der Firma, Die neue Lehrerin, Mein bester Freund,
        Ein Sprecher der Polizei, Die Trainerin, Der Mann mit dem Hut, Die Ärztin, Der Koch, Unser Vermieter,
        Die Sängerin, Ein Tourist aus {place_german}, Der Richter, Die Präsidentin, Jeder zweite Befragte,
        Der Verkäufer, Niemand aus der Familie
    """),
    predicates=lines("""
        hat gestern einen Preis gewonnen
        will bald nach {place_german} ziehen
        sucht seit {n:2-20} Wochen eine Wohnung
        hat den Brief nie geöffnet
        möchte im {month_german} ein Geschäft eröffnen
        spricht fließend {n:2-6} Sprachen
        glaubt nicht an den Erfolg des Projekts
        war zum ersten Mal in {place_german}
        verlor auf der Reise den Koffer
        steht jeden Tag um {n:4-9} Uhr auf
        hatte von dem Plan nichts gewusst
        würde lieber auf dem Land leben
        kann sich an den Namen der Straße nicht erinnern
        half nach dem Hochwasser beim Aufräumen
        lehnte das Angebot nach kurzem Zögern ab
        warnte vor den Folgen der Trockenheit
        kaufte {n:2-20} Karten für das Konzert
        wartet noch immer auf eine Antwort
        arbeitet an einem Buch über die Geschichte der Stadt
        musste wegen einer Grippe zu Hause bleiben
        kritisierte die Pläne der Regierung scharf
        freut sich über jeden Besuch
        wurde in {place_german} geboren
        hat sich bei den Gästen für den Lärm entschuldigt
    """),
    tails=lines("""
        , weil es keine andere Möglichkeit gab
        , obwohl alle davon abgeraten hatten
        , und das hat uns sehr überrascht
        , sagte {name} am Montag
        , aber niemand wollte darüber sprechen
        , wie die Zeitung gestern berichtete
        , und morgen soll es so weitergehen
        , doch die Kosten sind noch nicht bekannt
        , wenn das Wetter es erlaubt
        , was viele Nachbarn freut
        , ohne jemandem etwas davon zu sagen
        , damit am Ende alle zufrieden sind
        , und zwar schon seit {n:2-30} Jahren
    """),
    places=items("""
        Köln, Wien, Leipzig, Zürich, Bremen, Dresden, Graz, Ulm, Hamburg, Basel, München, Rostock
    """),
    months=items("Januar, März, Mai, Juli, September, November"),
)
