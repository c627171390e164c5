"""Answers that hold no verdict that can be trusted: each could mean another score than the one that is easily read."""

from __future__ import annotations

from tests.judges.endpoint.replies import TEXT

LOW = '{"reasoning": "Because.", "score": 0.0, "verdict": "incorrect"}'
# Numbers that are no JSON; what a lenient reader makes of them is another number.
NUMBERS = (
    *(
        "\u22120.5",
        "\u20130.5",
        "0,5",
        "50%",
        "85 %",
        "0.5%",
        "1%",
        "1/2",
        "0.5/1",
        "1/10",
        "\u00bd",
        "NaN",
        "Infinity",
    ),
    *("-Infinity", "1e400", "0x1", "01", "00", "1_0", "1 0", "0.5.5", "--1", "1-0", "~0.5", ">0.5", "<0.5", "0.5 or 1"),
    *(
        "\u22481",
        "\u0660.\u0665",
        "\uff10.\uff15",
        "0.5 \u00b1 0.5",
        "1.0 (out of 5)",
        "5",
        "-0.1",
        "1.0000001",
        "null",
    ),
    *('"100%"', '"\u22121"', '"0,9"', '"one"', '"1.0/1"', "[1]", '{"value": 1}', "true", "0.5f", "0.9!", "0.'5'"),
    *(
        "1.0 /* 0 */",
        "0.5 // or 0.1",
        "#1",
        "$1",
        "1'000",
        "1e",
        "0..1",
        "0-1",
        "0.9 -> 0.1",
        "1.0=0",
        "1.0 no",
        "no 1",
    ),
)
CUT = ("0", "0.", "0.9", "1", "-", "0.9e")
PROSE = (
    *(f"{TEXT} Actually the score is 0.", f"{TEXT}\nWait, that is wrong.", f"{TEXT}\nCorrection: incorrect."),
    *(
        f"{TEXT} \u2013 nicht!",
        f"{TEXT}\nDas ist falsch.",
        f"{TEXT}\nC'est faux.",
        f"{TEXT} \u4e0d\u5bf9",
        f"{TEXT}\nNo es correcto.",
    ),
    *(
        f"{TEXT}\n\u041d\u0435\u0432\u0435\u0440\u043d\u043e.",
        f"{TEXT}\nBut the verdict should be incorrect.",
        f"{TEXT}\n0",
        f"{TEXT}\nScore: 0/10",
    ),
    *(f"The score is 0, not {TEXT}", f"This is not {TEXT}", f"The opposite of {TEXT}", f"Anything other than {TEXT}"),
    *(
        f"My final score is 0.\n{TEXT}",
        f"verdict: incorrect\n{TEXT}",
        f"**Verdict**: incorrect\n\n```json\n{TEXT}\n```",
    ),
    *(f"```json\n{TEXT}\n```\nSorry, I made a mistake.", f"```json\n{TEXT}\n```\nThe score should be 0.2."),
    *(f"Score = 0.1\n{TEXT}", f"Die Antwort ist nicht {TEXT}", f"Ce n'est pas {TEXT}"),
)
TWO = (
    *(f"{TEXT}\n{LOW}", f"{LOW}{TEXT}", f"```json\n{TEXT}\n```\n```json\n{LOW}\n```", f"[{TEXT}, {LOW}]"),
    *(f"{TEXT} or {LOW}", f"First I thought {LOW}, now {TEXT}", f'{{"first": {TEXT}, "second": {LOW}}}'),
    *(f'{TEXT[:-1]}, "score": 0.0}}', f'{TEXT[:-1]}, "verdict": "incorrect"}}', f'{TEXT[:-1]}, "final_score": 0.0}}'),
    *(f'{TEXT[:-1]}, "verdict_final": "incorrect"}}', f'{TEXT[:-1]}, "is_correct": false}}'),
    *(f'{{"answers": [{TEXT}, {LOW}]}}', f"{TEXT}\n```json\n{LOW}\n```", f"{TEXT}\x00{LOW}"),
)
WORDS = (
    *(
        '"not correct"',
        '"nicht correct"',
        '"in correct"',
        '"Correct?"',
        '"correct or incorrect"',
        '"incorrect, correct"',
    ),
    *(
        "not correct",
        "correct?",
        '"correct" or "incorrect"',
        '"corr"',
        '""',
        "null",
        "true",
        '["correct"]',
        '"\u6b63\u786e"',
    ),
)
FORMS = (
    *(
        "The score is 1.0 and the verdict is correct.",
        "score: 1.0\nverdict: correct",
        "1.0",
        "correct",
        "null",
        "[]",
        "{}",
    ),
    *("{", "}", '{"score": 1.0}', '{"score": 1.0, "verdict": "correct"}', f"<think>{TEXT}", f"<think>{TEXT}</think>"),
    *(f"<think>{TEXT}</think>I cannot judge this.", '{"a":' * 3000 + "1" + "}" * 3000, f"{'x' * 250_000}{TEXT}"),
    *(f'{{"a": {{"b": {TEXT}}}}}', "<verdict>correct</verdict><score>1</score>", TEXT.replace("1.0", "")),
    *("I'm sorry, but I can't help with that.", f"{TEXT[:-1]} \U0001f44e", "score=1.0&verdict=correct"),
)


def with_score(number: str) -> str:
    """Return an answer with this number."""
    return f'{{"reasoning": "Because.", "verdict": "correct", "score": {number}}}'


HOSTILE: tuple[str, ...] = (
    *(with_score(number) for number in NUMBERS),
    *(with_score(number)[:-1] for number in CUT),
    *(f'{{"reasoning": "Because.", "score": 1.0, "verdict": {word}}}' for word in WORDS),
    *(*PROSE, *TWO, *FORMS),
)
