"""The gate as a test: it fails with its numbers, and is skipped where no service is configured."""

import app
import released


def test_the_candidate_is_not_worse(evalsvc_gate):
    evalsvc_gate(
        app.answer,
        ["exact-match not_worse_by 0.1"],
        baseline=released.answer,
        data="golden.jsonl",
        evaluators=["exact-match"],
    )
