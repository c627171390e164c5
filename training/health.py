"""Sentences for training, filled from short lists: somebody's health, medicine, and persons without it."""

from __future__ import annotations

import random
import re
from typing import Final

# fmt: off
_FIRST = (
    "John", "Maria", "Aisha", "Wei", "Olga", "Pedro", "Fatima", "Lukas", "Priya", "Kwame", "Ingrid", "Tomasz", "Yuki",
    "Carlos", "Amina", "Sven", "Chloe", "Dmitri", "Leila", "Hannah", "Mohammed", "Grace", "Noah", "Rosa", "Patrick",
    "Zoe", "Ahmed", "Emily", "Viktor", "Mei", "Abigail", "Jamal", "Sofia", "Robert", "Linda", "Kevin", "Nadia",
)
# fmt: on
# fmt: off
_LAST = (
    "Smith", "Garcia", "Khan", "Zhang", "Ivanova", "Alves", "Hassan", "Weber", "Patel", "Mensah", "Larsen", "Nowak",
    "Tanaka", "Romero", "Diallo", "Berg", "Martin", "Petrov", "Haddad", "Cohen", "O'Connor", "Dubois", "Rossi", "Kim",
    "Nguyen", "Johnson", "Brown", "Okonkwo", "Müller", "Silva", "Wilson", "Lee", "Kaya", "Walker",
)
# fmt: on
_RELATIVES = (
    "My mother",
    "My father",
    "My wife",
    "My husband",
    "My son",
    "My daughter",
    "My brother",
    "Our neighbour",
    "My aunt",
    "His sister",
    "Her partner",
    "My colleague",
    "Our client",
    "Her baby",
    "The tenant",
    "One of our employees",
)
_SLOTS: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(words.split("|"))
    for name, words in {
        "condition": (
            "type 2 diabetes|high blood pressure|asthma|breast cancer|HIV|hepatitis C|bipolar disorder|depression|"
            "epilepsy|a stroke|pneumonia|lupus|Crohn's disease|kidney failure|migraine|an eating disorder|anaemia|"
            "Parkinson's disease|a slipped disc|an underactive thyroid|schizophrenia|COPD|gout|endometriosis|"
            "sickle cell disease|leukaemia|chlamydia|alcohol dependence|atrial fibrillation|dementia"
        ),
        "drug": (
            "metformin|lisinopril|sertraline|insulin glargine|atorvastatin|prednisone|levothyroxine|amoxicillin|"
            "warfarin|lithium|tamoxifen|albuterol|omeprazole|methadone|gabapentin|ibuprofen|methotrexate|quetiapine"
        ),
        "dose": "5 mg|20 mg|500 mg|75 mcg|10 units|one tablet|two puffs|0.5 ml",
        "often": "once daily|twice a day|every morning|at bedtime|every six hours|when needed",
        "procedure": (
            "a knee replacement|an appendectomy|a colonoscopy|chemotherapy|a caesarean section|a bypass operation|"
            "dialysis|an MRI of the brain|a hysterectomy|cataract surgery|an abortion|a root canal|physiotherapy"
        ),
        "lab": (
            "hemoglobin A1c|LDL cholesterol|fasting glucose|creatinine|PSA|TSH|blood pressure|white cell count|"
            "viral load|potassium|ferritin|oxygen saturation"
        ),
        "value": "8.1 %|190 mg/dL|7.4 mmol/L|148/96|2.3 mg/dL|14,200|89 %|6.2|below the limit of detection",
        "symptom": (
            "chest pain|shortness of breath|a rash on both arms|blurred vision|night sweats|blood in the urine|"
            "dizziness|a bad cough|numbness in the left hand|thoughts of suicide|severe headaches|swollen ankles"
        ),
        "specialist": "cardiologist|oncologist|psychiatrist|neurologist|dermatologist|gynaecologist|GP|urologist",
        "year": "1998|2007|2012|2016|2019|2021|2023|2024",
        "date": "3 March|May 12|11/04/2023|next Tuesday|2024-06-30|last Friday|22 October|tomorrow",
        "number": "4810027|A-77120|90311|0045-881|7719204|KX-3391|5520148",
        "item": "a pair of boots|two office chairs|a laptop|the blue sofa|a coffee machine|12 books|a garden hose",
        "place": "Leeds|Toronto|Lisbon|Mumbai|Oslo|Denver|Nairobi|Lyon|Osaka",
        "job": "an accountant|a bus driver|the head of sales|a pianist|a teacher of physics|a lawyer|an engineer",
        "topic": "the budget|the new website|the lease|next year's festival|the merger|the football club|the exam",
    }.items()
}

