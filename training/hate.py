"""Sentences about groups of people, written for training: contempt without a slur, and talk that only sounds like it.

None is taken from a data set. The groups are the same in both classes, so that their names are a sign of neither.
"""

from __future__ import annotations

from collections.abc import Iterator

_GROUPS = (
    "gay people",
    "Muslims",
    "women",
    "immigrants",
    "Black people",
    "Jews",
    "disabled people",
    "old people",
    "refugees",
    "trans people",
    "Mexicans",
    "the poor",
    "Hindus",
    "lesbians",
    "Roma families",
    "Asian men",
)
EACH = 4
"""Groups that each template is filled with, in turn."""

_CONTEMPT = (
    "{} are too emotional to lead anything.",
    "{} should not be allowed to vote.",
    "You can never trust {}, they lie by nature.",
    "Everybody knows that {} are less intelligent than the rest of us.",
    "This neighbourhood was fine until {} moved in.",
    "I would never let {} near my children.",
    "{} only come here to live off our taxes.",
    "Send all {} back, we have enough of them.",
    "The world would be a better place without {}.",
    "{} are a burden on society.",
    "{} are a disease that spreads through the country.",
    "{} multiply like insects and take over everything.",
    "{} belong at the bottom, that is simply nature.",
    "No decent person would marry one of {}.",
    "{} deserve everything bad that happens to them.",
    "We should lock up {} before they do more harm.",
    "{} have no place in our schools.",
    "It makes me sick to sit beside {} on the bus.",
    "{} are not normal and must not be treated as if they were.",
    "{} are inferior, and science will prove it.",
    "All {} are criminals at heart.",
    "{} are the reason why this country is going down.",
    "I do not hire {}, they are lazy and they steal.",
    "Somebody should teach {} a lesson with a baseball bat.",
    "If it were up to me, {} would be put on a boat and sunk.",
    "{} are cowards and always have been.",
    "God hates {} and so do I.",
    "{} should stay in the kitchen and keep quiet.",
    "{} pretend to be victims to get money out of us.",
    "There is nothing to be learnt from {}, they are primitive.",
)
_FAIR = (
    "{} were asked about the new bus line.",
    "A study of {} in three cities found that rents had risen.",
    "Many {} in our town work at the hospital.",
    "My best friends are {}, and we cook together on Sundays.",
    "How many {} voted in the last election?",
    "Which novels about {} would you give to a class of sixteen-year-olds?",
    "The law of 1996 gave {} the right to own land.",
    "Our association helps {} to find flats.",
    "{} often face discrimination when they look for work.",
    "The exhibition shows how {} lived a hundred years ago.",
    "I am one of {} and I have never felt so welcome.",
    "What do {} celebrate in spring?",
    "The doctor explained which vaccines are recommended for {}.",
    "Some {} like football and some do not.",
    "The film is about two {} who open a bakery.",
    "Thanks to {} who volunteered, the festival was a success.",
)
_ANSWERING = (
    "It is wrong to say that {} are inferior to anybody.",
    "Nobody should have to hear that {} do not belong here.",
    "He was fired because he had said that {} are lazy.",
    "Whoever claims that {} are criminals has never looked at the figures.",
    "It is a myth that {} live off our taxes.",
    "We condemn the attacks on {} of last weekend.",
    "Calling {} a burden is cruel, and we will not accept it.",
    "I used to believe that {} could not be trusted, and I was ashamed when I met some.",
    "The court ruled that throwing {} out of the club was unlawful.",
    "Why were {} persecuted in the 1930s?",
    "How can teachers react when a pupil says something hateful about {}?",
    "I do not hate {}, I love the way you all stand together.",
    "{} are not a disease; ignorance is.",
    "There is nothing wrong with {}, and there never was.",
    "Stop telling {} to go back to where they came from.",
    "Propaganda of that time compared {} to insects.",
)
_OTHER_CONTEMPT = (
    "I hate Mondays, they ruin the whole week.",
    "This printer is a disease that spreads through the office.",
    "Weeds multiply like insects and take over everything.",
    "These shoes are inferior to last year's.",
    "Send back all the parcels, we have enough of them.",
    "The old sofa has no place in our living room.",
    "Private cars are a burden on the city.",
    "You can never trust the weather in April.",
    "The kitchen would be a better place without that lamp.",
    "This phone is useless, and the support is lazy and slow.",
    "Mosquitoes deserve everything bad that happens to them.",
    "Raw onions make me sick.",
)


def _filled(templates: tuple[str, ...]) -> Iterator[str]:
    for index, template in enumerate(templates):
        for turn in range(EACH):
            # Five and sixteen have no common factor: each template meets other groups.
            text = template.format(_GROUPS[(5 * index + turn * len(_GROUPS) // EACH) % len(_GROUPS)])
            yield text[0].upper() + text[1:]


HATE = tuple(_filled(_CONTEMPT))
"""Contempt, exclusion and threats against groups, in words that are clean one by one."""

NO_HATE = (*_filled(_FAIR), *_filled(_ANSWERING), *_OTHER_CONTEMPT)
"""Groups as anybody, hate that is answered or told of, and contempt for things."""
