"""Calls made from the document for one operation, when its test runs.

`schema.parametrize()` makes the calls of all operations when tests are collected: that takes each process of a run 15 s
and half a GB. Its own lazy form does not run with this pytest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import schemathesis
from schemathesis.core.result import Err
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.generation.hypothesis.builder import MissingPathParameters, UnserializablePayloadMark
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python._constants.orchestrator import make_constants_value_source
from schemathesis.schemas import APIOperation


def operations_of(schema: schemathesis.BaseSchema) -> Iterator[APIOperation]:
    """Return every operation of a document, all of which can be read."""
    for found in schema.get_all_operations():
        if isinstance(found, Err):
            raise found.err()
        yield found.ok()


def run(schema: schemathesis.BaseSchema, operation: APIOperation, test: Callable[[schemathesis.Case], None]) -> None:
    """Run a test on what the document shows, on what covers the schema, and on as many drawn calls as its settings say."""
    made = build_operation_test(
        config=schema.config,
        operation=operation,
        test_func=test,
        given_kwargs={},
        feedback=FeedbackSources(constants_value_source=make_constants_value_source(schema)),
    )
    assert UnserializablePayloadMark.get(made) is None, "there are bodies that nothing here can write"
    assert MissingPathParameters.get(made) is None, "the path names a parameter that the document does not describe"
    made()
