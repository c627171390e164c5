"""The questions behind the RAG metrics: small, one matter each, and independent of the order of the contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluators.base import JSONValue, Settings
from evaluators.gateway import Answer, Question
from evaluators.judging.prompts import answer_schema, question, strict_object
from evaluators.judging.questions.coverage import NUMBER_OF_SENTENCE, lacks, number_sentences, sentences_to_decide
from evaluators.judging.quotes import Quotable
from evaluators.judging.readings import (
    read_number,
    read_objects,
    read_reasoning,
    read_text,
    read_texts,
    read_truth,
    unreadable,
)
from evaluators.judging.settings import answer_tokens, fails_unverified, is_strict

_YES_OR_NO = answer_schema({"quote": {"type": "string"}, "met": {"type": "boolean"}})
_SIMILARITY = answer_schema({"score": {"type": "number", "minimum": 0, "maximum": 5}})
_POINTS = answer_schema({"points": {"type": "array", "items": {"type": "string"}}})
_RELEVANT = answer_schema({"relevant_statements": {"type": "array", "items": {"type": "string"}}})
_STATEMENT: dict[str, JSONValue] = {
    "statement": {"type": "string"},
    "quote": {"type": "string"},
    "supported": {"type": "boolean"},
}
_STATEMENTS = answer_schema({"statements": {"type": "array", "items": strict_object(_STATEMENT)}})
_DECIDED: dict[str, JSONValue] = {"sentence": dict(NUMBER_OF_SENTENCE), "is_claim": {"type": "boolean"}}
_COVERING_POINTS = answer_schema(
    {"points": {"type": "array", "items": strict_object({**_DECIDED, "point": {"type": "string"}})}}
)
_COVERING_STATEMENTS = answer_schema(
    {"statements": {"type": "array", "items": strict_object({**_DECIDED, **_STATEMENT})}}
)
_COVERING = """\
SENTENCES are the sentences of the output to decide, each with its number in front. There is at least one entry for \
every one of the SENTENCES: `sentence` is its number, and `is_claim` is false only for a sentence that states nothing \
about the world, such as a greeting, a question, an introduction, or words that the contexts do not answer the \
question."""


_ANY_GOLD = " The GOLD ANSWER is a list of accepted answers: compare with the nearest of them."


@dataclass(frozen=True, slots=True)
class Truth:
    """A yes or no, and whether its quote occurs in the data; `verified` is None without a quote."""

    met: bool
    verified: bool | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of an answer, and whether the contexts support it."""

    text: str
    supported: bool
    verified: bool | None = None


def relevance(asked: str, context: str, settings: Settings) -> Question:
    """Build the question whether one context helps to answer (retrieval and augmentation precision, k-recall)."""
    return question(
        "rag-relevance/1",
        task="`met`: does the RETRIEVED CONTEXT hold information that helps to answer the USER INPUT? Being about the "
        "same subject is not enough. `quote`: the passage that helps, or nothing.",
        data=[("USER INPUT", asked), ("RETRIEVED CONTEXT", context)],
        schema=_YES_OR_NO,
        max_output_tokens=answer_tokens(settings, 512),
    )


def containment(output: str, context: str, settings: Settings) -> Question:
    """Build the question whether the answer uses one context (augmentation accuracy, augmentation precision)."""
    return question(
        "rag-containment/1",
        task="`met`: does the MODEL OUTPUT state information that stands in the RETRIEVED CONTEXT, word for word or in "
        "other words? Agreement in everyday knowledge that the context does not state is not enough. `quote`: the "
        "passage of the context that the output uses, or nothing.",
        data=[("MODEL OUTPUT", output), ("RETRIEVED CONTEXT", context)],
        schema=_YES_OR_NO,
        max_output_tokens=answer_tokens(settings, 512),
    )


def main_points(output: str, settings: Settings) -> Question:
    """Build the question for the main points of the answer (answer consistency)."""
    return _covering_points(output, settings) if is_strict(settings) else _free_points(output, settings)


