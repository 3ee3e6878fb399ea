"""Questions of knowledge: open trivia as people ask or type them, sciences, humanities."""

from headstart.train.openings.grammar import lines

QA: tuple[str, ...] = lines("""
    What is the capital of {country}?
    What is the population of {city}?
    What is the official language of {country}?
    What currency is used in {country}?
    Which countries border {country}?
    What is {country} famous for?
    Which river flows through {city}?
    What is the highest mountain in {country}?
    When did {country} become independent?
    Who was the first <president|prime minister|ruler> of {country}?
    What do the colours in the flag of {country} stand for?
    What is the oldest university in {country}?
    Who invented {invention}?
    When was {invention} invented?
    Where was {invention} first used?
    Why is {person} famous?
    When and where was {person} born?
    How did {person} die?
    What were the main works of {person}?
    Who were the <teachers|rivals|parents|followers> of {person}?
    Did {person} and {person2} live at the same time?
    Who wrote {work_of_art}<|, or who made it>?
    What is {work_of_art} about?
    When was {work_of_art} created?
    Name the main characters of {work_of_art}.
    What caused {history}?
    When did {history} take place?
    Who took part in {history}?
    What were the results of {history}?
    Where is {landmark}?
    How old is {landmark}?
    How <tall|long|big|deep|high> is {landmark}?
    Who discovered {element}?
    What is {element} used for?
    What is the chemical symbol for {element}?
    Is {element} a metal?
    How many moons does {planet} have?
    How far is {planet} from {planet2}?
    How long is a day on {planet}?
    What is the largest <lake|island|desert|city|port|forest|animal> in {country}?
    How many <players|referees|points|rounds|minutes> are there in a game of {sport}?
    Where does {sport} come from?
    Which country has won the most medals in {sport}?
    What do {animal_pl} eat?
    How long do {animal_pl} live?
    Where do {animal_pl} live in the wild?
    What is a group of {animal_pl} called?
    What is a baby {animal} called?
    Can {animal_pl} <swim|see colours|sleep standing up|climb trees|live alone>?
    What is the fastest <animal|train|plane|bird|fish|car> in the world?
    What is {film_thing}?
    What is the difference between a(n) {animal} and a(n) {animal2}?
    Where does the word "{object}" come from?
    What does a(n) {job} do?
    How many people speak {language}?
    Where is {language} spoken?
    Which instruments are used in <a string quartet|a brass band|a gamelan|a samba band|a jazz trio|a symphony orchestra>?
    What are the ingredients of {food}?
    Which country does {food} come from?
    Who is the patron saint of {country}?
    What year did the <first|last> <train|tram|aeroplane|steamship> reach {city}?
    In which <month|season|year> is the <carnival|film festival|marathon|book fair> in {city}?
    Which <king|queen|emperor|president> ruled {country} the longest?
    What is the name of the <national park|airport|football stadium|cathedral|parliament building> in {city}?
    On which continent is {country}, and how large is it?
    True or false: {person} was born before {person2}.
    Name {n:3-8} <cities|rivers|dishes|animals|writers|kings> of {country}.
    Which planet is bigger, {planet} or {planet2}?
    How many bones does a(n) {animal} have?
    Who holds the world record in {sport}?
    Which <metal|gas|element> is heavier, {element} or {element2}?
    Who painted the <ceiling|first|most famous> ~40
    What is the name of the~30
    Which American president~30
    In which year did~30
    Who was the first woman to~30
    How many people~30
    What is the longest~30
    Which {country} <writer|king|city|company|team>~30
    When was the first~30
    Where was~30
    Which band~30
    Who played the role of~30
    What kind of~30
    Which of {person}'s~30
    On what date~30
    What happened to~30
    Name the~30
    Who won~30
    What {animal} ~30
    Which book by~30
    Whose~30
    In {country}, what~30
    In {city}, who~30
    Which {job} was the first to~30
    During {history}, who~30
    What did {person} ~30
    Which city in {country}~30
    Why did {person} and {person2}~30
    How did {country} get~30
    In {work_of_art}, who~30
    Before {invention}, how~30
    What role did {element} play~30
    On {planet}, how~30
    Where in {country} can you~30
    Which animal, apart from {animal_pl},~30
    How many {animal_pl} does~30
    Who was {name} {surname}~30
    When did {city} become~30
    What is the origin of {food}~30
    {^country} and {country2} both~30
    The {sport} player who~40
""")

