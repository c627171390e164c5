"""Measure the embedded evaluators: accuracy on development data, latency, memory, throughput, and sameness of bits.

    python -m benchmarks.evaluators                   everything (some minutes; accuracy only with EVALSVC_DATA_DIR)
    python -m benchmarks.evaluators --quick           fewer repetitions, and no long texts
    python -m benchmarks.evaluators --only latency    one part: verdicts, accuracy, latency, memory, throughput or threads
    python -m benchmarks.evaluators --write           verdicts and latency, and write what cards read (some ten minutes)
    python -m benchmarks.evaluators --against REF     CPU time of verdicts, beside that of an older version, in turns

Times are CPU times of one thread. The last line is one JSON object. Nothing is asserted: other machines have other
figures, and only ratios of one run compare. What asks a server is not measured here.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluators.base import CannotScore, EvaluatorSpec, Family, Lane, Sample, Score, Settings, effective_settings
from evaluators.registry import all_evaluators
from evaluators.samples import build_sample

CHECKOUT = Path(__file__).resolve().parent.parent
SIZES = (200, 2_000, 20_000)
BATCHES = (1, 8, 32)
N_TEXTS = 96
WORDS = """
the a of in and to is was for on with by from that this it not are as at which were be has had its an or but
river city company market water people report energy history system music language science school winter country
research number century village engine garden treaty station library museum doctor letter morning question answer
found built opened wrote moved shows means began grew gave kept explained measured crossed returned published
small large early northern public careful quiet common modern several other many first second seven 1987 42 percent
"""
PINNED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Subject:
    """An evaluator under one of its managed profiles."""

    name: str
    family: Family
    settings: Settings

    def score(self, sample: Sample) -> Score | str:
        """Score, or name what keeps it from that: a model that is not installed, a text that is too long."""
        try:
            return self.family.score(sample, self.settings)
        except CannotScore as refusal:
            return refusal.code


def subjects() -> Iterator[Subject]:
    """Every evaluator that computes in this process, under its default profile or under each."""
    for family, spec in all_evaluators():
        for profile in family.managed_profiles:
            settings = effective_settings(spec, profile.settings)
            if spec.default_profile in (None, profile.name) and family.lane_of(settings) is not Lane.JUDGE:
                yield Subject(name_of(spec, profile.name), family, settings)


def name_of(spec: EvaluatorSpec, profile: str) -> str:
    return spec.id if spec.default_profile else f"{spec.id} {profile}"


def text_of(n_chars: int, seed: int) -> str:
    """Sentences of common words, the same for the same seed."""
    rng, words, parts, length = random.Random(seed), WORDS.split(), [], 0
    while length < n_chars:
        sentence = " ".join(rng.choices(words, k=rng.randint(6, 16))).capitalize() + "."
        parts.append(sentence)
        length += len(sentence) + 1
    return " ".join(parts)[:n_chars]


def sample_of(n_chars: int, seed: int) -> Sample:
    """One sample whose output has so many characters; the contexts have as many, and hold a part of it."""
    output = text_of(n_chars, seed)
    contexts = (output[: n_chars // 2], text_of(n_chars // 2, seed + 1_000_000))
    return build_sample(
        {
            "input": text_of(60, seed + 2_000_000),
            "output": output,
            "contexts": contexts,
            "gold": f"{text_of(min(n_chars, 400), seed + 3_000_000)}. It is 42.",
            "gold_contexts": contexts[:1],
            "top_k_contexts": contexts,
        }
    )


# Latency


def latency(*, seconds: float, sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    print(f"{'CPU ms, p50 / p95':60}" + "".join(f"{n:>9} chars   " for n in sizes))
    found: dict[str, Any] = {}
    for subject in subjects():
        subject.family.warm_up()
        subject.score(sample_of(sizes[0], 0))
        found[subject.name] = {str(n): timed(subject, n, seconds) for n in sizes}
        cells = "".join(cell(found[subject.name][str(n)]) for n in sizes)
        print(f"{subject.name:60}{cells}", flush=True)
    return found


def timed(subject: Subject, n_chars: int, seconds: float) -> list[float] | str:
    """The median and the 95th percentile over different texts, for so many seconds but at least three texts."""
    times: list[float] = []
    while len(times) < 3 or (sum(times) < seconds * 1000 and len(times) < 500):
        sample = sample_of(n_chars, len(times))
        started = time.thread_time()
        if isinstance(outcome := subject.score(sample), str):
            return outcome
        times.append((time.thread_time() - started) * 1000)
    return [round(statistics.median(times), 4), round(statistics.quantiles(times, n=20, method="inclusive")[-1], 4)]


def cell(figure: list[float] | str) -> str:
    return f"{figure:>18}" if isinstance(figure, str) else f"{figure[0]:9.2f} /{figure[1]:7.2f}"


# Memory

LOAD_ALL = """
import json, time
started = time.perf_counter()
import psutil
import evaluators.registry
bare = psutil.Process().memory_info().rss
evaluators.registry.families()
imported = time.perf_counter() - started
from benchmarks.evaluators import sample_of, subjects
steps = {}
for subject in subjects():
    subject.family.warm_up()
    subject.score(sample_of(2000, 1))
    steps[subject.family.name] = round(psutil.Process().memory_info().rss / 2**20)
ready = time.perf_counter() - started
print(json.dumps({"rss_bare_mb": round(bare / 2**20), "rss_mb": round(psutil.Process().memory_info().rss / 2**20),
                  "import_s": round(imported, 3), "ready_s": round(ready, 2), "rss_after_mb": steps}))
