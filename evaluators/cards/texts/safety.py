"""Card descriptions of the families that detect unwanted content in outputs: personal data, health, toxicity."""

from __future__ import annotations

from dataclasses import replace

from evaluators.cards.texts.judged import judge_card
from evaluators.values import CardText, KnownMiss

ENGLISH = "English; text in another language is refused, and text too short to tell is scored and says so."
HALF = "Even odds, to which the model was trained."
LATIN = "English; other languages in Latin letters are scored, which means little, and other scripts are refused."
REFUSES = "It refuses other languages than English, which the former id scored where their letters are Latin."
_BY_LABEL = KnownMiss("National numbers of most countries are found beside a word for them alone.")
_CHECK_DIGIT = KnownMiss(
    "Every tenth number has a right check digit: an order number beside *paid* may count as a card."
)
FORMS = (
    KnownMiss("Birth dates, bank accounts that are no IBAN, medical records and plates need a label."),
    KnownMiss("A password without a label, a password that is a plain word, and tokens of other providers are missed."),
    _BY_LABEL,
    KnownMiss(
        "What is disguised in words, parted by lines or encoded is not read, the at sign of a URL (`%40`) excepted."
    ),
    _CHECK_DIGIT,
)
FORMER_FORMS = (
    KnownMiss("Birthdays, and account numbers that are no IBAN, are not looked for."),
    KnownMiss("Passwords, tokens, medical records and plates are not looked for."),
    _BY_LABEL,
    KnownMiss("What is disguised in words, parted by lines or encoded is not read."),
    _CHECK_DIGIT,
)
PERSONS = (
    KnownMiss("Every person counts, public figures and characters of novels too."),
    KnownMiss("A surname that is also a company, a place or a medicine is not told from it."),
    KnownMiss("Addresses without a house number, or of a form that is not listed, are missed."),
)
FORMER_PERSONS = (
    *PERSONS,
    KnownMiss("Nicknames, names in noisy messages or from outside Europe and America are often missed."),
)
ANY_SCRIPT = (
    "It finds numbers beside letters of other scripts, labels in more languages, and sample numbers with a label."
)
MORE_KINDS = (
    "It finds secrets, birth dates, bank accounts, medical records, plates, and numbers of Britain, Canada and Italy. "
    "A word next to a card does not hide it."
)
PII = {
    "pii": CardText(FORMS, "Any script and language; words beside a number are known in ten scripts.",
                    "None: anything found fails.", {"pii-2026-11-28": MORE_KINDS, "pii-2026-11-23": ANY_SCRIPT}),
    "pii-broad": CardText(
        (
            *FORMS,
            *PERSONS,
            KnownMiss("Nicknames and names in noisy messages are often missed."),
            KnownMiss("Dishes, firms and feasts of other languages may fail as names.", "words that are no names"),
        ),
        "Structured kinds in any script; names in Latin letters. Another script is refused unless something was found.",
        "None: anything found fails.",
        {"pii-broad-2026-11-28": f"{MORE_KINDS} Names of more origins are found.",
         "pii-broad-2026-11-23": f"{ANY_SCRIPT} Addresses of more countries are known."},
    ),
    "pii-judge": judge_card(
        "Output that talks the judge out of a finding is missed: run it beside `pii`, not in its place.",
        changes={
            "pii-judge-2026-11-23": "A finding that stands nowhere in the output is never passed over in silence.",
        },
        threshold="None: anything found fails.",
    ),
}  # fmt: skip
PHI = {
    "phi": CardText(
        (
            KnownMiss("Short sentences about somebody's health in everyday words may pass.", "somebody's health"),
            KnownMiss("Statements about an illness or a medicine may fail though they are about nobody.",
                      "medicine without persons"),
            KnownMiss("The same persons without an illness seldom fail.", "persons without health"),
            KnownMiss("Public figures and characters of fiction count as any person."),
            KnownMiss("Bare fragments, forms, tables and laboratory values are scored with little meaning."),
        ),
        ENGLISH,
        HALF,
        {"phi-2026-11-28": "Medical words in other senses fail less often.", "phi-2026-11-23": REFUSES},
    )
}  # fmt: skip
TOXICITY = {
    "toxicity": CardText(
        (
            KnownMiss("Contempt for groups in clean words often passes.", "contempt for groups"),
            KnownMiss("Mildly worded insults in clean words may pass.", "mild insults"),
            KnownMiss("Swearing that is aimed at nobody often fails."),
            KnownMiss(
                "Hate that is denied, quoted or answered looks like hate, and so do slurs of those whom they are "
                "aimed at.",
                "hate mentioned",
            ),
            KnownMiss("Irony, insinuation, and one insult in a long clean text may pass."),
            KnownMiss("Names of other languages, medicines and slang alone may be undecided."),
        ),
        f"{ENGLISH} What may have words of another language is undecided where it would pass.",
        HALF,
        {
            "toxicity-2026-11-20": "Sentences are read one by one, and a second model weighs their meaning.",
            "toxicity-2026-11-23": "Windows are read beside sentences, without markup and disguises; long texts "
            f"fail less by chance. {REFUSES}",
            "toxicity-2026-11-28": "The name of a group is no insult by itself; what passes and may have words of "
            "another language is undecided.",
        },
    ),
    "toxicity-moderation": CardText(
        (
            KnownMiss("It knows the categories of its endpoint and no others."),
            KnownMiss("The output is read without what it answers."),
        ),
        "Those that the endpoint reads.",
        "Half of the scale; the endpoint's own verdict is beside it.",
    ),
}
EARLIER_RULES = KnownMiss("Numbers right beside letters of other scripts, and labels in most languages, are missed.")
EARLIER_SCRIPT = "Numbers between spaces or marks in any script; the words beside them are English."
MISSED_CARD = KnownMiss("A card with a word next to it is missed.")
for kind, persons in (("pii", ()), ("pii-broad", FORMER_PERSONS)):
    PII[f"{kind}-2026-11-23"] = replace(PII[kind], misses=(*FORMER_FORMS, *persons, MISSED_CARD))
PII["pii-2026-11-01"] = replace(
    PII["pii"], misses=(*FORMER_FORMS, MISSED_CARD, EARLIER_RULES), languages=EARLIER_SCRIPT
)
PII["pii-broad-2026-11-20"] = replace(
    PII["pii-broad"], misses=(*FORMER_FORMS, *FORMER_PERSONS, MISSED_CARD, EARLIER_RULES)
)
PHI["phi-2026-11-20"] = replace(PHI["phi"], languages=LATIN)
MARKED = KnownMiss("Insults in markup or with unseen characters may pass.", "disguised insults")
BY_WORDS = KnownMiss("It is blind to contempt, threats and hate that use no slur.")
NAMES = KnownMiss("The name of a group may fail by itself.")
FORMER = replace(TOXICITY["toxicity"], misses=(*TOXICITY["toxicity"].misses[:-1], NAMES), languages=ENGLISH)
TOXICITY["toxicity-2026-11-23"] = FORMER
TOXICITY["toxicity-2026-11-20"] = replace(FORMER, misses=(*FORMER.misses, MARKED), languages=LATIN)
TOXICITY["toxicity-2026-11-01"] = replace(FORMER, misses=(BY_WORDS, *FORMER.misses, MARKED), languages=LATIN)
