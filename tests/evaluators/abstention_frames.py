"""Answers put together from templates about a hotel, a drug trial, a phone and a city council; the rules were tuned on them.

Each abstention is the whole output; each claim abstains and claims, or only sounds like an abstention.
"""

from __future__ import annotations

from itertools import product

HOTEL = (
    "Does the hotel have a pool?",
    ("The Marlow Hotel has 48 rooms and a garden. Check-in starts at 3 pm and the kitchen closes at 10 pm.",),
)
TRIAL = (
    "What side effects did the trial find?",
    ("The trial enrolled 412 adults in Ghent. It compared two doses over 26 weeks and ended in June 2020.",),
)
PHONE = (
    "How long does the battery last?",
    ("The Arva 3 weighs 172 grams and has a 6.1 inch screen. It comes in black and green.",),
)
COUNCIL = (
    "Who voted against the budget?",
    ("The council met on 4 May and approved the budget. The mayor thanked the members.",),
)
_TOPICS = (
    (HOTEL, "a pool", "whether the hotel has a pool"),
    (TRIAL, "any side effects", "what side effects occurred"),
    (PHONE, "battery life", "how long the battery lasts"),
    (COUNCIL, "individual votes", "who voted against the budget"),
)
_FRAMES = (
    "The retrieved chunks do not refer to {noun}.",
    "{Noun} is never mentioned in the sources I was given.",
    "Judging by the text, I am not able to say {clause}.",
    "I checked all the passages and none of them says {clause}.",
    "Sadly, the context offers no details on {noun}.",
    "From these documents alone it cannot be determined {clause}.",
    "The material you shared doesn't tell us {clause}.",
    "No statement about {noun} can be found in the provided articles.",
    "I'm sorry, the given context lacks information on {noun}.",
    "Nothing is said about {noun} in the excerpt.",
    "My knowledge base has no record of {noun}.",
    "It isn't specified {clause}.",
    "The answer isn't in the documents.",
    "There isn't enough context here to say {clause}.",
    "The sources remain silent about {noun}; I would recommend asking the staff.",
    "I do not know {clause}, because the passages never address it.",
    "Unfortunately I cannot answer that question from the supplied information.",
    "That is not covered by the documents.",
    "The text gives no indication of {noun}, so I can't tell.",
    "Information about {noun} is not available in the search results.",
)
ABSTENTIONS = tuple(
    (case, frame.format(noun=noun, Noun=noun[0].upper() + noun[1:], clause=clause))
    for (case, noun, clause), frame in product(_TOPICS, _FRAMES)
)
_CLAIMS = (
    (HOTEL, "it has a heated pool on the roof"),
    (TRIAL, "nausea was the most frequent complaint"),
    (PHONE, "users report about two days of use"),
    (COUNCIL, "the two liberal members opposed it"),
)
_TURNS = (
    "The sources do not mention it, but {claim}.",
    "I couldn't find this in the context; however, {claim}.",
    "Although the passage does not say so, {claim}.",
    "The documents give no details. {Claim}.",
    "That is not stated in the text, yet {claim}.",
    "The text is silent on this - {claim}.",
    "No information is provided, though {claim}.",
    "I don't know for sure, and {claim}.",
)
EVASIVE_CLAIMS = tuple(
    (case, turn.format(claim=claim, Claim=claim[0].upper() + claim[1:]))
    for (case, claim), turn in product(_CLAIMS, _TURNS)
)
DENIALS = (
    (HOTEL, "The hotel does not have a pool."),
    (HOTEL, "There is no lift in the building."),
    (HOTEL, "Dogs are not allowed in the rooms."),
    (TRIAL, "The trial did not enrol any children."),
    (TRIAL, "The doctors could not explain the deaths."),
    (TRIAL, "No placebo was given to the patients."),
    (PHONE, "The phone does not support wireless charging."),
    (PHONE, "A charger is not included in the box."),
    (COUNCIL, "The mayor did not answer the journalists."),
    (COUNCIL, "The opposition was not informed of the meeting."),
    (COUNCIL, "Nobody voted against the budget."),
)
_MARKS = (
    "{fact} (Excerpt 4).",
    "{fact} [ref: 2].",
    "{fact}【3:1†notes.txt】.",
    "{fact} [Document 7](https://example.net/d7).",
    "According to passage 3, {fact}.",
    "{fact} (see document 2, pages 4-5).",
    "As mentioned in source 1, {fact}.",
    "{fact} [1, 3].",
    "{fact}. [brochure.pdf, p. 2]",
    "{fact}.\n\nReferences:\n1. brochure.pdf\n2. https://example.net/faq",
)
CITED = tuple(
    (case, mark.format(fact=fact))
    for (case, fact), mark in product(
        (
            (HOTEL, "the Marlow Hotel has 48 rooms and a garden"),
            (TRIAL, "the trial enrolled 412 adults in Ghent"),
            (PHONE, "the Arva 3 weighs 172 grams"),
            (COUNCIL, "the council met on 4 May and approved the budget"),
        ),
        _MARKS,
    )
)
CITED_CLAIMS = tuple(
    (case, mark.format(fact=fact))
    for (case, fact), mark in product(
        ((HOTEL, "the Marlow Hotel has 52 rooms"), (PHONE, "the Arva 3 weighs 190 grams")), _MARKS
    )
)
