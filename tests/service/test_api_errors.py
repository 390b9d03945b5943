from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from ingest.corpus import errors
from ingest.corpus.errors import CitewardError, Unreadable
from service.api.errors import problem_response, status_of

EXPECTED = {
    "InvalidInput": 422,
    "UnknownSetting": 422,
    "NotFound": 404,
    "Conflict": 409,
    "Unauthenticated": 401,
    "Unreadable": 422,
    "TooLarge": 413,
    "OverBudget": 413,
    "FingerprintMismatch": 503,
    "SnapshotDamaged": 503,
    "Unavailable": 503,
    "Overloaded": 429,
    "QueueFull": 429,
    "NoCapacity": 503,
    "ModelFailed": 503,
    "ModelUnavailable": 503,
    "ModelBadOutput": 502,
    "ModelTimeout": 504,
}


def family(kind: type[CitewardError]) -> Iterator[type[CitewardError]]:
    for child in kind.__subclasses__():
        yield child
        yield from family(child)


def make(kind: type[CitewardError]) -> CitewardError:
    return Unreadable("garbled", "what") if kind is Unreadable else kind("what", why="why", next_step="next")


def test_every_error_of_the_tree_has_a_status() -> None:
    found = {
        kind.__name__: status_of(make(kind))
        for kind in family(CitewardError)
        if kind.__module__ == errors.__name__
    }
    assert found == EXPECTED


def test_an_unsupported_type_is_415() -> None:
    assert status_of(Unreadable("unsupported_type", "what")) == 415


def test_a_problem_says_what_why_and_what_next() -> None:
    response = problem_response(errors.InvalidInput("what", why="why", next_step="next", field="question"))
    assert response.media_type == "application/problem+json"
    assert response.body == (
        b'{"type": "urn:citeward:problem:invalid_input", "title": "Unprocessable Entity", "status": 422, '
        b'"detail": "what", "code": "invalid_input", "why": "why", "next_step": "next", "field": "question"}'
    )


def test_everything_missing_has_the_same_bytes() -> None:
    first = problem_response(errors.NotFound("There is no document 'doc_a'."))
    second = problem_response(errors.NotFound("There is no group 'x'.", next_step="Look elsewhere."))
    assert first.body == second.body


def test_what_may_pass_says_when_to_try_again() -> None:
    assert problem_response(errors.Unavailable("what")).headers["retry-after"] == "2"
    full = problem_response(errors.QueueFull("what", retry_after_seconds=7))
    assert (full.headers["retry-after"], json.loads(bytes(full.body))["retry_after"]) == ("7", 7)


@pytest.mark.parametrize("name", ["\ud800", "\udfff中"])
def test_a_broken_field_name_does_not_break_the_problem(name: str) -> None:
    assert problem_response(errors.InvalidInput("what", field=name)).status_code == 422
