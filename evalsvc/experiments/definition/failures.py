"""Outputs that the evaluated system failed to give, as opposed to outputs that are missing."""

from __future__ import annotations

# Errors that a config itself causes. An outage, a limit or an exhausted budget is not its fault: the output is missing.
OWN_FAULTS = ("timeout", "refused", "bad_output", "bug")
# The error of the scores of such an output, and of an empty one where the evaluator needs text.
FAILED_OUTPUT = "failed_output"
