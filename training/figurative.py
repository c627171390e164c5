"""Sentences for training: medical words about machines, business, places and jobs."""

from __future__ import annotations

import random
import re
from typing import Final

_SLOTS: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(words.split("|"))
    for name, words in {
        "machine": (
            "node 7|the primary server|the worker pool|host db-02|the load balancer|the message broker"
            "|replica 4|the gateway"
            "|the controller|the printer|the old laptop|the router|disk 3|the cluster|the build agent|unit 12"
        ),
        "program": (
            "the parser|the login page|the scheduler|the payment module|the cache|the mobile app|our API|the importer"
        ),
        "state": "timeout|failure|lost|missed|not received|interval exceeded|restored|resumed|delayed|error 504",
        "firm": (
            "the company|the airline|the housing market|the economy|the bank|the club|the start-up|the town|the party"
            "|the steel industry|the newspaper|the project"
        ),
        "ill": (
            "a symptom|a chronic disease|a headache|a fever|a cancer|a heart attack|a coma|an epidemic"
            "|paralysis|a relapse"
            "|growing pains|anaemia|a nervous breakdown|a stroke of bad luck"
        ),
        "cure": (
            "surgery|a quick remedy|bitter medicine|an injection|a transfusion|first aid|life support"
            "|a bandage|intensive care"
            "|a shot in the arm|a clean bill of health|a check-up|a diagnosis"
        ),
        "dose": "a dose|a healthy dose|a small dose|an overdose|a daily dose",
        "mood": "humour|luck|patience|sunshine|scepticism|jazz|nostalgia|common sense|spice|colour",
        "nuisance": (
            "this traffic|the paperwork|long meetings|the rain|that song|the new form|the waiting|these adverts"
        ),
        "doctor": "doctor|nurse|surgeon|dentist|pharmacist|paediatrician|therapist|midwife|psychiatrist|cardiologist",
        "house": "hospital|clinic|pharmacy|surgery|nursing home|medical school|blood bank|emergency room|health centre",
        "place": "Leeds|Lisbon|Mumbai|Oslo|Denver|Nairobi|Lyon|Osaka|the old town|the next street",
        "name": "Maria|Tomasz|Priya|Mr. Weber|Ms. Kim|Kwame Mensah|Dr. Larsen|our neighbour|my brother|her aunt|Lukas",
        "thing": "the bread|the meat|the sauce|the beans|the rice|the cake|the salad|an orange|the apples",
        "number": "3|12|27|40|118|2,000",
    }.items()
}
_TEMPLATES = (
    # Machines and programs.
    "Error: heartbeat {state} on {machine}.",
    "Error: heart beat {state} for {machine}.",
    "WARN heart-beat {state}, {machine} is marked as dead.",
    "The pulse signal of {machine} was {state}.",
    "{machine} stopped sending heartbeats and was restarted.",
    "{machine} failed its health check {number} times.",
    "The health endpoint of {machine} returns 200.",
    "Health status of {machine}: degraded.",
    "Diagnostics for {machine} found {number} errors.",
    "Diagnostic report: {machine} has {number} faults.",
    "We diagnosed the problem in {program} after {number} hours.",
    "The diagnosis was simple: {program} had a memory leak.",
    "A virus infected {machine} and the scanner put {number} files in quarantine.",
    "The antivirus cleaned {number} infected files on {machine}.",
    "{machine} is sick again, please reboot it.",
    "{machine} died during the night, and nobody was paged.",
    "The battery of {machine} is dying.",
    "{program} suffers from slow queries and bad memory use.",
    "{program} is in critical condition after the release.",
    "The fever chart of {program} shows {number} alerts.",
    "Inject {program} into the test.",
    "The needle of the record player on {machine} is worn.",
    "We removed {program} by surgery on the old code.",
    "A transplant of {program} into the new service failed.",
    "{program} has no pulse; check the logs.",
    "The patch heals {program}, but the scar tissue stays.",
    "A zombie process keeps {machine} from recovering.",
    "The symptoms point to {machine}, and not to {program}.",
    "Root cause: bleeding memory in {program}.",
    "Blood pressure of the team aside, {program} is back.",
    "The skeleton and the backbone of {program} are done.",
    "{machine} recovered after an injection of fresh memory.",
    "Please triage the {number} tickets about {program}.",
    "The recovery of {machine} took {number} minutes.",
    "The nervous system of {program} is a queue.",
    # Business, politics and language.
    "For {firm}, the lost contract was {ill}.",
    "{firm} shows all the symptoms of {ill}.",
    "{firm} needs {cure}.",
    "{firm} has been in intensive care since the spring.",
    "{firm} is on life support, critics say.",
    "{firm} recovered quickly from {ill}.",
    "Corruption is {ill} that spreads through {firm}.",
    "The minister prescribed {cure} for {firm}.",
    "An injection of capital saved {firm}.",
    "The pain points of {firm} are price and delivery.",
    "{firm} is addicted to cheap energy.",
    "{firm} made surgical cuts in {number} departments.",
    "The financial health of {firm} has improved.",
    "{firm} is bleeding money.",
    "{firm} limps from crisis to crisis.",
    "The bankruptcy left {firm} scarred.",
    "An ageing workforce is a headache for {firm}.",
    "The market for houses in {place} is feverish.",
    "The cancer of debt eats up {firm}.",
    "Doctors' strikes cost {firm} {number} million.",
    "{dose} of {mood} never hurts.",
    "Add {dose} of {mood} to your speech.",
    "The talk had {dose} of {mood} in it.",
    "I am sick of {nuisance}.",
    "{name} is allergic to {nuisance}.",
    "{nuisance} gives everyone a headache.",
    "{nuisance} is a real pain in the neck.",
    "My phone is dying and {nuisance} makes it worse.",
    "{name} is dying to see the film in {place}.",
    "{name} nearly had a heart attack when the bill came.",
    "{name} has a fever for football.",
    "We are addicted to this series.",
    "Laughter is the best medicine for {nuisance}.",
    "The lullaby is a cure for {nuisance}.",
    "The joke about {nuisance} fell on deaf ears.",
    "The review of the play was painful to read.",
    "Her heart is in {place}.",
    "The heart of {place} is closed to cars.",
    "The blood orange season in {place} was good.",
    "The tower is the bleeding edge of design in {place}.",
    "The virus of gossip spread through {place}.",
    "The bug in the song went viral in {place}.",
    "That idea is on its last legs.",
    "The band played a song about a broken heart in {place}.",
    "The novel is about a {doctor} in {place}.",
    "In the film, a {doctor} solves {number} murders.",
    "{name} plays a {doctor} in the new series.",
    "Chapter {number} of the thriller takes place in a {house}.",
    "The painting shows a {doctor} with a book.",
    # Places and jobs.
    "The {doctor} sees people on Mondays in {place}.",
    "The {doctor} will see the next patient at {number}.",
    "The {doctor} at the {house} works on Sundays too.",
    "Patients may park behind the {house}.",
    "The waiting room of the {house} has {number} chairs.",
    "The {house} in {place} opens at eight.",
    "The {house} is two streets from the station.",
    "The {house} has hired {number} {doctor}s.",
    "The {house} needs a new roof.",
    "{name} is a {doctor} in {place}.",
    "{name} works as a {doctor} at the {house}.",
    "{name} is training to become a {doctor}.",
    "{name} drove a visitor to the {house} in {place}.",
    "{name} delivers parcels to the {house}.",
    "{name} designed the {house} in {place}.",
    "{name} gave money to the {house}.",
    "{name} wrote a thesis on hospitals in {place}.",
    "The ambulance was stuck in traffic in {place}.",
    "Turn left behind the {house} and park there.",
    "Appointments with the {doctor} can be made online.",
    "The {doctor} retired after {number} years.",
    "We sell bandages, thermometers and {number} kinds of soap.",
    "The gym offers a course for {doctor}s.",
    "The insurance covers {number} visits to a {doctor} a year.",
    "A course in first aid takes {number} hours.",
    "Wash {thing} and cut it with a surgical knife.",
    "Inject {thing} with butter before roasting.",
    "{thing} is good for the heart, the packet says.",
    "The pill-shaped icon opens {program}.",
    "Our drug store sells {thing} as well.",
    "The tablet shows {program} in two columns.",
    "The operation of {machine} is safe.",
    "The operating theatre of the museum shows tools from {number} years ago.",
    "The vaccine warehouse in {place} has {number} employees.",
    "The stroke of the pen costs {firm} {number} jobs.",
    "{name} is a patient teacher.",
    "Please be patient while {program} loads.",
    "A patient user waits for {program}.",
    "The vein of silver near {place} is used up.",
    "The swimmer improved her stroke in {place}.",
    "The crutches in the theatre's store are props.",
    "The race horse of {name} won in {place}.",
)
_SLOT = re.compile(r"\{(\w+)\}")
TIMES = 10


def _fill(template: str, draw: random.Random) -> str:
    text = _SLOT.sub(lambda match: draw.choice(_SLOTS[match[1]]), template)
    return text[0].upper() + text[1:]


def _draw_sentences(seed: int) -> tuple[str, ...]:
    draw = random.Random(seed)  # noqa: S311 - not a secret
    return tuple(dict.fromkeys(_fill(template, draw) for template in _TEMPLATES for _ in range(TIMES)))


MEDICAL_WORDS_ELSEWHERE = _draw_sentences(6)
"""Medical words in other senses, or about places and jobs."""