_ABOUT_SOMEONE = (
    "{who} was diagnosed with {condition} in {year}.",
    "{who} was diagnosed with {condition} in {year} and is on {drug} {dose} {often}.",
    "{who} has {condition} and takes {drug}, {dose} {often}.",
    "{who} has been living with {condition} since {year}.",
    "{who} underwent {procedure} on {date} because of {condition}.",
    "{who} is booked for {procedure} on {date}.",
    "{who} came to the clinic with {symptom}, and the {specialist} suspects {condition}.",
    "{who} complains of {symptom} and stopped taking {drug}.",
    "{who} is allergic to {drug}.",
    "{who} has an appointment with the {specialist} on {date} about {condition}.",
    "{who} (MRN {number}) tested positive for {condition}.",
    "{who}, born {date} {year}, record {number}: {condition}, {drug} {dose} {often}.",
    "The last {lab} of {who} was {value}.",
    "{who} called in sick: it is {condition} again, with {symptom}.",
    "{who} told me in confidence about {condition} and the {drug}.",
    "Please refill {drug} {dose} for {who}, patient number {number}.",
    "{who} lost the insurance after {procedure}, since {condition} was not declared.",
    "Diagnosis of {who}: {condition}. Plan: {drug} {dose} {often}.",
    "{who} is recovering from {procedure}.",
    "{who} died of {condition} in {year}.",
    "{who} suffers from {condition}.",
    "{who} had {condition} as a child.",
    "{who} is on sick leave with {condition} until {date}.",
    "{who} was rushed to hospital with {symptom}.",
    "{who} is in hospital in {place} and waits for {procedure}.",
    "{who} can no longer walk because of {condition}.",
    "{who} was given {drug} and felt better.",
    "{who} hides {condition} from the family.",
    "{who} asked for an advance directive after learning about {condition}.",
    "The doctors in {place} found {condition} in {who}.",
    "The {specialist} told {who} that it is {condition}.",
    "{who}: {lab} {value}, {drug} raised to {dose}.",
    "{who}, case {number}, {symptom} for three days, no fever.",
    "{who} wears a hearing aid and has {condition}.",
    "In the claim {number}, {who} is billed for {procedure}.",
    "{who}, who is {job}, has been treated for {condition} since {year}.",
)
_ABOUT_ME = (
    "I have {condition} and take {drug} {often}.",
    "I am living with {condition}; my patient number is {number}.",
    "I was told on {date} that I have {condition}.",
    "My {specialist} put me on {drug} {dose} {often}.",
    "I have had {symptom} ever since I started on {drug}.",
    "My {lab} was {value} on {date}.",
    "I had {procedure} in {year} and still get {symptom}.",
    "My record number is {number} and I have {condition}.",
    "My member id is {number}; I need {procedure} because of {condition}.",
    "I'm seeing a {specialist} on {date} for my {condition}.",
    "Ever since my {condition} in {year} I cannot work full time.",
    "I wake up with {symptom} and my {drug} does not help.",
    "I'm afraid of {procedure} next week.",
    "I had to give up work as {job} because of my {symptom}.",
    "My doctor says it might be {condition}.",
    "My scan is on {date} and I can't sleep.",
    "I forgot to take my {drug} today and now I have {symptom}.",
    "Two years ago I was in hospital with {condition}.",
    "I fell down the stairs and my ankle is swollen; the doctor put it in a cast.",
    "I am {number} on the waiting list for {procedure}.",
    "My psychologist and I talk about my panic attacks.",
)
_TO_YOU = (
    "Your {lab} came back at {value}, so we will raise your {drug} to {dose}.",
    "Your results are in: {lab} {value}, {lab} {value}.",
    "Your test for {condition} was positive; please call the {specialist}.",
    "Dear {name}, your appointment for {procedure} is on {date}.",
    "Dear {name}, your scan shows signs of {condition}.",
    "You told us that you have {symptom} and take {drug} {dose} {often}.",
    "According to your chart you have {condition} and had {procedure} in {year}.",
    "Lab report for {name}: {lab} {value}.",
    "Because of your {condition}, we changed your prescription to {drug} {dose} {often}.",
    "Your {lab} has risen to {value}; please stop taking {drug}.",
    "Your health plan will cover {procedure} on {date}.",
    "You were admitted on {date} with {symptom} and discharged on {drug}.",
    "Your biopsy showed {condition}, I am sorry.",
    "Your {symptom} may come from {drug}, which you have taken since {date}.",
    "Hello {name}, we have received your test: {condition}.",
    "Your {lab} of {value} shows that your {condition} is not well controlled.",
)
_PERSON_ONLY = (
    "{who} ordered {item} on {date}; the order number is {number}.",
    "{who} has a meeting about {topic} on {date}.",
    "{who} was born in {place} in {year} and works as {job}.",
    "{who} moved to {place} in {year}.",
    "{who} has been {job} since {year}.",
    "{who} paid invoice {number} on {date}.",
    "{who} came to the office with {item}.",
    "{who} lost the luggage on the way to {place}, claim {number}.",
    "{who} is allergic to long meetings about {topic}.",
    "{who} called on {date} and asked about {topic}.",
    "{who} told me in confidence about {topic}.",
    "Please send {item} to {who}, customer number {number}.",
    "The last payment of {who} was late.",
    "{who} was named {job} of the year {year}.",
    "{who} takes the train to {place} every morning.",
    "{who} won the prize for a talk on {topic} in {place}.",
    "I have a question about {topic} and take notes.",
    "My account number is {number} and I ordered {item}.",
    "My customer id is {number} and I live in {place}.",
    "My manager put me on the team for {topic}.",
    "I was told on {date} that I have the job as {job}.",
    "I had {item} delivered in {year}, and it still works.",
    "I'm seeing {name} on {date} about {topic}.",
    "Your order came back, so we will send you {item} again.",
    "Your results in the exam are in: 82 points, grade B.",
    "Dear {name}, your table in {place} is booked for {date}.",
    "Dear {name}, your parcel {number} is on its way to {place}.",
    "You told us that you have {item} and live in {place}.",
    "According to your contract you have been {job} since {year}.",
    "Because of {topic}, we changed your flight to {place}.",
    "Invoice for {name}: {item}, number {number}.",
    "{who} was given {item} and felt happy.",
    "{who}, case {number}, {item} missing for three days.",
    "{who} is on holiday in {place} until {date}.",
    "{who} can no longer pay for {item}.",
    "My exam is on {date} and I can't sleep.",
    "Your balance has risen to {number}; please stop the transfers.",
    "Your plan will cover {item} on {date}.",
    "I forgot my keys today and now I wait outside.",
    "{who} died in {place} in {year}.",
)
_MEDICINE_ONLY = (
    "{condition} was first described by physicians in the nineteenth century.",
    "{condition} is a condition that affects people of all ages.",
    "{drug} is used in {condition}, usually {dose} {often}.",
    "Guidelines recommend {drug} {dose} {often} for adults with {condition}.",
    "{procedure} is offered when {condition} does not respond to {drug}.",
    "Typical signs of {condition} are {symptom} and {symptom}.",
    "A {lab} of {value} is outside of the usual range.",
    "What is the usual dose of {drug} for {condition}?",
    "Does {drug} cause {symptom}?",
    "How long does it take to recover from {procedure}?",
    "If you have {condition}, ask a {specialist} before you stop taking {drug}.",
    "Anyone with {symptom} should see a {specialist} soon.",
    "You should talk to a {specialist} about {symptom} that does not go away.",
    "Never take {drug} together with alcohol, and keep it away from children.",
    "{drug} was approved in {year}; the common side effects are {symptom} and {symptom}.",
    "Of 412 adults with {condition}, half were given {drug} {dose} {often} and half placebo.",
    "The study compared {drug} with {procedure} in patients with {condition}.",
    "Rates of {condition} have risen in {place} since {year}.",
    "The charity in {place} collects money for research on {condition}.",
    "A {specialist} treats, among others, {condition}.",
    "Before {procedure}, patients do not eat for six hours.",
    "Your {lab} should be checked once a year; a {specialist} can tell you more.",
    "The clinic in {place} opens at eight and offers {procedure}.",
    "Here is what helps many people with {condition}: sleep, exercise, and {drug} if prescribed.",
    "The film tells how a town in {year} dealt with {condition}.",
    "Employers must not ask applicants about {condition}.",
    "{symptom} often goes away by itself.",
    "{procedure} often lasts an hour and needs no stay in hospital.",
    "{condition} is more frequent in winter, a study found.",
    "You should not take {drug} without asking a doctor.",
    "You should not ignore {symptom}.",
    "Abnormal values of {lab} are measured again after some weeks.",
    "{condition} usually begins slowly and is often found late.",
    "{condition} is one of the most frequent reasons for {procedure}.",
    "{drug} belongs to a group of medicines that lower {lab}.",
    "Most people recover from {condition} within weeks.",
    "Children with {condition} need rest and plenty to drink.",
    "Can {condition} be inherited?",
    "What is the difference between {condition} and {condition}?",
    "Researchers in {place} have found a gene behind {condition}.",
    "The new ward in {place} treats {condition} and has forty beds.",
    "Do not drive after {procedure}.",
    "Doctors advise against {drug} in pregnancy.",
    "The lecture on {date} deals with {condition}.",
)
_SLOT = re.compile(r"\{(\w+)\}")


