"""`python -m scripts.message FILE`: the `commit-msg` hook, which checks subject and body of a commit message."""

from __future__ import annotations

import re
import sys
from pathlib import Path

LONGEST = 72
# Written by git or by `make release`, or squashed before anybody reads it.
_exempt = re.compile(r"(Merge|Revert|fixup!|squash!|amend!) ?|Release \d+\.\d+\.\d+$")
_scissors = re.compile(r"^# -+ >8 -+$.*", re.MULTILINE | re.DOTALL)
_subject = re.compile(r"[a-z][a-z0-9 _/.,-]*: (?P<verb>[A-Za-z]+)\b")
# `Added`, `Adding`, `Adds` instead of `Add`.
_not_imperative = re.compile(r"\w{2,}(ed|ing|[^aious]s)")
IMPERATIVES = {"bring", "embed", "exceed", "feed", "heed", "need", "proceed", "ring", "seed", "shed", "speed", "spring"}
IMPERATIVES |= {"string", "succeed", "swing", "wed", "weed"}


def message_lines(text: str) -> list[str]:
    """Return the lines that git keeps of a message."""
    lines = [line.rstrip() for line in _scissors.sub("", text).splitlines() if not line.startswith("#")]
    return "\n".join(lines).strip("\n").split("\n")


def is_imperative(word: str) -> bool:
    """Return whether the first word of a summary looks like an imperative. Only clear cases are refused."""
    return word.lower() in IMPERATIVES or not _not_imperative.fullmatch(word.lower())


def problems(text: str) -> list[str]:
    """Return what is wrong with a message."""
    subject, *rest = message_lines(text)
    if _exempt.match(subject):
        return []
    if not subject:
        return ["The message is empty."]
    match = _subject.match(subject)
    checks = (
        (len(subject) <= LONGEST, f"The subject has {len(subject)} characters; {LONGEST} are allowed."),
        (not subject.endswith("."), "The subject ends with a full stop."),
        (match is not None, "The subject names a component and a change: `evaluations: Fix 500 on trace ids`."),
        (
            match is None or is_imperative(match["verb"]),
            "The change is in the imperative: `Add`, not `Added` or `Adds`.",
        ),
        (not rest or not rest[0], "The second line is blank."),
        (any(rest[1:]), "The body is missing: say why, and how it was checked."),
    )
    return [sentence for passed, sentence in checks if not passed]


def main() -> int:
    """Check the message in a file; the exit code tells git whether to go on."""
    [path] = sys.argv[1:]
    sentences = problems(Path(path).read_text(encoding="utf-8"))
    for sentence in sentences:
        print(sentence, file=sys.stderr)
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
