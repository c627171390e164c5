"""Held apart: abstentions from other templates than those that the rules were tuned on, about other subjects.

All were written in one go after the last change of the rules, and no rule was changed for them. Each abstention is the
whole output; each claim abstains and claims, or denies something of the world.
"""

from __future__ import annotations

from itertools import product

CHOIR = (
    "How many singers does the choir have?",
    ("The Aldwick choir rehearses on Thursdays at St Anne's and sings mostly Bach. Its conductor is Rhea Tam.",),
)
TRACTOR = (
    "What fuel does the tractor run on?",
    ("The D40 tractor has 41 horsepower and four gears. It was built in Linz until 1974.",),
)
_SUBJECTS = (
    (CHOIR, "the size of the choir", "how many singers the choir has"),
    (TRACTOR, "the fuel", "what fuel the tractor runs on"),
)
_FRAMES = (
    "The provided context does not mention {noun}.",
    "I could not find this information in the documents.",
    "The documents do not specify {clause}.",
    "There is no information available on {noun}.",
    "Based on the given text, it is not possible to determine {clause}.",
    "The text does not contain any information about {noun}, so I am unable to answer.",
    "I'm sorry, but the context doesn't include details about {noun}.",
    "No information on {noun} is given in the passage.",
    "{Noun} isn't stated in the provided document.",
    "I don't know {clause}.",
    "The sources I have access to don't reveal {clause}.",
    "Unfortunately, I don't have details on {noun}. You could ask the staff.",
    "The answer to that is not in the text.",
    "It is not clear from the passage {clause}.",
    "The excerpt doesn't address the question.",
    "Nothing about {noun} is stated in the context.",
    "None of the retrieved passages describe {noun}.",
    "That information is missing from the documents I was given.",
    "The context lacks details regarding {noun}.",
    "I cannot provide an answer, because the documents do not discuss {noun}.",
    "The passage never says {clause}.",
    "We aren't told {clause}.",
    "As the text does not mention {noun}, I cannot say.",
    "The document makes no statement on {noun}.",
    "Unknown: the sources do not tell {clause}.",
    "Your documents do not say anything on {noun}.",
    "The available sources provide no evidence of {noun}.",
    "I was unable to locate {noun} in the context.",
    "There isn't any mention of {noun} in what I was shown.",
    "The text gives other details, but not {clause}.",
)
ABSTENTIONS = tuple(
    (case, frame.format(noun=noun, clause=clause, Noun=noun[0].upper() + noun[1:]))
    for (case, noun, clause), frame in product(_SUBJECTS, _FRAMES)
)
CLAIMS = (
    (CHOIR, "The documents do not mention the size, but the choir was founded in 1999."),
    (CHOIR, "The text does not say how many there are, though about sixty people attend."),
    (CHOIR, "The choir does not rehearse on Thursdays."),
    (CHOIR, "Its conductor is not Rhea Tam."),
    (CHOIR, "There are no tenors in the choir."),
    (CHOIR, "It is not stated. Most village choirs count thirty voices."),
    (TRACTOR, "The passage does not specify the fuel; it burns diesel."),
    (TRACTOR, "The D40 was not built in Linz."),
    (TRACTOR, "No fuel is mentioned, so farmers filled it with paraffin."),
    (TRACTOR, "I can't tell from the text, however petrol engines were common then."),
    (TRACTOR, "The tractor cannot run on petrol."),
    (TRACTOR, "The sources are silent, and the engine was replaced in 1980."),
)