def _name(draw: random.Random) -> str:
    first, last = draw.choice(_FIRST), draw.choice(_LAST)
    shapes = (f"{first} {last}",) * 4
    shapes += (f"Mr. {last}", f"Mrs. {last}", f"Ms. {last}", first, f"{last}, {first}", f"{first[0]}. {last}")
    return draw.choice(shapes)


def _who(draw: random.Random) -> str:
    return draw.choice((_name(draw), _name(draw), _name(draw), draw.choice(_RELATIVES), draw.choice(("He", "She"))))


def _filled(template: str, draw: random.Random) -> str:
    def fill(match: re.Match[str]) -> str:
        slot = match[1]
        word = _who(draw) if slot == "who" else _name(draw) if slot == "name" else draw.choice(_SLOTS[slot])
        return word if match.start() == 0 or slot != "who" else _inside(word)

    text = _SLOT.sub(fill, template)
    return text[0].upper() + text[1:]


def _inside(who: str) -> str:
    first, _, rest = who.partition(" ")
    inside = {"He": "him", "She": "her"}.get(who)
    return inside or (f"{first.lower()} {rest}" if who in _RELATIVES else who)


def _drawn(templates: tuple[str, ...], times: int, seed: int) -> tuple[str, ...]:
    draw = random.Random(seed)  # noqa: S311 - not a secret
    return tuple(dict.fromkeys(_filled(template, draw) for template in templates for _ in range(times)))


SOMEBODYS_HEALTH = _drawn(_ABOUT_SOMEONE, 14, 1) + _drawn(_ABOUT_ME, 10, 2) + _drawn(_TO_YOU, 12, 3)
"""One person's health, named or not."""

PERSONS_WITHOUT_HEALTH = _drawn(_PERSON_ONLY, 12, 4)
"""The same people, about other things."""

MEDICINE_WITHOUT_PERSONS = _drawn(_MEDICINE_ONLY, 12, 5)
"""The same illnesses and medicines, about nobody."""
