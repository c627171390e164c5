"""Sentences written for training, by hand and from short lists. None is taken from a data set."""

from __future__ import annotations

from itertools import product

_THINGS = ("a Python process", "a background job", "the lights on a stage", "weeds in a garden", "a frozen terminal")
_SCARY_QUESTIONS = (
    "How do I kill {}?",
    "What is the fastest way to shut down and destroy {}?",
    "My colleague told me to nuke {}; is that a good idea?",
)
_OBJECTS = (
    "a photo at night",
    "a basketball from the corner",
    "a short film",
    "an arrow at a target",
    "an email to my boss",
)
_SHOOTING = ("What is the best way to shoot {}?", "Where should I stand to shoot {}?")
_GAMES = ("chess", "a boxing match", "Mario Kart", "a debate", "a spelling contest")
_CRUSHING = (
    "How can I crush my friend at {}?",
    "How do I beat my brother at {}?",
    "They destroyed us at {} again, well played.",
)
_STUDIES = (
    "slavery",
    "the Holocaust",
    "domestic violence",
    "terrorism",
    "racism in football",
    "the death penalty",
    "suicide",
)
_LEARNING = (
    "Can you explain the history of {} to my class?",
    "Which museum has the best exhibition on {}?",
    "The report says that {} is wrong and must be prevented.",
)
_GROUPS = ("gay people", "Muslims", "women", "immigrants", "Black people", "Jews", "disabled people", "old people")
_FRIENDLY = (
    "I am proud of the {} in my family.",
    "{} deserve the same rights as everyone else.",
    "What do {} in this town think about the new park?",
    "How can our company become a better place for {}?",
)
_HATING = (
    "{} are disgusting and should be thrown out of this country.",
    "I hate {}, they ruin everything.",
    "{} are not real human beings.",
    "Nobody wants {} here, get lost.",
)
_PERSONS = ("you", "your sister", "that teacher", "this author", "our neighbour")
_INSULTING = (
    "Only a complete idiot would listen to {}.",
    "I can't stand {}, what a pathetic worthless loser.",
    "Everybody laughs at how stupid and ugly {} looks.",
    "I hope somebody beats {} up and leaves the body in a ditch.",
)


def _filled(templates: tuple[str, ...], words: tuple[str, ...]) -> tuple[str, ...]:
    filled = (template.format(word) for template, word in product(templates, words))
    return tuple(text[0].upper() + text[1:] for text in filled)


HARMLESS = (
    *_filled(_SCARY_QUESTIONS, _THINGS),
    *_filled(_SHOOTING, _OBJECTS),
    *_filled(_CRUSHING, _GAMES),
    *_filled(_LEARNING, _STUDIES),
    *_filled(_FRIENDLY, _GROUPS),
    "How do I stop the pain after a day in the gym?",
    "What a killer presentation, the whole room loved it.",
    "I would die for a slice of that cake.",
    "This recipe is the bomb!",
    "Which knife should I buy to cut up a chicken?",
    "Where can I buy a can of coke?",
    "How do I get rid of mosquitoes in the bedroom?",
    "The villain stabs the king in the last act of the play.",
    "My dog bit the postman and I feel terrible about it.",
    "What happens to the body when somebody is strangled in a crime novel?",
)
"""Frightening words that harm nobody."""

TOXIC = (
    *_filled(_HATING, _GROUPS),
    *_filled(_INSULTING, _PERSONS),
    "Shut your mouth, nobody asked for your dumb opinion.",
    "You people are a plague and I wish you were dead.",
    "Go back to where you came from, you parasite.",
    "She only got the job by sleeping around, like they all do.",
    "Keep talking and I will come to your house and break your legs.",
    "What a waste of oxygen you are.",
)
"""Contempt, threats and hate, mostly without a slur."""

_COMPLAINTS = (
    "high blood pressure",
    "diabetes",
    "asthma",
    "a migraine",
    "back pain",
    "depression",
    "the flu",
    "anaemia",
)
_ADVISING = (
    "Common signs of {} vary; see a doctor if they last.",
    "If you have {}, talk to your doctor before changing what you take.",
    "What usually helps against {}?",
    "Here are five general tips that lower the risk of {}.",
    "{} is treated differently in children and in adults.",
)
_MEDICINES = ("paracetamol", "amoxicillin", "insulin", "a statin", "vitamin D", "metformin", "ramipril", "an inhaler")
_LEAFLET = (
    "{} is taken with food.",
    "Swallow {} whole with water, and never double a missed dose.",
    "{} may cause nausea, a rash or a headache.",
    "Is {} safe during pregnancy?",
    "{} is prescribed for adults at a usual dose of 500 mg twice a day.",
)
HEALTH_ADVICE = (
    *_filled(_ADVISING, _COMPLAINTS),
    *_filled(_LEAFLET, _MEDICINES),
    "Adults should sleep seven to nine hours and walk every day.",
    "A balanced diet has plenty of vegetables, fibre and water.",
    "The pharmacy on Main Street is open until eight.",
    "Dr. Smith teaches anatomy at the university.",
    "The hospital is hiring nurses and a manager for its car park.",
    "Wash your hands for twenty seconds before you cook.",
)
"""Medicine for everybody: about no person."""

_PEOPLE = ("Jane Doe", "Mr. Okafor", "My uncle", "Maria", "The patient", "John Miller", "Our tenant Li Wei", "She")
_FACTS = (
    "{} has a history of heart disease.",
    "{} was diagnosed with diabetes in 2019.",
    "{} takes 20 mg of lisinopril every morning.",
    "{} had surgery on the left knee last week.",
    "{} tested positive for HIV.",
    "{} is being treated for depression.",
)
HEALTH_NOTES = _filled(_FACTS, _PEOPLE)
"""One person's health in one sentence."""
