"""`python -m scripts.message FILE`: the `commit-msg` hook. A commit says what it does in one line, and then why."""

from __future__ import annotations

import re
import sys
from pathlib import Path

LONGEST = 60
# What git itself writes, or takes away again.
_by_git = re.compile(r"(Merge|Revert|fixup!|squash!|amend!) ?")
_scissors = re.compile(r"^# -+ >8 -+$.*", re.MULTILINE | re.DOTALL)
# `Added`, `Adding`, `Adds`: what a commit did or does. The imperative is what it is told to do.
_told_otherwise = re.compile(r"\w{2,}(ed|ing|[^aious]s)")
IMPERATIVES = {"bring", "embed", "exceed", "feed", "heed", "need", "proceed", "ring", "seed", "shed", "speed", "spring"}
IMPERATIVES |= {"string", "succeed", "swing", "wed", "weed"}


def lines_of(text: str) -> list[str]:
    """Return the lines that git will keep of a message."""
    kept = [line.rstrip() for line in _scissors.sub("", text).splitlines() if not line.startswith("#")]
    return "\n".join(kept).strip("\n").split("\n")


def is_imperative(word: str) -> bool:
    """Say whether the first word of a subject may be an imperative; a list of all verbs is not worth it."""
    return word.lower() in IMPERATIVES or not _told_otherwise.fullmatch(word.lower())


def problems(text: str) -> list[str]:
    """Say what is wrong with a message."""
    subject, *rest = lines_of(text)
    if _by_git.match(subject):
        return []
    checks = (
        (bool(subject), "The message is empty."),
        (len(subject) <= LONGEST, f"The first line has {len(subject)} characters; {LONGEST} are allowed."),
        (not subject.endswith("."), "The first line is a heading: no full stop."),
        (subject[:1] == subject[:1].upper(), "The first line begins with a capital letter."),
        (
            is_imperative(subject.partition(" ")[0]),
            "The first line is in the imperative: `Add`, not `Added` or `Adds`.",
        ),
        (not rest or not rest[0], "The second line is blank."),
        (any(rest[1:]), "A body says why, and how it was checked."),
    )
    return [sentence for passed, sentence in checks if not passed]


def main() -> int:
    """Check the message in a file; the exit code says whether git may go on."""
    [path] = sys.argv[1:]
    found = problems(Path(path).read_text(encoding="utf-8"))
    for sentence in found:
        print(sentence, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
