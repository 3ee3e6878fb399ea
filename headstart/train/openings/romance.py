"""Sentences in French, Spanish, Italian and Portuguese, to be translated. Written for this purpose."""

from headstart.train.openings.grammar import items, lines
from headstart.train.openings.tongue import Tongue

FRENCH = Tongue(
    name="French",
    clauses=lines("""
        Le maire a promis de rouvrir la piscine avant l'été
        Ma voisine cultive des tomates sur son balcon
        Le train pour {place_french} est parti avec une heure de retard
        Les élèves ont préparé une pièce de théâtre pour la fin de l'année
        Nous avons passé nos vacances dans un petit village près de {place_french}
        Le médecin m'a conseillé de marcher tous les jours
        Personne ne savait où se trouvait la clé
        Le gouvernement présentera son projet en {month_french}
        Il a plu toute la nuit
        Cette entreprise de {place_french} emploie plus de {n:20-900} personnes
        Mon frère apprend le chinois depuis deux ans
        Les prix des légumes ont augmenté de {n:2-25} pour cent
        Le chat dort sur le fauteuil près de la fenêtre
        La bibliothèque propose des cours gratuits le samedi matin
        On ne peut pas faire d'omelette sans casser des œufs
        Les pompiers ont sauvé un chien tombé dans la rivière
        Elle a trouvé une vieille lettre au fond d'un tiroir
        Le concert a été annulé au dernier moment
        Les chercheurs étudient la mémoire des abeilles
        Je voudrais réserver une table pour {n:2-9} personnes
        L'équipe a gagné son premier match de la saison
        La route de montagne restera fermée jusqu'en {month_french}
        Mon père faisait le meilleur café du quartier
        Les touristes visitent surtout la vieille ville de {place_french}
        Tout le monde attendait la décision du juge
        Nous devons choisir entre deux appartements
        Le nombre de chômeurs a baissé pour le {n:2-9}e mois de suite
        L'entraîneur n'était pas satisfait de son équipe
        Plusieurs écoles manquent de professeurs de mathématiques
        Un accident a fait {n:2-12} blessés près de {place_french}
        Le tribunal rendra sa décision en {month_french}
        J'ai trouvé cette montre au marché aux puces
        Il faudra attendre encore {n:2-9} semaines
        Pourriez-vous me dire où se trouve la gare
        L'entrée est gratuite pour les enfants de moins de {n:5-14} ans
        Les deux pays veulent travailler ensemble
        Une partie de la récolte a été détruite par le gel
        Sans l'aide des voisins, la fête n'aurait pas eu lieu
    """),
    subjects=items("""
        Le boulanger, Ma tante, Une jeune chercheuse, Le directeur de l'usine, La ministre, Mon meilleur ami, {name},
        Le gardien du musée, La chanteuse, Un touriste de {place_french}, Le juge, La présidente, Le facteur,
        Mon ancien professeur, La petite fille, Un habitant de {place_french}
    """),
    predicates=lines("""
        a reçu un prix hier soir
        veut s'installer à {place_french}
        cherche un appartement depuis {n:2-20} semaines
        n'a jamais ouvert cette lettre
        parle {n:2-6} langues
        ne croit pas au succès du projet
        a perdu sa valise pendant le voyage
        se lève tous les jours à {n:4-9} heures
        préférerait vivre à la campagne
        a refusé cette offre
        écrit un livre sur l'histoire de la ville
        a acheté {n:2-20} billets pour le concert
        attend toujours une réponse
        critique les projets du gouvernement
        ne se souvient plus du nom de la rue
        ouvrira un magasin en {month_french}
        a présenté ses excuses aux invités
        travaille de nuit dans un hôtel
    """),
    tails=lines("""
        , parce que c'était la seule solution
        , mais rien n'est encore décidé
        , a expliqué {name} devant les journalistes
        , ce qui a surpris tout le monde
        , bien que la saison soit presque finie
        , et les habitants en sont très contents
        , selon un rapport publié mardi
        , comme chaque année à la même époque
        , sans que personne ne s'en aperçoive
        , même si cela coûte plus cher
        , depuis plus de {n:2-30} ans
        , alors que le soleil se levait
    """),
    places=items("""
        Lyon, Nantes, Lille, Genève, Québec, Bordeaux, Rennes, Marseille, Dakar, Strasbourg, Nice
    """),
    months=items("janvier, mars, mai, juin, septembre, novembre"),
)

