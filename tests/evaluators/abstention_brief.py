"""Brief abstentions, and claims that look like them.

TUNED was looked at while the rules for brief abstentions were written. APART and its CLAIMS_APART were drawn up in one go
afterwards, about another subject; no rule was changed for them.
"""

from __future__ import annotations

Case = tuple[tuple[str, tuple[str, ...]], str]
MUSEUM = ("The Harbour Museum opened in 1952 and holds 14,000 ship models. It is closed on Mondays.",)
VERRA = (
    "Verra is a note-taking app for tablets. Version 3 added sync in 2021. The team has twelve people and sits in Porto.",
)


def read_cases(text: str, contexts: tuple[str, ...]) -> list[Case]:
    """Read a line for each question, with its outputs behind it, parted by bars."""
    rows = [line.split(" | ") for line in text.strip().splitlines()]
    return [((question, contexts), output) for question, *outputs in rows for output in outputs]


TUNED = read_cases(
    """
How much is a ticket? | Cannot answer. | Cannot be determined. | Can't say. | Unable to answer. | No info.
How much is a ticket? | Not found. | Not found in the documents. | None mentioned. | Don't know. | idk | Not sure.
How much is a ticket? | I'm not sure. | Unclear. | Not answerable. | Information not available.
How much is a ticket? | No relevant information found. | no data | The price of a ticket is left unspecified.
How much is a ticket? | Prices are not listed. | Pricing is not included. | The cost is not given.
How much is a ticket? | The passage only talks about ship models; it doesn't give ticket prices.
How much is a ticket? | The passage focuses on the collection and doesn't cover admission. | It's not in the text.
How much is a ticket? | The text gives no price. | There is nothing about tickets. | Nothing about that.
How much is a ticket? | This isn't something the passage covers. | I can't tell from this.
How much is a ticket? | That's not something I can answer from the text. | The admission fee isn't given.
How much is a ticket? | No price is given. | No ticket price was provided. | The provided text does not include that.
How much is a ticket? | I have no information on that. | Sorry, I can't help with that.
How much is a ticket? | The answer is not given in the text.
How much is a ticket? | The provided documents are not relevant to the question.
When was the cafe opened? | The date is not given. | The opening date of the cafe is not listed.
When was the cafe opened? | The year isn't provided. | No date is mentioned for the cafe.
Why is it closed on Mondays? | The reason is not provided. | No reason is given. | The reason isn't explained.
Why is it closed on Mondays? | The text does not explain why.
Who designed the building? | The architect is not named. | The designer is not identified. | No architect is given.
Where is the ticket office? | The location is not provided. | The address isn't listed.
Where is the ticket office? | The location of the ticket office is not given.
""",
    MUSEUM,
)
CLAIMS = read_cases(
    """
How much is a ticket? | Breakfast is not included. | A ticket costs 20 euros.
How much is a ticket? | The documents only mention that tickets cost 20 euros.
How much is a ticket? | The price is not given, but it is 20 euros. | Admission is free. | The museum is not listed.
How much is a ticket? | Cannot be bought online. | The cost is not included in the membership.
Who designed the building? | The architect is not dead.
When was the cafe opened? | The cafe was never opened.
Is it open on Mondays? | It focuses on trains.
""",
    MUSEUM,
)
APART = read_cases(
    """
How much does Verra cost? | The fee is not stated. | Can't tell. | Insufficient data.
How much does Verra cost? | The material merely talks about features; pricing is not provided.
Who leads the team? | The name is not given. | The leader is not mentioned by name. | I don't know who leads it.
When was version 2 released? | The release date is left unstated. | The date isn't included.
When was version 2 released? | Sorry, not enough information.
Where are the servers? | Their location is unknown. | The place is not disclosed.
Why did version 1 fail? | The cause is not described. | No cause is described.
How many users does it have? | The number is not provided. | The exact figure isn't given.
How many users does it have? | The excerpt focuses on the team and does not report user numbers.
How old is the founder? | The age is not stated. | Could not determine.
What licence has it? | Unknown | The licence is unspecified. | That can't be answered.
How do I export notes? | The steps are not described. | It's not explained here.
""",
    VERRA,
)
CLAIMS_APART = read_cases(
    """
How much does Verra cost? | The fee is 5 euros. | The cost is not high.
Who leads the team? | The leader is not in Porto.
When was version 2 released? | The date was moved.
Where are the servers? | The servers are not in Porto.
Why did version 1 fail? | The cause was a fire.
How many users does it have? | It focuses on lawyers and has few users.
What licence has it? | It does not have a free licence.
How do I export notes? | You can't export notes. | It does not export notes.
""",
    VERRA,
)
