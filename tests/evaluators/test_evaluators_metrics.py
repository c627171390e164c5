"""The metrics family: what a profile picks, and the numbers that are pinned."""

from __future__ import annotations

import math

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

from evaluators import minilm
from evaluators.base import CannotScore, JSONValue, Score
from evaluators.families import metrics as module
from evaluators.families.metrics import Metrics
from evaluators.text.metrics import edits, overlap
from evaluators.text.metrics.bleu import sentence_bleu
from evaluators.text.metrics.gleu import sentence_gleu
from tests.evaluators.samples import make_sample

FAMILY = Metrics()
PROFILES = {profile.name: profile.settings for profile in FAMILY.managed_profiles}
METRICS = ["bleu", "chrf", "rouge1", "rouge2", "rougeL", "levenshtein", "squad_em", "squad_f1"]

KENOBI = "hello there general kenobi"
GREETING = "hello there general kenobi I am doing great today!"


def score(metric: str, output: str, gold: str | tuple[str, ...], **settings: JSONValue) -> Score:
    return FAMILY.score(
        make_sample(output=output, golds=[gold] if isinstance(gold, str) else [*gold]), {"metric": metric, **settings}
    )


def test_the_published_bleu_example() -> None:
    found = FAMILY.score(make_sample(output=KENOBI, gold=GREETING), PROFILES["compute-bleu"])
    assert found.value == 0.22
    assert found.passed is None
    assert sentence_bleu(KENOBI, [GREETING]).score == pytest.approx(math.exp(1 - 10 / 4), abs=1e-12)


def test_bleu_keeps_what_rounding_takes() -> None:
    assert score("bleu", KENOBI, GREETING).extra["bleu"] == {
        "score": pytest.approx(0.22313016014842982, abs=1e-12),
        "precisions": [1.0, 1.0, 1.0, 1.0],
        "brevity_penalty": pytest.approx(math.exp(-1.5), abs=1e-12),
        "n_output": 4,
        "n_gold": 10,
    }


@pytest.mark.parametrize(
    ("output", "gold", "value"),
    [
        ("the cat sat on the mat", "the cat sat on the mat", 1.0),
        ("a", "a", 1.0),
        ("", "", 1.0),
        (" ", "\n", 1.0),
        ("<skipped>", "<skipped>", 1.0),
        ("", "<skipped>", 0.0),
        ("", "something", 0.0),
        ("something", "", 0.0),
        ("cat", "dog", 0.0),
        ("漢字", "漢字", 1.0),
    ],
)
def test_bleu_by_hand(output: str, gold: str, value: float) -> None:
    assert score("bleu", output, gold).value == value


TEXT = st.text(alphabet="ab c.,-1é漢\n&", max_size=60)


@given(TEXT, TEXT)
def test_bleu_equals_sacrebleu(output: str, gold: str) -> None:
    # Of two blank texts the library says 0; here nothing was to be said, and nothing was.
    library = 1.0 if not output.split() and not gold.split() else sacrebleu.sentence_bleu(output, [gold]).score / 100
    assert sentence_bleu(output, [gold]).score == pytest.approx(min(library, 1.0), abs=1e-12)
    assert score("bleu", output, gold).value == pytest.approx(library, abs=0.005 + 1e-9)


def test_no_text_stays_behind_in_the_library() -> None:
    score("bleu", "a private sentence", "another private sentence")
    assert Tokenizer13a.__call__.cache_info().currsize == 0
    assert TokenizerRegexp.__call__.cache_info().currsize == 0


def test_no_text_stays_behind_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        TokenizerRegexp()("kept for ever?")
        raise RuntimeError("broken")

    monkeypatch.setattr("sacrebleu.metrics.bleu.BLEU.sentence_score", fail)
    with pytest.raises(RuntimeError):
        sentence_bleu("a", ["b"])
    assert TokenizerRegexp.__call__.cache_info().currsize == 0


def test_compute_rouge_is_the_f_measure_of_rouge_l() -> None:
    found = FAMILY.score(make_sample(output="a b c d", gold="a c e"), PROFILES["compute-rouge"])
    assert found.value == pytest.approx(2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3))
    assert found.extra["metric"] == "rougeL"


@pytest.mark.parametrize("metric", ["rouge1", "rouge2", "rougeL"])
def test_rouge_reports_all_three_and_scores_the_one_asked_for(metric: str) -> None:
    extra = score(metric, "the cat sat", "the cat stood").extra
    assert {"rouge1", "rouge2", "rougeL"} <= set(extra)
    chosen = extra[metric]
    assert isinstance(chosen, dict)
    assert set(chosen) == {"precision", "recall", "f1"}
    assert score(metric, "the cat sat", "the cat stood").value == chosen["f1"]
    assert (extra["n_output"], extra["n_gold"]) == (3, 3)


