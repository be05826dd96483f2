"""Utterances of the router's own, beside the examples that tools declare. Rows of data; nothing else.

`NOTHING` needs no tool: small talk, thanks, opinions, creative wishes, general knowledge. `LOOKUP` asks for
what only somebody's own documents can say; it stands in for tools that search such documents, because
few examples cannot cover what the documents are about. `ELSEWHERE` asks for what only some other tool could
know or do: a row for each topic, with words by which an offered tool is known to be about that topic.
"""

from __future__ import annotations

__all__ = ["ELSEWHERE", "LOOKUP", "NOTHING"]

NOTHING: tuple[str, ...] = (
    "Hi there!",
    "Hello",
    "Good morning, nice to meet you",
    "How are you doing today?",
    "How's it going?",
    "What's up?",
    "Thank you very much",
    "Thanks a lot, great answer",
    "That was helpful",
    "You're welcome",
    "Goodbye, see you later",
    "Ok, got it",
    "Yes please",
    "No, never mind",
    "Sorry",
    "I'm bored",
    "I feel sad today",
    "I had a great day",
    "I like you",
    "You are funny",
    "What is your name?",
    "Who made you?",
    "What are you?",
    "Are you a robot?",
    "What can you do?",
    "Can you help me?",
    "How old are you?",
    "Do you have feelings?",
    "Tell me about yourself",
    "Tell me something funny",
    "Make me laugh",
    "Tell me a story",
    "Write a haiku about autumn",
    "Write a song about love",
    "Compose a short poem",
    "Give me a name for my cat",
    "Give me some advice",
    "What should I cook for dinner?",
    "Recommend a good book",
    "What do you think about art?",
    "What is your favourite colour?",
    "What is the meaning of life?",
    "Do you believe in ghosts?",
    "What is the capital of Spain?",
    "Who wrote Hamlet?",
    "Who painted the Mona Lisa?",
    "Why is the sky blue?",
    "What is photosynthesis?",
    "Explain how a car engine works",
    "What is the largest animal on earth?",
    "Who was the first president of the United States?",
    "What language do people speak in Brazil?",
    "How do birds fly?",
    "What does the word serendipity mean?",
    "Define democracy",
    "How do I learn to play the guitar?",
    "What is machine learning?",
    "When did the second world war end?",
    "Where is Mount Everest?",
    "How does the internet work?",
    "Which planet is closest to the sun?",
    "Tell me about the history of Rome",
    "Give me a fun fact",
    "Name three fruits",
    "Let's talk about music",
    "Can you sing?",
    "Summarise the plot of Romeo and Juliet",
    "Is coffee bad for you?",
)

LOOKUP: tuple[str, ...] = (
    "What does the documentation say about error codes?",
    "Search our docs for the upgrade steps",
    "Find the terms of delivery in the documents",
    "Look up the dress code in the handbook",
    "What is our policy on overtime?",
    "Who is responsible for hiring in our company?",
    "How do I change the battery according to the manual?",
    "What does the standard plan include?",
    "Which countries does our service cover?",
    "How long do customers have to file a complaint?",
    "What are the support hours for customers?",
    "How many sick days do employees have?",
    "Check the guidelines for naming files",
    "Is parking free for staff according to the rules?",
    "What does our contract say about late payment?",
    "Who do I contact about an invoice in our team?",
)

ELSEWHERE: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("weather", "forecast"),
        (
            "What's the weather like in London?",
            "Will it rain in Madrid tomorrow?",
            "How warm is it outside in Rome?",
            "What's the temperature in Stockholm right now?",
        ),
    ),
    (
        ("news", "headline"),
        ("What's in the news today?", "Tell me the latest headlines", "What happened in the world this week?"),
    ),
    (
        ("price", "stock", "exchange", "currency", "shop", "market"),
        (
            "What's the share price of Apple today?",
            "How much does a flight to Berlin cost?",
            "What is the dollar worth in euros at the moment?",
            "What is the stock price of Tesla today?",
            "How much is Bitcoin at the moment?",
        ),
    ),
    (
        ("birth", "calendar"),
        (
            "How old is a person born in 1985?",
            "How many days are there between 1 May and 9 July?",
            "How many weeks until Christmas?",
            "What date is it three weeks from now?",
            "Which weekday was 12 May 1980?",
        ),
    ),
    (
        ("sport", "match", "game", "league"),
        ("Who won the game last night?", "What's the score of the match?", "When does the team play next?"),
    ),
    (
        ("train", "bus", "timetable", "schedule", "opening"),
        ("When does the next train to Paris leave?", "What time does the supermarket open?", "Is my flight on time?"),
    ),
    (
        ("traffic", "route", "distance", "map", "population", "people", "person", "contact"),
        (
            "How is the traffic in Rome right now?",
            "How long does it take to drive from Bonn to Kiel?",
            "How many people live in Vienna?",
            "Who is on call today?",
        ),
    ),
    (
        ("meeting", "event", "agenda", "calendar", "appointment"),
        ("When is my next meeting?", "What is on my calendar tomorrow?", "When does the concert start tonight?"),
    ),
    (("email", "mail", "message"), ("Send an email to my boss", "Write a mail to Anna that I am late")),
    (
        ("alarm", "reminder", "remind", "timer"),
        ("Set an alarm for seven in the morning", "Remind me to call the dentist", "Set a timer for ten minutes"),
    ),
    (("music", "song", "play"), ("Play some music", "Put on a song by the Beatles")),
    (("light", "lamp", "heating"), ("Turn off the lights", "Switch on the heating in the kitchen")),
)
