"""Scores: functions of the caller's own, evaluators of the service, and the results that both are kept in."""
