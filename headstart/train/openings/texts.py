"""Texts that a question carries: articles, dialogues, reviews, notes and passages, and what is asked of them."""

from headstart.train.openings.grammar import lines

WORDS: dict[str, tuple[str, ...]] = {
    "ask_summary": lines("""
        Summarize
        Summarize the following article
        Summarize this
        Summarise this text in <one|two|three> sentences
        Please summarize the article below
        Write a short summary of the following news article
        What is this article about
        Give me the main points of this text as a list
        Write a headline for this article
        Sum this up for {audience}
        Can you give me the key facts of this news story
        In fewer than {n:20-80} words, summarise
        Here is an article, please summarize it
        give me a summary
        Summarize the story below and say who is involved
        Read the text and tell me what happened
        Make this article shorter
        Write an abstract of this text
        What are the most important points here
    """),
    "ask_talk": lines("""
        Summarize the following conversation
        Summarize this chat in one or two sentences
        What did they agree on
        Write down what happened in this dialogue
        Summarize
        Summarise the dialogue
        What is the problem in this conversation, and how is it solved
        Continue this conversation
        Who wants what
        Sum up the chat
        Turn this chat into a short report
        Briefly summarize what {name} and {name2} talk about
        What happens in this chat
        Tell me in a few words what this conversation is about
    """),
    "say": lines("""
        Are you coming to the {event} on {day}?
        Did you see my {object} anywhere?
        I'm running late, the bus didn't come.
        Can you bring {ingredient} and {ingredient2}?
        Guess who I met at the {place}!
        How was your {event}?
        I think I failed the exam about {science} :(
        Shall we meet at {n:2-11} in front of the {place}?
        My {animal} is ill, I have to go to the vet
        I got the job as a(n) {job}!!!
        Do you still have the recipe for {food}?
        Have you paid the rent yet?
        What should we give {name3} for the birthday?
        The flight to {city} is only {n:40-300} dollars
        I can't find the tickets
        Could you pick up the kids at {n:3-6}?
        Did you watch the {sport} match last night?
        My boss wants me to work on {day} again.
        the heating is broken again
        I'd like to book a table for {n:2-9}.
    """),
    "reply": lines("""
        Sure, no problem.
        Sorry, I can't. I have to work until {n:5-9}.
        Really? Tell me more!
        Oh no, what happened?
        Not sure yet, I'll let you know tomorrow.
        haha, typical {name3}
        I thought that was on {day2}?
        Good idea, but who tells {name3}?
        I'd rather go to the {place2}.
        You left it at the {place2}, remember?
        Congratulations!! Let's celebrate
        Too expensive for me, maybe next year.
        Ok, but please don't be late this time
        I asked {name3} already and the answer was no.
        Yes, {n2:2-9} of them. Do you need more?
        <file_photo> what do you think?
        Let me check... yes, that works for me.
        Only if you bring the {object2}.
        I'll call you later, ok?
        That's the third time this week!
    """),
    "talk": lines("""
        {name}: {say}¶{name2}: {reply}¶{name}: {reply2}¶{name2}: {reply3}
        {name}: {say}¶{name2}: {reply}¶{name}: {say2}¶{name2}: {reply2}¶{name}: {reply3}
        {name}: hi {name2}¶{name2}: hey!¶{name}: {say}¶{name2}: {reply}¶{name}: {reply2}¶{name2}: {reply3}¶{name}: see you then
        {name2}: {say}¶{name}: {reply}¶{name4}: {reply2}¶{name2}: {say2}¶{name4}: {reply3}¶{name}: {reply4}
        Customer: {say}¶Agent: {reply}¶Customer: {reply2}¶Agent: {reply3}¶Customer: Thank you!
    """),
    "review": lines("""
        The {food} at this {place} was cold and the waiter looked {feeling}. We will not come back.
        Best {product} I have ever bought! It works after {n:2-30} months as on the first day.
        The room was clean, but the {object} did not work and the street was loud until {n:1-4} a.m.
        Bought this {product} for {gift_for}. It broke after {n:2-20} days, and nobody answers my emails.
        Lovely {place}, friendly staff, fair prices. Only the {food} could be better.
        It's okay. Not great, not terrible. The {product} does what it should for ${n:9-90}.
        I waited {n:20-90} minutes for {food}. It was worth it.
        {name} explained everything about {topic} so well that even my {n:6-12}-year-old understood.
        I wanted to like this book about {topic}, but after {n:30-200} pages I gave up.
    """),
    "fact": lines("""
        {name} {surname} was born in {city} in {n:1850-1990} and worked as a(n) {job} before moving to {country}.
        The {place} was built in {n:1750-2010} and was used as a(n) {place2} for {b:5-80} years.
        {surname} & Sons, based in {city}, makes {n:20-900} {product}s a week and employs {b:12-800} people.
        On {day}, {month} {n:1-28}, {name} {surname} will speak about {topic} in room {b:100-420}.
        The {animal} weighs up to {n:2-90} kilograms, sleeps {b:3-19} hours a day and feeds mostly at night.
        The village of {surname}ville has {n:90-4000} inhabitants, {b:2-5} churches and one {place}.
        {name} married {name2} in {n:1950-2015}; they have {b:2-6} children and live near {city}.
        The river is {n:40-900} km long and passes {city} before it reaches the sea.
        The festival takes place every {month} and attracts about {n:2-90} thousand visitors, most of them from {country}.
        In {n:1900-2020}, {name} {surname} won a prize for work on {science}.
        The ticket costs {n:5-60} dollars, children under {b:6-14} pay half.
        The device measures {n:4-60} by {b:4-60} cm, runs for {c:3-40} hours and costs ${d:20-900}.
        The recipe of {food} first appeared in a cookbook printed in {city} in {n:1700-1960}.
        In a survey of {n:100-3000} people, {b:12-48} percent named {topic} as their main interest, and {c:5-11} percent {topic2}.
    """),
    "bad": lines("""
        i wants to know when do the {place} opens on {day}
        There is many {animal_pl} in {country}, isnt it?
        My {gift_kin} have told me he come tomorow
        {name} sayed that he dont has no time for {topic}
        We was waiting since {n:2-5} hour for the bus to {city}
        I look forward to hear from you soon about the {product}
        Each of the {things} are diffrent, alot of them was {colour}
        if you seen my {object} please to call me
        Who's {object} is that, its not mines
        The {food} was to hot, so i let it lay on the table
        She teached me to {skill} in less then {n:2-9} week
        your welcome, but next time bring you're own {ingredient}
        i has been living in {city} since {n:2-20} years
        She don't like {food} because it taste bad
        Yesterday we go to the {place} and seen a(n) {animal}
        Their going to the {event} but they're {object} is broke
        He is more taller then {name}
        me and {name2} was {feeling} about the {event}
        If I would have a(n) {object}, I will go to {country}
        The informations about {topic} is very usefull
        I am agree with {name}, {topic} are importent
        Can you borrow me you're {object}? its for a(n) {event}
    """),
    "plain": lines("""
        Last summer we travelled from {city} to {city2} with only a(n) {object}.
        The new {place} in {city} is larger than the old one, but less friendly.
        My {gift_kin} bought {n:2-20} {things} and gave half of them to {name}.
        Please let me know by {day} whether you can come to the {event}.
        Your order of {n:2-9} {product}s has been sent to {city}.
        I regret that I did not {goal} earlier.
        In my opinion, {job}s are paid too little.
        The speech of {name} {surname} about {topic} lasted {n:2-4} hours.
        Nobody noticed that the {animal} had eaten the {ingredient}.
        {name} would like to {skill}, but has no time.
        It was so cold in {city} that even the {animal_pl} stayed inside.
        Customers who are not satisfied can return the {product} within {n:7-60} days.
        According to {name}, the trip to {country} was a complete failure.
        We learned at school that {person} changed the world.
        When the lights went out, the {job} was still in the {place}.
        You can only understand {science} if you forget what you have seen in films.
        Thank you for your email, {name}, I will answer on {day}.
        The {event} was great fun until the {object} broke.
        {name} forgot the {object} at the {place}.
        The meeting about {topic} has been moved to {day}.
        We are sorry to tell you that your {product} will arrive {n:2-9} days late.
        I think {topic} is more important than {topic2}.
        The {animal} ran across the street and disappeared behind the {place}.
        Due to bad weather, the {event} will take place indoors.
        You need to pay before {n:10-28} {month}.
        My {job} told me that I should eat more {ingredient}.
        It is necessary for all employees to wear a helmet in the {place}.
        The world of {topic} has changed a lot in the last {n:10-60} years.
        The {food} was good, but we had to wait very long.
        {name} was {feeling} because nobody came to the {event}.
    """),
    "start_of_sentence": lines("""
        Every time it rains in {city},
        Before we could say anything, {name}
        Although the {food} smelled good,
        My {gift_kin} always said that
        What I have never understood about {topic} is why
        The letter from {country} began with the words
        After {n:3-50} years as a(n) {job}, {name}
        With a(n) {object} under the arm, the {job}
        The best thing about {topic} is
        When {name} opened the {object},
        If I had a million dollars, I
        In the middle of the {place} there stood
        Nobody in {city} had ever
        The {job} looked at the {animal} and
        After the {event}, everyone
        The reason why I like {city} is
    """),
}

