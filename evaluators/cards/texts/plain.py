"""Card descriptions of the families that compare, count and check: exact match, metrics, and checks of profiles."""

from __future__ import annotations

from dataclasses import replace

from evaluators.cards.texts.judged import ALL_REQUIREMENTS, STRICT, describe_changes, judge_card
from evaluators.values import CardText, KnownMiss

NO_THRESHOLD = "None: it passes where the score is one."
_OTHER_WORDS = KnownMiss("An abbreviation, a synonym or the same number in words is another answer.")
_ARTICLES = KnownMiss("Only English articles are dropped before normalised texts are compared.")
_LAST = KnownMiss("The last number counts, whatever it is about, unless `\\boxed{}` or `####` marks another.")
_PAIRS = KnownMiss("Three digits behind a blank are thousands: the list `5 100` is `5100`.")
_CHOICES = KnownMiss("An answer that names other choices too holds each of them.")
_ANY_SCRIPT = "Any script; characters are compared."
_BOOLEANS = "A boolean equals `True`, `Yes`, `False` and `No` too, in capitals or not."
EXACT_MATCH = {
    "exact-match": CardText(
        (_OTHER_WORDS, _ARTICLES), _ANY_SCRIPT, NO_THRESHOLD, {"exact-match-2026-11-28": _BOOLEANS}
    ),
    "exact-match-normalised-2026-11-28": CardText(
        (_OTHER_WORDS, _ARTICLES),
        _ANY_SCRIPT,
        NO_THRESHOLD,
        {"exact-match-normalised-2026-11-28": "Marks between digits and of names count, and so does a letter A at the "
         f"end: `1/2` is not `12`, `C#` not `C`, `Vitamin A` not `Vitamin`. {_BOOLEANS}"},
    ),
    "exact-match-numeric-2026-11-28": CardText(
        (_OTHER_WORDS, _LAST, _PAIRS),
        _ANY_SCRIPT,
        NO_THRESHOLD,
        {"exact-match-numeric-2026-11-28": "Fractions, powers, size words and spaced thousands are read; a part of an "
         "expression is no number; below one the tolerance is relative; a gold answer without a number is an error."},
    ),
    "exact-match-contains-2026-11-28": CardText(
        (_OTHER_WORDS, _ARTICLES, _CHOICES),
        _ANY_SCRIPT,
        NO_THRESHOLD,
        {"exact-match-contains-2026-11-28": "A single letter is looked for as a choice, A too; marks between digits "
         "count. A boolean is held by a word for it, such as `Yes`, without one for the opposite."},
    ),
}  # fmt: skip
METRICS = {
    "metrics": CardText(
        (
            KnownMiss(
                "Overlap is not meaning: a right paraphrase scores low, and a wrong date in a copied sentence high."
            ),
            KnownMiss("`sas` tells subjects apart, not truth: a sentence and its negation are near."),
            KnownMiss("BLEU is coarse on one short sentence, and its tokens suit languages with spaces."),
        ),
        "Any script, but for `sas`, which reads English and scores other languages without meaning.",
        "None suits every task: managed profiles have one only where the score is all or nothing, and pass with all.",
        {
            "metrics-2026-11-28": "Ranking metrics take a text for the id of a document where one of the other side "
            "has that id."
        },
    )
}
TRAJECTORY = {
    "trajectory": CardText(
        (
            KnownMiss(
                "Arguments that mean the same are different: `NYC` is not `New York`, unless a matcher allows it."
            ),
            KnownMiss(
                "Another way to the same end scores low where calls are compared; `final_state` compares the end."
            ),
            KnownMiss("Whether a call has failed is known only where the format of the messages tells."),
            KnownMiss("`refusals` knows common English wordings."),
        ),
        "Any script, but for `refusals`, which reads English.",
        "None suits every task: managed profiles have one only where the score is all or nothing, and for the final "
        "state, which passes with all of it.",
    )
}
CUSTOM = {
    "custom": CardText(
        (
            KnownMiss("It knows characters, not meaning: `not_contains` is passed by any disguise."),
            KnownMiss("JSON that keeps a schema can still be wrong."),
            KnownMiss(
                "Patterns are RE2's, not Python's: `$` is the very end, `\\w`, `\\d`, `\\s` and `\\b` know ASCII only. "
                "With `(?u)` first, the three classes are Unicode's."
            ),
            KnownMiss("Languages of short or mixed texts are not told, and such a check has no score."),
            KnownMiss("Criteria in words are as right as the model that they ask."),
        ),
        "Any script, but for `embedding`, which reads English, and `language`, which knows the listed ones.",
        "The profile's own check.",
        {
            "custom-2026-11-28": "Numeric checks read fractions, powers, size words and spaced thousands, and no part "
            "of an expression, as `exact-match-numeric-2026-11-28` does."
        },
    )
}
JUDGE = {"judge": judge_card("Criteria that need facts from outside the sample are judged by what the model knows.",
                         changes={change_id: change for name in ("judge", "judge-image", "judge-audio", "judge-mm")
                                  for change_id, change in describe_changes(name, exacting=ALL_REQUIREMENTS).items()
                                  })}  # fmt: skip
