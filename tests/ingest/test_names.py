"""Two names that look alike are one name, or refused."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest

from ingest.corpus.collections import create_collection, get_collection
from ingest.corpus.database import Database, Session
from ingest.corpus.errors import InvalidInput
from ingest.corpus.names import parse_name
from ingest.corpus.people import create_group, create_key, create_tenant, create_user, list_keys
from ingest.corpus.types import Principal
from tests.ingest.storing import furnish

UNSEEN = {
    "zero character": "\0",
    "new line": "\n",
    "escape": "\x1b",
    "zero-width blank": "\u200b",
    "zero-width joiner": "\u200d",
    "right to left": "\u202e",
    "isolate": "\u2067",
    "soft hyphen": "\u00ad",
    "byte order mark": "\ufeff",
    "grapheme joiner": "\u034f",
    "Hangul filler": "\u3164",
    "variation selector": "\ufe0f",
    "tag": "\U000e0061",
    "half a surrogate pair": "\ud800",
    "private use": "\ue000",
}
MAKE: dict[str, Callable[[Session, str], object]] = {
    "tenant": create_tenant,
    "user": lambda session, name: create_user(session, "acme", name),
    "group": lambda session, name: create_group(session, "acme", name),
    "collection": lambda session, name: create_collection(session, "acme", name, "Title"),
    "title": lambda session, name: create_collection(session, "acme", "new", name),
    "key": lambda session, name: create_key(session, b"x" * 32, "acme", "ana", name),
}


@pytest.fixture(autouse=True)
def furnished(database: Database) -> None:
    furnish(database)


@pytest.mark.parametrize("kind", MAKE)
def test_a_name_with_a_part_that_nobody_sees_is_refused(database: Database, kind: str) -> None:
    for sign in UNSEEN.values():
        for name in (f"hand{sign}book", f"{sign}handbook", f"handbook{sign}", sign):
            with pytest.raises(InvalidInput, match="cannot be"), database.writing() as session:
                MAKE[kind](session, name)


@pytest.mark.parametrize("kind", ["tenant", "user", "group", "collection"])
@pytest.mark.parametrize("name", ["hаndbook", "ｈandbook", "Handbook", "hándbook", "手册", "a b", "ﬁle"])
def test_an_id_has_one_way_to_be_written(database: Database, kind: str, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the id"), database.writing() as session:
        MAKE[kind](session, name)


def test_a_title_and_the_name_of_a_key_are_stored_composed(database: Database) -> None:
    composed, apart = "Café 手册 가", unicodedata.normalize("NFD", "Café 手册 가")
    assert composed != apart
    with database.writing() as session:
        made = create_collection(session, "acme", "new", apart)
        key = create_key(session, b"x" * 32, "acme", "ana", apart).key
    with database.reading() as session:
        shown = get_collection(session, Principal("acme", "root", role="admin"), "new")
        assert {made.title, key.name, shown.title} == {composed}
        assert [one.name for one in list_keys(session, "acme")] == [composed]


def test_blanks_around_a_name_are_none_of_it() -> None:
    assert parse_name("  Staff handbook ", "title", 14) == "Staff handbook"
    assert parse_name(" e\u0301 ", "title", 1) == "é"


def test_the_error_names_the_field_and_the_character() -> None:
    with pytest.raises(InvalidInput, match=r"U\+200B") as caught:
        parse_name("hand\u200bbook", "title", 200)
    assert caught.value.field == "title"


def test_length_is_that_of_the_composed_form() -> None:
    assert parse_name("e\u0301" * 200, "title", 200) == "é" * 200
    for bad in ("", " ", "é" * 201):
        with pytest.raises(InvalidInput):
            parse_name(bad, "title", 200)
