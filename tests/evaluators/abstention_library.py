"""Answers put together from templates about a library and a warranty; the rules were tuned on them.

Each abstention is the whole output; each claim abstains and claims, or denies something of the world.
"""

from __future__ import annotations

from itertools import product

LIBRARY = (
    "When is the library closed?",
    ("The library in Aster Road holds 90,000 books and lends e-readers. Members pay 15 pounds a year.",),
)
WARRANTY = (
    "Is water damage covered?",
    ("The warranty lasts two years from the date of purchase. Repairs are done in Graz within ten days.",),
)
_SUBJECTS = (
    (LIBRARY, "closing days", "when the library is closed"),
    (WARRANTY, "water damage", "whether water damage is covered"),
)
_FRAMES = (
    "I can't find {noun} anywhere in the text.",
    "The text you gave me never mentions {noun}.",
    "Sorry, the documents have nothing to say on {noun}.",
    "The provided passages do not let me conclude {clause}.",
    "It's unclear from the provided documents {clause}.",
    "I do not have enough context to answer this question.",
    "Neither source makes any statement about {noun}.",
    "The article leaves out {noun}.",
    "Unfortunately there are no details about {noun} in the context I have.",
    "There is no way to tell from the sources {clause}.",
    "The documents do not answer this question.",
    "After going through the sources, I still can't say {clause}.",
    "This is not stated anywhere in the documents.",
    "The context only talks about other things and does not mention {noun}.",
    "I'm unable to find an answer in the retrieved documents.",
    "No answer can be given on the basis of these passages.",
    "{Noun}: not mentioned in the sources.",
    "The material contains no data on {noun}.",
    "With the context at hand, I am not in a position to say {clause}.",
    "The documents I have don't give {noun}.",
    "The excerpt provides no information as to {clause}.",
    "I have looked, but the document does not mention {noun}.",
    "We lack information about {noun}.",
    "The text doesn't tell, so I don't know.",
    "I could not locate a passage about {noun}.",
    "That's not something I can tell from the text.",
    "Nowhere in the text is it said {clause}.",
    "The context is insufficient to say {clause}.",
    "The search returned no documents about {noun}.",
    "The provided documents are not clear on {noun}.",
)
ABSTENTIONS = tuple(
    (case, frame.format(noun=noun, clause=clause, Noun=noun[0].upper() + noun[1:]))
    for (case, noun, clause), frame in product(_SUBJECTS, _FRAMES)
)
CLAIMS = (
    (LIBRARY, "The documents do not mention closing days, but the library opened in 1999."),
    (LIBRARY, "The text doesn't tell, though most libraries close on Sundays."),
    (LIBRARY, "The library does not lend e-readers."),
    (LIBRARY, "Visitors are not allowed to bring food."),
    (LIBRARY, "No closing days are given. The reading room shuts at six."),
    (LIBRARY, "According to the source, members do not pay a fee."),
    (WARRANTY, "The passage is silent on water, yet moisture sensors void every claim."),
    (WARRANTY, "The warranty does not last two years."),
    (WARRANTY, "I don't know, since the manufacturer went bankrupt last autumn."),
    (WARRANTY, "The documents do not say so, but water damage is covered for six months."),
    (WARRANTY, "Repairs are never done in Graz."),
    (WARRANTY, "There is no statement about it in the text; drowned phones get replaced free of charge."),
)