def _covering_points(output: str, settings: Settings) -> Question:
    sentences = sentences_to_decide(output)
    return question(
        "rag-main-points/2",
        task="`points`: the points that the MODEL OUTPUT makes, each a complete statement that can be understood and "
        f"checked by itself, as `point`. {_COVERING} Add nothing.",
        data=[("MODEL OUTPUT", output), ("SENTENCES", number_sentences(output, sentences))],
        schema=_COVERING_POINTS,
        max_output_tokens=answer_tokens(settings, 4_096),
        check=lambda answer: lacks(answer, "points", output, sentences),
    )


def _free_points(output: str, settings: Settings) -> Question:
    return question(
        "rag-main-points/1",
        task="`points`: the main points that the MODEL OUTPUT makes, each a complete statement that can be understood "
        "and checked by itself. Leave out greetings, questions and remarks about the answer itself. Add nothing; an "
        "output that states nothing has no points.",
        data=[("MODEL OUTPUT", output)],
        schema=_POINTS,
        max_output_tokens=answer_tokens(settings, 2_048),
    )


def derivability(statement: str, contexts: Sequence[str], settings: Settings) -> Question:
    """Build the question whether one statement follows from all contexts together (answer consistency)."""
    return question(
        "rag-derivability/1",
        task="`met`: can the whole STATEMENT be derived from the RETRIEVED CONTEXT, without knowledge from elsewhere? "
        "`quote`: the passage that supports it best, or nothing.",
        data=[("STATEMENT", statement), ("RETRIEVED CONTEXT", contexts)],
        schema=_YES_OR_NO,
        max_output_tokens=answer_tokens(settings, 512),
    )


def consistency(output: str, contexts: Sequence[str], settings: Settings) -> Question:
    """Build the question whether the contexts back everything in the answer (answer consistency, binary)."""
    return question(
        "rag-consistency/1",
        task="`met`: true when all information in the MODEL OUTPUT can be derived from the RETRIEVED CONTEXT, false "
        "when any of it cannot. `quote`: when false, the passage of the output that cannot be derived, else nothing.",
        data=[("MODEL OUTPUT", output), ("RETRIEVED CONTEXT", contexts)],
        schema=_YES_OR_NO,
        max_output_tokens=answer_tokens(settings, 768),
    )


def similarity(asked: str, golds: Sequence[str], output: str, settings: Settings) -> Question:
    """Build the question how similar in meaning the answer and the reference are, from 0 to 5 (answer similarity)."""
    return question(
        "rag-similarity/1",
        task="`score`: how near the MODEL OUTPUT comes in meaning to the GOLD ANSWER, as answers to the USER INPUT, "
        "from 0 to 5. 5: the same in meaning. 4: the same but for details that do not matter. 3: mostly the same, with "
        "something missing or added. 2: some of the same, and important differences. 1: hardly anything the same. 0: "
        "unrelated or contrary. Wording and length do not matter." + (_ANY_GOLD if len(golds) > 1 else ""),
        data=[("USER INPUT", asked), ("GOLD ANSWER", golds[0] if len(golds) == 1 else golds), ("MODEL OUTPUT", output)],
        schema=_SIMILARITY,
        max_output_tokens=answer_tokens(settings, 512),
    )


def faithfulness(asked: str, output: str, contexts: Sequence[str], settings: Settings) -> Question:
    """Build the question for the answer's statements and their support (faithfulness as defined by Haystack)."""
    ask = _covering_statements if is_strict(settings) else _free_statements
    return ask(asked, output, contexts, settings)


def _covering_statements(asked: str, output: str, contexts: Sequence[str], settings: Settings) -> Question:
    sentences = sentences_to_decide(output, asked)
    return question(
        "rag-faithfulness/2",
        task="`statements`: split the MODEL OUTPUT, an answer to the USER INPUT, into its single statements. "
        f"{_COVERING} `supported` is true when the statement can be inferred from the RETRIEVED CONTEXT alone, and "
        "`quote` is the passage of the context that it rests on, or nothing.",
        data=[
            ("USER INPUT", asked),
            ("MODEL OUTPUT", output),
            ("SENTENCES", number_sentences(output, sentences)),
            ("RETRIEVED CONTEXT", contexts),
        ],
        schema=_COVERING_STATEMENTS,
        max_output_tokens=answer_tokens(settings, 4_096),
        check=lambda answer: lacks(answer, "statements", output, sentences),
    )


