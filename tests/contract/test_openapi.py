"""The OpenAPI document is valid, complete, and says which errors each route can answer with."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema_rs
import pytest
from django.test import Client

ALWAYS = {"400", "401", "403", "422", "429", "500", "503"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return Client().get("/v1/openapi.json").json()


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(method, path, op) for path, methods in document["paths"].items() for method, op in methods.items()]


def schemas_in(part: Any, inside: str = "") -> list[dict[str, Any]]:
    """Every schema of the document, wherever it stands."""
    if isinstance(part, list):
        return [found for item in part for found in schemas_in(item)]
    if not isinstance(part, dict):
        return []
    found = [value for name, value in part.items() if name == "schema"]
    found += list(part.values()) if inside == "schemas" else []
    return found + [inner for name, value in part.items() for inner in schemas_in(value, name)]


def test_it_is_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.1"
    assert {"openapi", "info", "paths", "components", "security"} <= set(document)
    assert set(document["components"]["securitySchemes"]) == {"ApiKey", "Bearer"}
    # One validator of all, each once: compiling the components anew for each of 2 500 took most of a minute.
    distinct = {json.dumps(schema, sort_keys=True): schema for schema in schemas_in(document)}
    assert len(distinct) > 500
    check_schemas(document, list(distinct.values()))


def check_schemas(document: dict[str, Any], schemas: list[Any]) -> None:
    """Compile schemas as one, in which each reference has to lead into the document's components."""
    jsonschema_rs.Draft202012Validator({"anyOf": schemas, "components": document["components"]})


@pytest.mark.parametrize("schema", [{"type": "strin"}, {"$ref": "#/components/schemas/Nobody"}, {"minLength": "1"}, 7])
def test_a_schema_that_is_none_would_be_seen(document: dict[str, Any], schema: Any) -> None:
    with pytest.raises((jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError)):
        check_schemas(document, [*schemas_in(document)[:20], {"properties": {"inside": schema}}])


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    def references(part: Any) -> list[str]:
        if isinstance(part, list):
            return [found for item in part for found in references(item)]
        if not isinstance(part, dict):
            return []
        own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
        return own + [found for value in part.values() for found in references(value)]

    for reference in references(document):
        found = document
        for name in reference.removeprefix("#/").split("/"):
            found = found[name]


def test_every_operation_has_a_name_a_sentence_and_a_tag(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(document)]

    assert len(names) == len(set(names))
    assert all(operation["description"] and operation["tags"] for _, _, operation in operations(document))
    tags = {tag for _, _, operation in operations(document) for tag in operation["tags"]}
    assert tags == {tag["name"] for tag in document["tags"]}
    assert document["tags"][0]["name"] == "evaluations"


def test_every_operation_is_summed_up_in_a_line(document: dict[str, Any]) -> None:
    for method, path, operation in operations(document):
        summary = operation["summary"]
        assert 8 < len(summary) < 120 and "\n" not in summary and not summary.endswith("."), (method, path, summary)


def json_contents(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The bodies in JSON of all operations: asked, and answered where all goes well."""
    found = []
    for method, path, operation in operations(document):
        answers = [answer for status, answer in operation["responses"].items() if status < "300"]
        for part in (operation.get("requestBody", {}), *answers):
            content = part.get("content", {}).get("application/json")
            found += [] if content is None else [(f"{method} {path}", content)]
    return found


def test_every_body_in_json_has_a_name(document: dict[str, Any]) -> None:
    assert [where for where, content in json_contents(document) if "$ref" not in content["schema"]] == []


def test_examples_of_requests_are_what_their_schema_takes(document: dict[str, Any]) -> None:
    n_checked = 0
    for method, path, operation in operations(document):
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        for example in content.get("examples", {}).values():
            schema = {**content["schema"], "components": document["components"]}
            errors = jsonschema_rs.Draft202012Validator(schema).iter_errors(example["value"])
            assert [error.message for error in errors] == [], (method, path)
            n_checked += 1
    assert n_checked > 30


def test_evaluate_shows_what_to_send_and_what_comes_back(document: dict[str, Any]) -> None:
    operation = document["paths"]["/v1/evaluate"]["post"]
    for content in (operation["requestBody"]["content"], operation["responses"]["200"]["content"]):
        (example,) = content["application/json"]["examples"].values()
        assert example["value"]


def test_every_operation_says_which_errors_it_answers(document: dict[str, Any]) -> None:
    for method, path, operation in operations(document):
        expected = ALWAYS | ({"404"} if "{" in path else set()) | ({"409", "413"} if method == "post" else set())
        assert expected <= set(operation["responses"]), (method, path)
        for status, answer in operation["responses"].items():
            if status >= "400":
                schema = answer["content"]["application/problem+json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Problem"}


def test_every_post_takes_an_idempotency_key_and_says_so_once(document: dict[str, Any]) -> None:
    for method, path, operation in operations(document):
        names = [part["name"] for part in operation.get("parameters", [])]
        assert names.count("Idempotency-Key") == (method == "post"), path


def test_a_body_is_required_where_a_field_of_it_is(document: dict[str, Any]) -> None:
    for method, path, operation in operations(document):
        body = operation.get("requestBody", {})
        schemas = [content["schema"] for content in body.get("content", {}).values()]
        named = [
            document["components"]["schemas"][one["$ref"].rpartition("/")[2]] if "$ref" in one else one
            for one in schemas
        ]
        assert body.get("required", False) == any(schema.get("required") for schema in named), (method, path)


def test_every_time_in_an_answer_is_described_as_one(document: dict[str, Any]) -> None:
    """Generated clients read a text otherwise."""
    schemas = document["components"]["schemas"]
    bodies = {name for name in schemas if name.endswith("Body")}
    parts_of_bodies = set(re.findall(r"schemas/(\w+)", json.dumps([schemas[name] for name in bodies])))
    times = {
        (name, key): [schema, *schema.get("anyOf", ())]
        for name, part in schemas.items()
        for key, schema in part.get("properties", {}).items()
        if key.endswith(("_at", "timestamp")) and name not in bodies | parts_of_bodies
    }

    assert len(times) > 20
    assert [time for time, said in times.items() if not any(one.get("format") == "date-time" for one in said)] == []


def test_it_is_open_to_everyone_and_the_same_for_everyone() -> None:
    answer = Client().get("/v1/openapi.json")

    assert (answer.status_code, answer["Content-Type"].split(";")[0]) == (200, "application/vnd.oai.openapi+json")
    assert answer.json() == Client().get("/v1/openapi.json", HTTP_X_API_KEY="nonsense").json()
