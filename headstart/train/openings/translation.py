"""What people ask of a translator: from five languages into English, sometimes the other way."""

from headstart.train.openings.german import GERMAN
from headstart.train.openings.grammar import items, lines
from headstart.train.openings.romance import FRENCH, ITALIAN, PORTUGUESE, SPANISH

_TONGUES = (GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE)
_LANGUAGES = ("German", *(tongue.name for tongue in _TONGUES))  # German twice: the one that is asked for most

WORDS: dict[str, tuple[str, ...]] = {
    "lang": items("German, French, Spanish, Italian, Portuguese"),
    "english": lines("""
        Where is the nearest {place}?
        I would like to buy a(n) {object}, please.
        My name is {name} and I come from {city}.
        The {animal} is sleeping behind the {place}.
        We will meet at the {place} at {n:2-11} o'clock.
        How much does this {object} cost?
        I have been a(n) {job} for {n:2-30} years.
        She forgot her {object} at the {place}.
        Thank you very much for the {food}.
        Do you have a table for {n:2-9}?
        I think that {topic} will be very important in the future.
        Yesterday I saw a(n) {animal} near the {place}.
        The train from {city} to {city2} was {n:10-90} minutes late.
        {name} has never been to {country}.
        Could you tell me the way to the {place}?
        I am looking for a(n) {product} for my {gift_kin}.
        What time does the {place} open on {day}?
        We ate {food} and talked about {topic}.
        My {gift_kin} is {n:3-80} years old.
        If it rains on {day}, the {event} will be cancelled.
        Please do not forget the {ingredient}.
        He wants to become a(n) {job}, but he is afraid of {animal_pl}.
    """),
}
for _tongue in _TONGUES:
    WORDS.update(_tongue.words())

_ASK: tuple[str, ...] = lines("""
    Translate LANG to English: {TEXT}
    Translate the following LANG sentence into English: {TEXT}
    Translate from LANG into English.¶¶{TEXT}
    Translate into English: {TEXT}
    Translate this to English, please: {TEXT}
    {TEXT}¶¶Translate the text above into English.
    {TEXT}¶¶What does this mean in English?
    What does "{TEXT}" mean in English?
    How would you say this in English? {TEXT}
    LANG: {TEXT}¶English:
    I got this message in LANG: "{TEXT}" Can you translate it for me?
    Give me an English translation of this LANG text:¶{TEXT}
    <Please translate|Could you translate|Can you translate> the following from LANG to English:¶¶{TEXT}
    translate to english: {TEXT}
    English translation please: {TEXT}
    You are a translator. Put this LANG text into {tone} English.¶¶"{TEXT}"
    Translate the LANG text below into natural English and list the difficult words.¶¶{TEXT}
    LANG to English: {TEXT}
    What language is this, and what does it say? {TEXT}
    Translate LANG to English: {TEXT} {CLAUSE4}{TAIL4}. {CLAUSE5},~50
    Translate into English: {CLAUSE},~60
    Translate the following LANG text to English.¶¶{TEXT}~60
    {TEXT} {CLAUSE4},~60
""")

_INTO_OTHERS: tuple[str, ...] = lines("""
    Translate into {lang}: {english}
    How do you say "{english}" in {lang}?
    Please translate this sentence from English to {lang}: {english}
    I am learning {lang}. How would I say: {english}
    English: {english}¶{lang}:
    Translate to {lang}:~40
    How do you say~30
    My {gift_kin} speaks only {lang}. How would she say: "{english}"
    Write a short message in {lang}: {english}
    Give me {n:3-9} useful {lang} phrases for a(n) {place}.
    What is the {lang} word for {object}? <|And for {food}?>
    Correct my Spanish: {text_spanish}
    Explain the grammar of this German sentence: {clause_german}.
    Translate the following English text to {lang}: {english} {english2}
    Translate to {lang}: The {job} from {city}~50
    How do I say in {lang} that my {object}~30
""")


def _in_language(template: str, language: str) -> str:
    code = language.lower()
    for mark, name in (("TEXT", f"text_{code}"), ("CLAUSE", f"clause_{code}"), ("TAIL", f"tail_{code}")):
        template = template.replace(mark, name)
    return template.replace("LANG", language)


TEMPLATES: tuple[str, ...] = tuple(_in_language(template, language) for language in _LANGUAGES for template in _ASK) + _INTO_OTHERS
