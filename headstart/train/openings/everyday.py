"""What people ask an assistant in daily life: how to do things, advice, help with an account, small talk, rewriting."""

from headstart.train.openings.grammar import lines

HOWTO: tuple[str, ...] = lines("""
    How do I {chore}?
    How can I {chore} <without special tools|quickly|safely|on a budget|on my own>?
    What is the best way to {chore}? {limit}
    <Explain|Show me> how to {chore}. {limit}
    how to {chore} step by step
    Give me step-by-step instructions to {chore}.
    I tried to {chore} but it didn't work. What did I do wrong?
    How long does it take to {chore}?
    What do I need to {chore}?
    How do I make {food}?
    Give me a recipe for {food} <without {ingredient}|for {n:2-12} people|with few ingredients|in under 30 minutes|for beginners>.
    How do I cook {ingredient} so that it tastes good?
    What can I use instead of {ingredient} in {food}?
    How do I learn to {skill}? {limit}
    Can I learn to {skill} in {n:2-12} <weeks|months>? How?
    How do I teach {audience} to {skill}?
    How do I take care of a(n) {plant}?
    What does a(n) {animal} need as a pet?
    How do I clean a(n) {object}?
    How do I repair a broken {object}?
    My {object} is broken. Should I repair it or buy a new one?
    How do I choose a good {product}?
    How do I become a(n) {job} in {country}?
    How do I get from {city} to {city2} <cheaply|by train|with a bicycle|with small children>?
    How do I prepare for a(n) {event}?
    How do I organise a(n) {event} for {n:5-90} people?
    How do I say sorry to {gift_for}?
    How do I start with {sport} at the age of {n:25-70}?
    What are the basic rules of {sport}?
    How do I set up a budget if I earn {n:900-6000} a month?
    How do I write a good <CV|essay|email|review|story|speech|cover letter|poem>?
    How do I ask <my boss|a stranger|a teacher|a friend> for help with {topic}?
    Explain how a(n) {object} works.
    How do I <reset|change|delete|recover|verify> my <password|account|email address|phone number|user name>?
    How do I <contact support|track my order|cancel my order|get a refund|update my payment details|download my invoice>?
    I forgot <my PIN|the code for my suitcase|my Wi-Fi password|the answer to my security question>. What now?
    My <phone|laptop|printer|router|TV|tablet> <won't turn on|is very slow|keeps restarting|does not connect|makes a strange \
        noise>. {limit}
    Where can I find the settings for <notifications|privacy|language|dark mode|backups|parental control>?
    How do I stay safe <in {city} at night|while hiking|on the internet|during a storm|at a festival|when cycling>?
    how do i stop my {animal} from <biting|making noise|eating {ingredient}|scratching the {object}|running away>
    How do I tell if {ingredient} <is still good|is ripe|has gone bad|is cooked>?
    Describe the fastest way to {chore} and the most careful way.
    What tools does a(n) {job} need?
    How do I measure <a room|my foot|the height of a tree|water hardness|my pulse|a wall for wallpaper>?
    how can i make {food} <vegan|healthier|spicier|cheaper|for my kids>
    How do I know whether~30
    How do I get rid of~30
    What is the easiest way to~30
    How can I fix~40
    Can you walk me through~40
    I want to make~50
    Is it safe to~30
    What should I do if my~40
    how to get~25
    How do I teach my {animal} to~30
    How do I use a(n) {object} to~40
    I want to {chore}, but~50
    I tried to make {food}, but~50
    How can a(n) {job}~40
    With {ingredient} and {ingredient2}, how~40
    What is the right way to wear a~30
    Before I {chore}, should I~40
    How do I explain {topic} to~30
    When I {skill}, my~50
    how to keep {animal_pl} from~30
    In {country}, how do I~40
    I need to {chore} before my {event}. I have~50
    My {product}~50
    I bought a(n) {product} and~50
    My {object}~50
""")

