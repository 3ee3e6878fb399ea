"""Questions about a passage that is already there.

§p  the passage    §n  the passage as numbered pieces    §s  one sentence of it    §h  its first half    §k  a word or name from it
"""

from headstart.train.openings.grammar import lines

FOLLOW_UPS: dict[str, tuple[str, ...]] = {
    "summarization": lines("""
        {ask_summary}: §p
        {ask_summary}:¶¶§p
        {ask_summary}.¶¶"§p"
        §p¶¶{ask_summary}.
        §p¶¶tl;dr
        Summarize: §p
        Summarize the text below in <one sentence|two sentences|a few words|bullet points>.¶¶§p
        Text: §p¶¶Summary:
        I have to present this tomorrow. What are the {n:2-6} main points?¶¶§p
        Give this text a title<| and a subtitle>.¶¶§p
        Write {n:2-4} possible headlines for this.¶¶§p
        What is the main idea?¶¶§p
        §p¶¶Shorten this to {n:20-80} words.
        §p¶¶Sum up the text above for {audience}.
    """),
    "context": lines("""
        Answer the question using the context below.¶¶Context: §p¶¶Question: What does the text say about §k?
        Context:¶§n¶¶Question: what is said about §k?¶Answer:
        Context:¶§n¶¶Question: <who|what> is §k?
        Passages:¶§n¶¶Which passage mentions §k, and what does it say?
        [1] {fact}¶§n¶¶Using only these passages, explain §k.
        Use the passages to answer. If the answer is not there, say so.¶¶§n¶¶Q: §k
        Given the documents below, write a detailed answer to this question: why is §k important?¶¶§n
        §p¶¶Question: What is §k?¶Answer:
        §p¶¶According to the text, <how|why> is §k mentioned?
        Read the following and answer: what role does §k play?¶¶§p
        Here is some background.¶¶§p¶¶Now tell me about §k. {limit}
        Document 1: §p¶¶Document 2: {fact} {fact2}¶¶Question: Which document speaks of §k? <|Explain.>
        You are a support assistant. Answer from this article only.¶¶§p¶¶User: can you tell me more about §k?
        what is §k¶¶Search result: §p
        Here is what I found so far. What can you tell me about §k from it?¶§n
        I read this: "§s" What does it mean?
        Based on the text, is it true that §k matters? Quote the sentence you use.¶¶§p
        §p¶¶Ask me {n:2-5} questions about this text and give the answers.
        §p¶¶What does the text not say about §k?
        Someone wrote: "§s" Do you agree?
        Does the second text agree with the first?¶¶First: §p¶¶Second: {fact}
    """),
    "extraction": lines("""
        List all names in this text.¶¶§p
        Extract the keywords from the following text.¶¶§p
        Extract all <numbers|dates|places|people|products|actions> and return them as <a list|JSON|a table>.¶¶§p
        Find every sentence that mentions §k.¶¶§p
        Turn this text into {n:3-6} question-answer pairs.¶¶§p
        Turn the text into a JSON object with the keys "title", "topic" and "summary".¶¶§p
        Which facts does this text give, and which opinions?¶¶§p
        Make flash cards from this text.¶¶§p
        §p¶¶List the difficult words in this text and explain them.
        Is this text <positive, negative or neutral|formal or informal|about the past or the future>? Give a reason.¶¶§p
        What is the subject of this sentence? "§s"
        Make a numbered list of the steps or points in this text.¶¶§p
        Who is speaking here, and to whom?¶¶§p
        Classify the text: news, story, advice, science, code or something else?¶¶§p
    """),
    "rewrite": lines("""
        Rewrite this for a child of {n:5-11}.¶¶§p
        Rewrite this in a(n) {tone} tone.¶¶§p
        Rewrite the following text so that it sounds like a(n) {job} wrote it.¶¶§p
        Make this text <shorter|longer|friendlier|clearer|more formal|funnier>: §p
        Turn this into a(n) {poem}.¶¶§p
        Turn this into an email to {name}.¶¶§p
        Turn this into a dialogue between {name} and {name2}.¶¶§p
        Paraphrase: §s
        Say this in your own words: "§s"
        Say the same in {n:2-4} other ways: "§s"
        Change the text to the past tense.¶¶§p
        Simplify: §p
        Find mistakes in this text and correct them.¶¶§p
        Expand this sentence into a paragraph: §s
        Rewrite as bullet points:¶¶§p
        §p¶¶Rewrite it as a story {setting}.
        §p¶¶Now write the opposite view.
        Replace §k with something else in this text and adapt the rest.¶¶§p
    """),
    "writing": lines("""
        Continue this text:¶¶§h
        Finish this: §h
        Here is the beginning. Write the rest in a(n) {tone} tone.¶¶§h
        §h¶¶Continue from here.
        Complete the following text.¶¶§h
        Write a reply to this message:¶¶§p
        Write a comment on this post: "§p"
        Write a review of this text.¶¶§p
        Write a short story that contains this sentence: "§s"
        Use this as inspiration for a(n) {genre}: §s
        Write an introduction that could stand before this text.¶¶§p
        Write a conclusion for this text.¶¶§p
    """),
    "translation": lines("""
        Translate into {lang}: §s
        Translate this sentence to {lang}: "§s"
        How do you say this in {lang}? §s
        English: §s¶{lang}:
        Please translate the following text into {lang}.¶¶§s
        I am learning English. Explain this sentence to me: "§s"
        Translate from English to {lang}, then explain §k in English: §s
    """),
    "advice": lines("""
        I was told this. Is it good advice?¶¶§p
        What would you add to this?¶¶§p
        I don't understand the part about §k. Can you explain it?¶¶§p
        Give me an example for this: "§s"
        Why? "§s"
        tell me more about §k
        What is §k? {limit}
        What are the strengths and weaknesses of this answer?¶¶§p
        Give a score from 1 to 10 for this text and say why.¶¶§p
        A friend sent me this. What should I answer?¶¶§p
        How does §k relate to {topic}?
        Could you explain §k to {audience}?
        Compare §k with {topic}.
    """),
}
