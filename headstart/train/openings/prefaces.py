"""Sentences that people put before a question: who they are, why they ask."""

from headstart.train.openings.grammar import lines

_PERSONAL: tuple[str, ...] = lines("""
    I am a(n) {job} from {city}.
    I'm a(n) {job}.
    I live in {city} now, but I was born in {country}.
    I'm {n:15-80} years old.
    I feel {feeling} today.
    My {n:5-16}-year-old asked me this:
    {name} and I were arguing about this.
    {name} asked me:
    We talked about {topic} at work.
    I've been reading about {topic}.
    I'm getting ready for a(n) {event}.
    It's for a(n) {event} on {day}.
    It is for my {gift_kin}, who loves {topic}.
    I know a lot about {topic}, but not about this.
    I am on a train to {city} and have only {n:3-20} minutes.
    My {gift_kin} is a(n) {job} and wants to know:
    English is not my first language, I speak {language}.
    Quick question before my {event}:
    I have {n:2-60} minutes.
    Explain it like you would to {audience}.
    Answer like a(n) {tone} {job}.
    Sorry to bother you, I'm {feeling}.
""")

_SCHOOL: tuple[str, ...] = lines("""
    I have homework about {science}.
    I have to give a talk in {n:2-14} days.
    I teach {audience}.
    We are learning about {topic} and {science} at school.
    I'm writing an article about {topic}.
    My teacher, {name} {surname}, asked us:
    I study in {city}.
    For a quiz night at the {place}:
    I am preparing a lesson for {n:8-35} students.
    I read a book about {person} and have a question.
    In a museum in {city} I saw something and wondered:
    While cooking {food} with my {gift_kin} this came up.
    Exam question, {n:2-20} points:
    Answer in {n:2-9} sentences.
    Imagine you talk to {audience}.
    {name} from {country} would like to know:
""")

_CODE: tuple[str, ...] = lines("""
    I'm new to {prog}.
    We use {prog} at work.
    I know {prog} but not {prog2}.
    For a school project about {topic}:
    I'm building an app for a(n) {place}.
    I am a(n) {job} and want to automate my work.
    My data are {n:20-90000} {sql_thing}.
    I'm preparing for an interview in {city}.
    I have a server with {n:1-64} GB of memory.
    The program is for {gift_for}.
    It should handle {n:10-5000} {sql_thing} a minute.
    Please comment every line.
    No libraries, please.
    My colleague {name} wrote a tool for {sql_thing}.
    I'm writing a small game about a(n) {animal}.
    I already know {prog_thing}.
""")

PREFACES: dict[str, tuple[str, ...]] = {
    "qa": _SCHOOL,
    "stem": _SCHOOL,
    "humanities": _SCHOOL,
    "howto": _PERSONAL,
    "advice": _PERSONAL,
    "chat": _PERSONAL,
    "brainstorm": _PERSONAL,
    "coding": _CODE,
}
