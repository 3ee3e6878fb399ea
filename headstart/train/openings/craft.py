"""Things to be made: texts of many forms, parts to be played, programs, lists of ideas."""

from headstart.train.openings.grammar import lines

WRITING: tuple[str, ...] = lines("""
    <Write|Compose|Tell me|Make up> a(n) {genre} about a(n) {job} {twist}. {limit}
    <Write|Compose> a(n) {genre} set {setting}.
    Write a short story about a(n) {animal} and a(n) {animal2} {setting}.
    Write a story that begins with a(n) {object} and ends at a(n) {place}.
    Write the opening paragraph of a novel set {setting}.
    Write a(n) {poem} about {topic}.
    Write a(n) {poem} about feeling {feeling}.
    <can you write|pls write|i need> a(n) {poem} for {gift_for}
    Write a(n) {tone} speech for a(n) {event}.
    Write a product description for a(n) {product}. {limit}
    Write an advertisement for a(n) {place} in {city}.
    Write a blog post about <a weekend in|moving to|the food of|a rainy day in> {city}.
    Write a travel guide for {country} for people who like {topic}.
    Draft an essay on {topic}. {limit}
    Write an opinion piece: should we do more for {topic}?
    Write a newspaper report about a(n) {animal} that escaped in {city}.
    Write a press release: a(n) {place} in {city} opens again.
    Write a letter from a(n) {job} to a(n) {job2}. {limit}
    Write a diary entry by {person}.
    Write a thank-you note to {gift_for} for a(n) {object}.
    Write a complaint to a(n) {place} about a broken {object}.
    Write an invitation to a(n) {event} in {city}.
    Write a(n) {tone} apology for missing a(n) {event}.
    Write a cover letter for a job as a(n) {job}. {limit}
    Write a job advert for a(n) {job} in {city}.
    Write a LinkedIn post about {topic}.
    Write three tweets about {topic}.
    Write a caption for a photo of a(n) {animal} with a(n) {object}.
    Write song lyrics about {topic}, with a chorus.
    Write a dialogue between a(n) {job} and a(n) {animal}.
    Write a conversation between {person} and {person2} about {topic}.
    Write a scene in which {name} and {name2} argue about a(n) {object} {setting}.
    Describe a(n) {place} without using the word "{place}". {limit}
    Describe {setting} using all five senses.
    Describe an old {object} as if it were a person.
    Write a review of a(n) {product} that you did not like.
    Write a recipe for {food} as a(n) {tone} story.
    Write a horoscope for someone who is {feeling}.
    Write a wedding toast for {name} and {name2}.
    Write a eulogy for a beloved {animal}.
    Write a short biography of a made-up {job} called {name} {surname}.
    Write a persuasive paragraph about {topic} for {audience}.
    Write a fable whose moral is about {abstract}.
    Write a limerick about a(n) {job} from {city}
    Write a children's story in which a(n) {animal} learns about {abstract}.
    Write two versions of a text about {topic}: one {tone}, one {tone2}.
    Write a monologue for a(n) {job} who feels {feeling}.
    Write a(n) {n:3-6}-sentence horror story with a(n) {object} in it.
    Write instructions for a(n) {product}. {limit}
    Give me a first line for a(n) {genre} about {abstract}.
    Write a summary for the back cover of a(n) {genre} about a(n) {job}.
    Rewrite the ending of {work_of_art} so that everyone is happy.
    Write a motivational text for people who want to {goal}.
    Compose an email to {name} <asking for help with|about|explaining> {topic}. {limit}
    Tell me a joke about {topic}.
    a poem about {topic} and {topic2}
    Once upon a time, {setting}, there lived a(n) {animal}~120
    Write a story about a(n) {job} who~40
    Write a letter to~40
    Write a short essay on why~40
    Write a scene where~50
    Continue this story: {name} opened the door of the {place} and~100
    Continue the text: "It was {day} morning when the {job}~90
    Write an email to my <landlord|boss|teacher|neighbour|customers> in which~50
    Write a blog post titled "~40
    Write a speech in which~50
    Write a poem that~40
    I need a text for~50
    Write a(n) {genre} in which a(n) {animal}~50
    Write about a(n) {job} from {city} who~50
    Write a(n) {tone} message to {gift_for}~50
    Write a(n) {poem} in which {abstract}~50
    Write an article about {topic} that~50
    Write a story that ends with the words "~40
    Write a(n) {genre} with the title "The {^object}~40
    The {object} had belonged to {name}'s grandmother. One night~110
    Dear {name}, I am writing to you from {city} because~100
    Write a speech for {name}'s {event}. {name}~60
    Write a text about {city} in the style of~40
    Create a description of~40
    Here is the beginning of my {genre}: "The {place} was empty. {name}~120
""")

