"""`python -m scripts.words [--write]`: names and texts are plain technical English, as CONTRIBUTING describes.

`words.txt` lists what is wrong today. It only shrinks: new findings fail, and so does a line that no longer applies.
`--write` rewrites it, for a rename that moves a finding.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from scripts.commits import CHECKOUT, file_at, git, last_tag
from scripts.message import problems as message_problems
from scripts.sources import Function, files_of_checkout, modules, tree_of

LIST = Path(__file__).with_name("words.txt")
VOCABULARY = Path(__file__).with_name("vocabulary.txt")
LOOPS = ("one", "each")
_word = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_tag = re.compile(r"{%.*?%}|{{.*?}}|{#.*?#}|<!--.*?-->|<[^>]*>", re.DOTALL)


def read_vocabulary() -> tuple[dict[str, set[str]], dict[str, str]]:
    """Return the listed words and the explanation of each kind, which is the line `[kind] explanation` above them."""
    kind, words, explanations = "", dict[str, set[str]](), dict[str, str]()
    for line in VOCABULARY.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"\[(\w+)\] (.*)", line):
            kind, explanations[kind] = match.groups()
            words[kind] = set()
        elif line and not line.startswith("#"):
            words[kind].update(line.split(", "))
    return words, explanations


WORDS, EXPLANATIONS = read_vocabulary()


def function_kind(function: Function) -> str | None:
    """Return what is wrong with the first word of a function's name, or None. Properties are nouns."""
    name = function.name.strip("_")
    first = name.split("_")[0]
    is_property = any(re.search(r"property$|\.setter$", ast.unparse(part)) for part in function.decorator_list)
    if is_property or function.name.startswith("__") or name.startswith(("to_", "as_", "from_", "in_", "with_")):
        return None
    return next((kind for kind in ("participle", "preposition") if first in WORDS[kind]), None)


def name_findings(path: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) for each definition and loop of a module that is named against the rules."""
    package, stem = path.split("/")[0], PurePosixPath(path).stem
    if stem.endswith("ing") and stem not in WORDS["module"]:
        yield "module", f"{package} {stem}"
    for node in ast.walk(tree_of(text)):
        if isinstance(node, Function | ast.ClassDef) and node.name in WORDS["glossary"]:
            yield "glossary", f"{package} {node.name}"
        if isinstance(node, Function):
            if kind := function_kind(node):
                yield kind, f"{package} {node.name}"
        elif isinstance(node, ast.ClassDef):
            parts = [part.lower() for part in _word.findall(node.name)]
            if len(parts) == 1 and parts[0] in WORDS["participle"]:
                yield "class", f"{package} {node.name}"
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) and ast.unparse(node.target) in LOOPS:
            yield "loop", f"{package} {ast.unparse(node.target)}"
    for node in tree_of(text).body:
        if isinstance(node, Function) and re.search(r"\w_of$", node.name):
            yield "of", f"{package} {node.name}"


def messages(text: str) -> Iterator[str]:
    """Yield the texts of a module that people may read: strings with a space that are not docstrings."""
    tree = tree_of(text)
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in bare)
    yield from (node.value for node in constants if isinstance(node.value, str) and " " in node.value)


def phrase_findings(text: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, phrase) for each listed phrase of a text, in small letters."""
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(WORDS['phrase'], key=len, reverse=True)))})\b", re.I)
    yield from (("phrase", match.lower()) for match in pattern.findall(text))


def findings(root: Path = CHECKOUT) -> Counter[str]:
    """Return how often each `kind name` occurs in the product and its templates."""
    found = Counter[str]()
    for path, text in modules(files_of_checkout(root)).items():
        found.update(f"{kind} {name}" for kind, name in name_findings(path, text))
        found.update(f"{kind} {name}" for part in messages(text) for kind, name in phrase_findings(part))
    for template in sorted(root.glob("evalsvc/**/templates/**/*.*")):
        text = _tag.sub(" ", template.read_text(encoding="utf-8"))
        found.update(f"{kind} {name}" for kind, name in phrase_findings(text))
    return found


def parse_list(text: str) -> Counter[str]:
    """Return the lines `count kind name` of an allow-list."""
    lines = (line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return Counter({name: int(count) for count, name in lines})


def first_list(root: Path = CHECKOUT) -> str | None:
    """Return the allow-list of the last release, or as it was first committed; None without history."""
    path = f"scripts/{LIST.name}"
    tag = last_tag(root)
    released = file_at(tag, path, root) if tag else None
    added = (git("log", "--diff-filter=A", "--format=%H", "--", path, root=root) or "").split()
    return released or (file_at(added[-1], path, root) if added else None)


def problems(found: Counter[str], allowed: Counter[str], released: Counter[str] | None) -> list[str]:
    """Return a line for each new finding, each line of the list that no longer applies, and a list that has grown."""
    lines = []
    for name in sorted(found | allowed):
        if found[name] > allowed[name]:
            lines.append(f"`{name}` {EXPLANATIONS[name.split()[0]]} ({found[name]}; {allowed[name]} allowed).")
        elif found[name] < allowed[name]:
            lines.append(f"`{name}` occurs {found[name]} times: lower its line in {LIST.name}.")
    if released is not None and allowed.total() > released.total():
        lines.append(f"{LIST.name} has grown from {released.total()} to {allowed.total()}.")
    return lines


def commit_problems(root: Path = CHECKOUT) -> list[str]:
    """Return what is wrong with the messages of the commits since the last release that no later one explains."""
    # Without a release git knows no commit of this name, and prints nothing.
    log = git("log", "--no-merges", "--format=%H%x00%B%x01", f"{last_tag(root)}..HEAD", root=root) or ""
    told = tuple(re.findall(r"^Message-For: (\w{7,})$", log, re.MULTILINE))
    commits = [entry.strip("\n").split("\0") for entry in log.split("\1") if entry.strip()]
    return [f"{sha[:8]}: {why}" for sha, text in commits if not sha.startswith(told) for why in message_problems(text)]


def main() -> int:
    """Print what is wrong; the exit code says whether something is."""
    found = findings()
    if "--write" in sys.argv:
        head = "# What scripts/words.py finds today, with how often. It only shrinks.\n"
        LIST.write_text(head + "".join(f"{n} {name}\n" for name, n in sorted(found.items())), encoding="utf-8")
    allowed, before = parse_list(LIST.read_text(encoding="utf-8")), first_list()
    lines = problems(found, allowed, None if before is None else parse_list(before)) + commit_problems()
    print("\n".join(lines) or f"{allowed.total()} names and phrases are left, all of them listed.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
