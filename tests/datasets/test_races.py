"""Uploads at the same time: one name, one number, one version a content."""

from __future__ import annotations

from tests.conftest import Caller
from tests.datasets.shapes import at_once, lines, n_stored, upload


def test_a_name_goes_to_one_of_two(alice: Caller) -> None:
    answers = at_once(4, lambda i: upload(alice, lines(*({"input": [i, n]} for n in range(500))), dataset_name="sums"))

    assert sorted(answer.status_code for answer in answers) == [200, 422, 422, 422]
    assert {answer.json().get("code") for answer in answers} == {None, "already_exists"}
    assert n_stored(alice) == (1, 1, 500)


def test_numbers_are_given_once_and_equal_rows_make_one_version(alice: Caller) -> None:
    path = f"/v1/datasets/{upload(alice, lines({'input': 'first'})).json()['dataset_id']}/versions"

    answers = at_once(6, lambda i: alice.post(path, {"examples": [{"input": i // 2}]}))

    versions = [answer.json()["version"]["number"] for answer in answers]
    assert sorted(versions) == [2, 2, 3, 3, 4, 4]
    assert sum(answer.json()["created"] for answer in answers) == 3
    assert n_stored(alice) == (1, 4, 4)