ROLEPLAY: tuple[str, ...] = lines("""
    You are a(n) {job}. {name} comes to you and says: "I feel {feeling}." What do you answer?
    Act as a(n) {tone} {job} and answer my questions. First one: what do you think about {topic}?
    Pretend to be {person}. <Introduce yourself.|Tell me about your day.|What worries you?|What are you most proud of?> {limit}
    Imagine you are a(n) {animal} {setting}. Describe your day.
    You are a(n) {object} in a(n) {place}. Tell me what you have seen.
    Play the role of a(n) {job} who has to explain {topic} to {audience}.
    You are a guide in {city}. I have {n:2-9} hours and I like {topic}. Where do we go?
    Be my {job} for a moment: I want to {goal}. What do you tell me?
    Speak like a <pirate|robot|medieval knight|sports commentator|news anchor|grumpy cat|wise old wizard|cowboy> and tell me \
        about {topic}.
    You are interviewing me for a job as a(n) {job}. Ask me the first question and explain what a good answer would be.
    You are a detective {setting}. Describe the scene and your first clue.
    Pretend you are from the year {n:2100-3000} and explain {topic} to me.
    You are the ghost of {person}, visiting {city} today. What surprises you?
    As a(n) {job}, write a reply to a customer who complains about a(n) {product}.
    Imagine that {person} and {person2} meet {setting}. What do they say to each other?
    Let's play a text adventure {setting}. Describe where I am and give me {n:2-4} choices.
    You are a(n) {tone} teacher. Explain {science} to a class that would rather talk about {sport}.
    I am a customer and you are a(n) {job}. I ask: "How much does a(n) {object} cost, and why so much?"
    You are a doctor. Your patient cannot sleep and drinks {n:4-12} cups of coffee a day. What do you say? {limit}
    Pretend to be my {event} planner. What do you need to know?
    You are a(n) {genre} writer. Pitch me your new idea about {topic}.
    Take the role of a critic and review {food} as if it were a work of art.
    You're a salesperson. Sell me this {object}.
    You're a(n) {animal} who has become mayor of {city}. Give your first speech.
    Be a(n) {tone} friend. I just failed my {event} and I am {feeling}.
    Assume the role of a historian from {country} and describe {history}.
    Act like a debate coach. I will argue for {topic}. What is the strongest argument against me?
    You are my personal trainer. I play {sport} and want to {goal}. Make a plan for one week.
    From now on you are "{name}", a(n) {job} {twist}. Introduce yourself to me.
    You are the captain of a ship {setting}. Write the log of day {n:2-90}.
    Answer as if you had never heard of {topic}: what might it be?
    As an alien who visits a(n) {place} in {city}, report to your home planet.
    If you were a(n) {object}, how would you feel about {topic}?
    You are a judge. {name} took a(n) {object} from {name2} by mistake. Give your verdict and your reasons.
    Act as a(n) {prog} interpreter. I type: print({n:2-90} * {b:2-90})
    You are a sommelier, but for {food}. Recommend something for a(n) {event}.
    I want you to act as a(n) {job}. My first request is~60
    You are a(n) {tone} {job} and I am your customer. I say: "~50
    Pretend that you are~40
    You are {name}, a(n) {job} in {city}. A stranger asks you~50
    You are a(n) {tone} {job}. Explain to me why~40
    Pretend to be a(n) {animal} that~40
    Act as a(n) {job} from {country} and~50
    You are a talking {object}. A child asks you~50
    You are {person}. A journalist asks: "~50
    I'm a tourist in {city} and you're a(n) {job}. I~50
    Imagine a world without {topic}. You are~50
    As my {tone} coach for {sport},~50
    Imagine you are {person} and~50
    You are a chatbot of a(n) {place}. A customer writes: "~60
    Act as my language teacher for {language}. I want to~50
    Let's do a role play. You are a(n) {job}, I am~60
    Suppose you were the last~50
    You are a time traveller who~50
    Play a character who~50
""")