SUMMARIZE: tuple[str, ...] = lines("""
    {ask_summary}: {article}
    {ask_summary}:¶¶{article}
    {ask_summary}.¶¶{article}
    {article}¶¶{ask_summary}.
    {article}¶¶tl;dr
    {article} {^ask_summary}
    {ask_summary}.¶¶Article: {article}¶¶Summary:
    {ask_summary}.¶¶"{article}"¶¶{limit}
    {ask_summary}: ({city}) -- {lead}. {detail} {quote}~160
    {ask_summary}: ({agency}) -- {lead}.~160
    {ask_summary}: ({city}, {country}) -- The~160
    {ask_summary}:¶¶({agency}) A(n) {job}~160
    {ask_summary}: {lead}, officials said.~160
    {ask_summary}:¶¶{^country}'s government~160
    {ask_summary}.¶¶{name} {surname}, a(n) {job} from {city},~160
    {ask_summary}:¶¶{^topic} has~160
    {ask_summary}.¶¶By {name} {surname}¶¶The {place} in {city}~160
    {ask_summary}: A new study about {science}~160
    {ask_summary}:¶¶For years, people in {city}~160
    {ask_summary}: {city} will play~150
    {ask_summary}:¶¶{quote}~160
    {ask_summary}: It was just after midnight when~160
    {ask_summary}: The {sport} club {city} has~150
    {ask_summary}. The text: The history of {topic}~160
""")