ADVICE: tuple[str, ...] = lines("""
    I want to {goal}. Where do I start?
    I feel {feeling} <lately|at work|since I moved to {city}|after my {event}>. What can I do? {limit}
    Should I {goal} or wait another year?
    My <boss|best friend|sister|roommate|neighbour|partner> is always {feeling}. How should I react?
    My neighbour's {animal} keeps me awake. How do I talk to him about it?
    I have to choose between working as a(n) {job} and as a(n) {job2}. Help me decide.
    Is it worth it to learn {language}?
    Which {prog} book or course is good for beginners? {limit}
    What should I wear to a(n) {event}?
    What should I see in {city} in {n:1-5} days?
    Would you rather live in {city} or in {city2}? Why?
    Is {country} a good place <for families|to retire|to study|for cyclists|to learn surfing>?
    What is a nice present for {gift_for} who likes {topic}? My budget is ${n:10-200}.
    I am {n:16-75} years old and want to {skill}. Is it too late?
    How can I talk to my {n:6-17}-year-old about {topic}?
    My friend {name} borrowed my {object} and has not returned it. What do I say?
    I spent too much money on {topic}. How do I stop?
    I am allergic to {ingredient}. What can I eat for <breakfast|lunch|dinner|dessert>?
    Give me some tips <for|about|on> {topic}.
    I have an exam about {science} in {n:2-14} days and have not started. Help! {limit}
    How much <sleep|water|exercise|screen time|coffee> is good for {audience}?
    Which is better for a small flat, a(n) {animal} or a(n) {animal2}?
    Is it okay to <say no to a(n) {event}|eat {food} every day|quit after a month|talk to myself|lie about my age>?
    I got two offers: one pays {n:5-40}% more, the other is close to home. What would you consider?
    What are good habits for somebody who wants to {goal}?
    What are warning signs of <burnout|a bad landlord|a scam|a broken car|food poisoning|an unfair contract>?
    How do I stay motivated to {goal}?
    What would you say to someone who is {feeling} because of {topic}?
    My parents want me to become a(n) {job}, but I would like to be a(n) {job2}. {limit}
    How do I make a(n) {event} less boring?
    I moved to {country} and miss my {food}. Any ideas?
    I can't decide between a(n) {product} and a(n) {product2}. Which one?
    What should I know before I <adopt a(n) {animal}|move to {city}|study {science}|travel to {country}|buy a used car>?
    What are common mistakes when people try to {goal}?
    Is {topic} overrated?
    What do you think about {topic}? Be honest.
    Convince me that {topic} is worth my time.
    My colleague {name} takes credit for my work. What are my options?
    Someone told me that {topic} is bad for you. Is that true?
    I'm {feeling} about my {event} tomorrow
    I'm planning a trip to {country} and~50
    I'm a(n) {job} and lately~60
    My {n:2-17}-year-old~60
    I recently moved to {city} and~60
    I've been thinking about~50
    My best friend told me that~60
    Every time I try to~50
    I'm torn between~50
    Do you think I should~40
    I have a problem with~50
    For the last {n:2-12} months I~60
    What is the best {product} for~30
    My friend {name}, a(n) {job}, ~50
    I am {n:18-70} and~50
    I'd love to {goal}, but~50
    Since my {event} I feel {feeling} and~50
    My family thinks that {topic}~50
    I have ${n:100-9000} and want to~50
    My {animal}~50
    Between {city} and {city2},~40
    My {event} is on {day} and~50
    I promised {name} to {skill}, but~50
    They offered me a job as a(n) {job} in {city}. However,~60
""")