def test_rouge_serves_scripts_that_the_library_s_own_words_drop() -> None:
    assert score("rouge1", "привет мир", "привет всем").value == pytest.approx(0.5)
    assert score("rougeL", "今日は晴れ", "今日は雨").value == pytest.approx(2 * 3 / (5 + 4))


@pytest.mark.parametrize("output", ["cat", "dog"])
@pytest.mark.parametrize("profile", ["compute-bleu", "compute-chrf", "compute-rouge", "compute-squad-f1"])
def test_a_managed_profile_without_a_threshold_has_no_verdict(profile: str, output: str) -> None:
    found = FAMILY.score(make_sample(output=output, gold="dog"), PROFILES[profile])
    assert found.passed is None
    assert FAMILY.has_verdict(PROFILES[profile]) is False


@pytest.mark.parametrize(("output", "passed"), [("cat", False), ("dog", True)])
def test_squad_exact_match_passes_with_a_score_of_one(output: str, passed: bool) -> None:
    found = FAMILY.score(make_sample(output=output, gold="dog"), PROFILES["compute-squad-em"])
    assert (found.value, found.passed) == (float(passed), passed)
    assert FAMILY.has_verdict(PROFILES["compute-squad-em"]) is True


def test_the_managed_profiles_with_a_threshold_are_those_with_scores_of_zero_or_one() -> None:
    single_hit = {"recall-single-hit", *(f"recall-single-hit-at-{k}" for k in (1, 3, 5, 10))}
    judged = {name for name, settings in PROFILES.items() if FAMILY.has_verdict(settings)}
    assert judged == {"compute-squad-em", "precision-at-1", "mrr-at-1"} | single_hit


def test_the_managed_profiles_are_text_metrics_and_none_is_the_default() -> None:
    names = ["bleu", "chrf", "levenshtein", "rouge", "sas", "squad-em", "squad-f1"]
    assert sorted(name for name in PROFILES if name.startswith("compute")) == [f"compute-{name}" for name in names]
    assert FAMILY.evaluators[0].default_profile is None
    assert FAMILY.accepts_own_profiles is True


@pytest.mark.parametrize(
    ("threshold", "passed"), [(0.0, True), (0.21, True), (0.22, True), (0.2231, False), (0.23, False), (1, False)]
)
def test_an_own_profile_passes_from_its_threshold(threshold: float, passed: bool) -> None:
    assert score("bleu", KENOBI, GREETING, pass_threshold=threshold).passed is passed


@pytest.mark.parametrize("metric", METRICS)
def test_full_agreement_is_one_and_passes_the_highest_threshold(metric: str) -> None:
    found = score(metric, "one two three four", "one two three four", pass_threshold=1)
    assert (found.value, found.passed) == (1.0, True)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("output", "gold"), [("", ""), ("👍", "👍"), ("?!", "?!"), ("", ("words", ""))])
def test_nothing_said_where_nothing_was_to_be_said_is_right(
    metric: str, output: str, gold: str | tuple[str, ...]
) -> None:
    assert score(metric, output, gold).value == 1.0


@pytest.mark.parametrize("metric", ["rouge1", "rouge2", "rougeL", "bleu", "chrf"])
def test_of_two_texts_without_words_only_the_same_agree(metric: str) -> None:
    assert score(metric, "👍", "👎").value == 0.0


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("output", "gold"), [("", "x"), ("x", ""), (".", "x")])
def test_silence_against_words_is_zero(metric: str, output: str, gold: str) -> None:
    assert score(metric, output, gold).value == 0.0


@pytest.mark.parametrize(
    ("settings_", "pointers"),
    [
        ({}, ["/metric"]),
        ({"metric": "meteor"}, ["/metric"]),
        ({"metric": None}, ["/metric"]),
        ({"pass_threshold": 0.5}, ["/metric"]),
        ({"metric": "bleu", "pass_threshold": 50}, ["/pass_threshold"]),
        ({"metric": "bleu", "pass_threshold": math.nan}, ["/pass_threshold"]),
        ({"metric": "bleu", "threshold": 0.5}, ["/threshold"]),
        ({"metric": "rougeL", "pass_threshold": 0.5}, []),
    ],
)
def test_it_checks_own_profiles(settings_: dict[str, JSONValue], pointers: list[str]) -> None:
    assert [problem.pointer for problem in FAMILY.check_settings(settings_)] == pointers