SPANISH = Tongue(
    name="Spanish",
    clauses=lines("""
        El ayuntamiento quiere plantar mil árboles en el centro
        Mi abuela prepara una sopa deliciosa todos los domingos
        El avión a {place_spanish} salió sin nosotros
        Los vecinos se quejan del ruido de las obras
        El nuevo hospital de {place_spanish} abrirá sus puertas en {month_spanish}
        No encuentro mis gafas por ninguna parte
        La profesora nos pidió que escribiéramos una carta
        Las ventas de bicicletas crecieron un {n:3-40} por ciento
        El perro esperó a su dueño delante de la tienda
        Un grupo de científicos descubrió una nueva especie de rana
        Ayer cenamos en un restaurante pequeño cerca del puerto
        El tren tarda {n:2-9} horas en llegar a {place_spanish}
        Mi hermano quiere estudiar medicina
        Hace tanto calor que nadie sale a la calle
        La empresa anunció que cerrará dos de sus fábricas
        Quisiera cambiar la fecha de mi reserva
        Los niños aprendieron a nadar en el río
        El partido terminó con empate a {n:1-4} goles
        Ella vendió su casa para dar la vuelta al mundo
        El museo muestra cuadros que nunca se habían visto
        Las lluvias dejaron varios pueblos sin luz
        El libro cuenta la vida de un pescador
        Todos los jueves hay mercado en la plaza de {place_spanish}
        El presidente viajará mañana a {place_spanish}
        Me gusta caminar por la playa en invierno
        El número de parados bajó por {n:2-9} meses seguidos
        El entrenador no quedó contento con su equipo
        En muchas escuelas faltan profesores de matemáticas
        Un accidente dejó {n:2-12} heridos cerca de {place_spanish}
        El tribunal dará a conocer su decisión en {month_spanish}
        Encontré este reloj en un mercado de {place_spanish}
        Habrá que esperar {n:2-9} semanas más
        Me gustaría saber dónde está la estación
        La entrada es gratuita para menores de {n:5-14} años
        Los dos países quieren trabajar juntos
        La helada destruyó una parte de la cosecha
        Sin la ayuda de los voluntarios no habría habido fiesta
    """),
    subjects=items("""
        El alcalde, Mi tía, Una joven investigadora, El jefe de la fábrica, La ministra, Mi mejor amigo, {name},
        El guardia del museo, La cantante, Un turista de {place_spanish}, El juez, La presidenta, El cartero,
        Mi antiguo profesor, La niña, Un vecino de {place_spanish}
    """),
    predicates=lines("""
        ganó un premio anoche
        quiere mudarse a {place_spanish}
        busca piso desde hace {n:2-20} semanas
        nunca abrió la carta
        habla {n:2-6} idiomas
        no cree en el éxito del proyecto
        perdió la maleta durante el viaje
        se levanta todos los días a las {n:4-9}
        preferiría vivir en el campo
        rechazó la oferta
        escribe un libro sobre la historia de la ciudad
        compró {n:2-20} entradas para el concierto
        sigue esperando una respuesta
        criticó los planes del gobierno
        no recuerda el nombre de la calle
        abrirá una tienda en {month_spanish}
        pidió perdón a los invitados
        trabaja de noche en un hotel
    """),
    tails=lines("""
        , porque no había otra manera
        , aunque todavía falta dinero
        , según explicó {name} en una entrevista
        , y nadie sabe por qué
        , pero la gente no pierde la esperanza
        , como se había acordado el año pasado
        , lo que alegró mucho a los vecinos
        , sin avisar a nadie
        , después de {n:2-30} años de espera
        , mientras los demás dormían
        , para que todos puedan disfrutarlo
    """),
    places=items("""
        Sevilla, Bilbao, Lima, Bogotá, Granada, Quito, Valencia, Córdoba, Montevideo, Málaga
    """),
    months=items("enero, marzo, mayo, julio, septiembre, noviembre"),
)