def _free_statements(asked: str, output: str, contexts: Sequence[str], settings: Settings) -> Question:
    return question(
        "rag-faithfulness/1",
        task="`statements`: split the MODEL OUTPUT, an answer to the USER INPUT, into its single statements. For each, "
        "`supported` is true when it can be inferred from the RETRIEVED CONTEXT alone, and `quote` is the passage of "
        "the context that it rests on, or nothing. An output that states nothing has no statements.",
        data=[("USER INPUT", asked), ("MODEL OUTPUT", output), ("RETRIEVED CONTEXT", contexts)],
        schema=_STATEMENTS,
        max_output_tokens=answer_tokens(settings, 4_096),
    )


def relevant_statements(asked: str, contexts: Sequence[str], settings: Settings) -> Question:
    """Build the question for the passages relevant to the input (context relevance as defined by Haystack)."""
    return question(
        "rag-relevant-statements/1",
        task="`relevant_statements`: copy from the RETRIEVED CONTEXT, letter for letter, the sentences that are needed "
        "to answer the USER INPUT, at most ten. The list is empty when there is none.",
        data=[("USER INPUT", asked), ("RETRIEVED CONTEXT", contexts)],
        schema=_RELEVANT,
        max_output_tokens=answer_tokens(settings, 2_048),
    )


def truth(answer: Answer, texts: Sequence[str], settings: Settings) -> Truth:
    """Read a yes or no; what is neither is an error and never a no."""
    verified = _verified(read_text(answer.data, "quote"), _quotable(texts, settings))
    return Truth(_holds(read_truth(answer.data, "met"), verified, settings), verified)


def read_points(answer: Answer, settings: Settings) -> list[str]:
    """Read the main points; a sentence that claims nothing makes none."""
    if not is_strict(settings):
        return read_texts(answer.data, "points")
    claiming = [entry for entry in read_objects(answer.data, "points") if read_truth(entry, "is_claim")]
    texts = [read_text(entry, "point") for entry in claiming]
    if not all(map(str.strip, texts)):
        raise unreadable("points")
    return texts


def read_similarity(answer: Answer) -> tuple[float, str]:
    """Read the similarity, 0 to 5, and the reasoning."""
    return read_number(answer.data, "score", high=5.0), read_reasoning(answer.data)


def read_statements(answer: Answer, contexts: Sequence[str], settings: Settings) -> list[Statement]:
    """Read the statements; each carries its own verdict, so that there cannot be more of the one than of the other."""
    quotable = _quotable(contexts, settings)
    statements = []
    for entry in read_objects(answer.data, "statements"):
        if is_strict(settings) and not read_truth(entry, "is_claim"):
            continue
        verified = _verified(read_text(entry, "quote"), quotable)
        supported = _holds(read_truth(entry, "supported"), verified, settings)
        statements.append(Statement(read_text(entry, "statement"), supported, verified))
    return statements


def read_relevant(answer: Answer, contexts: Sequence[str], settings: Settings) -> list[Truth]:
    """Read the relevant passages, as one Truth each, which records whether the passage occurs in the contexts."""
    quotable = _quotable(contexts, settings)
    truths = [Truth(True, quotable.holds(text)) for text in read_texts(answer.data, "relevant_statements")]
    return [truth for truth in truths if _holds(truth.met, truth.verified, settings)]


def _quotable(texts: Sequence[str], settings: Settings) -> Quotable:
    return Quotable(texts, loosely=fails_unverified(settings))


def _holds(met: bool, verified: bool | None, settings: Settings) -> bool:
    """Return whether a yes counts: the profile can reject one whose quote does not occur in the data."""
    return met and not (verified is False and fails_unverified(settings))


def _verified(quote: str, quotable: Quotable) -> bool | None:
    return quotable.holds(quote) if quote.strip() else None