SEARCH: tuple[str, ...] = lines("""
    capital of {country}
    what is the capital of {country}
    population of {city} {n:1950-2023}
    who invented {invention}
    who wrote {work_of_art}
    when did {history} start
    when did {history} end
    where is {landmark} located
    how tall is {landmark}
    how old was {person} when <he died|she died|they died|famous>
    who was {person}
    {person} <biography|facts|family|quotes|achievements|early life|death>
    what was {person} known for
    {history} <causes|summary|dates|timeline|effects|for kids>
    what is {science}
    {science} <definition|explained|examples|for kids|formula|simple explanation>
    why is {science} important
    how does {science} work
    what is the meaning of {humanity}
    {humanity} <examples|definition|meaning|history>
    what is {prog_thing} in {prog}
    how many {animal_pl} are left in the world
    what do {animal_pl} eat
    are {animal_pl} <dangerous|endangered|mammals|smart|nocturnal|good pets>
    how long do {animal_pl} live
    what does a(n) {job} do
    how much does a(n) {job} <earn|make> in {country}
    how to become a(n) {job}
    <best|cheap|famous> restaurants in {city}
    things to do in {city}
    best time to visit {country}
    how far is {city} from {city2}
    what language do they speak in {country}
    what continent is {country} in
    what is the currency in {country}
    who is the president of {country}
    when did {country} join the united nations
    how many calories in {food}
    how to make {food}
    how long to boil {ingredient}
    can dogs eat {ingredient}
    substitute for {ingredient}
    where did {food} come from
    who sang the song about <rain|{city}|summer|love|{animal_pl}>
    what is the largest <lake|island|city|desert> in {country}
    what year was {invention} invented
    rules of {sport}
    how many players in {sport}
    who has the most wins in {sport}
    where was {sport} invented
    symbol for {element}
    atomic number of {element}
    how many moons does {planet} have
    how big is {planet}
    how to {chore}
    how long does it take to {goal}
    what is a good age to {skill}
    the river that runs through {city}
    what is the highest mountain in {country}
    what side of the road do they drive on in {country}
    national animal of {country}
    is {country} in the <eu|nato|commonwealth|g20>
    what time is it in {city} when it is noon in {city2}
    how do you say thank you in {language}
    difference between {animal} and {animal2}
    what is the difference between {prog} and {prog2}
    when is the best time to plant {plant}
    why do {animal_pl} <sleep so much|migrate|make noise at night|have tails>
    meaning of the name {name}
    last name {surname} origin
    is {topic} good for you
    pros and cons of {topic}
    history of {topic}
    what are the three <types|parts|stages|laws|branches> of~25
    who plays~25
    when was the~25
    where does the~25
    what is the name of~25
    who won the~25
    how many seasons of~25
    what does it mean when~25
    when do you~25
    who is the~25
    what part of~25
    where was the movie~25
    how many times has~25
    what is the main~25
    the first person to~25
    who sings~25
    what was the purpose of~25
    in what year~25
    what type of~25
    which state~25
    why did~25
    how old is~25
    {country} ~20
    {city} ~20
    {topic} in~20
    {topic} vs~20
    {person} and~20
    {person} ~20
    {history} was~25
    {science} in~20
    {science} ~20
    how many {animal_pl}~20
    do {animal_pl}~20
    can {animal_pl}~20
    why do {animal_pl}~20
    when did {country}~20
    why is {city}~20
    who was the first {job}~20
    what does {person}~20
    is {food}~20
    how much {ingredient}~20
    what is the best {product}~20
    how to use a(n) {object}~20
    how do you {verb}~20
    where was {person}~20
    what happened in {city} in~20
    which country exports~20
    {language} word for~20
    {element} and {element2}~20
    what is the {sport}~25
    {name} {surname}~20
    the {animal} in~20
    a(n) {job} who~20
""")