ITALIAN = Tongue(
    name="Italian",
    clauses=lines("""
        Il comune ha deciso di chiudere il centro alle auto
        Mia zia coltiva limoni nel suo giardino
        Il treno per {place_italian} parte alle {n:6-22}
        I ragazzi hanno trovato un gattino dietro la scuola
        La mostra di {place_italian} è stata visitata da migliaia di persone
        Ho dimenticato l'ombrello al bar
        Il nonno raccontava sempre la stessa storia
        Secondo il medico bisogna bere più acqua
        La fabbrica produce {n:20-900} biciclette al giorno
        Ieri sera il vento ha rotto una finestra
        Vorrei un chilo di pane e due litri di latte
        Gli scienziati hanno osservato una stella molto lontana
        Il prezzo dell'olio è aumentato del {n:3-40} per cento
        La squadra ha perso la finale ai rigori
        Mia figlia ha imparato a suonare il violino
        Nessuno voleva sedersi in prima fila
        Il nuovo ponte sarà pronto entro {month_italian}
        Abbiamo mangiato benissimo in una trattoria di {place_italian}
        La legge entrerà in vigore l'anno prossimo
        Il romanzo parla di due fratelli che non si conoscono
        D'estate il paese si riempie di turisti
        L'allenatore non era contento della squadra
        In molte scuole mancano gli insegnanti di matematica
        Un incidente ha causato {n:2-12} feriti vicino a {place_italian}
        Il tribunale deciderà entro {month_italian}
        Bisognerà aspettare altre {n:2-9} settimane
        Mi può dire dov'è la stazione
        L'ingresso è gratuito per i bambini sotto i {n:5-14} anni
        I due paesi vogliono lavorare insieme
        Il gelo ha distrutto una parte del raccolto
        Senza l'aiuto dei volontari la festa non ci sarebbe stata
    """),
    subjects=items("""
        Il sindaco, Mia zia, Una giovane ricercatrice, Il capo della fabbrica, La ministra, Il mio migliore amico,
        {name}, Il custode del museo, La cantante, Un turista di {place_italian}, Il giudice, La presidente,
        Il postino, La bambina, Un abitante di {place_italian}
    """),
    predicates=lines("""
        ha vinto un premio ieri sera
        vuole trasferirsi a {place_italian}
        cerca casa da {n:2-20} settimane
        non ha mai aperto la lettera
        parla {n:2-6} lingue
        non crede nel progetto
        ha perso la valigia durante il viaggio
        si alza tutti i giorni alle {n:4-9}
        preferirebbe vivere in campagna
        ha rifiutato l'offerta
        scrive un libro sulla storia della città
        ha comprato {n:2-20} biglietti per il concerto
        aspetta ancora una risposta
        critica i piani del governo
        non ricorda il nome della strada
        aprirà un negozio a {place_italian}
        ha chiesto scusa agli ospiti
        lavora di notte in un albergo
    """),
    tails=lines("""
        , perché non c'era più tempo
        , anche se molti non sono d'accordo
        , ha detto {name} ai giornalisti
        , ma il problema non è ancora risolto
        , come succede ogni anno
        , e tutti ne sono felici
        , senza dire niente a nessuno
        , dopo {n:2-30} anni di lavori
        , mentre fuori nevicava
    """),
    places=items("""
        Torino, Bologna, Napoli, Firenze, Bari, Palermo, Verona, Genova, Trieste
    """),
    months=items("gennaio, marzo, maggio, luglio, settembre, novembre"),
)

PORTUGUESE = Tongue(
    name="Portuguese",
    clauses=lines("""
        A câmara vai construir uma nova escola em {place_portuguese}
        O meu vizinho toca piano todas as noites
        O autocarro para {place_portuguese} estava cheio
        As crianças desenharam um barco na areia
        Os preços dos combustíveis subiram {n:2-19} por cento
        Perdi o meu telemóvel no mercado
        A minha mãe faz bolos para vender
        O governo apresentou um plano para proteger a floresta
        Os pescadores voltaram ao porto antes da tempestade
        Gostaria de saber a que horas abre a farmácia
        A equipa treinou durante {n:2-9} semanas para o torneio
        O filme conta a história de uma família de {place_portuguese}
        Choveu tanto que o rio saiu do leito
        Os cientistas estudam o sono dos golfinhos
        Ela escreve cartas à mão para os amigos
        A biblioteca fica fechada até {month_portuguese}
        O rapaz encontrou uma moeda antiga no jardim
        Precisamos de mais tempo para terminar o trabalho
        A feira junta todos os anos centenas de visitantes
        O treinador não ficou contente com a equipa
        Faltam professores de matemática em muitas escolas
        Um acidente perto de {place_portuguese} causou {n:2-12} feridos
        O tribunal vai decidir em {month_portuguese}
        É preciso esperar mais {n:2-9} semanas
        A entrada é gratuita para menores de {n:5-14} anos
        Os dois países querem trabalhar juntos
        O gelo destruiu uma parte da colheita
        Sem a ajuda dos voluntários não teria havido festa
    """),
    subjects=items("""
        O presidente da câmara, A minha tia, Uma jovem investigadora, O chefe da fábrica, A ministra,
        O meu melhor amigo, {name}, O guarda do museu, A cantora, Um turista de {place_portuguese}, O juiz,
        A presidente, O carteiro, A menina, Um morador de {place_portuguese}
    """),
    predicates=lines("""
        ganhou um prémio ontem à noite
        quer mudar-se para {place_portuguese}
        procura casa há {n:2-20} semanas
        nunca abriu a carta
        fala {n:2-6} línguas
        não acredita no projeto
        perdeu a mala durante a viagem
        acorda todos os dias às {n:4-9} horas
        preferia viver no campo
        recusou a oferta
        escreve um livro sobre a história da cidade
        comprou {n:2-20} bilhetes para o concerto
        ainda espera uma resposta
        criticou os planos do governo
        não se lembra do nome da rua
        vai abrir uma loja em {month_portuguese}
        pediu desculpa aos convidados
        trabalha de noite num hotel
    """),
    tails=lines("""
        , porque ninguém queria esperar
        , embora falte muito para o verão
        , disse {name} na segunda-feira
        , mas ainda não há uma decisão
        , como era costume antigamente
        , e isso deixou todos contentes
        , sem que ninguém reparasse
        , depois de {n:2-30} anos
    """),
    places=items("""
        Lisboa, Coimbra, Faro, Braga, Recife, Salvador, Évora, Aveiro
    """),
    months=items("janeiro, março, maio, julho, setembro, novembro"),
)
