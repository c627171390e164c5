"""Names of the demo accounts, and whether they exist. Independent of Django, which takes seconds to start."""

import json
from collections.abc import Mapping
from pathlib import Path

OPERATOR = "operator@example.com"
MEMBERS = (("Demo", "demo-admin@example.com"), ("Demo B", "demo-b-admin@example.com"))
HISTORY = "Demo history"
"""The account that is filled to be looked at."""
# The names of the two accounts' API keys among `load_demo_values`.
KEYS = ("EVALSVC_API_KEY", "EVALSVC_API_KEY_B")
FOUND = """
SELECT (SELECT count(DISTINCT name) FROM accounts_account WHERE name = ANY(%s)),
    (SELECT count(*) FROM accounts_user WHERE email = ANY(%s)),
    (SELECT count(*) FROM accounts_apikey WHERE public = ANY(%s))
"""


def load_demo_values(file: Path) -> dict[str, str] | None:
    """Return the keys and passwords that were made at the first start; None before it."""
    if not file.exists():
        return None
    values: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return values


def get_history_marker(home: Path) -> Path:
    """Return the file that is there from the first start on until the demo's history is complete."""
    return home / "demo-history.wanted"


def is_seeded(system_url: str, values: Mapping[str, str]) -> bool:
    """Return whether all demo accounts, their users and their keys exist already."""
    import psycopg

    names, emails = [name for name, _ in MEMBERS], [OPERATOR, *(email for _, email in MEMBERS)]
    publics = [values[name].removeprefix("ek_").partition(".")[0] for name in KEYS]
    with psycopg.connect(system_url, connect_timeout=10) as connection:
        counts = connection.execute(FOUND, [names, emails, publics]).fetchone()
    return counts == (len(names), len(emails), len(publics))