@pytest.mark.parametrize(
    ("metric", "settings_", "says"),
    [
        ("bleu", {}, "BLEU is 0.22 for 4 output tokens against 10 gold tokens."),
        ("rougeL", {}, "ROUGE-L F-measure is 0.62 (precision 1.00, recall 0.44)."),
        (
            "rouge1",
            {"pass_threshold": 0.5},
            "ROUGE-1 F-measure is 0.62 (precision 1.00, recall 0.44), which reaches the threshold of 0.5.",
        ),
        (
            "bleu",
            {"pass_threshold": 0.5},
            "BLEU is 0.22 for 4 output tokens against 10 gold tokens, which is below the threshold of 0.5.",
        ),
        ("squad_em", {}, "The output differs from the gold answer under SQuAD normalisation."),
        ("squad_f1", {}, "SQuAD F1 is 0.62 (precision 1.00, recall 0.44)."),
    ],
)
def test_it_says_why(metric: str, settings_: dict[str, JSONValue], says: str) -> None:
    assert score(metric, KENOBI, GREETING, **settings_).explanation == says


@given(st.text(max_size=50), st.text(max_size=50), st.sampled_from(METRICS))
def test_every_metric_stays_in_its_range(output: str, gold: str, metric: str) -> None:
    value = score(metric, output, gold).value
    assert math.isfinite(value)
    assert 0.0 <= value <= 1.0


@given(st.text(max_size=50), st.sampled_from(["rouge1", "rouge2", "rougeL", "squad_em", "squad_f1"]))
def test_symmetric_metrics_do_not_care_which_is_gold(text: str, metric: str) -> None:
    assert score(metric, text, "a b c").value == pytest.approx(score(metric, "a b c", text).value)


# Long texts


@pytest.mark.parametrize("metric", METRICS)
def test_texts_beyond_the_bound_are_refused(metric: str) -> None:
    with pytest.raises(CannotScore) as refusal:
        score(metric, "x" * module.MAX_CHARS, "y")
    assert refusal.value.code == "input_too_long"


def test_rouge_l_is_refused_when_its_table_would_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "MAX_LCS_CELLS", 3)
    with pytest.raises(CannotScore) as refusal:
        score("rougeL", "a b", "c d")
    assert refusal.value.code == "input_too_long"


def test_the_other_rouges_are_scored_without_rouge_l(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "MAX_LCS_CELLS", 3)
    found = score("rouge1", "a b", "a d")
    assert found.value == pytest.approx(0.5)
    assert found.extra["rougeL"] is None


@pytest.mark.timeout(60)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("one", "other"), [("word ", "other words "), ("a", "b"), (".,!", ",.?"), ("&amp;", "-\n")])
def test_the_longest_request_is_scored(metric: str, one: str, other: str) -> None:
    output, gold = (one * 120_000)[:120_000], (other * 120_000)[:120_000]
    assert 0.0 <= score(metric, output, gold).value <= 1.0


# chrF, edits, meaning


@given(TEXT, TEXT)
def test_chrf_equals_sacrebleu(output: str, gold: str) -> None:
    library = 1.0 if not output.split() and not gold.split() else sacrebleu.sentence_chrf(output, [gold]).score / 100
    assert score("chrf", output, gold).value == pytest.approx(library)


@pytest.mark.parametrize(
    ("output", "gold", "value"),
    [("kitten", "sitting", 1 - 3 / 7), ("", "", 1.0), ("", "ab", 0.0), ("漢字", "漢文", 0.5)],
)
def test_levenshtein_by_hand(output: str, gold: str, value: float) -> None:
    assert score("levenshtein", output, gold).value == pytest.approx(value)


def test_levenshtein_is_refused_when_its_table_would_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "MAX_EDIT_CELLS", 3)
    with pytest.raises(CannotScore) as refusal:
        score("levenshtein", "ab", "cd")
    assert refusal.value.code == "input_too_long"


def test_similarity_of_meaning_clamps_the_cosine_and_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluators.text.metrics.measured.embedding_cosines", lambda output, golds: [-0.25])
    found = score("sas", "a", "b")
    assert (found.value, found.extra["cosine"]) == (0.0, -0.25)


@pytest.mark.parametrize(("output", "gold", "value"), [("", "", 1.0), ("", "words", 0.0), ("?!", "words", 0.0)])
def test_texts_without_words_need_no_model(
    output: str, gold: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluators.minilm.embed", lambda texts: pytest.fail("the model was asked"))
    assert score("sas", output, gold).value == value


@pytest.mark.skipif(not minilm.is_installed(), reason="the small model's wheel is not installed")
def test_the_same_meaning_is_nearer_than_another() -> None:
    question = "How do I change my password?"
    near, far = score("sas", "Where can I reset my password?", question), score("sas", "The cat sleeps.", question)
    assert near.value > 0.6 > 0.3 > far.value


# Google BLEU, for graders brought along from elsewhere


@pytest.mark.parametrize(
    ("output", "gold", "value"),
    [
        ("a b c", "a b c", 1.0),
        ("a b", "a b c", 3 / 6),
        ("a", "b", 0.0),
        ("", "", 0.0),
        ("a b c d", "a b x d", 4 / 10),
    ],
)
def test_google_bleu_by_hand(output: str, gold: str, value: float) -> None:
    assert sentence_gleu(output.split(), gold.split()) == pytest.approx(value)