CODING: tuple[str, ...] = lines("""
    Write a(n) {prog} function that {code_task}.
    <Write|Give me|I need> a(n) {prog} program that {code_task}. {limit}
    How do I write code in {prog} that {code_task}?
    {prog} script that {code_task}
    Implement a function in {prog} that {code_task}, and add tests.
    Write a one-liner in {prog} that {code_task}.
    Write a class in {prog} for a(n) {object} with {n:2-5} methods.
    Explain {prog_thing} in {prog} with an example.
    What is the difference between {prog_thing} and {prog_thing2}?
    When should I use {prog_thing}? {limit}
    how does {prog_thing} work in {prog}
    Compare {prog} and {prog2} for <web servers|data analysis|games|scripts|mobile apps|teaching beginners>.
    Write an SQL query that finds the {n:3-20} {sql_thing} with the most {sql_thing2}.
    Design a database schema for {sql_thing} and {sql_thing2}.
    Write a SQL statement that counts {sql_thing} per <month|country|category|customer> and sorts them.
    Write a regular expression that matches <a phone number|a date|a hex colour|an IPv4 address|a URL|a floating point number|a \
        postcode>.
    Write an HTML page for a(n) {place} with a heading, a list and a contact form.
    Write CSS that <centres a box|makes a two-column layout|makes a button round|hides a menu on small screens|draws a card \
        with a shadow>.
    Write a Bash command that <finds large files|counts lines of code|kills a process on a port|replaces text in many \
        files|zips a folder>.
    What is the time complexity of a program that {code_task}?
    Write pseudocode for a program that {code_task}.
    I get "<IndexError: list index out of range|TypeError: 'NoneType' object is not subscriptable|KeyError: 'name'>" in Python. \
        Why?
    I get "<undefined is not a function|Segmentation fault|NullPointerException|permission denied|cannot find module>". What \
        does it mean?
    How do I read a JSON file in {prog} and print all {sql_thing}?
    How do I call a REST API in {prog}? {limit}
    Write unit tests for a function that {code_task}.
    Write a docstring for a function that {code_task}.
    Suggest good names for a function that {code_task}.
    My {prog} program that {code_task} is too slow. What can I try?
    Convert this to {prog}: for i in range({n:3-20}): print(i * {b:2-9})
    What does this print, and why?¶¶x = [{a:1-9}, {b:1-9}, {c:1-9}]¶for y in x:¶⇥print(y * {n:2-9})
    Fix the bug:¶¶def total(values):¶⇥result = {n:1-9}¶⇥for v in values:¶⇥⇥result = v¶⇥return result
    Find the error in this code:¶¶function average(a) {¶⇥let s = 0;¶⇥for (let i = 0; i <= a.length; i++) s += a[i];¶⇥return s / \
        {n:2-9};¶}
    What does this function do?¶¶def f(n):¶⇥if n == 0:¶⇥⇥return {a:0-3}¶⇥return n {op} f(n - {b:1-3})
    Simplify this code:¶¶if x > {n:2-90}:¶⇥flag = True¶else:¶⇥flag = False¶return flag
    Add comments to this code:¶¶def g(s):¶⇥d = {}¶⇥for c in s:¶⇥⇥d[c] = d.get(c, {n:0-2}) + 1¶⇥return d
    Write a(n) {prog} loop that prints the numbers from {a:1-9} to {b:20-300} which are divisible by {c:3-9}.
    Create a simple {prog} class hierarchy for a(n) {animal}, a(n) {animal2} and a(n) {animal3}.
    How do I install {prog} on <Windows|macOS|Ubuntu|a Raspberry Pi>?
    How can I test {prog_thing} in a(n) {prog} project?
    Write a small game in {prog} where the player guesses a number between 1 and {n:20-1000}.
    Write a(n) {prog} function with the name `{verb}_{sql_thing}` and explain each line.
    How do you undo <the last commit|a merge|a pushed commit|changes in one file> in git?
    Write a Dockerfile for a(n) {prog} app that listens on port {n:3000-9000}.
    Write a JSON example for a list of {sql_thing} with {n:3-6} fields each.
    What are best practices for {prog_thing}?
    Teach me {prog_thing} like I have never programmed before.
    Write a commit message for a change that {code_task}.
    Write a(n) {prog} function that takes~40
    I have a list of dictionaries in Python and I want to~50
    How can I~30
    Write a program that asks the user~50
    Why does my {prog} code~50
    Here is my code:¶¶def {verb}_{sql_thing}(~100
    Complete this function:¶¶def is_~80
    Write a SQL query to~40
    In {prog}, what happens if~40
    Write a script that reads~40
    Explain this line of code:~40
    In {prog}, how do I~40
    I want to learn {prog_thing} because~50
    My {prog} program should~60
    Here is my {prog} code for {sql_thing}:~120
    How do I store {sql_thing} in~40
    Write a(n) {prog} class for {sql_thing} that~50
    Write a function {verb}_{sql_thing} in {prog} that~50
    Why is {prog_thing} in {prog}~40
    I have a table of {sql_thing} and a table of {sql_thing2}. Write a query that~50
    Write {prog} code that reads {sql_thing} from~50
    Translate this {prog} code to {prog2}:~100
    My function {verb}_{sql_thing}() returns~60
    Refactor this:¶¶for i in range(len({sql_thing})):~80
""")