CHAT: tuple[str, ...] = lines("""
    <Hi|Hello|Hey|Good morning|Good evening|hey there>!
    <Hi|Hello|Hey>, how are you <today|doing|this {day}>?
    hey, what can you do?
    Hi, my name is {name} and I live in {city}. <Who are you?|What is your name?|Nice to meet you!>
    Tell me something interesting about {topic}.
    <Hi|Hey>! Can you help me with {topic}?
    Do you like {food}?
    What is your favourite {fav}?
    Do you prefer {animal_pl} or {animal_pl2}?
    I'm {feeling} today.
    i just got back from {city} and it was amazing
    Guess what, I got a job as a(n) {job}!
    I have a(n) {event} tomorrow. Wish me luck!
    Tell me a joke.
    Tell me a joke about {animal_pl}.
    Tell me a fun fact about {country}.
    thanks, that was helpful! one more thing: what about {topic}?
    Are you a <robot|human|real person|computer|student>?
    Can you <dream|feel pain|see me|remember me|learn from me|be {feeling}>?
    What did people do before {invention}?
    Let's talk about {topic}.
    I had {food} for <lunch|breakfast|dinner>. What did you have?
    My {animal} is called {name}. Isn't that a good name?
    Good night! Any nice words before I sleep?
    I saw a(n) {animal} at the {place} today!
    My {gift_kin} wants to become a(n) {job}. Good choice?
    It is {n:1-11} o'clock in {city} and I can't sleep. Talk to me about {topic}.
    What would {person} say about {topic}?
    I just watched a film about {topic} and {topic2}. Thoughts?
    {^food} or {food2}?
    Which is better, {city} or {city2}?
    i finally learned to {skill}!!
    My colleague {name} talks about {topic} all day.
    Do you have an opinion on {topic}?
    What should we talk about?
    Give me a compliment.
    Say something {tone}.
    Could you recommend a film with a(n) {animal} in it?
    I am bored. Suggest something to do with a(n) {object}.
    what's the weather like in {city} in <march|july|october|december>
    ok. and what about {country}?
    Are you there? I need to ask something about {topic}.
    Happy <birthday|new year|holidays|{day}>!
    I don't believe you know anything about {topic}. Prove me wrong.
    Who would win, a(n) {animal} or a(n) {animal2}?
    if you could visit {city} or {planet}, which one?
    I think {topic} is <boring|wonderful|too expensive|the future|a waste of time>. What do you say?
    do u know anything about {topic} lol
    what's up
    Let's play twenty questions. I'm thinking of a(n) {object_kind}.
    Use "{object}", "{feeling}" and "{animal}" in one sentence.
    My favourite {sport} team lost again :(
    Can you speak {language}?
    Describe yourself in {n:3-9} words.
    I need some motivation to {goal}
    what is the meaning of <life|{abstract}>?
    Which superpower would help a(n) {job} most?
    Good morning. I'd like to order {food}, please.
    I~40
    Hi! I~50
    hey, i was wondering if~40
    Do you know~30
    So today at work~60
    What do you think of~30
    Have you ever~30
    Can you~30
    My name is {name}. I~50
    Let me tell you about~60
    I have a question about~40
    Is it true that~30
    Yesterday I went to the {place} and~60
    I love {topic} because~50
    My {animal} just~50
    {name} says hi! We~50
    I'm in {city} right now and~50
    do u think {animal_pl}~30
    Speaking of {food},~40
    I dreamed about a(n) {animal} and~60
    As a(n) {job} I~60
    What do you know about {city}'s~30
    So {name} and I~60
    I am {feeling} because~50
    Have you heard of {work_of_art}? I~50
    My {gift_kin} loves {topic} and~50
    I can't believe that {topic}~50
""")

REWRITE: tuple[str, ...] = lines("""
    <Correct|Fix|Check> the grammar: "{bad}"
    <Correct|Improve> this sentence and explain the mistakes: {bad}
    Rewrite this sentence in a(n) {tone} way: {plain}
    Rephrase: {plain}
    Paraphrase the following sentence in {n:2-5} different ways: "{plain}"
    Make this shorter: {plain} {plain2}
    Make this longer and more {tone}: {plain}
    Change this into a question: {plain}
    Put this into the past tense: {plain}
    Put this into the future tense: {plain}
    Turn this into a headline: {plain}
    Replace the adjectives in this sentence: {plain}
    Turn these notes into a paragraph: {topic}, {topic2}, {city}, {n:2-90} people, {feeling}
    Turn these notes into an email: meeting {day} at {n:8-17}:00, bring {object}, topic {topic}
    Write this for {audience}: {plain}
    Is this sentence correct? {bad}
    Which sounds better: "{plain}" or "{plain2}"? Why?
    Classify the feeling of this message as positive, negative or neutral: "{review}"
    What is the tone of this text? "{review}"
    Rewrite this review so that it sounds polite: {review}
    Answer this review as the owner of the {place}: "{review}"
    Complete the sentence: {start_of_sentence}
    Continue: "{plain} {start_of_sentence}
    Give me three endings for: {start_of_sentence} ...
    Use the word "{abstract}" in three sentences of different kinds.
    Find the subject, the verb and the object: {plain}
    Spell out the abbreviations and fix the spelling: {bad}
    Write the opposite of this: {plain}
    Expand this outline: 1. {topic} 2. {topic2} 3. what it means for {city}
    Edit my message: hi {name}, {bad} bye {name2}
    Replace every name in this text: {plain} {plain2}
    Explain the joke or the meaning behind this sentence: {plain}
    Make this sentence rhyme: {plain}
    Rewrite the following paragraph:~120
    Please correct my text:~100
    Improve this email: "Dear {name},~120
    Rewrite in simpler words: The~70
    Fix the spelling in this message: hey {name}, i~70
    Here is a paragraph from my essay on {topic}. Make it better.¶¶~130
""")
