"""Every page of the console that a browser looks at. A new page is one line here; `furnishing.py` fills the account."""

from __future__ import annotations

import os
from typing import Any

ROLES = ("reader", "editor", "admin", "operator")

Found = dict[str, Any]
"""What `furnished` (conftest.py) has made in the account: the ids that addresses are filled with."""

# Address below that of the account, or below /console/ for pages about the person (`tests/console/addresses.py`),
# filled from what the account holds, and the role that it needs.
PAGES: tuple[tuple[str, str], ...] = (
    ("", "reader"),
    ("kit", "reader"),
    ("accounts", "reader"),
    ("histories", "reader"),
    (
        "histories/one?evaluator=exact-match-2026-11-28&profile=patronus:exact-match&scope.app=desk&vs.app=shop",
        "reader",
    ),
    ("alerts", "reader"),
    ("alerts/{alarm}", "reader"),
    ("alerts/new?evaluator=exact-match&app=till", "editor"),
    ("evaluate", "editor"),
    ("evaluations", "reader"),
    ("evaluations/{evaluation}", "reader"),
    ("evaluators/toxicity-2026-11-23", "reader"),
    ("profiles/new?family=judge", "editor"),
    ("playground?from={evaluation}", "reader"),
    ("traces/{trace}", "reader"),
    ("rules/{rule}", "reader"),
    ("rules/new", "editor"),
    ("experiments/{experiment}", "reader"),
    ("experiments/{experiment}/outputs?config={candidate}", "reader"),
    ("compare?a={candidate}&b={baseline}", "reader"),
    ("experiments/new", "editor"),
    ("datasets/{dataset}", "reader"),
    ("keys", "admin"),
    ("keys/new", "admin"),
    ("webhooks/{webhook}", "reader"),
    ("webhooks/new", "admin"),
    ("reviews", "reader"),
    ("reviews/{review}", "reader"),
    ("reviews/{review}/queue", "editor"),
    ("members", "admin"),
    ("members/{member}", "admin"),
    ("audit", "admin"),
    ("limits", "reader"),
    ("limits/retention?retention_days=30&retention_history_days=", "admin"),
    ("you", "reader"),
    ("you/factor", "reader"),
    ("connections/{connection}", "reader"),
    ("connections/new", "admin"),
    ("gates/{gate}", "reader"),
    ("benchmarks/{benchmark}", "reader"),
    ("operator", "operator"),
)

# Pages of the same parts as one above: looked at when all pages are.
ALIKE: tuple[tuple[str, str], ...] = (
    ("evaluations?app=shop&result=fail", "reader"),
    ("evaluations/searches", "reader"),
    ("alerts/all", "reader"),
    ("evaluators", "reader"),
    ("profiles", "reader"),
    ("profiles/{profile}", "reader"),
    ("profiles/new", "editor"),
    ("playground/threshold", "reader"),
    ("traces", "reader"),
    ("rules", "reader"),
    ("rules/{rule}/edit", "editor"),
    ("experiments", "reader"),
    ("compare", "reader"),
    ("compare?a={candidate}&b={baseline}&view=matrix", "reader"),
    ("datasets", "reader"),
    ("datasets/new", "editor"),
    ("datasets/traffic", "editor"),
    ("datasets/{dataset}/edit", "editor"),
    ("keys/{key}", "admin"),
    ("webhooks", "reader"),
    ("connections", "reader"),
    ("gates", "reader"),
    ("gates/new", "editor"),
    ("benchmarks", "reader"),
    ("connections/{connection}/edit", "admin"),
    ("webhooks/deliveries/{delivery}", "reader"),
    ("webhooks/{webhook}/edit", "admin"),
    ("reviews/new", "editor"),
    ("rankings", "reader"),
    ("rankings/{ranking}", "reader"),
    ("experiments/{experiment}/delete", "editor"),
    ("experiments/{experiment}/configs/{candidate}/clone", "editor"),
    ("experiments/{experiment}/configs/{candidate}/delete", "editor"),
    ("datasets/{dataset}/delete", "editor"),
    ("evaluations?app=nowhere&evaluator=gone-1", "reader"),
    ("evaluations?q=tower&in=output&period=24h", "reader"),
    ("rankings/new", "editor"),
    ("reviews/{review}?tab=items", "reader"),
    ("reviews/{review}?tab=links", "reader"),
    ("members/invite", "admin"),
    ("invitations/{invitation}", "reader"),
)
if os.environ.get("EVALSVC_ALL_PAGES"):
    PAGES += ALIKE