STEM: tuple[str, ...] = lines("""
    <Explain|Describe> {science} to {audience}.
    What is {science} and why does it matter?
    How does {science} work?
    How are {science} and {science2} related?
    What is the difference between {science} and {science2}?
    Give a short introduction to {science}.
    What are common misconceptions about {science}?
    Who discovered {science}, and how?
    Which experiment could show {science} in a classroom? {limit}
    Write {n:3-8} quiz questions with answers about {science}.
    What would happen on Earth without {science}?
    Explain the role of {element} in <the human body|industry|batteries|stars|medicine|plants>.
    Why can {animal_pl} <see|hear|smell|sleep|move|breathe> so differently from people?
    How do engineers build <bridges|tunnels|dams|wind turbines|satellites|high-speed trains> that last? {limit}
    Derive a simple formula that has to do with {science}. <|Explain each symbol.>
    A student asks why {science} cannot be seen every day. What would you answer?
    Compare {planet} and {planet2} in size, temperature and atmosphere.
    Is it possible for people to live on {planet}? {limit}
    What is the state of research on {science}?
    Name three applications of {science} in everyday life.
    How is {science} measured, and in what units?
    Describe the life cycle of a(n) {animal}.
    How does a(n) {plant} get water and food?
    What happens in the body when we <sneeze|run|sleep|eat sugar|catch a cold|get scared|yawn|blush|hold our breath>?
    Why <is the sky blue|is the sea salty|do leaves change colour|do magnets attract iron|does ice float|do we have seasons>?
    Why <does bread rise|does metal rust|do onions make us cry|do batteries run out|does popcorn pop|do stars twinkle>?
    How would you explain {science} with an everyday example, for instance a(n) {object}?
    What safety rules apply in a lab when working with {element}?
    Summarise the history of {science} in {n:4-8} steps.
    Write a paragraph for a textbook about {science}.
    What did {person} think about {science}, if anything?
    I don't get {science}. Can you help? {limit}
    Pros and cons of using {science} in <medicine|farming|war|transport|art|sport>?
    What is a(n) <theorem|hypothesis|law|model|theory|proof> in science? Give an example from {science}.
    What limits the speed of <computers|planes|ships|animals|the internet|trains>?
    What is the role of statistics in <medicine|weather forecasts|sport|elections|psychology>?
    Which is more efficient, <heating with gas or a heat pump|a train or a plane|a diesel or an electric engine|LED or neon \
        light>? Explain.
    A ball of {n:1-9} kg falls from {b:5-60} m. Describe what happens to its energy.
    A circuit has a(n) {n:3-24} V battery and resistors of {b:2-40} and {c:2-40} ohms. Find the current in series and in parallel.
    How many moles are in {n:5-200} g of {element}?
    What is {science} in one sentence?
    Why do scientists believe that~40
    How do plants~30
    Explain how a~40
    Describe the process of~30
    What are the main parts of~40
    In biology, what~40
    In chemistry, why~40
    In physics, how~40
    What happens when {element} and~40
    How do astronomers~40
    Explain in simple terms~40
    A car of {n:800-2000} kg~70
    Describe an experiment that~50
    What are the advantages of~40
    Is {science} the reason why~40
    How does {science} affect~40
    Without {science}, how~40
    What role does {science} play in~40
    Explain {science} using~40
    How can {element} be~40
    Why do {animal_pl}~40
    How would life on {planet}~40
    {^science} is often confused with~50
    Can {science} and {science2}~40
    Suppose you drop a(n) {object} from~60
    What would a physicist say about a(n) {object}~40
    In which ways does {science}~40
""")

HUMANITIES: tuple[str, ...] = lines("""
    What were the causes and the consequences of {history}?
    Explain {humanity} to {audience}.
    How did {history} change everyday life?
    Compare {history} with {history2}.
    Write an essay plan about {humanity}. {limit}
    What would {person} say about {topic}? {limit}
    How did {person} influence {humanity}?
    Why is {person} still remembered today?
    Who had more influence, {person} or {person2}? Justify your answer.
    Discuss the theme of {abstract} in {work_of_art}.
    What can we learn from {history} for today?
    Give arguments for and against {topic}, as in a school debate.
    Analyse the idea of {abstract} from the point of view of {humanity}.
    What is the difference between {humanity} and {humanity2}?
    Describe daily life in {city} <in the Middle Ages|around 1900|in ancient times|after the war|fifty years ago>.
    How does {country} elect its government?
    What role did women play in {history}?
    Was {history} inevitable? {limit}
    Who profited from {history}, and who suffered?
    Write a timeline of {history}.
    What is {humanity}? Give <two|three> examples.
    How would an economist explain {topic}?
    How would a sociologist study {topic}?
    Is it ever right to <lie|steal|break a promise|break the law|keep a secret|go to war>? {limit}
    Explain the proverb "<Still waters run deep|The early bird catches the worm|Better late than never|A stitch in time saves \
        nine>".
    What makes a good <citizen|leader|law|teacher|story|friend|city>? Refer to {humanity}.
    What is the connection between {humanity} and {history}?
    Describe the style of {person}'s time and place in art and clothing.
    How did {invention} change society?
    Why do so many people live in {city}? Give historical reasons.
    What religions are practised in {country}?
    What were {person}'s main ideas? {limit}
    Interpret this line: "{^abstract} is the {object} we carry in the dark."
    Write a review of {work_of_art}.
    Summarise the plot of {work_of_art} for {audience}.
    What does {work_of_art} tell us about its time?
    How is {topic} seen in {country} and in {country2}?
    Explain the economy of {country} in simple words.
    What is the meaning of {abstract} in different cultures?
    Prepare five discussion questions about {humanity} for <a seminar|a book club|a school class>.
    How did {language} develop, and which languages are related to it?
    Should <voting|military service|school|vaccination|saving for a pension> be compulsory? {limit}
    What is the moral of a story in which a(n) {animal} cheats a(n) {animal2}?
    Discuss how historians know about~40
    What effect did~40
    In what ways did the~40
    Explain why the empire of~40
    What is the relationship between~40
    How did trade between~40
    Write an essay about the role of~40
    Compare the views of {person} and~40
    To what extent~50
    Some people say that {abstract}~60
    How did ordinary people in~40
    Why did {history} lead to~40
    How was {city} changed by~40
    Before {history}, people in~50
    In what ways did {person}~40
    The idea of {humanity} was~50
    According to {person},~50
    Is {humanity} compatible with~40
    Explain {humanity} using~40
    In {work_of_art}, {abstract} is~50
    How do people in {country}~40
    What would have happened if {person}~50
    In {country}, {topic}~50
    How did {invention} and {history}~50
""")
