"""Every operation of the OpenAPI document is explained and shown, and what it shows is what its schemas say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from django.test import Client

from evalsvc.rest.answering.words import add_words
from tests.described import closed

JSON = "application/json"
# What nobody can read, and a file that is sent as it is.
UNSHOWN = {"application/zip", "application/x-protobuf", "application/vnd.apache.parquet", "multipart/form-data"}
# It makes nothing and says so: there is no answer that goes well.
REFUSED = {"post /v1/trace-insight-jobs"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = Client().get("/v1/openapi.json").json()
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((f"{m} {path}", op) for path, methods in document["paths"].items() for m, op in methods.items())


def asked(operation: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = operation.get("requestBody", {}).get("content", {})
    return content


def answered(operation: dict[str, Any]) -> dict[str, Any]:
    """What is answered where all goes well, by media type."""
    answers = [answer.get("content", {}) for status, answer in operation["responses"].items() if status < "300"]
    return {media: content for one in reversed(answers) for media, content in one.items()}


def is_shown(contents: dict[str, Any]) -> bool:
    readable = [content for media, content in contents.items() if media not in UNSHOWN]
    return not readable or any("examples" in content for content in readable)


def test_every_operation_shows_what_to_send_and_what_comes_back(document: dict[str, Any]) -> None:
    """A new one needs a call with its answer in its guide, or in `tests/contract/tour`."""
    silent = [name for name, op in operations(document) if not (is_shown(asked(op)) and is_shown(answered(op)))]

    assert set(silent) == REFUSED


def test_every_operation_says_more_than_its_summary_and_leads_to_its_guide(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        assert len(operation["description"]) > len(operation["summary"]) + 5, name
        page, _, fragment = operation["externalDocs"]["url"].partition("#")
        assert f'id="{fragment}"' in guide(page), name


def guide(page: str, read: dict[str, str] = {}) -> str:  # noqa: B006  # read once
    if page not in read:
        read[page] = Client().get(page).content.decode()
    return read[page]


def test_every_parameter_is_described(document: dict[str, Any]) -> None:
    parameters = [(name, one) for name, op in operations(document) for one in op.get("parameters", ())]

    assert len(parameters) > 250
    assert [(name, one["name"]) for name, one in parameters if not one.get("description")] == []


def test_every_shape_is_described(document: dict[str, Any]) -> None:
    shapes = document["components"]["schemas"]

    assert [name for name, shape in shapes.items() if not shape.get("description")] == []


def test_keys_are_described_or_hold_a_shape_that_is(document: dict[str, Any]) -> None:
    keys = list(keys_in(document["components"]["schemas"]))
    silent = [f"{owner}.{name}" for owner, name, schema in keys if not (schema.get("description") or holds(schema))]

    assert len(keys) > 2000
    assert silent == []


def keys_in(schemas: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for owner, shape in schemas.items():
        for name, schema in shape.get("properties", {}).items():
            yield owner, name, schema


def holds(schema: dict[str, Any]) -> bool:
    """Say whether a key holds a shape, or a list or a choice of shapes, which say themselves what they are."""
    inner = [schema.get(name) for name in ("items", "additionalProperties")]
    inner += [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return "$ref" in schema or "properties" in schema or any(isinstance(one, dict) and holds(one) for one in inner)


def test_examples_have_no_key_and_no_value_that_their_schema_does_not_know(document: dict[str, Any]) -> None:
    components = {"schemas": partial(closed(document["components"]["schemas"]))}
    n_checked = 0
    for name, operation in operations(document):
        for content in (asked(operation).get(JSON, {}), answered(operation).get(JSON, {})):
            for example in content.get("examples", {}).values():
                schema = {**content["schema"], "components": components}
                errors = jsonschema_rs.Draft202012Validator(schema).iter_errors(example["value"])
                assert [error.message[:300] for error in errors] == [], name
                n_checked += 1
    assert n_checked > 200


def partial(part: Any) -> Any:
    """Return schemas that ask for no key: guides show some of them, and cut lists."""
    if isinstance(part, list):
        return [partial(one) for one in part]
    if not isinstance(part, dict):
        return part
    asks = ("required", "minItems", "minProperties")
    return {name: partial(one) for name, one in part.items() if name not in asks or not isinstance(one, list | int)}


def test_each_field_of_a_sample_is_published_under_its_own_name(document: dict[str, Any]) -> None:
    published = document["components"]["schemas"]["EvaluateBody"]["properties"]
    former = {"task_input", "task_output", "task_context", "gold_context", "top_k_context"}

    assert {"input", "output", "contexts", "gold_answer", "gold_answers", "gold_contexts"} <= published.keys() - former
    assert {name for name, schema in published.items() if schema.get("deprecated")} == former
    assert not {"evaluated_model_input", "evaluated_model_output", "label"} & published.keys()


def described(key: dict[str, Any] | None = None, **operation: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """An operation, and a key `seed` of a shape, as the document describes them."""
    whole = {"operationId": "close", "description": "Close the review.", "parameters": []} | operation
    shape = {"properties": {"seed": key or {"type": "integer"}}}
    add_words({"paths": {"/v1/reviews/{id}/close": {"post": whole}}, "components": {"schemas": {"Shape": shape}}})
    return whole, shape["properties"]["seed"]


def test_what_a_generator_says_of_nothing_gives_way() -> None:
    _, nothing = described({"enum": ["asc", "desc"], "description": "* `asc` - asc\n* `desc` - desc"})
    _, told = described({"enum": ["a"], "description": "* `a` - One that is told"})

    assert nothing["description"].startswith("Of all random draws")
    assert told["description"] == "* `a` - One that is told"


def test_an_id_in_an_address_says_whose_it_is() -> None:
    operation, _ = described(parameters=[{"name": "id", "in": "path"}])

    assert operation["parameters"][0]["description"] == "The id of the review."


def test_a_guide_that_says_the_same_is_not_repeated() -> None:
    same, _ = described(description="Let nobody answer any more, and end all the links.")
    other, _ = described()

    assert same["description"].startswith("Let nobody answer any more, and end all links. What was")
    assert other["description"].startswith("Close the review.\n\nLet nobody answer")
