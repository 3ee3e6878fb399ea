"""School word problems and riddles of reasoning, with real numbers in ranges that make sense."""

from headstart.train.openings.grammar import items, lines

WORDS: dict[str, tuple[str, ...]] = {
    "things": items("""
        apples, oranges, pears, marbles, stickers, stamps, coins, books, pencils, notebooks, balloons, cupcakes, cookies,
        muffins,
        seashells, buttons, beads, toy cars, trading cards, postcards, candles, roses, tulips, eggs, bottles of juice, tickets,
        bricks, tiles, nails, jars of honey, sandwiches, bagels, kites, puzzle pieces, magnets, crayons, socks, chairs, lamps,
        plants
    """),
    "box": items("boxes, bags, baskets, crates, trays, shelves, jars, packets, drawers, cartons"),
    "shop": items("""
        a bakery, a bookshop, a toy shop, a market stall, a hardware store, a café, a flower shop, a pet shop, a bike shop
    """),
    "earn": items("""
        washes cars, walks dogs, mows lawns, babysits, delivers newspapers, tutors maths, paints fences, sells lemonade,
        repairs bikes
    """),
    "trip": items("a train, a bus, a car, a truck, a cyclist, a ferry, a runner, a motorbike, a hot-air balloon, a delivery van"),
    "colour": items("red, blue, green, yellow, white, black, purple, orange"),
    "day": items("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday"),
}