DIALOGUE: tuple[str, ...] = lines("""
    {ask_talk}:¶¶{talk}
    {ask_talk}.¶¶{talk}
    {ask_talk}: {talk}
    {talk}¶¶{ask_talk}.
    {talk}¶¶What did {name} want?
    {talk}¶¶Write the next line of the chat.
    {talk}¶¶Is {name2} <happy|annoyed|busy|surprised>? Why do you think so?
    {ask_talk}:¶¶{name}: {say}¶{name2}:~120
    {ask_talk}:¶¶{name}: {say}¶{name2}: {reply}¶{name}:~120
    {ask_talk}: {name}: hey {name2}, are you free on {day}?¶{name2}:~120
    {ask_talk}:¶¶{name}: Hi, this is {name} from the {place}.¶{name2}:~120
    {ask_talk}:¶¶{name}: What do you think about {topic}?¶{name2}: {reply}¶{name3}:~120
    {ask_talk}.¶¶{name}: I'm so {feeling}!¶{name2}: Why?¶{name}:~120
    {ask_talk}.¶¶Doctor: What brings you here today?¶{name}:~120
    {ask_talk}.¶¶Teacher: {name}, could you explain {science}?¶{name}:~120
    {ask_talk}:¶¶Customer: My {object}~120
    {ask_talk}.¶¶{name}: Remember our trip to {city}?¶{name2}:~120
    {ask_talk}:¶¶{name}: <file_photo>¶{name2}: Is that a(n) {animal}??¶{name}:~120
""")

