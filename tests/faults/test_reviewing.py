"""kill -9 of Valkey, PostgreSQL and the web process while people answer a review: each answer is kept once."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import connections

from evalsvc.local.supervisor.roster import listen_on_free_port
from tests.annotations.shapes import new_criteria
from tests.conftest import Caller, findings, stop_group, wait_until
from tests.reviews.shapes import REVIEWS, answered_experiment, items, new_review, outputs_of, report
from tests.serving import answers, start_web

pytestmark = pytest.mark.slow

N_ITEMS, N_ANSWERS, REVIEWERS = 40, 2, ("ann", "ben", "cleo")
WEB_OPTIONS = ("-k", "gthread", "-w", "1", "--threads", "8", "--no-control-socket", "--log-level", "error")


class People:
    """Reviewers who send each call until it is answered, and remember what they were told is kept."""

    def __init__(self, url: str, caller: Caller, review: Any, criteria: Any) -> None:
        self.url, self.caller, self.review, self.criteria = url, caller, review, criteria
        self.kept: list[tuple[str, str]] = []

    def work(self, reviewer: str) -> None:
        while (held := self.post(f"{self.review['id']}/lease", {"reviewer": reviewer}).json()["lease"]) is not None:
            said = [{"criteria": self.criteria["id"], "value_pass": True}]
            path = f"{self.review['id']}/items/{held['item_id']}/answers"
            answer = self.post(path, {"lease_token": held["lease_token"], "answers": said})
            assert answer.status_code == 200, answer.text
            self.kept.append((held["item_id"], reviewer))

    def post(self, path: str, body: Any) -> httpx.Response:
        deadline = time.monotonic() + 100
        while time.monotonic() < deadline:
            try:
                answer = httpx.post(
                    f"{self.url}{REVIEWS}/{path}", json=body, headers={"X-API-KEY": self.caller.key}, timeout=20
                )
            except httpx.HTTPError:
                time.sleep(0.2)
                continue
            if answer.status_code < 500:
                return answer
            time.sleep(0.2)
        raise AssertionError("never answered")


@pytest.mark.timeout(300)
def test_each_answer_is_kept_once(alice: Caller, servers: Any) -> None:
    criteria = new_criteria(alice)
    review = new_review(alice, outputs_of(answered_experiment(alice, N_ITEMS), "good"), criteria, n_answers=N_ANSWERS)
    log = Path(os.environ["EVALSVC_HOME"]) / "reviewing.log"
    with listen_on_free_port("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        web = [start_web(listener, log, WEB_OPTIONS)]
        wait_until(lambda: answers(f"{url}/healthz"))
        people = People(url, alice, review, criteria)
        with ThreadPoolExecutor(len(REVIEWERS)) as pool:
            working = [pool.submit(people.work, name) for name in REVIEWERS]
            kill_one_after_the_other(people, servers, web, lambda: start_web(listener, log, WEB_OPTIONS))
            for one in working:
                one.result()
        stop_group(web[-1])
    connections.close_all()

    found = items(alice, review, limit="200")
    assert Counter(len(one["answers"]) for one in found) == {N_ANSWERS: N_ITEMS}
    told = {(one["id"], said["reviewer"].rpartition("/")[2]) for one in found for said in one["answers"]}
    assert set(people.kept) <= told and len(people.kept) == len(set(people.kept))
    assert report(alice, review)["state"] == "complete"
    assert findings(alice) == {}


def kill_one_after_the_other(people: People, servers: Any, web: list[Any], start: Any) -> None:
    """Each after another fifth of the answers."""

    def kill_web() -> None:
        stop_group(web[-1])
        web.append(start())

    def kill(server: Any) -> None:
        server.kill_hard()
        server.restart()

    ways = (lambda: kill(servers.valkey), lambda: kill(servers.postgres), kill_web)
    for i, way in enumerate(ways, 1):
        wait_until(lambda n=i: len(people.kept) >= n * N_ITEMS * N_ANSWERS // 5, pause=0.01)
        way()
        assert threading.active_count() > 1
