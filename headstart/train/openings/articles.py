"""News articles put together from sentences: word lists "lead", "detail", "quote", "close" and their whole, "article"."""

from headstart.train.openings.grammar import items, lines

WORDS: dict[str, tuple[str, ...]] = {
    "month": items("January, February, March, April, May, June, July, August, September, October, November, December"),
    "agency": items("""
        Reuters, AP, Newsroom, Daily Courier, City Desk, The Morning Post, Evening Herald, Sports Desk, Science Desk
    """),
    "civic": items("""
        bicycle lanes, playgrounds, trams, libraries, street lights, swimming pools, parks, schools, flood walls, bus stops
    """),
    "stolen": items("""
        {n2:2-30} laptops, a painting, {n2:2-9} violins, a collection of watches, cash, a safe, {n2:20-400} bottles of wine
    """),
    "plan": items("""
        a new motorway, higher rents, the closing of a hospital, a rise in bus fares, a new airport, longer working hours
    """),
    "banned": items("""
        plastic bags, fireworks, phones in schools, petrol lawnmowers, street advertising, single-use cups, loud motorbikes
    """),
    "feat": items("""
        swim across the lake, sail around the island alone, win the national chess title, fly a glider over the Alps,
        publish a dictionary,
        cycle from {city} to {city2}, climb the highest mountain of {country}, finish the desert marathon,
        conduct the city orchestra
    """),
    "lead": lines("""
        The city council of {city} voted on {day} to spend {n:2-90} million on new {civic}
        A(n) {n:19-80}-year-old {job} from {city} was rescued on {day} after {b:2-40} hours {setting}
        Police in {city} are looking for {n:2-6} men who stole {stolen} from a(n) {place} on {day} night
        Scientists in {country} say they have found a new way to study {science}
        Thousands of people marched through {city} on {day} to protest against {plan}
        The government of {country} has announced that it will ban {banned} from next {month}
        {name} {surname} scored {n:2-4} times as {city} beat {city2} in the {sport} final on {day}
        A fire in a(n) {place} in {city} destroyed {n:3-60} homes early on {day}
        A new study suggests that people who enjoy {topic} may live up to {n:2-9} years longer
        {^surname} Industries said on {day} that it would cut {n:200-9000} jobs in {country}
        A(n) {animal} that escaped from a zoo in {city} was found on {day} {setting}
        {^country} and {country2} signed an agreement on {topic} after {n:2-11} years of talks
        Heavy rain flooded the centre of {city} on {day}, closing schools and {n:2-30} roads
        The {place} in {city}, closed since {n:1985-2020}, will open its doors again in {month}
        A court in {city} sentenced former {job} {name} {surname} to {n:2-20} years in prison on {day}
        The actor {name} {surname}, known for {n:3-60} films, has died in {city} at the age of {b:61-99}
        Prices for {ingredient} rose by {n:3-45} percent last month, the statistics office of {country} said on {day}
        A school in {city} has replaced homework with {topic}, and parents are divided
        {^name} {surname}, {n:8-17}, has become the youngest person to {feat}
        An earthquake of magnitude {n:4-7}.{b:1-9} shook the coast of {country} on {day} morning
        A ferry with {n:40-900} passengers ran aground near {city} on {day}, but everyone reached the shore
        The central bank of {country} raised its key rate on {day} for the {ordinal} time in a row
        {^country} has elected {name} {surname}, a former {job}, as its next leader
        Doctors in {city} have for the first time replaced a patient's knee with one that was printed on the spot
        A(n) {job} in {city} who gave away {n:100-900} {product}s has been named citizen of the year
        Strikes by {job}s brought {city} to a halt on {day}, with {n:20-400} flights cancelled
        A cave full of {n:2000-9000}-year-old drawings was discovered by a(n) {job} near {city}
        The coach of {city}, {name} {surname}, resigned on {day} after the {ordinal} defeat in a row
        A heat wave in {country} has killed thousands of {animal_pl} and dried up {n:3-40} lakes
        A painting that hung in a(n) {place} in {city} for {n:20-90} years turned out to be worth millions
        Two trains collided outside {city} on {day}, injuring {n:4-80} people
        {^city} will host the next world championship in {sport}, the organisers said on {day}
        {name} {surname} thought it was a joke when a letter arrived {n:20-70} years late
        A probe on its way to {planet} has sent its first pictures back to Earth
        Nearly every {ordinal} household in {country} now owns a(n) {animal}, a survey shows
        The last {place} of {city} closed on {day} after {n:40-190} years
        The makers of a popular {product} are recalling {n:2-90} thousand of them because they may catch fire
        {name} {surname} and {name2} {surname2} met as children in {city} and did not see each other again for {n:20-60} years
        Hackers have stolen the data of {n:2-90} million customers from a chain of hotels in {country}
        A baby {animal} was born in the zoo of {city}, the first one in {n:5-40} years
        A dispute about a(n) {object} between two neighbours in {city} ended in court on {day}
        A cargo of {ingredient} that was lost at sea {n:2-30} years ago has washed up on the coast of {country}
        Teachers in {country} complain that pupils know more about {topic} than about {topic2}
    """),
    "ordinal": items("second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth"),
    "detail": lines("""
        The decision followed a debate of more than {n:2-12} hours, during which several members left the room.
        No one was seriously injured, but {n:2-40} people were treated for shock, a hospital spokesman said.
        Residents of the area said that they had warned the authorities {n:2-9} months ago.
        The project is expected to take {n:2-9} years and to create about {b:100-4000} jobs.
        According to the report, almost {n:20-80} percent of those asked had never heard of the plan.
        Traffic was stopped for several hours, and trains between {city} and {city2} were cancelled.
        The company, founded in {n:1890-2015}, has offices in {country} and {country2}.
        Experts warn that the effect may be much smaller in {country} than in {country2}.
        Local shops reported {n:5-60} percent fewer customers than in the same week last year.
        The weather service expects more wind and rain until {day}.
        A similar case in {city2} made headlines in {n:1990-2023}, when a(n) {job2} was wrongly accused.
        Critics say that the money would be better spent on {topic}.
        The investigation has not been finished, and officials would not say who was responsible.
        The team had lost {n:3-9} of its last ten games and was close to giving up the season.
        In the past, the building was used as a(n) {place}, and later as a(n) {place2}.
        Volunteers brought blankets, tea and {food} to those who had to wait outside.
        The results were published in a journal on {day} and have not been repeated by other groups.
        It all began {n:2-40} years ago with an advert in a newspaper and a(n) {object}.
        A camera at the {place} recorded a man with a(n) {object} shortly before {n:1-11} o'clock.
        Only {n:2-30} percent of the costs are covered by insurance.
        Earlier attempts in {country2} failed because nobody wanted to pay for them.
        The two had worked together for {n:3-30} years before they fell out over {topic2}.
        Tourists from {country2} make up about a third of all visitors.
        In {n:1900-1999}, on the same spot, a(n) {place2} had burned down.
        Neighbours describe {surname} as a quiet person who liked {topic} and kept {animal_pl2}.
        More than {n:200-9000} people have signed a petition against it.
        For the first time, {animal_pl2} were seen in the area as well.
        The rules apply to everyone who is older than {n:12-21}, with exceptions for {job}s.
        Schools were closed, and {n:30-900} people spent the night in a(n) {place2}.
        The data came from {n:200-9000} volunteers who wore a small sensor for {b:2-12} weeks.
        The opposition called the plan expensive, late and badly prepared.
        Shares in the company fell by {n:2-30} percent after the news.
        By the evening, the queue in front of the building was {n:100-900} metres long.
        The winner receives {n:2-90} thousand dollars and a year's supply of {ingredient}.
        A second test, carried out in {city2}, gave the opposite result.
        On social media, some people compared the event with {history}.
        The ship had left {city2} {n:2-12} days before, loaded with {things}.
        Under the agreement, {country2} will pay {n:10-60} percent of the costs.
        About {n:20-800} kilograms of {ingredient} had to be thrown away.
        The trial lasted {n:3-90} days, and {b:10-80} witnesses were heard.
    """),
    "quote": lines("""
        "We did not expect this," said {name3} {surname3}, a(n) {job3} who lives nearby.
        "It is a good day for {city}," said Mayor {name4} {surname4}. "But there is still a lot to do."
        "I heard a loud noise and ran outside," said {name5} {surname5}, {n:18-85}. "Then I saw the {object} in the street."
        "This will not solve the problem," said {name6} {surname6}, who teaches {humanity} at the University of {city}.
        "Our priority is the safety of families," a spokeswoman told reporters on {day}.
        "It felt like a dream," {surname} said afterwards. "I have worked {n:3-20} years for this."
        "Nobody asked us," said {name7} {surname7}, who has run a(n) {place} in the district for {n:4-40} years.
        "We need more data before we can draw conclusions," said {name8} {surname8} of the Institute for {topic}.
        "My {gift_kin} would have laughed," said {name9} {surname9}.
        "You can't eat promises," said {name10}, a(n) {job4}, on the way home.
        "There were {things} everywhere," a witness told the local radio.
        "If it works in {country}, it can work anywhere," the minister said.
        "I'd do it again tomorrow," said {name11} {surname10}, holding a(n) {object2}.
        "The numbers speak for themselves," the head of the agency said in {city}.
        "We are {feeling}, but we are not giving up," said one of the organisers.
        "It is too early to say what went wrong," a police officer said.
        "Children understand it at once," said {name12}, who is a(n) {job5} and has tried it for {n:2-11} months.
        "Someone had to start," {surname} said when asked for a reason.
    """),
    "close": lines("""
        A final decision is expected in {month}.
        The next meeting will take place on {day2}.
        An appeal is possible until the end of {month}.
        The search will continue on {day2}.
        It is not known how much the repairs will cost.
        Tickets go on sale in {month} and cost between {n:5-20} and {b:25-90} dollars.
        {^surname} was not available for comment.
        The family thanked everyone who had helped.
        Whether {country2} will follow is still open.
        Until then, the {object} stays where it is.
        The museum in {city2} has already asked for a copy.
        The road will be opened again before {day2}.
    """),
    "article": lines("""
        {lead}. {detail} {quote} {detail2} {close}
        {lead}. {quote} {detail} {detail2} {quote2} {close}
        {lead}. {detail} {detail2} {quote} {detail3}
        {lead}. {detail} {close}
        {lead}, it was reported. {detail} {quote} {quote2} {detail2} {detail3} {close}
        ({city}) -- {lead}. {detail} {quote} {close}
        ({agency}) -- {lead}. {detail} {detail2} {quote} {detail3} {quote2} {detail4} {close}
        {city} ({agency}) - {lead}. {quote} {detail} {close}
        {lead}. {detail}¶¶{quote} {detail2}¶¶{detail3} {close}
        By {name13} {surname11}¶{lead}. {quote} {quote2} {detail} {detail2}
    """),
}
