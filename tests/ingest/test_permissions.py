"""Who may read what, held against a plain second reading of the rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.corpus.errors import InvalidInput
from ingest.corpus.permissions import may_read, parse_access, parse_id, parse_subject
from ingest.corpus.types import ROLES, AccessList, Principal

USERS, GROUPS = ["ana", "ben"], ["hr", "sales"]
SUBJECTS = ["everyone", *(f"user:{user}" for user in USERS), *(f"group:{group}" for group in GROUPS)]

entries = st.frozensets(st.sampled_from(SUBJECTS))
lists = st.builds(AccessList, entries, entries)
principals = st.builds(
    Principal,
    st.just("acme"),
    st.sampled_from(USERS),
    st.frozensets(st.sampled_from(GROUPS)),
    st.sampled_from(ROLES),
)


def names(entry: str, principal: Principal) -> bool:
    """Whether one entry means this principal."""
    kind, _, name = entry.partition(":")
    if kind == "user":
        return name == principal.user_id
    if kind == "group":
        return name in principal.group_ids
    return entry == "everyone"


def naive(principal: Principal, collection: AccessList, document: AccessList | None) -> bool:
    if principal.role == "admin":
        return True
    levels = [collection] if document is None else [collection, document]
    for level in levels:
        for entry in level.deny:
            if names(entry, principal):
                return False
    return all(any(names(entry, principal) for entry in level.allow) for level in levels)


@given(principals, lists, st.none() | lists)
def test_the_policy_equals_a_naive_reading_of_its_rules(
    principal: Principal, collection: AccessList, document: AccessList | None
) -> None:
    assert may_read(principal, collection, document) == naive(principal, collection, document)


@given(principals, lists, lists)
def test_a_documents_list_only_narrows(
    principal: Principal, collection: AccessList, document: AccessList
) -> None:
    assert may_read(principal, collection, document) <= may_read(principal, collection, None)


@pytest.mark.parametrize(
    ("collection", "document"),
    [
        (AccessList(), None),
        (AccessList(frozenset({"everyone"})), AccessList()),
        (AccessList(frozenset({"everyone"}), frozenset({"user:ana"})), None),
        (AccessList(frozenset({"everyone"})), AccessList(frozenset({"user:ana"}), frozenset({"group:hr"}))),
        (AccessList(), AccessList(frozenset({"user:ana"}))),
        (AccessList(frozenset({"user:an"})), None),
        (AccessList(frozenset({"group:ana", "user:hr"})), None),
    ],
)
def test_nothing_allowed_or_anything_denied_keeps_a_reader_out(
    collection: AccessList, document: AccessList | None
) -> None:
    ana = Principal("acme", "ana", frozenset({"hr"}))
    assert not may_read(ana, collection, document)
    assert may_read(Principal("acme", "root", role="admin"), collection, document)


LOOK_ALIKES = [
    "",
    "Ana",
    "ana ",
    " ana",
    "ana\n",
    "аna",
    "ａna",
    "a na",
    "ana\u200b",
    "a" * 65,
    "-ana",
    "a/b",
    "a:b",
]


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_a_look_alike_is_no_id_and_no_subject(text: str) -> None:
    with pytest.raises(InvalidInput, match="user"):
        parse_id(text, "user")
    for kind in ("user", "group"):
        with pytest.raises(InvalidInput):
            parse_subject(f"{kind}:{text}")


@pytest.mark.parametrize(
    "text", ["Everyone", "everyone ", "everyone:", "users:ana", "ana", "tenant:acme", "*", ""]
)
def test_an_entry_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_access(frozenset({text}))


def test_a_refused_text_is_repeated_only_in_part() -> None:
    for parse in (lambda text: parse_id(text, "user"), parse_subject):
        with pytest.raises(InvalidInput) as refused:
            parse("x" * 100_000)
        assert len(str(refused.value)) < 300


@pytest.mark.parametrize("text", ["ana", "a", "0", "ana.b_c@x+y-z", "a" * 64])
def test_an_id_is_taken_as_it_is(text: str) -> None:
    assert parse_id(text, "user") == text
    assert parse_subject(f"group:{text}") == f"group:{text}"
