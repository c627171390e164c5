"""One service with one API key: verdicts and histories."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, cast

import httpx

from evalsvc.client.results.bodies import EvaluateBody, HistoryBody
from evalsvc.client.results.history import History
from evalsvc.client.results.samples import SampleResult, SampleResults
from evalsvc.client.results.verdicts import EvaluateResult
from evalsvc.client.service.evaluators import Evaluators, build_evaluator_entry, normalise_evaluators, split_evaluator
from evalsvc.client.service.experiments_api import ExperimentsApi
from evalsvc.client.service.samples import build_body, split_samples, to_output
from evalsvc.client.service.transport import Param, Transport, read_retry_pause
from evalsvc.client.shapes import find_finish_reason

Passages = str | Sequence[str | Mapping[str, object]]
LONGEST_WAIT_SECONDS = 25
"""In one request. Proxies end those that take longer than they like."""
PART_OF_TIMEOUT = 0.8
"""The most of its timeout that a request asks the service to wait: the answer needs some of it, too."""


class Service:
    """The part of the client with calls that return results directly."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 60,
        retries: int = 3,
        http_transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._transport = Transport(base_url, api_key, timeout=timeout, retries=retries, http_transport=http_transport)
        self._timeout = timeout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    @property
    def experiments_api(self) -> ExperimentsApi:
        """Return the calls of experiments one by one, for what the methods here do not cover."""
        return ExperimentsApi(self._transport)

    def whoami(self) -> dict[str, Any]:
        """Return the account and the scope of the key."""
        return cast("dict[str, Any]", self._transport.get("/v1/whoami")["caller"])

    def evaluate(
        self,
        evaluators: Evaluators,
        *,
        input: str | None = None,
        output: object = None,
        contexts: Passages | None = None,
        gold: object = None,
        golds: Sequence[object] | None = None,
        system_prompt: str | None = None,
        gold_contexts: Passages | Mapping[str, float] | None = None,
        top_k_contexts: Passages | None = None,
        capture: str | None = None,
        strategy: str | None = None,
        interval: Mapping[str, object] | None = None,
        explain: str | None = None,
        app: str | None = None,
        project: str | None = None,
        tags: Mapping[str, str] | None = None,
        wait: float | None = None,
        **fields: object,
    ) -> EvaluateResult:
        """Evaluate one sample; return a verdict for each evaluator, in the given order.

        Evaluators are names, `"pii"` or `"pii/profile"`, or entries of the API. The call waits for queued work up to
        `wait` seconds (default: the client's timeout), over several requests if necessary; unfinished work then stays
        `pending`. `interval` defines the interval: `{"level", "of", "scope", "since", "include_experiments",
        "strategy"}`, each as in the API. Further `fields` of the API are passed unchanged.
        """
        sample = {
            "evaluated_model_input": input,
            "evaluated_model_output": to_output(output),
            "finish_reason": find_finish_reason(output),
            "evaluated_model_retrieved_context": _to_json_list(contexts),
            "evaluated_model_gold_answer": _to_json_list(gold),
            "evaluated_model_gold_answers": None if golds is None else [*golds],
            "evaluated_model_system_prompt": system_prompt,
            "evaluated_model_gold_context": _to_json_list(gold_contexts),
            "evaluated_model_top_k_context": _to_json_list(top_k_contexts),
            "capture": capture,
            "confidence_interval_strategy": strategy
            if interval is None
            else _build_interval_options(strategy, interval),
            "explain": explain,
            "app": app,
            "project_name": project,
            "tags": dict(tags) if tags is not None else None,
        }
        body = {name: value for name, value in sample.items() if value is not None} | fields
        body["evaluators"] = [build_evaluator_entry(evaluator) for evaluator in normalise_evaluators(evaluators)]
        content = json.dumps(body, allow_nan=False).encode()
        deadline = time.monotonic() + (self._timeout if wait is None else wait)
        result, pause = self._ask("POST", "/v1/evaluate", deadline, content)
        while result.is_pending and result.request_id and (remaining := deadline - time.monotonic()) > 0:
            time.sleep(min(pause, remaining))
            result, pause = self._ask("GET", f"/v1/evaluate/{result.request_id}", deadline)
        return result

    def evaluate_batch(
        self,
        samples: Sequence[Mapping[str, object]],
        evaluators: Evaluators | None = None,
        *,
        capture: str | None = None,
        strategy: str | None = None,
        interval: Mapping[str, object] | None = None,
        explain: str | None = None,
        app: str | None = None,
        project: str | None = None,
        tags: Mapping[str, str] | None = None,
        wait: float | None = None,
        **fields: object,
    ) -> SampleResults:
        """Evaluate many samples in few requests; return a result for each, in their order.

        A sample has the fields of `evaluate`: `{"output": …, "gold": …}`. The arguments of the call, such as
        `evaluators`, are defaults for fields that a sample omits. Each request waits for queued work up to `wait`
        seconds (default: the client's timeout); unfinished work then stays `pending`. A sample that the service rejects
        has a `problem`.
        """
        defaults: dict[str, object] = {"evaluators": evaluators, "capture": capture, "explain": explain, **fields}
        defaults |= {"app": app, "project": project, "tags": tags, "strategy": strategy}
        if interval is not None:
            defaults["strategy"] = _build_interval_options(strategy, interval)
        results = SampleResults()
        for part in split_samples(samples):
            content, seconds = build_body(defaults, part), self._timeout if wait is None else wait
            results += self._ask_batch(content, time.monotonic() + seconds, offset=len(results))
        return results

    def _ask_batch(self, content: bytes, deadline: float, *, offset: int) -> list[SampleResult]:
        """Repeat the request until no result can change.

        All requests have the same idempotency key, so that no sample is evaluated twice.
        """
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
        while True:
            remaining = max(0.0, deadline - time.monotonic())
            seconds = int(min(remaining, LONGEST_WAIT_SECONDS, self._timeout * PART_OF_TIMEOUT))
            headers["Prefer"] = f"wait={seconds}"
            response = self._transport.call("POST", "/v1/evaluate/batch", headers=headers, content=content)
            rows = [SampleResult.read(row, offset=offset) for row in response.json()["rows"]]
            unfinished = [row for row in rows if row.may_change]
            pause = min((row.retry_after or 1.0 for row in unfinished), default=0.0)
            if not unfinished or time.monotonic() + pause >= deadline:
                return rows
            time.sleep(pause)

    def _ask(
        self, method: str, path: str, deadline: float, content: bytes | None = None
    ) -> tuple[EvaluateResult, float]:
        """Send a request for which the service waits; return its result, and the delay before the next request.

        The delay is zero if the service has waited the full time. If it had no free wait slot, its response has the
        delay.
        """
        remaining = max(0.0, deadline - time.monotonic())
        seconds = int(min(remaining, LONGEST_WAIT_SECONDS, self._timeout * PART_OF_TIMEOUT))
        began = time.monotonic()
        headers = {"Prefer": f"wait={seconds}"} | ({"Content-Type": "application/json"} if content else {})
        response = self._transport.call(method, path, headers=headers, content=content)
        has_waited = 0 < seconds <= time.monotonic() - began
        return EvaluateResult.read(response.json()), 0.0 if has_waited else max(1.0, read_retry_pause(response))

    def evaluation(self, request_id: str) -> EvaluateResult:
        """Return what became of a request that was answered with `pending`, or was captured."""
        return EvaluateResult.read(cast(EvaluateBody, self._transport.get(f"/v1/evaluate/{request_id}")))

    def history(
        self,
        evaluator: str,
        profile: str | None = None,
        *,
        strategy: str | None = None,
        level: float = 0.95,
        interval: Mapping[str, object] | None = None,
        limit: int = 100,
        cursor: str | None = None,
        truth: str | None = None,
        truth_width: float | None = None,
        truth_by: str | None = None,
    ) -> History:
        """Return the captured scores of an evaluator under a profile, newest first, with their interval.

        `interval` selects the scores and defines the interval, as in `evaluate`. Without a strategy, that of the server
        is used: `auto`. `truth` is the id or name of annotation criteria: `History.truth` is what people would say of
        the scores, with `truth_width` how many labels reach that width, and with `truth_by` (`app`, `revision` or
        `tags.KEY`) the same of each slice. With `truth_by="evaluator"`, `History.truth.evaluators` says which of the
        evaluators that decided the same labelled scores agrees best with people.
        """
        name, in_name = split_evaluator(evaluator)
        options = {"level": level, **_build_interval_options(strategy, interval or {})}
        params = {
            "evaluator": name,
            "profile": profile or in_name,
            "limit": limit,
            "cursor": cursor,
            "truth": truth,
            "truth_width": truth_width,
            "truth_by": truth_by,
            **_flatten(options),
        }
        return History.read(cast(HistoryBody, self._transport.get("/v1/history", params)))


def _build_interval_options(strategy: str | None, interval: Mapping[str, object]) -> dict[str, object]:
    return ({} if strategy is None else {"strategy": strategy}) | dict(interval)


def _flatten(asked: Mapping[str, object], prefix: str = "") -> dict[str, Param]:
    """Write an object as parameters: `{"scope": {"app": "shop"}}` as `scope.app=shop`."""
    params: dict[str, Param] = {}
    for name, value in asked.items():
        if isinstance(value, Mapping):
            params |= _flatten(value, f"{prefix}{name}.")
        elif (prefix, name, value) != ("", "scope", "account"):
            params[f"{prefix}{name}"] = cast(Param, value)
    return params


def _to_json_list(value: object) -> object:
    """Return a sequence as the list that JSON has; texts, objects and plain values as they are."""
    return [*value] if isinstance(value, Sequence) and not isinstance(value, str) else value
