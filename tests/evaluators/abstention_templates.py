"""Answers put together from templates about a bakery and a program; the rules were tuned on them.

Each abstention is the whole output; each claim abstains and claims, or denies something of the world.
"""

from __future__ import annotations

from itertools import product

BAKERY = (
    "Which flour does the bakery use?",
    ("The bakery on Quay Street sells 12 kinds of bread. It was opened by the Lund family and closes at noon.",),
)
SOFTWARE = (
    "How do I reset my password?",
    ("Release 9 adds a calendar view. Admins can export reports as CSV, and exports expire after 14 days.",),
)
_SUBJECTS = (
    (BAKERY, "the flour", "which flour the bakery uses"),
    (SOFTWARE, "resetting a password", "how to reset a password"),
)
_FRAMES = (
    "Nothing in the retrieved material speaks about {noun}.",
    "The documents at my disposal say nothing of {noun}.",
    "I was given no information concerning {noun}.",
    "There is no explanation of {noun} in the passages.",
    "The provided sources don't make clear {clause}.",
    "I'm sorry, I cannot help with that, as the documents contain no such information.",
    "Going by the text alone, one cannot say {clause}.",
    "The text is not informative about {noun}.",
    "Not a single document refers to {noun}.",
    "No source tells {clause}.",
    "We have no information about {noun}.",
    "I don't think the documents say {clause}.",
    "The context doesn't seem to cover {noun}.",
    "That question isn't answered by the provided context.",
    "From what I can see in the documents, {noun} is not described.",
    "I can only answer from the documents, and they do not mention {noun}.",
    "Sorry - no passage deals with {noun}.",
    "{clause_cap} is not explained in the article.",
    "The information is not available.",
    "I couldn't determine this from the sources provided.",
    "The knowledge base has no entry on {noun}.",
    "I am not aware of any document that describes {noun}.",
    "The answer is not found in the text.",
    "The excerpts give us no clue {clause}.",
    "My documents do not extend to {noun}.",
)
ABSTENTIONS = tuple(
    (case, frame.format(noun=noun, clause=clause, clause_cap=clause[0].upper() + clause[1:]))
    for (case, noun, clause), frame in product(_SUBJECTS, _FRAMES)
)
CLAIMS = (
    (BAKERY, "The documents do not mention the flour, but the bakery opened in 1999."),
    (BAKERY, "The sources don't say, although rye from a local mill is typical there."),
    (BAKERY, "No flour is named in the text. The bakers use spelt."),
    (BAKERY, "The bakery was not opened by the Lund family."),
    (BAKERY, "The bakery does not sell cakes or sandwiches."),
    (BAKERY, "The text says that the bakery does not close at noon."),
    (BAKERY, "According to the text, customers cannot find rye bread there."),
    (SOFTWARE, "The context does not cover this; click the gear icon and choose Security."),
    (SOFTWARE, "The release notes don't tell, yet passwords expire after 90 days."),
    (SOFTWARE, "Admins cannot export reports as CSV."),
    (SOFTWARE, "There is no calendar view in release 9."),
    (SOFTWARE, "I found nothing about it in the documents, so the feature was removed in release 8."),
)