"""


def memory() -> dict[str, Any]:
    """One process that has loaded every embedded family and scored with each."""
    done = subprocess.run([sys.executable, "-c", LOAD_ALL], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"resident with every embedded family: {found['rss_mb']} MB (goal 400); with the registry alone:")
    print(f"{found['rss_bare_mb']} MB; imported in {found['import_s']} s, all ready in {found['ready_s']} s")
    return found


# Throughput


def throughput() -> dict[str, Any]:
    """Texts of 200 characters a CPU second through the shared model, one by one and in batches."""
    from evaluators.minilm import ModelUnavailable, embed, warm_up

    try:
        warm_up()
    except ModelUnavailable as missing:
        print(f"The embedding model is not measured: {missing}")
        return {}
    texts = [text_of(200, seed) for seed in range(N_TEXTS)]
    found: dict[str, Any] = {}
    for batch in BATCHES:
        started = time.thread_time()
        for start in range(0, len(texts), batch):
            embed(texts[start : start + batch])
        found[str(batch)] = round(len(texts) / (time.thread_time() - started), 1)
        print(
            f"embedding, batches of {batch}: {found[str(batch)]} texts a second ({found[str(batch)] / found['1']:.2f}x)"
        )
    return found


# Threads


def threads(*, n_samples: int) -> dict[str, bool]:
    """Whether eight threads give the bits that one gives."""
    found = {}
    for subject in subjects():
        samples = [sample_of(400, seed) for seed in range(n_samples)]
        alone = [subject.score(sample) for sample in samples]
        with ThreadPoolExecutor(8) as pool:
            found[subject.name] = list(pool.map(subject.score, samples * 2)) == alone * 2
    different = [name for name, same in found.items() if not same]
    print(f"eight threads, the bits of one: {len(found) - len(different)} of {len(found)} {different or ''}")
    return found


# Verdicts


def verdicts(per_class: int | None) -> dict[str, Any]:
    """Every dated evaluator on every development set, each beside the one before it."""
    if not (folder := data_folder()):
        return {}
    from benchmarks.verdicts.run import measured

    return measured(folder, per_class)


def write_figures(per_class: int | None) -> None:
    """Measure verdicts and cost, and write the file that cards read."""
    from benchmarks.verdicts.run import written

    if not (found := verdicts(per_class)):
        raise SystemExit("Without the development sets nothing is written.")
    print("\nlatency", flush=True)
    cost = {name: medians(figures) for name, figures in latency(seconds=0.3).items()}
    written(found, cost, per_class)


def medians(figures: dict[str, list[float] | str]) -> dict[str, float | str]:
    """Keep the median of each size, or why there is none."""
    return {size: figure if isinstance(figure, str) else figure[0] for size, figure in figures.items()}


# Accuracy


TRAINED = ("person", "phi", "toxicity")


def accuracy() -> dict[str, Any]:
    """What each training script finds by cross-validation and by leaving each set out, in its own words."""
    if not (folder := data_folder()):
        return {}
    from benchmarks.rules import measured_rules

    return {**measured_rules(folder), **{name: evaluated(name) for name in TRAINED}}


def data_folder() -> Path | None:
    """The folder of the development sets; None where there is none, which is said."""
    folder = os.environ.get("EVALSVC_DATA_DIR")
    if folder and Path(folder).is_dir():
        return Path(folder)
    print("Accuracy is not measured: EVALSVC_DATA_DIR names no folder with the development sets.")
    return None


def evaluated(name: str) -> Any:
    print(f"-- training.{name} --evaluate", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", f"training.{name}", "--evaluate"], cwd=CHECKOUT, capture_output=True, text=True
    )
    print(done.stdout if done.returncode == 0 else done.stderr[-2000:], end="", flush=True)
    return done.stdout.splitlines() if done.returncode == 0 else None


PER_CLASS = 300
"""Rows of a class that are drawn of each development set."""
PARTS: dict[str, Callable[[bool], Any]] = {
    "verdicts": lambda quick: verdicts(30 if quick else PER_CLASS),
    "accuracy": lambda quick: accuracy(),
    "latency": lambda quick: latency(seconds=0.02, sizes=SIZES[:2]) if quick else latency(seconds=0.5),
    "memory": lambda quick: memory(),
    "throughput": lambda quick: throughput(),
    "threads": lambda quick: threads(n_samples=2 if quick else 20),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.evaluators", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, and no long texts")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; may be given several times")
    parser.add_argument("--write", action="store_true", help="verdicts and latency, and write the figures of the cards")
    parser.add_argument("--rows", type=int, default=PER_CLASS, help="rows of a class and set, with --write")
    parser.add_argument("--against", metavar="REF", help="only CPU times, beside those of this commit or tag")
    options, others = parser.parse_known_args()
    if options.against:
        from benchmarks.verdict_costs import main as compare

        sys.exit(compare(["--against", options.against, *others]))
    if others:
        parser.error(f"unknown: {' '.join(others)}")
    # Before NumPy is loaded: one thread computes, as in a worker.
    os.environ.update({name: os.environ.get(name, "1") for name in PINNED})
    if options.write:
        return write_figures(options.rows)
    figures = {}
    for name in options.only or PARTS:
        print(f"\n{name}", flush=True)
        figures[name] = PARTS[name](options.quick)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
