"""Answers put together from templates about a ferry and an author; the rules were tuned on them.

Each abstention is the whole output; each claim abstains and claims, or denies something of the world.
"""

from __future__ import annotations

from itertools import product

FERRY = (
    "How much luggage may I take on board?",
    ("The ferry leaves Tarn at 7:15 and reaches Holm in 95 minutes. Bicycles travel free of charge.",),
)
AUTHOR = (
    "Where did the author grow up?",
    ("Mira Voss published her first novel in 1988. It was translated into nine languages.",),
)
_SUBJECTS = (
    (FERRY, "the luggage allowance", "how much luggage is allowed"),
    (AUTHOR, "the author's childhood", "where the author grew up"),
)
_FRAMES = (
    "The context given contains no hint about {noun}.",
    "There is nothing in the sources on {noun}.",
    "Regrettably, {noun} isn't covered in the text.",
    "I am unable to determine {clause} from what was provided in the documents.",
    "The passages at hand do not touch on {noun}.",
    "I didn't come across any information on {noun} in the files.",
    "Nobody can tell from this text {clause}.",
    "The document omits {noun}.",
    "It cannot be inferred from the passage {clause}.",
    "The documents offer no insight into {noun}.",
    "What the sources do not tell is {clause}.",
    "Details about {noun} are not included in the provided context.",
    "The question of {clause} is not answered in the text.",
    "I have no information on that.",
    "Unfortunately, this is not addressed in the material provided.",
    "The retrieved articles don't discuss {noun}, so I can't answer the question.",
    "My sources don't say anything about {noun}.",
    "The text leaves it open {clause}.",
    "None of the excerpts I received mention {noun}.",
    "I would need more information to answer this, since the context does not mention it.",
    "The passage provides no answer.",
    "Sorry, but I couldn't find anything about {noun}.",
    "The given information does not include {noun}.",
    "Based on the available passages, I can't say {clause}.",
    "It is not mentioned {clause}.",
    "No details regarding {noun} were found in the search results.",
    "The excerpt is too short to tell {clause}; it does not mention it.",
    "We do not learn {clause} from the text.",
    "This isn't something the documents talk about.",
    "I don't have access to documents that state {clause}.",
)
ABSTENTIONS = tuple(
    (case, frame.format(noun=noun, clause=clause)) for (case, noun, clause), frame in product(_SUBJECTS, _FRAMES)
)
CLAIMS = (
    (FERRY, "The documents do not mention luggage, but the ferry reaches Holm in 40 minutes."),
    (FERRY, "The text is silent about luggage; each passenger may bring two suitcases."),
    (FERRY, "The ferry does not leave at 7:15."),
    (FERRY, "Bicycles are not allowed on board."),
    (FERRY, "Although the passage leaves this open, the usual limit is 30 kilograms."),
    (FERRY, "I can't find the allowance in the sources. Dogs must wear a muzzle on deck."),
    (FERRY, "There is no luggage rack because the boat was built for short trips."),
    (AUTHOR, "The sources do not tell, but she was raised in a fishing village."),
    (AUTHOR, "It is not stated where she grew up, yet her father was a sailor from Bremen."),
    (AUTHOR, "The author never published a novel in 1988."),
    (AUTHOR, "No details are given, and her second novel won the Booker Prize."),
    (AUTHOR, "The text does not mention her childhood, which she spent in Lima."),
    (AUTHOR, "I don't know. She studied law in Vienna before she wrote."),
    (AUTHOR, "Her novel was not translated."),
)