MATH: tuple[str, ...] = lines("""
    {name} has {a:20-90} {things}. <She|He> gives {b:2-9} to each of {c:2-5} friends and then buys {d:3-30} more. How many \
        {things} are left?
    {name} {earn} for ${a:6-25} an hour. How much does {name} earn in {b:3-9} days, working {c:2-6} hours a day?
    {^shop} sells {things} for ${a:2-9} each. On {day} it sold {b:12-80}, and on the next day twice as many. How much money did \
        it take in?
    {^trip} travels at {a:10-95} km per hour for {b:2-6} hours and then at {c:10-95} km per hour for {d:1-4} hours. How far \
        does it go <in all|altogether>?
    There are {a:3-20} {box} with {b:4-36} {things} each. {c:2-11} of the {things} are broken. How many can be sold?
    {name} is {a:2-15} years older than {name2}. In {b:2-12} years {name2} will be {c:20-50}. How old is {name} now?
    A recipe for {food} serves {a:2-6} people and needs {b:100-400} g of {ingredient}. How much is needed for {c:8-30} people?
    A(n) {product} costs ${a:20-300}. It is reduced by {b:5-60}%, and {name} has a coupon for another ${c:2-15}. What does \
        <he|she|{name}> pay?
    {name} reads {a:10-40} pages a day. The book has {b:150-600} pages. How many days will it take? <|Round up.>
    A tank holds {a:200-900} litres. Water flows in at {b:8-30} litres per minute and leaks out at {c:1-7} litres per minute. \
        When is it full?
    The sum of two numbers is {a:30-120} and their difference is {b:2-24}. What are the numbers?
    A rectangle is {a:3-40} cm long and {b:2-30} cm wide. Find its area and its perimeter.
    The sides of a triangular garden are {a:5-9} m, {b:6-10} m and {c:7-12} m. How much does a fence cost at ${d:4-25} per metre?
    Solve for x: {a:2-12}x + {b:1-40} = {c:45-160}
    Solve the equation {a:2-9}(x - {b:1-9}) = {c:2-8}x + {d:1-30}.
    What is {a:11-99} times {b:11-99}?
    what is {a:5-95}% of {b:40-900}
    Calculate {a:100-999} - {b:10-99} x {c:2-9} + {d:1-50}. Show your work.
    What is {a:1-9}/{b:10-19} + {c:1-9}/{d:20-29} as a fraction in lowest terms?
    {name}, {name2} and {name3} share ${a:60-900} in the ratio {b:1-4}:{c:2-5}:{d:3-7}. How much does each of them get?
    The average of {a:3-6} numbers is {b:10-60}. After one more number is added the average becomes {c:10-60}. What was the number?
    A class has {a:18-36} students. {b:3-9} of them play {sport}, {c:4-9} play {sport2}, and {d:1-3} play both. How many play \
        neither?
    {name} saves ${a:5-60} a week. How many weeks until <he|she> can buy a(n) {object} for ${b:90-700}?
    If {a:2-9} workers build a wall in {b:4-20} days, how long would {c:2-12} workers take?
    A(n) {animal} eats {a:2-15} kg of food a day. How much do {b:3-24} of them eat in {c:2-8} weeks?
    ${a:200-5000} is invested at {b:2-9}% interest per year, compounded yearly. How much is it worth after {c:2-12} years?
    A bag holds {a:2-9} {colour} balls and {b:2-9} {colour2} balls. Two are drawn without putting them back. What is the chance \
        that both are {colour}?
    Two dice are thrown. What is the probability that the sum is {a:3-11}?
    How many ways are there to choose {a:2-4} people from a group of {b:6-14}?
    In how many ways can {a:4-8} different {things} be arranged in a row?
    Find the derivative of f(x) = {a:2-9}x^{b:2-6} - {c:1-20}x + {d:1-50}.
    Find the integral of {a:2-12}x^{b:2-5} + {c:1-9}.
    If f(x) = {a:2-9}x^2 - {b:1-12}x + {c:1-20}, what is f({d:2-9})?
    Find the {a:10-60}th term of the sequence {b:2-9}, {c:11-19}, {d:20-28}, ... if it is arithmetic.
    What is the remainder when {a:100-9999} is divided by {b:3-19}?
    Find the greatest common divisor of {a:24-240} and {b:18-360}.
    Is {a:101-997} a prime number? <Explain how you know.|>
    Convert {a:5-300} {unit} to {unit_to}.
    A(n) {job} earns ${a:1800-6500} a month and pays {b:12-42}% tax. {c:20-35}% of the rest goes to rent. What remains?
    On {day} the temperature was {a:2-9} degrees. It rose by {b:2-12} degrees, then fell by {c:10-25}. What was it in the end?
    {name} leaves home at {a:6-11}:{b:10-55} and the trip takes {c:2-7} hours and {d:5-55} minutes. When does <she|he> arrive?
    {name} ran {a:2-12} km on {day}, {b:2-12} km on {day2} and {c:2-12} km on {day3}. What is the average distance, and how far \
        from {d:30-50} km in total?
    Half of {name}'s {things} are {colour}, a third are {colour2}, and the other {a:4-24} are {colour3}. How many {things} does \
        {name} have?
    {name} had some {things}. After losing {a:3-20} and doubling what was left, there were {b:24-90}. How many were there at first?
    A(n) {a:40-300} m long train passes a pole in {b:4-20} seconds. How fast is it in km/h?
    {name} buys {a:2-9} {things} at ${b:1-6}.{c:10-95} each and pays with a ${d:60-100} note. How much change is there?
    {^shop} buys {things} at ${a:2-12} and sells them at ${b:13-30}. How many must it sell to make a profit of ${c:100-900}?
    One machine makes {a:20-90} parts an hour, another {b:20-90}. How long do they need together for {c:500-4000} parts?
    {name} drank {a:2-7} glasses of {b:150-350} ml of water and still has {c:200-900} ml in the bottle. How large was the bottle?
    There are {a:14-40} heads and {b:90-110} legs in a yard with hens and rabbits. How many hens could there be?
    A ladder of {a:5-15} m leans on a wall, its foot {b:1-4} m away from the wall. How high does it reach?
    A circle has a radius of {a:2-40} cm. What is its circumference<|, and its area>?
    The population of {city} was {a:20-900} thousand and grew by {b:1-9}% a year. What is it after {c:2-9} years?
    {name} scored {a:50-99}, {b:50-99} and {c:50-99} in three tests. What must the fourth score be for an average of {d:75-92}?
    {name} has {a:3-8} shirts, {b:2-6} pairs of trousers and {c:2-4} hats. How many outfits are possible?
    A(n) {job} has {a:40-200} metres of rope and cuts pieces of {b:3-9} metres. How many pieces, and how much is left over?
    Write {a:2-98} hundredths as a decimal, a fraction and a percentage.
    Order these from smallest to largest: {a:1-9}/7, 0.{b:11-98}, {c:10-95}%, {d:1-4}/5
    {name} bakes {a:2-8} trays of {b:6-24} {sweet}. <She|He> eats {c:1-5} and packs the rest into bags of {d:2-6}. How many \
        full bags are there?
    If a(n) {object} costs ${a:12-90} with {b:5-25}% sales tax included, what was the price before tax?
    Last year {name} planted {a:12-60} {things_green}. {b:2-9} died and this year each of the others gave {c:3-30} seeds. How \
        many seeds are there?
    {name} types {a:30-90} words a minute. How long does a text of {b:1200-9000} words take, with a break of {c:5-20} minutes \
        in the middle?
    {name} is saving for a(n) {object} that costs ${a:80-500}. So far <she|he> has~50
    {^shop} opens at {a:6-10} in the morning. On {day}~70
    {name} and {name2} are collecting {things}. {name}~60
    A farmer has {a:20-300} {animal_pl} and~60
    {^trip} leaves {city} at {a:5-11} a.m. and~70
    The perimeter of~40
    Three friends order {food} in a restaurant. The bill~70
    A school with {a:200-900} pupils~70
    Every week {name} {earn}. Last week~70
    There are {a:10-90} {things} in a(n) {colour} box and~50
    If x is~40
    A box contains {a:3-12} {colour} {things} and~60
    {name}'s age is~50
    Each of the {a:12-40} students in the class~70
    A(n) {job} needs to~70
    A swimming pool~60
    Yesterday {name} walked~60
    Prove that~40
    Suppose that a(n) {product} is sold~60
    {name} bought {a:2-40} {things} and {b:2-40} {things2}. Each~60
    {name} has ${a:20-900}. First~60
    If {a:2-9} {things} cost ${b:3-60},~40
    {^trip} needs {a:2-9} hours to~60
    There are {a:20-900} seats in a(n) {place}. On {day}~60
    The sum of {a:3-90} and~40
    {name} has {a:2-9} times as many {things} as {name2}. Together~50
    A(n) {a:2-9} by {b:2-30} metre room~60
    A recipe needs {a:100-900} g of {ingredient} for~60
    {name} is {a:5-60} years old. {name2} is~50
    Simplify: {a:2-20}x^2 - {b:2-20}x +~30
    A(n) {product} costs ${a:15-300} in {city}, while in {city2}~60
""")

