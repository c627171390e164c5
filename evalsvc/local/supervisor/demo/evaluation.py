"""The first real evaluation, and what a newcomer needs to make the second one."""

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evalsvc.digits import estimate_texts, level_text
from evalsvc.local.embedded.home import write_env_file
from evalsvc.local.supervisor.demo.accounts import MEMBERS
from evalsvc.local.supervisor.supervisor import ServiceFailed

QUESTION = {
    "evaluators": [{"evaluator": "exact-match"}],
    "evaluated_model_input": "What is the capital of France?",
    "evaluated_model_output": "Paris",
    "evaluated_model_gold_answer": "Paris",
    "app": "demo",
    # The account of the printed key contains only what its owner has captured.
    "capture": "none",
    "confidence_interval_strategy": "full-history",
}
# A worker may have to load a model first.
PATIENCE_SECONDS, PAUSE_SECONDS = 60.0, 0.2
DEMO_FOLDER = ".evalsvc"
DEMO_ENV = f"{DEMO_FOLDER}/demo.env"


@dataclass(frozen=True)
class DemoVerdict:
    passed: bool
    score: float
    interval: Mapping[str, Any] | None
    is_pending: bool = False

    def __str__(self) -> str:
        if self.is_pending:
            return f"pending after {PATIENCE_SECONDS:.0f} s; the workers' logs say what they do"
        verdict = f"{'pass' if self.passed else 'fail'}, score {self.score:g}"
        if not self.interval or self.interval.get("lower") is None:
            n = self.interval.get("n", 0) if self.interval else 0
            return f"{verdict}; no interval yet (captured scores: {n}, needed: 2)"
        # Equal scores have an interval of zero width, which is not certainty; the interval in `advice` is wider.
        ends = self.interval.get("advice") or self.interval
        lower, upper, level = ends["lower"], ends["upper"], self.interval["alpha"]
        what, n = "pass rate" if self.interval.get("of") == "pass" else "mean", self.interval["n"]
        bounds = estimate_texts(None, lower, upper)[1]
        return f"{verdict}; {level_text(level)} interval of the {what} of the {n} scores before it: {bounds}"


@dataclass(frozen=True)
class DemoCaller:
    """A client with the demo account's key."""

    url: str
    key: str
    ca_file: Path | None = None
    """The authority of an https address."""

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        more: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Return status and text of an answer; `more` are headers. Raises ServiceFailed where there is none."""
        connection = self._connection()
        try:
            # If the operator's proxy ends TLS, this call acts as that proxy; otherwise the header is ignored.
            headers = {"X-API-KEY": self.key, "Content-Type": "application/json", "X-Forwarded-Proto": "https"}
            connection.request(method, path, json.dumps(body) if body is not None else None, headers | {**(more or {})})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            raise ServiceFailed(f"The demo got no answer from {self.url}: {error}") from error
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        address = urlsplit(self.url)
        host, port = address.hostname or "", address.port
        if address.scheme != "https":
            return http.client.HTTPConnection(host, port, timeout=30)
        trusted = ssl.create_default_context(cafile=str(self.ca_file) if self.ca_file else None)
        return http.client.HTTPSConnection(host, port, timeout=30, context=trusted)


def first_evaluation(url: str, key: str, ca_file: Path | None = None) -> DemoVerdict:
    """Send an evaluation to the running service as any client would, with nothing captured.

    A pending result is polled until it is complete, and is not a failure.
    """
    caller = DemoCaller(url, key, ca_file)
    status, text = caller.ask("POST", "/v1/evaluate", QUESTION)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (request_id := _pending_id(text)) is not None:
        if time.monotonic() > deadline:
            return DemoVerdict(False, 0.0, None, is_pending=True)
        time.sleep(PAUSE_SECONDS)
        status, text = caller.ask("GET", f"/v1/evaluate/{request_id}")
    return _read_verdict(status, text)


def _pending_id(text: str) -> str | None:
    """Return the id under which an answer without a verdict can be fetched; None for any other answer."""
    try:
        body = json.loads(text)
        return str(body["id"]) if body["results"][0]["status"] == "pending" else None
    except (ValueError, KeyError, IndexError, TypeError):
        return None


def _read_verdict(status: int, text: str) -> DemoVerdict:
    try:
        result = json.loads(text)["results"][0]["evaluation_result"]
        info = result.get("additional_info") or {}
        return DemoVerdict(bool(result["pass"]), float(result["score_raw"]), info.get("confidence_interval"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ServiceFailed(f"The first evaluation failed: HTTP {status}, {text[:1000]!r}") from error


def write_demo_env(folder: Path, url: str, account: Mapping[str, str]) -> Path:
    """Write ``demo.env`` in a folder, for `. .evalsvc/demo.env` in a shell."""
    folder.mkdir(mode=0o700, exist_ok=True)
    values = {"EVALSVC_URL": url, "EVALSVC_ADMIN_URL": f"{url}/admin/", **account}
    path = folder / "demo.env"
    write_env_file(path, values, exported=True)
    return path


def banner(
    url: str, account: Mapping[str, str], verdict: object, path: str = DEMO_ENV, filled: str | None = None
) -> str:
    """Return what a newcomer needs; `filled` is an account in which there is something to see already."""
    authority = account.get("EVALSVC_CA_FILE")
    rows = {
        "address": url,
        "documentation": f"{url}/docs/",
        "console": f"{url}/console/",
        "admin": f"{url}/admin/",
        "  sign in as": account["EVALSVC_ADMIN_USER"],
        "  password": account["EVALSVC_ADMIN_PASSWORD"],
        **({"  to look at": f'the account "{filled}"'} if filled else {}),
        "API key": account["EVALSVC_API_KEY"],
        "  of the account": f'"{MEMBERS[0][0]}"',
        "first evaluation": str(verdict),
        **({"EVALSVC_CA_FILE": f"{authority}   # curl --cacert"} if authority else {}),
        "in a shell": f". {path}   # EVALSVC_URL, EVALSVC_API_KEY, ...",
        "stop": "Ctrl-C",
    }
    return "\n" + "\n".join(f"  {name + ':':<18} {value}" for name, value in rows.items()) + "\n"
