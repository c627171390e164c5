"""The sentence vectors by ONNX Runtime: those of NumPy but for rounding, the same after a fork, and no reports to anybody."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from evaluators import minilm
from evaluators.minilm import files, session
from evaluators.minilm.weights import Array, WeightsFile
from training.graph import built

TEXTS = [
    "hi",
    "",
    "How old are you?",
    "word " * 400,
    "The stock market fell sharply on Monday, and banks lost most. " * 5,
]
ROUNDING = 2e-6


def run(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    return done.stdout.strip()


def test_the_runtime_computes_where_it_is_installed() -> None:
    assert (
        run("import sys; from evaluators import minilm; minilm.embed(['hi']); print('onnxruntime' in sys.modules)")
        == "True"
    )


def test_without_the_runtime_numpy_computes_the_same_but_for_rounding(tmp_path: Path) -> None:
    code = """
        import json, sys
        sys.modules["onnxruntime"] = None
        import numpy as np
        from evaluators import minilm

        texts = json.loads(sys.argv[1])
        tokens = [found.states for found in minilm.embed_tokens(texts)]
        early = minilm.embed(texts, layers=3)
        np.savez(sys.argv[2], vectors=minilm.embed(texts), early=early, tokens=np.concatenate(tokens))
        print("evaluators.minilm.session" in sys.modules, "evaluators.minilm.network" in sys.modules)
    """
    file = tmp_path / "vectors.npz"
    assert run(code, json.dumps(TEXTS), str(file)) == "False True"
    with np.load(file) as by_numpy:
        assert np.abs(by_numpy["vectors"] - minilm.embed(TEXTS)).max() < ROUNDING
        assert np.abs(by_numpy["early"] - minilm.embed(TEXTS, layers=3)).max() < ROUNDING
        tokens = np.concatenate([found.states for found in minilm.embed_tokens(TEXTS)])
        assert np.abs(by_numpy["tokens"] - tokens).max() < 10 * ROUNDING


def test_vectors_of_half_of_the_layers_are_others_and_of_length_one() -> None:
    early, late = minilm.embed(TEXTS, layers=3), minilm.embed(TEXTS)
    assert np.linalg.norm(early, axis=1) == pytest.approx(1, abs=1e-5)
    assert np.abs(early - late).max() > 0.05
    assert np.array_equal(early, np.concatenate([minilm.embed([text], layers=3) for text in TEXTS]))


def test_texts_of_equal_length_run_together_with_the_bits_that_each_has_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[tuple[int, int]] = []
    run_part = session.Part.run

    def count(part: session.Part, states: Array, n_texts: int) -> Array:
        runs.append((n_texts, len(states) // n_texts))
        return run_part(part, states, n_texts)

    monkeypatch.setattr(session.Part, "run", count)
    rng = random.Random(0)
    texts = [
        [101, *(rng.randrange(1000, 30000) for _ in range(n)), 102] for n in (*range(1, 30), 252, 252) for _ in "abc"
    ]
    rng.shuffle(texts)
    encoder = session.load_session(WeightsFile(files.verified(files.WEIGHTS)))
    together = encoder(texts, minilm.ALL_LAYERS)
    assert max(n for n, _ in runs) == 3
    assert all(n == 1 or n * length <= session.MAX_ROWS for n, length in runs)
    assert [(len(states), states.shape[1]) for states in together] == [(len(ids), minilm.SIZE) for ids in texts]
    for ids, states in zip(texts, together, strict=True):
        assert np.array_equal(encoder([ids], minilm.ALL_LAYERS)[0], states)


def test_a_fork_computes_the_bits_of_its_parent() -> None:
    """Workers are forks of a process that has loaded the model."""
    code = """
        import json, os, sys
        import numpy as np
        from evaluators import minilm

        texts = json.loads(sys.argv[1])
        vectors = minilm.embed(texts)
        child = os.fork()
        if not child:
            os._exit(not np.array_equal(minilm.embed(texts), vectors))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert run(code, json.dumps(TEXTS)) == "0"


def test_it_starts_no_thread_and_opens_no_connection() -> None:
    """Some versions of the runtime tell their maker of their use."""
    code = """
        import psutil
        from evaluators import minilm

        minilm.embed(["hi"])
        print(psutil.Process().num_threads(), psutil.Process().net_connections())
    """
    environment = "import os; os.environ.update(OPENBLAS_NUM_THREADS='1', OMP_NUM_THREADS='1')\n"
    assert run(environment + textwrap.dedent(code)) == "1 []"


def test_a_graph_of_another_content_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "GRAPH", tmp_path / "encoder.onnx")
    files.GRAPH.write_bytes(b"another graph")
    with pytest.raises(minilm.ModelUnavailable, match=hashlib.sha256(b"another graph").hexdigest()):
        files.verified_graph()


def test_the_shipped_graph_is_what_training_builds() -> None:
    assert built().SerializeToString(deterministic=True) == files.verified_graph()


def test_the_graph_holds_no_weights() -> None:
    assert len(files.verified_graph()) < 15_000
    graph = built().graph
    stored = [tensor for tensor in graph.initializer if not tensor.external_data]
    assert {tensor.name for tensor in stored} == {"rows"}
