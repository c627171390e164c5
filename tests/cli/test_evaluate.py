"""`evalsvc evaluate`: verdicts on one sample."""

from __future__ import annotations

from tests.cli.inside import invoke


def test_one_sample_gets_its_verdicts(shell: dict[str, str]) -> None:
    done = invoke("evaluate", "exact-match", "--output", "Paris", "--gold", "Paris", "--gold", "Lutetia", env=shell)

    assert (done.exit_code, done.stdout) == (0, "0: exact-match-2026-11-28: 1.0 pass\n")


def test_an_interval_comes_with_it(shell: dict[str, str]) -> None:
    asked = ("evaluate", "exact-match", "--output", "Paris", "--gold", "Paris", "--capture", "all", "--app", "bot")
    for _ in range(3):
        done = invoke(*asked, "--strategy", "full-history", env=shell)

    assert "pass rate 1 [1, 1] at 0.95, n = 2" in done.stdout


def test_check_ends_with_one_unless_all_has_passed(shell: dict[str, str]) -> None:
    asked = ("evaluate", "exact-match", "--output", "a", "--gold", "b")

    assert invoke(*asked, env=shell).exit_code == 0
    assert invoke(*asked, "--check", env=shell).exit_code == 1


def test_check_refuses_a_profile_without_a_threshold(shell: dict[str, str]) -> None:
    asked = ("evaluate", "exact-match", "metrics/compute-squad-f1", "--output", "a", "--gold", "a")

    assert invoke(*asked, env=shell).exit_code == 0
    done = invoke(*asked, "--check", env=shell)
    assert done.exit_code == 2
    assert "metrics-2026-11-28/patronus:compute-squad-f1" in done.stderr
    assert "Set `pass_threshold`" in done.stderr


def test_an_unknown_evaluator_says_what_to_do(shell: dict[str, str]) -> None:
    done = invoke("evaluate", "exact-mach", "--output", "a", "--gold", "b", env=shell)

    assert done.exit_code in (1, 2)
    assert "exact-mach" in done.output


def test_what_is_missing_is_said(shell: dict[str, str]) -> None:
    assert "pass --output" in invoke("evaluate", "exact-match", env=shell).output
    assert "Which evaluators?" in invoke("evaluate", "--output", "a", env=shell).output