REASONING: tuple[str, ...] = lines("""
    {name} is taller than {name2}. {name2} is taller than {name3}. {name4} is shorter than {name3}. Who is the <tallest|shortest>?
    {name}, {name2} and {name3} sit in a row. {name2} is not at an end. {name3} is to the right of {name2}. Who sits on the left?
    All {things} in the {place} are {colour}. {name} holds something {colour}. Does it have to be one of the {things}?
    Some {job}s are good at {sport}. Every person good at {sport} gets up early. Does it follow that some {job}s get up early?
    If today is {day}, what day will it be in {n:9-99} days?
    Three boxes are labelled "{things}", "{things2}" and "mixed", and every label is wrong. From which box do you draw to find \
        out what is where?
    A(n) {animal}, a(n) {animal2} and a basket of food must cross a river in a boat that holds two things. Make up the rules \
        and solve the riddle.
    {name} says: "{name2} lies." {name2} says: "We both tell the truth." Who is lying?
    What comes next: {a:1-4}, {b:5-9}, {c:10-14}, {d:15-19}, ...? Explain the pattern you see.
    Which one does not belong: {animal}, {animal2}, {object}, {animal3}? Why?
    Which word does not fit, and why? {food}, {food2}, {job}, {food3}
    {^animal} is to {place} as {job} is to what?
    {name} walks {a:2-9} blocks north, {b:2-9} blocks east and {a:2-9} blocks south. Where is <she|he> now, seen from the start?
    {name}'s mother has {n:3-6} children. All but one are girls. How many brothers could {name} have?
    You have a(n) {a:3-4}-litre jug and a(n) {b:5-9}-litre jug. How do you measure exactly {c:1-2} litres?
    You have {n:8-27} coins and one of them is lighter. How many weighings on a balance do you need to find it?
    There are {n:4-9} people at a party and everyone shakes hands with everyone else once. How many handshakes are there?
    A shelf has {n:20-60} {things}. Two players take one, two or three in turn. Whoever takes the last one wins. How should the \
        first player play?
    Is this argument valid? "If it rains, the {place} is closed. The {place} is closed. So it rains."
    Every {animal} I have ever seen was {colour}. Can I conclude that all {animal_pl} are {colour}? <|Explain.>
    What is wrong with this argument: "{name} is a famous {job}, so {name} must be right about {topic}"?
    A clock shows {n:1-11}:00. What angle do its hands form?
    A(n) {object} and a(n) {object2} cost ${a:21-90} together. The {object} costs ${b:10-20} more than the {object2}. What does \
        each cost?
    A study finds that people who like {topic} earn more money. Does {topic} make people rich? What else could explain it?
    {name} found the window broken, the {object} gone and wet footprints on the floor. {name2} has wet shoes. What can we \
        conclude, and what not?
    Does it make sense to bring a(n) {object} to a(n) {event}? Reason it out.
    If all glips are glops and no glops are glaps, can a glip be a glap?
    A <doctor|teacher|driver> has a brother, but the brother has no brother. How is that possible?
    Which weighs more, a kilogram of {ingredient} or a kilogram of {ingredient2}? Why do people get this wrong?
    {name} has to be at the {place} by {n:2-9} p.m. The bus takes {b:20-55} minutes and leaves every {c:12-30} minutes from \
        noon. Which bus is the last possible one?
    {name} planted the {plant} after {name2} did, but before {name3}. {name4} was last. In what order did they plant?
    Five runners finish a race. {name} came in before {name2} but after {name3}. {name4} was right behind {name2}. Who came \
        third at best?
    If it takes {n:4-9} machines {n:4-9} minutes to make {n:4-9} {things}, how long do 100 machines need for 100 {things}?
    The day before yesterday was {day}. What day is tomorrow?
    A father is {a:3-5} times as old as his son. In {b:4-15} years he will be twice as old. Is that possible? Find the ages.
    I am thinking of a number between 1 and {n:20-99}. It is even, a multiple of {b:3-7} and its digits add up to {c:6-9}. What \
        is it?
    Is a hot dog a sandwich? Argue for both sides and then decide.
    Why might a(n) {place} close on a(n) {day} although many people want to go there? Give the most likely reasons.
    A(n) {job}, a(n) {job2} and a(n) {job3} each own a(n) {animal}, a(n) {animal2} or a(n) {animal3}. Make a logic puzzle with \
        four clues and solve it.
    What would happen if there were no {topic}? Reason step by step.
    Suppose you are locked in a(n) {place} with only a(n) {object} and a(n) {object2}. How do you get out?
    Estimate how many {things} are sold in {city} in a year. Show your assumptions.
    Roughly how many {job}s work in {country}? Make a careful guess.
    Which is more surprising: {a:5-9} heads in a row, or a(n) {animal} in {city}? Explain.
    Put these events in order: {name} eats {food}; {name} buys {ingredient}; {name} washes the dishes; {name} turns on the stove.
    Read the statements. 1) No {animal} in the {place} can swim. 2) {name} owns a(n) {animal} that swims. What do you conclude?
    Four people need to cross a bridge at night~60
    {name}, {name2} and {name3} each~70
    There are two doors~60
    If every~40
    A detective enters the {place} and sees~80
    You are in a room with~60
    {name} says that~50
    Which of these is the odd one out:~40
    Suppose that all~40
    On an island, some people~70
    Imagine that~50
    If {name} finishes before {name2}, and~60
    What conclusion can be drawn from the following?~80
    Here is a riddle:~60
    {name} lives next to a(n) {job}. The {job2} lives~80
    On {day} a(n) {animal} was seen at the {place}. On {day2}~70
    {name} bets {name2} that~60
    In a row of {n:4-9} houses,~70
    A(n) {job} has {n:3-12} {things} of different weight and~60
    All {animal_pl} are {feeling}. Some {animal_pl2} are~50
    {name} always lies on {day} and {day2}.~60
    If {city} is north of {city2} and~50
    Either {name} or {name2} took the {object}. If~70
""")

WORDS["unit"] = items("kilometres, pounds, kilograms, gallons, inches, hours, litres, feet, acres, ounces")
WORDS["unit_to"] = items("metres, miles, grams, tonnes, centimetres, minutes, millilitres, yards, hectares")
WORDS["sweet"] = items("cookies, muffins, brownies, scones, buns, tarts")
WORDS["things_green"] = items("sunflowers, bean plants, pumpkins, tulips, pea plants, pepper plants, melons")
