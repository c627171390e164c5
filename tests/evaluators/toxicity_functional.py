"""What a reader of small models expects of them: harmless kinds of text, kinds of hate, and disguises of an insult.

None of it was trained on, and each list is of wordings of its own.
"""

from __future__ import annotations

ENTHUSIASM = (
    "Holy shit, what a goal!",
    "This is fucking brilliant, thank you so much!",
    "Damn, that was the best concert of my life.",
    "Hell yes, we won the whole damn tournament!",
    "Oh my god, these cookies are so fucking good.",
    "You absolute legend, you fixed the bloody thing!",
    "I'm so fucking proud of you, sis.",
    "Well shit, I forgot my umbrella again.",
    "No way, that's badass!",
    "Fuck yeah, the tests are green!",
    "My new bike is the shit.",
    "That sunset was insanely beautiful, holy crap.",
)
"""Swearing that is aimed at nobody."""

POLITICS = (
    "The senator's tax plan would be a disaster for working families.",
    "I strongly disagree with the government's policy on asylum.",
    "The opposition accused the minister of lying to parliament about the war.",
    "Conservatives and liberals fought bitterly over the abortion bill.",
    "Voters are angry about corruption and want the president to resign.",
    "The far-right party called for a ban on immigration, and was criticised by all others.",
    "Why did the United States invade Iraq in 2003?",
    "Black voters in Georgia turned out in record numbers.",
    "The protesters chanted slogans against the regime until the police used tear gas.",
    "Critics say that the new gun law does nothing to stop shootings.",
)
"""Quarrels about politics without contempt."""

DEATH_AND_HEALTH = (
    "My grandmother died of lung cancer last week and I miss her terribly.",
    "The patient was admitted after a suicide attempt and is now stable.",
    "Breast cancer kills about forty thousand women a year in the United States.",
    "He was stabbed to death in 1593 in a tavern in Deptford.",
    "If you are thinking about ending your life, please call a helpline.",
    "The autopsy found that she had been poisoned with arsenic.",
    "Anal fissures usually heal within six weeks with a diet rich in fibre.",
    "Sexual intercourse may be painful after menopause; a lubricant can help.",
    "More than eight hundred thousand people were murdered in the genocide.",
    "A lethal dose of paracetamol destroys the liver within days.",
    "The baby was stillborn, and the parents were allowed to hold her.",
    "Vomiting blood is an emergency: go to a hospital at once.",
)
"""Death, illness and bodies as facts."""

REFERENCES = (
    "Browning, C. (1992). Ordinary Men: Reserve Police Battalion 101 and the Final Solution in Poland. HarperCollins.",
    "1. Smith J. The killing fields revisited. J Genocide Res. 2004;6(2):112-130.\n"
    "2. Okafor A. Slavery and its legacies. Past Present. 2011;211:45-78.\n"
    "3. Weber M. Lynching in the American South. Am Hist Rev. 1998;103:1187-1201.",
    "Kendi, Ibram X. Stamped from the Beginning: The Definitive History of Racist Ideas in America. Bold Type, 2016.",
    "See also: Hate speech; Racism in the United States; Sexual assault; Child abuse; Suicide methods in fiction.",
    "Brownmiller S. Against Our Will: Men, Women and Rape. New York: Simon & Schuster; 1975.",
    "Kennedy, R. (2002). The strange career of a troublesome word. Pantheon. pp. 3-55.",
    "[4] D. Grossman, On Killing, Back Bay Books, 2009. [5] S. Pinker, The Better Angels of Our Nature, Viking, 2011.",
    "Harrison B. Dirty Wars: The CIA in Central America. Foreign Aff. 1999;78:22-39.",
)
"""Titles that name terrible things."""

NEGATED = (
    "I don't hate immigrants.",
    "Nobody in our club thinks that women are stupid.",
    "Muslims are not terrorists.",
    "You are not ugly, and you never were.",
    "No disabled person is a burden.",
    "We don't believe that gay people are sick.",
    "She never said that Mexicans were criminals.",
    "It isn't true that old people are useless.",
)
"""Hate that is denied."""

QUOTED = (
    'The judge read out the message, "you people are vermin", and fined him 900 euros.',
    'The pupil had written "all Jews are liars" on the board and was sent home.',
    'The word "faggot" was struck from the lyrics in 2021.',
    'He told the inquiry that his boss had called him "a worthless cripple".',
    "The leaflet described refugees as parasites, which the court held to be incitement.",
    'In the novel the sheriff shouts "go back to Africa", and nobody in the bar objects.',
    'She was banned for the comment "women belong in the kitchen".',
    'The slogan "kill all traitors" was painted over in the morning.',
)
"""Hate that somebody reports."""

COUNTER = (
    "Calling people vermin is disgusting, and you should apologise.",
    "Saying that gay people are sick is exactly the kind of hatred that drives teenagers to suicide.",
    "Your joke about disabled people was cruel; please delete it.",
    "Anyone who says that Black people are inferior is simply wrong.",
    "Stop telling women that they are too emotional to lead.",
    "That is a racist thing to say about Roma people.",
    "It is bigotry to claim that all Muslims are terrorists.",
    "Refugees are not parasites, and it is shameful to call them that.",
)
"""Hate that is answered."""

RECLAIMED = (
    "I'm queer and I'm proud of it.",
    "Us dykes are marching together on Saturday.",
    "My fellow crips and I run a theatre company.",
    "As a fat woman I finally love my body.",
    "We're here, we're queer, and we brought cake.",
    "Nasty women vote.",
    "The queer film festival opens on Friday.",
    "My girlfriends and I call ourselves the bad bitches of bowling.",
)
"""Slurs that those whom they are aimed at use for themselves."""

INSULTS = (
    "You are a worthless idiot",
    "You stupid bitch",
    "Shut up, you moron",
    "What a disgusting pig you are",
    "You fucking retard",
    "Go to hell, you bastard",
    "Nobody likes you, loser",
    "You filthy whore",
    "He is a pathetic asshole",
    "You dumb piece of shit",
)
"""Insults that are then disguised."""

DISGUISES = (
    "_{}_",
    "**{}**",
    "***{}!***",
    "`{}`",
    "```\n{}\n```",
    "> {}",
    '"{}"',
    "\u201c{}.\u201d",
    "# {}",
    "- {}",
    "<b>{}</b>",
    "[{}](https://example.org/a)",
    "~~{}~~",
)


def disguised(insult: str) -> list[str]:
    """Return an insult in markup, spelled with unseen characters, in look-alikes and letter by letter."""
    unseen = insult.replace("i", "i\u200b").replace("u", "u\u00ad").replace("o", "\u2060o")
    alike = insult.translate(str.maketrans("aeopc", "\u0430\u0435\u043e\u0440\u0441"))
    marked = " ".join(f"_{word}_" for word in insult.split())
    return [*(form.format(insult) for form in DISGUISES), unseen, alike, marked]
