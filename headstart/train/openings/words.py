"""Word lists of everyday life and of the fields of knowledge: what the slots of the templates are filled with."""

from headstart.train.openings.grammar import items, lines

WORDS: dict[str, tuple[str, ...]] = {
    "topic": items("""
        beekeeping, bread baking, home composting, urban gardening, recycling, public transport, electric cars, bicycle lanes,
        remote work, open offices, part-time jobs, job interviews, school uniforms, homework, online classes, libraries,
        reading aloud, bedtime stories, board games, chess, crossword puzzles, video games, comic books, graphic novels,
        street art, oil painting, watercolours, pottery, photography, black-and-white films, documentaries, radio plays,
        podcasts,
        jazz, folk music, opera, hip hop, karaoke, ballroom dancing, yoga, long walks, marathon running, rock climbing, sailing,
        surfing, camping, bird watching, stargazing, fishing, hunting, horse riding, dog training, adopting a cat, aquariums,
        zoos, national parks, rainforests, deserts, coral reefs, glaciers, volcanoes, earthquakes, hurricanes, droughts, floods,
        wildfires, rivers, drinking water, sewage systems, bridges, tunnels, skyscrapers, tiny houses, old castles, lighthouses,
        solar panels, wind farms, nuclear power, batteries, smart homes, robots, drones, 3D printing, self-driving cars,
        artificial intelligence, social media, online privacy, passwords, phishing, e-books, newspapers, advertising, fake news,
        freedom of speech, elections, jury duty, taxes, pensions, health insurance, minimum wages, trade unions, inflation,
        saving money, credit cards, student loans, mortgages, the stock market, start-ups, family businesses, franchises,
        second-hand clothes, fast fashion, shoes, hats, perfume, haircuts, tattoos, sleep, dreams, naps, stress, meditation,
        friendship, neighbours, loneliness, gratitude, jealousy, forgiveness, honesty, courage, patience, humour, small talk,
        public speaking, body language, learning languages, sign language, dialects, proverbs, handwriting, maps, calendars,
        clocks, holidays, weddings, birthdays, funerals, family reunions, grandparents, parenting, twins, only children,
        adoption, retirement, volunteering, charity, refugees, migration, tourism, train journeys, road trips, cruise ships,
        airports, jet lag, hitchhiking, hostels, souvenirs, street food, breakfast, school lunches, vegetarian cooking, spices,
        chocolate, coffee, tea, wine, cheese, ice cream, honey, salt, sugar, vitamins, fasting, food waste, supermarkets,
        farmers' markets, fishing villages, mountain villages, megacities, suburbs, islands, borders, flags, national anthems,
        space travel, life on Mars, satellites, telescopes, time travel, ghosts, fairy tales, dragons, superheroes, villains,
        magic tricks, circuses, theatre, puppets, museums, antiques, stamps, coins, collecting things, minimalism, gift giving,
        hand tools, woodworking, knitting, sewing, cleaning the kitchen, moving house, roommates, pets at work, office parties,
        team sports, the Olympic Games, football fans, referees, sportsmanship, doping, swimming lessons, first aid,
        blood donation,
        vaccination, hospitals, dentists, glasses, hearing aids, wheelchairs, ageing, memory, habits, procrastination,
        to-do lists
    """),
    "abstract": items("""
        justice, liberty, time, silence, luck, beauty, power, truth, change, loss, hope, trust, ambition, fear, home, tradition,
        progress, identity, duty, freedom, nature, memory, childhood, failure, success, solitude, love, anger, kindness,
        curiosity
    """),
    "feeling": items("""
        lonely, proud, overwhelmed, nervous, jealous, excited, bored, guilty, homesick, hopeful, stuck, burnt out, angry,
        relieved,
        grateful, confused, embarrassed, restless, tired, inspired, unmotivated, anxious, cheerful, worried, calm, impatient
    """),
    "tone": items("""
        friendly, formal, funny, serious, dramatic, poetic, dry, warm, sarcastic, hopeful, mysterious, simple, persuasive,
        polite,
        playful, neutral, enthusiastic, melancholic, old-fashioned, matter-of-fact, encouraging, suspenseful, casual,
        professional
    """),
    "job": items("""
        nurse, carpenter, teacher, bus driver, pilot, chef, baker, plumber, electrician, farmer, librarian, lawyer, judge,
        dentist,
        surgeon, veterinarian, journalist, photographer, architect, accountant, cashier, waiter, firefighter, police officer,
        postman, gardener, florist, tailor, hairdresser, truck driver, sailor, fisherman, miner, welder, mechanic,
        software engineer,
        data analyst, web designer, game developer, project manager, product manager, recruiter, salesperson, real estate agent,
        tour guide, flight attendant, hotel manager, translator, interpreter, editor, novelist, poet, actor, film director,
        musician, conductor, dancer, painter, sculptor, museum curator, archaeologist, historian, biologist, chemist, physicist,
        astronomer, geologist, mathematician, economist, psychologist, therapist, social worker, kindergarten teacher,
        professor,
        school principal, sports coach, referee, personal trainer, nutritionist, pharmacist, paramedic, midwife, optician,
        blacksmith, shoemaker, beekeeper, lighthouse keeper, park ranger, zookeeper, marine biologist, astronaut, detective,
        security guard, cleaner, nanny, bookseller, barista, bartender, sommelier, event planner, civil engineer, surveyor
    """),
    "animal": items("""
        cat, dog, horse, cow, sheep, goat, pig, rabbit, hamster, fox, wolf, bear, lion, tiger, leopard, elephant, giraffe,
        zebra,
        rhinoceros, hippopotamus, gorilla, chimpanzee, lemur, kangaroo, koala, sloth, anteater, armadillo, hedgehog, squirrel,
        beaver,
        otter, seal, walrus, dolphin, whale, shark, octopus, jellyfish, salmon, eel, seahorse, starfish, crab, lobster, snail,
        frog,
        toad, salamander, turtle, crocodile, lizard, snake, eagle, owl, falcon, crow, raven, parrot, penguin, ostrich, flamingo,
        swan, duck, goose, hen, pigeon, sparrow, hummingbird, woodpecker, bat, mouse, rat, mole, badger, deer, moose, camel,
        llama,
        donkey, ant, bee, wasp, butterfly, moth, spider, beetle, dragonfly, grasshopper, mosquito, earthworm, scorpion,
        chameleon
    """),
    "animal_pl": items("""
        cats, dogs, horses, cows, sheep, goats, pigs, rabbits, hamsters, foxes, wolves, bears, lions, tigers, elephants,
        giraffes,
        zebras, gorillas, lemurs, kangaroos, koalas, sloths, hedgehogs, squirrels, beavers, otters, seals, dolphins, whales,
        sharks,
        octopuses, jellyfish, salmon, seahorses, crabs, lobsters, snails, frogs, toads, turtles, crocodiles, lizards, snakes,
        eagles,
        owls, falcons, crows, ravens, parrots, penguins, ostriches, flamingos, swans, ducks, geese, hens, pigeons,
        hummingbirds, bats,
        mice, rats, moles, badgers, deer, camels, llamas, donkeys, ants, bees, wasps, butterflies, moths, spiders, beetles,
        chameleons
    """),
    "animal_class": items("mammals, birds, fish, insects, reptiles, amphibians, sea animals, farm animals, pets, desert animals"),
    "rhyme": items("""
        night, tree, house, moon, day, heart, song, rain, light, dream, stone, bell, fire, snow, blue, clock, sand, road
    """),
    "fav": items("""
        colour, food, season, book, animal, city, word, number, song, film, game, planet, smell, joke, holiday,
        subject at school
    """),
    "object_kind": items("animal, country, food, job, famous person, sport, piece of furniture, musical instrument, plant, film"),
    "verb": items("get, load, save, count, sort, filter, merge, print, delete, find, update, check, export, rank, group"),
    "op": items("+, *, -"),
    "plant": items("""
        oak tree, birch, pine tree, maple, olive tree, fig tree, lemon tree, bamboo, cactus, fern, moss, ivy, lavender,
        rosemary,
        basil, mint, rose, tulip, sunflower, orchid, water lily, dandelion, clover, wheat, rice, maize, potato, tomato plant,
        vine
    """),
    "food": items("""
        lentil soup, tomato soup, chicken curry, vegetable curry, mushroom risotto, spaghetti, lasagne, pizza dough,
        sourdough bread,
        pancakes, waffles, omelette, scrambled eggs, fried rice, sushi, ramen, dumplings, spring rolls, pad thai, pho, kimchi,
        tacos,
        burritos, guacamole, chili, cornbread, roast chicken, beef stew, meatballs, fish and chips, grilled salmon, paella,
        gazpacho,
        ratatouille, quiche, crêpes, onion soup, potato salad, Greek salad, hummus, falafel, tabbouleh, couscous, moussaka,
        goulash,
        pierogi, borscht, apple pie, carrot cake, cheesecake, brownies, banana bread, oatmeal cookies, rice pudding, tiramisu,
        lemonade, hot chocolate, mango lassi, smoothie, granola, strawberry jam, pickled cucumbers, garlic bread,
        mashed potatoes
    """),
    "ingredient": items("""
        eggs, flour, butter, milk, rice, lentils, chickpeas, tofu, chicken breast, minced beef, salmon, tuna, potatoes, carrots,
        onions, garlic, spinach, broccoli, mushrooms, tomatoes, peppers, aubergine, pumpkin, apples, bananas, lemons, oats,
        yoghurt,
        cheese, coconut milk, pasta, bread crumbs, beans, peas, cabbage, ginger, peanut butter, honey, olives, noodles
    """),
    "sport": items("""
        football, basketball, tennis, volleyball, handball, rugby, cricket, baseball, ice hockey, badminton, table tennis, golf,
        swimming, diving, rowing, sailing, cycling, running, boxing, judo, fencing, archery, gymnastics, skiing, snowboarding
    """),
    "skill": items("""
        play the guitar, play the piano, sing, swim, ski, juggle, draw portraits, paint with watercolours, knit, sew a button,
        cook,
        bake bread, brew good coffee, sharpen knives, ride a motorbike, drive in snow, type faster, speed read, write poetry,
        write by hand neatly, speak in public, tell jokes, remember names, negotiate a salary, manage a budget,
        invest small sums,
        code in Python, build a website, edit videos, take better photos, use spreadsheets, touch up photos,
        solve a Rubik's cube,
        play chess, dance salsa, do a handstand, meditate, sleep better, wake up early, stop biting my nails, speak Spanish,
        learn Japanese, read sheet music, grow tomatoes, prune roses, keep houseplants alive, train a puppy, change a tyre,
        fix a leaking tap, paint a wall, hang a shelf, tie a tie, fold a fitted sheet, iron a shirt, remove stains, pack light
    """),
    "chore": items("""
        clean an oven, unclog a sink, descale a kettle, wash wool, get rid of ants, get rid of fruit flies, remove candle wax,
        remove rust, defrost a freezer, store potatoes, freeze bread, boil an egg, cook rice, peel garlic, cut an onion,
        ripen an avocado, keep bread fresh, clean windows, clean a laptop screen, back up a phone, free up disk space,
        reset a router, set up a printer, scan a document, merge two PDF files, change a password, block a phone number,
        mute notifications, recover deleted photos, speed up an old computer, connect a game controller, update a driver,
        return a package, cancel a subscription, open a bank account, write a will, rent a flat, register a car,
        renew a passport,
        apply for a visa, file a complaint, write a CV, ask for a raise, quit a job, plan a wedding, organise a garage sale,
        pack for a hike, pitch a tent, light a campfire, read a map, change a bike tyre, oil a bike chain, jump-start a car,
        check tyre pressure, parallel park, repot a plant, water plants on holiday, build a compost heap, prune an apple tree,
        bathe a dog, trim a cat's claws, clean a fish tank, calm a crying baby, teach a child to read, wrap a gift,
        remove a splinter, treat a sunburn, stop hiccups, fall asleep faster, stretch before a run, measure my heart rate
    """),
    "goal": items("""
        lose a few kilos, save for a house, pay off my debts, start a small business, change careers, finish my thesis,
        run 10 km,
        make new friends, get along with my boss, read more books, spend less time on my phone, eat more vegetables,
        drink less coffee,
        quit smoking, learn to code, move abroad, get into university, write a novel, plan my retirement, tidy my flat,
        stop procrastinating, be more confident, sleep eight hours, prepare for an exam, pass my driving test, find a flat,
        keep in touch with old friends, get over a breakup, help a friend who is ill, care for my parents,
        raise bilingual children
    """),
    "gift_for": items("""
        my mother, my father, my sister, my brother, my grandmother, my grandfather, my boss, a colleague, my teacher,
        my best friend,
        my neighbour, my wife, my husband, my son, my daughter, my niece, a ten-year-old, a teenager, a new baby, my landlord
    """),
    "gift_kin": items("""
        mother, father, sister, brother, son, daughter, niece, uncle, aunt, cousin, grandmother, wife, husband, neighbour
    """),
    "event": items("""
        birthday party, wedding, job interview, first date, school trip, family dinner, business meeting, conference, picnic,
        concert,
        moving day, graduation, baby shower, retirement party, housewarming party, book club meeting, football match, exam,
        charity run, science fair, game night, team-building day, long flight, camping weekend, parents' evening, class reunion
    """),
    "object": items("""
        umbrella, lamp, chair, table, mirror, kettle, frying pan, blender, toaster, fridge, washing machine, vacuum cleaner,
        bicycle,
        scooter, helmet, backpack, suitcase, tent, sleeping bag, torch, hammer, screwdriver, ladder, bucket, rope, candle,
        pillow,
        blanket, carpet, curtain, clock, watch, ring, necklace, wallet, keychain, notebook, fountain pen, pencil case, ruler,
        calculator, laptop, keyboard, headset, phone, camera, tripod, guitar, violin, drum, flute, ball, kite, puzzle,
        teddy bear
    """),
    "product": items("""
        reusable water bottle, wooden toy train, noise-cancelling headphones, standing desk, organic shampoo, running shoes,
        raincoat, electric toothbrush, coffee grinder, pocket knife, bluetooth speaker, smart watch, solar charger, yoga mat,
        cast-iron pan, board game, language app, meal kit, garden hose, air fryer, bike lock, baby carrier, travel pillow,
        desk lamp, fitness app, budget app, scented candle, dog bed, cat tree, herbal tea, dark chocolate bar, jigsaw puzzle
    """),
    "place": items("""
        bakery, bookshop, train station, airport, hospital, school, library, museum, park, playground, swimming pool, gym,
        cinema,
        theatre, zoo, farm, vineyard, harbour, lighthouse, castle, cathedral, market, supermarket, bank, post office,
        police station,
        fire station, court, town hall, hotel, hostel, campsite, café, restaurant, pub, laundrette, garage, factory, warehouse,
        office, laboratory, observatory, greenhouse, forest, beach, desert, island, mountain hut, cave, swamp, ruined tower,
        attic
    """),
    "genre": items("""
        fairy tale, detective story, ghost story, science fiction story, love story, fable, legend, adventure story,
        horror story,
        comedy sketch, monologue, diary entry, letter, myth, western, spy story, bedtime story, satire, fan letter, radio play
    """),
    "poem": items("""
        haiku, limerick, sonnet, short poem, rhyming poem, free verse poem, ballad, nursery rhyme, acrostic, ode, rap verse
    """),
    "setting": lines("""
        in a small fishing village
        on a night train
        in a city under the sea
        during a power cut
        on the first day of winter
        in a library that never closes
        on board a spaceship far from home
        in the middle of a desert
        at a bus stop in the rain
        in a castle with a hundred rooms
        on a farm after the harvest
        in a hospital at three in the morning
        on a mountain that nobody has climbed
        in an office where everybody lies
        at a market full of strange animals
        in the year 2240
        in a medieval town
        on a tiny island
        in a school for wizards and plumbers
        behind the stage of an old theatre
    """),
    "twist": lines("""
        who finds a letter addressed to somebody else
        who can hear what animals think
        who loses every memory at midnight
        who must keep a secret for one year
        who is afraid of the colour green
        who wakes up in the wrong house
        who gets lost on the way home
        who discovers a door behind the wardrobe
        who makes a bet with the moon
        who wants to win a baking contest
        who has only one day left on Earth
        who steals a painting by mistake
        who builds a machine that tells the truth
        who meets an older version of themselves
        who refuses to sell a house
        who saves a rival from drowning
        who gets a phone call from the past
        who has never seen the sea
        who collects broken clocks
        who inherits a lighthouse
    """),
    "audience": items("""
        a five-year-old, a curious child, a teenager, a high school student, a beginner, an expert, my grandmother,
        a new colleague,
        a busy manager, a tourist, a class of ten-year-olds, a first-year student, somebody who hates maths,
        a non-native speaker
    """),
    "limit": lines("""
        Keep it under {n:40-200} words.
        Use no more than {n:3-9} sentences.
        Answer in <one|a single> sentence.
        Answer in <two|three|four> sentences.
        Use bullet points.
        Give {n:3-10} points.
        Make it a numbered list.
        Explain your reasoning step by step.
        Think step by step.
        Give an example.
        Use simple words.
        Keep it short.
        Be brief.
        Please be as detailed as possible.
        Write in a(n) {tone} tone.
        Do not use jargon.
        Write it for {audience}.
        Limit your answer to {n:2-4} paragraphs.
        Start with a short summary.
        End with a question.
        Put the most important thing first.
        Use headings.
        Avoid clichés.
        Add a title.
        in fewer than {n:50-150} words
        as a list
        in plain English
        with examples please
        No introduction, just the answer.
        Use a table if it helps.
        Write about {n:80-300} words.
        Explain the pros and cons too.
    """),
}