BRAINSTORM: tuple[str, ...] = lines("""
    Give me {n:3-20} ideas for a(n) {event}.
    List {n:5-15} gifts for {gift_for}.
    <Suggest|Find|I need> {n:3-10} names for a(n) {place} in {city}.
    Suggest a name and a slogan for a(n) {product}.
    List {n:3-10} reasons to like {topic}.
    What could I cook with {ingredient}, {ingredient2} and {ingredient3}?
    Make a packing list for {n:2-14} days in {country}.
    Plan a(n) {n:2-10}-day trip to {country}. {limit}
    Make a weekly meal plan with {ingredient} and without {ingredient2}.
    Make a shopping list for {food} for {n:2-12} people.
    Give me {n:3-9} conversation topics for a(n) {event}.
    Give me {n:3-9} essay topics about {humanity}.
    What are some unusual uses for a(n) {object}?
    List the pros and cons of {topic}.
    List {n:5-12} words that rhyme with "{rhyme}".
    List synonyms for "{feeling}".
    Give me {n:5-10} vocabulary words about {topic} with short definitions.
    Which hobbies fit somebody who likes {topic} and {topic2}?
    Suggest books for somebody who enjoyed {work_of_art}.
    Come up with {n:3-6} business ideas about {topic}.
    Invent a holiday about {topic}. How is it celebrated?
    Invent a new {sport} rule and explain how it changes the game.
    Make a quiz about {country} with {n:3-10} questions.
    Make a riddle about a(n) {object}.
    Write {n:3-8} fun facts about {animal_pl}.
    Give me a(n) {n:3-5}-step plan to {goal}.
    10 ideas for {topic} on a small budget
    Outline a presentation about {topic} with {n:4-10} slides.
    Propose experiments for a science fair about {science}.
    What questions should I ask a(n) {job}?
    What questions would a journalist ask {person}?
    Give me arguments to convince my family of {topic}.
    Create a schedule for a(n) {event} that starts at {n:8-18}:00.
    Create a table with {n:3-6} {animal_class}, their size and their food.
    List the steps to {chore}.
    Make a checklist for a(n) {event}.
    Fill in a weekly timetable for somebody who wants to {goal}.
    Give me ideas for~30
    List some ways to~30
    What are good names for~30
    Make a list of~30
    Come up with a creative~40
    Suggest a few~30
    List {n:3-12} things that a(n) {job}~40
    Give me {n:3-12} ideas about {topic} for~40
    What are {n:3-9} ways to use {ingredient}~40
    Plan a day in {city} for~40
    Make a list of {topic} and~40
    Name {n:3-12} {animal_class} that~30
    I'm organising a(n) {event} for~50
    Find a name for a(n) {animal} that~30
    Invent a game with a(n) {object} and~50
    Give me {n:3-9} questions about {science} that~40
""")