EXTRACT: tuple[str, ...] = lines("""
    Extract all names and places from this text: {fact} {fact2}
    List every number in the text and say what it stands for.¶¶{fact} {fact2} {fact3}
    Extract the <dates|people|places|prices|companies|professions> as JSON:¶¶{article}
    From the text below, fill in a table with the columns <name, place, year|who, what, when|item, amount, unit>.¶¶{fact} {fact2}
    Read the reviews and rate each from 1 to 5. Answer as JSON.¶1. {review}¶2. {review2}¶3. {review3}
    Which of these reviews are negative?¶- {review}¶- {review2}¶- {review3}
    Find the <email addresses|phone numbers|dates|times> in: "Write to {name}@{surname}.org or call 555-{n:1000-9999} before \
        {day}."
    Turn this into CSV: {name} is {a:18-80} and lives in {city}; {name2} is {b:18-80} and lives in {city2}; {name3} ({c:18-80}) \
        in {city3}.
    Sort these words into groups: {animal}, {food}, {city}, {animal2}, {object}, {city2}, {food2}
    Is this a question, an order or a statement? "{plain}"
    Which language are these words: {language} or {language2}? Give the country for each: {city}, {city2}, {city3}
    Extract the keywords: {article}
    What is the <main claim|most important number|date|place> in this text? {article}
    Label each sentence as fact or opinion.¶{fact}¶{plain}¶{review}
    Given the data, who has the most? {name}: {a:10-99}, {name2}: {b:10-99}, {name3}: {c:10-99}, {name4}: {d:10-99}
    The table shows sales. <Which month was best?|What is the total?|Describe the trend.>¶{month}: {a:10-900}¶{month2}: \
        {b:10-900}¶{month3}: {c:10-900}
    Turn this order into JSON: {a:2-9} x {food}, {b:2-9} x {food2}, one {object}, deliver to {name} {surname} in {city} on {day}.
    Who is mentioned in this text, and what do we learn about each person? {article}
    Tag the nouns in this sentence: {plain}
    Extract from the invoice the <total|customer|date>: Invoice {a:1000-9999}, {month} {b:1-28}, {surname} Ltd, {c:2-40} x \
        {product}, total ${d:100-9000}.
    Identify the companies, the people and the places in the following text:~110
    Extract the ingredients and amounts from this recipe:~120
    Find all dates in this text:~110
    Given the following email, list the tasks:¶¶Dear {name},~130
    Extract the name, job and city from each line.¶{name} {surname}, {job}, {city}¶~60
    Here are the results of the {sport} season. Who is first?¶¶{city}~60
""")

CONTEXT: tuple[str, ...] = lines("""
    Answer the question using the context.¶¶Context: {fact} {fact2} {fact3}¶¶Question: <Who|What|When|Where|How many> ~25
    Context:¶[1] {fact}¶[2] {fact2}¶[3] {fact3}¶¶Question: <What does [{n:1-3}] say?|Which passage is about a place?|What do \
        the passages have in common?>
    Use only the text to answer.¶¶{article}¶¶<Who is quoted, and what does this person say?|When did it happen?|What will \
        happen next?>
    Read this and answer: where did it happen?¶¶{article}
    Passage 1: {article}¶¶Passage 2: {lead2}. {detail5} {quote3} {detail6}¶¶Which passage is about \
        <crime|sport|science|politics|an accident|money>?
    Document: {fact} {fact2}¶Question: <what is the year mentioned first|which city is mentioned|who is the text about>?
    Based on the following notes, tell me about {name}.¶- {fact}¶- {name} likes {topic}.¶- {name} is afraid of {animal_pl}.
    Given the passages below, write a detailed answer to: what is known about {topic}?¶¶{fact}¶{^topic} was described by \
        {person}.¶{fact2}
    {article}¶¶Question: Why does it matter?¶Answer:
    {fact} {fact2} {fact3}¶¶Q: <how many|how old|how long|who|where|when>~20
    The FAQ of a(n) {place} says: "Open {n:7-11} to {b:15-22} except on {day}. Entry ${c:3-30}." A visitor asks: can I come on \
        {day2} at {d:6-23}:00?
    My notes are below, the question comes last. Say so if they do not help.¶¶{fact}¶¶{fact2}¶¶Question:~30
    You are a helpful assistant. Context: {article} Question:~30
    Here are search results for "{topic}".¶¶1. {fact}¶2.~120
    Read the passage and answer the question below.¶¶{^person}~150
    Context: {^history}~150
    Passage: {^science}~150
    Background: {^city} is~140
    I found this on a website about {topic}. Is it true?¶¶"~90
    According to the article, what happened in {city}?¶¶({city}) -- {lead}.~120
""")
