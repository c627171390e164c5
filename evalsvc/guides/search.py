"""Full-text search over the guides: sections of guides that contain every word of the query, best match first."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from evalsvc.guides.library import Guide, library, strip_markdown
from evalsvc.guides.renderer import to_anchor

LONGEST_QUERY = 200
MOST_WORDS = 10
MOST_FOUND = 30
_AROUND = 110
_small = """
    a an and are as at be by can could do does for from have how i if in into is it its may me my of on or our should so
    than that the their them there this to was we were what when where which who why will with would you your
"""
SMALL = frozenset(_small.split())
"""Words of a question that say nothing of what is looked for."""
WORTH = {"api": 0.8, "evaluators": 0.5, "adr": 0.3}
"""By folder: who asks in a few words wants to be told how, before the list of calls, the cards, and why it is so."""
_heading = re.compile(r"^(#{1,4}) (.+)$", re.MULTILINE)
_fence = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a guide under one heading."""

    guide: Guide
    heading: str
    anchor: str
    text: str
    folded: str

    @property
    def url(self) -> str:
        """Return its address."""
        return f"{self.guide.url}#{self.anchor}"


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that was found, with the words in their place."""

    section: Section
    excerpt: SafeString


def search_guides(query: str) -> list[Hit]:
    """Return at most 30 sections with a word of the query as a prefix, from guides that contain all of the words.

    Sections are ordered by relevance: a word in the title or the heading counts more than one in the text, a word that
    occurs only elsewhere in the guide counts little, and adjacent query words that are adjacent in the text count
    extra. Guides rank above reference pages.
    """
    words = _words(query)
    if not words:
        return []
    counts = [[_count(word, section) for word in words] for section in sections()]
    # Words that occur everywhere get little weight (inverse document frequency).
    weights = [math.log(1 + len(counts) / (1 + sum(map(bool, column)))) for column in zip(*counts, strict=True)]
    candidates = [
        (score, i, section)
        for i, (section, word_counts) in enumerate(zip(sections(), counts, strict=True))
        if (score := _score(section, words, word_counts, weights))
    ]
    best = sorted(candidates, key=lambda one: (-one[0], one[1]))[:MOST_FOUND]
    return [Hit(section, _excerpt(section.text, words)) for _, _, section in best]


def _words(query: str) -> list[str]:
    """Return what is looked for: without the small words of a question, and `prompts` as `prompt`."""
    matches = re.findall(r"\w[\w./-]*", query[:LONGEST_QUERY].casefold())[:MOST_WORDS]
    telling = [word.rstrip(".") for word in matches if word not in SMALL] or matches
    return [re.sub(r"(?<=\w{3})(?<!s)s$", "", word) for word in telling]


@cache
def sections() -> tuple[Section, ...]:
    """Return all sections of all guides, in their order."""
    return tuple(section for guide in library().values() for section in _split(guide))


def _split(guide: Guide) -> list[Section]:
    # Comments of a shell look like headings.
    text = _fence.sub(lambda block: re.sub(r"^#", " ", block[0], flags=re.MULTILINE), guide.text)
    matches = list(_heading.finditer(text))
    ends = [match.start() for match in matches[1:]] + [len(text)]
    return [
        _section(guide, strip_markdown(match[2]), text[match.end() : end])
        for match, end in zip(matches, ends, strict=True)
    ]


def _section(guide: Guide, heading: str, body: str) -> Section:
    text = strip_markdown(body)
    return Section(guide, heading, to_anchor(heading), text, f"{heading} {text}".casefold())


def _count(word: str, section: Section) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(word)}", section.folded)) if word in section.folded else 0


def _score(section: Section, words: list[str], counts: list[int], weights: list[float]) -> float:
    """Return how well a section fits, and zero when a word is missing in all of its guide."""
    if not any(counts) or not all(word in _casefold_text(section.guide.slug) for word in words):
        return 0.0
    title, heading = section.guide.title.casefold(), section.heading.casefold()
    total = 0.1 + _score_phrases(words, heading, section.folded)
    for word, n, weight in zip(words, counts, weights, strict=True):
        total += weight * (math.log1p(n) + 3 * (word in heading) + 2 * (word in title)) if n else -weight
    return max(total, 0.1) * WORTH.get(section.guide.folder, 1.0)


def _score_phrases(words: list[str], heading: str, text: str) -> float:
    """Return what it is worth that neighbours in the query are neighbours in the heading or the text."""
    pairs = [rf"(?<!\w){re.escape(word)}\w*\W+{re.escape(other)}" for word, other in pairwise(words)]
    return sum(4.0 * bool(re.search(pair, heading)) + 2.0 * bool(re.search(pair, text)) for pair in pairs)


@cache
def _casefold_text(slug: str) -> str:
    return library()[slug].text.casefold()


def _excerpt(text: str, words: list[str]) -> SafeString:
    pattern = re.compile("|".join(re.escape(word) for word in words), re.IGNORECASE)
    first = pattern.search(text)
    begin = max(0, (first.start() if first else 0) - _AROUND)
    excerpt = text[begin : begin + 3 * _AROUND]
    parts = [("…" if begin else "", "")]
    end = 0
    for match in pattern.finditer(excerpt):
        parts.append((excerpt[end : match.start()], match[0]))
        end = match.end()
    parts.append((excerpt[end:] + ("…" if begin + len(excerpt) < len(text) else ""), ""))
    return format_html_join("", "{}<mark>{}</mark>", parts)