JUDGE_PAIRWISE = {
    "judge-pairwise": judge_card(
        "Of two bad answers the better one wins: it says nothing of how good that is.",
        "Judges prefer longer answers, whatever they are told; both orders do not mend that.",
        changes={
            "judge-pairwise-2026-11-28": "Orders that disagree never pass, and a tie does not pass with "
            "`allow_tie: false`."
        },
    )
}
JUDGE_CONVERSATION = {
    "judge-conversation": judge_card(
        "A quote shows that the judge has read the message, not that its verdict is right.",
        "Results of tools are shown without their middle where they are very long.",
        "Facts and intentions are those that the judge finds: it must decide every message of the user, but may find "
        "less in it than is there.",
        threshold="Every verdict has to be good; no development set has been judged, since the model is the account's "
        "own.",
    )
}
_DECIDES_EVERY_SENTENCE = (
    "The judge must decide about every sentence of the output; the former id believes a list that leaves some out. "
    f"{STRICT}"
)
_STRICT_CHANGES = {
    **dict.fromkeys(("answer-consistency", "faithfulness", "rag-overall"), _DECIDES_EVERY_SENTENCE),
    **dict.fromkeys(
        (
            "answer-consistency-binary",
            "augmentation-accuracy",
            "augmentation-precision",
            "haystack-context-relevance",
            "retrieval-k-recall",
            "retrieval-precision",
        ),
        STRICT,
    ),
}
RAG_METRICS = {
    "rag-metrics": replace(
        judge_card(
            "Consistency speaks of the contexts alone: an answer derived from wrong contexts is consistent.",
            "A judge may restate an answer so that a wrong part of it is lost.",
        ),
        changes={f"{name}-2026-11-23": change for name, change in _STRICT_CHANGES.items()},
    )
}
WEBHOOK = {
    "webhook": CardText(
        (KnownMiss("The service believes your server, whatever it scores."),),
        "Those that your server reads.",
        "Half of the scale, where neither the answer nor the profile says otherwise.",
    )
}
CLASSIFIER = {
    "classifier": CardText(
        (
            KnownMiss("The service believes your model, whatever it answers."),
            KnownMiss("What lies between two windows of a long text is compared with neither as a whole."),
            KnownMiss("Infinity cuts texts that are too long for its model without a word; choose `max_chars` for it."),
        ),
        "Those that your model reads; `split_claims` knows the sentence marks of Latin script, Chinese and Japanese.",
        "Half of the scale; no development set has been judged, since the model is the account's own.",
    )
}
OWN_MODEL = {
    "own-model": CardText(
        (
            KnownMiss("The service believes the model, whatever it answers."),
            KnownMiss("What lies between two windows of a long text is compared with neither as a whole."),
        ),
        "Those that the model reads; `split_claims` knows the sentence marks of Latin script, Chinese and Japanese.",
        "That of the folder; measure it on data of your own.",
    )
}
