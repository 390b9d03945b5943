"""Nobody reads what he may not, and whoever may, can: in both directions, from the next read on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, text

from ingest.corpus import store
from ingest.corpus.access import access_lists
from ingest.corpus.changes import changes_since, collection_numbers
from ingest.corpus.collections import (
    create_collection,
    get_collection,
    get_collection_access,
    list_collections,
    set_collection_access,
)
from ingest.corpus.database import Database, Session
from ingest.corpus.errors import InvalidInput, NotFound
from ingest.corpus.lookup import (
    DOCUMENTS_AT_ONCE,
    count_documents,
    get_document,
    indexed_chunks,
    list_documents,
    look_up,
    original,
    page_of_documents,
    readable_versions,
    version_text,
)
from ingest.corpus.people import create_user, delete_group, delete_user, remove_member
from ingest.corpus.permissions import NOBODY, may_read
from ingest.corpus.store import add_version
from ingest.corpus.types import AccessList, DocumentInfo, Principal
from tests.ingest.storing import ADMIN, ANA, BEN, STRANGER, allow, deny, furnish, put

OTHER_ANA = Principal("other", "ana", frozenset({"hr"}))


@pytest.fixture(autouse=True)
def furnished(database: Database) -> None:
    furnish(database)


def chunk_ids(database: Database, tenant_id: str = "acme", collection_id: str = "docs") -> list[int]:
    """What a stale index would still return: taken before the change that a test makes."""
    with database.reading() as session:
        return [chunk.chunk_id for chunk in indexed_chunks(session, tenant_id, collection_id)]


def found(database: Database, principal: Principal, ids: list[int]) -> list[str]:
    with database.reading() as session:
        return sorted(stored.chunk.text for stored in look_up(session, principal, ids).values())


def change(database: Database, write: Callable[[Session], object]) -> None:
    with database.writing() as session:
        write(session)


def reaches(session: Session, principal: Principal, document_id: str, ids: list[int]) -> list[bool]:
    """Every way in which a reader can reach a document, and whether it leads there."""
    return [
        _given(lambda: get_document(session, principal, document_id)),
        _given(lambda: original(session, principal, document_id)),
        _given(lambda: version_text(session, principal, document_id, 1)),
        any(one.id == document_id for one in _listed(session, principal)),
        any(one.id == document_id for one in _paged(session, principal)),
        bool(readable_versions(session, principal, [(document_id, 1)])),
        any(one.document_id == document_id for one in look_up(session, principal, ids).values()),
    ]


def _given(read: Callable[[], object]) -> bool:
    try:
        read()
    except NotFound:
        return False
    return True


def _listed(session: Session, principal: Principal) -> tuple[DocumentInfo, ...]:
    try:
        return list_documents(session, principal, "docs")
    except NotFound:
        return ()


def _paged(session: Session, principal: Principal) -> tuple[DocumentInfo, ...]:
    """All pages of two, which must be what the list and the count say."""
    pages: list[DocumentInfo] = []
    after: str | None = ""
    try:
        while after is not None:
            page, after = page_of_documents(session, principal, "docs", 2, after)
            pages += page
        assert count_documents(session, principal, "docs") == len(pages)
    except NotFound:
        pass
    assert tuple(pages) == _listed(session, principal)
    return tuple(pages)


def assert_reaches(database: Database, principal: Principal, document_id: str, expected: bool) -> None:
    ids = chunk_ids(database) + chunk_ids(database, "other")
    with database.reading() as session:
        assert reaches(session, principal, document_id, ids) == [expected] * 7


# --- who may, can; who may not, sees nothing ---------------------------------------------------


def test_a_reader_reaches_what_is_his_and_nothing_else(database: Database) -> None:
    document_id = put(database, "salaries.md", "CANARY", access=allow("group:hr"))
    assert_reaches(database, ANA, document_id, True)
    assert_reaches(database, ADMIN, document_id, True)
    for principal in (BEN, STRANGER, OTHER_ANA, Principal("acme", "hr"), Principal("acme", "unknown")):
        assert_reaches(database, principal, document_id, False)


def test_a_document_outside_the_collections_list_is_not_opened_by_its_own(database: Database) -> None:
    document_id = put(database, "a.md", "alpha", access=allow("user:ben"))
    change(database, lambda session: set_collection_access(session, "acme", "docs", allow("group:hr")))
    assert_reaches(database, BEN, document_id, False)
    assert_reaches(database, ANA, document_id, False)
    assert_reaches(database, ADMIN, document_id, True)


def test_a_denied_reader_stays_out_at_either_level(database: Database) -> None:
    document_id = put(database, "a.md", "alpha", access=deny("user:ana"))
    assert_reaches(database, ANA, document_id, False)
    assert_reaches(database, BEN, document_id, True)
    change(database, lambda session: set_collection_access(session, "acme", "docs", deny("group:sales")))
    assert_reaches(database, BEN, document_id, False)


def test_a_collection_without_a_list_is_for_admins_only(database: Database) -> None:
    with database.writing() as session:
        create_collection(session, "acme", "new", "New")
    put(database, "a.md", "alpha", collection_id="new")
    ids = chunk_ids(database, collection_id="new")
    assert found(database, ANA, ids) == []
    assert found(database, ADMIN, ids) == ["alpha"]
    with database.reading() as session:
        assert [one.id for one in list_collections(session, ANA)] == ["docs"]
        assert [one.id for one in list_collections(session, ADMIN)] == ["docs", "new"]
        with pytest.raises(NotFound):
            get_collection(session, ANA, "new")


def test_two_tenants_with_the_same_ids_and_texts_never_meet(database: Database) -> None:
    mine = put(database, "a.md", "the same text")
    theirs = put(database, "a.md", "the same text", tenant_id="other")
    for principal, own, foreign in ((ANA, mine, theirs), (OTHER_ANA, theirs, mine), (STRANGER, theirs, mine)):
        assert_reaches(database, principal, own, True)
        assert_reaches(database, principal, foreign, False)
    ids = chunk_ids(database) + chunk_ids(database, "other")
    with database.reading() as session:
        assert {one.tenant_id for one in look_up(session, STRANGER, ids).values()} == {"other"}


def test_forbidden_and_missing_look_the_same(database: Database) -> None:
    document_id = put(database, "a.md", "alpha", access=allow("user:ana"))
    change(database, lambda session: create_collection(session, "acme", "closed", "Closed"))
    absent = "doc_" + "a" * 20
    with database.reading() as session:
        for read in (get_document, original, lambda *these: version_text(*these, 1)):
            forbidden, missing = _refusal(read, session, document_id), _refusal(read, session, absent)
            assert forbidden.replace(document_id, absent) == missing
        for read in (get_collection, list_documents):
            assert _refusal(read, session, "closed").replace("closed", "absent") == _refusal(
                read, session, "absent"
            )


def _refusal(read: Callable[..., object], session: Session, one_id: str) -> str:
    with pytest.raises(NotFound) as caught:
        read(session, BEN, one_id)
    return str(caught.value)


# --- the next read knows -----------------------------------------------------------------------


def test_a_deleted_document_is_gone_for_the_next_read(database: Database) -> None:
    document_id, ids = put(database, "a.md", "alpha"), chunk_ids(database)
    assert found(database, ANA, ids) == ["alpha"]
    change(database, lambda session: store.delete_document(session, "acme", document_id))
    assert found(database, ADMIN, ids) == []
    assert_reaches(database, ADMIN, document_id, False)


def test_a_replaced_version_is_gone_for_the_next_read(database: Database) -> None:
    document_id, ids = put(database, "a.md", "limit 10"), chunk_ids(database)
    put(database, "a.md", "limit 20")
    assert found(database, ADMIN, ids) == []
    assert found(database, ANA, chunk_ids(database)) == ["limit 20"]
    with database.reading() as session:
        cited = [(document_id, 1), (document_id, 2), ("doc_unknown", 1)]
        assert readable_versions(session, ANA, cited) == {(document_id, 2)}


REVOKES: dict[str, Callable[[Session, str], object]] = {
    "document list": lambda session, one: store.set_document_access(session, "acme", one, allow("user:ben")),
    "document list emptied": lambda session, one: store.set_document_access(
        session, "acme", one, AccessList()
    ),
    "collection list": lambda session, _: set_collection_access(session, "acme", "docs", allow("user:ben")),
    "collection list emptied": lambda session, _: set_collection_access(
        session, "acme", "docs", AccessList()
    ),
    "denied": lambda session, _: set_collection_access(session, "acme", "docs", deny("user:ana")),
    "group deleted": lambda session, _: delete_group(session, "acme", "hr"),
}


@pytest.mark.parametrize("how", REVOKES)
def test_a_revoke_holds_for_the_next_read(database: Database, how: str) -> None:
    document_id = put(database, "a.md", "alpha", access=allow("group:hr"))
    assert_reaches(database, ANA, document_id, True)
    change(database, lambda session: REVOKES[how](session, document_id))
    assert_reaches(database, ANA, document_id, False)
    assert_reaches(database, ADMIN, document_id, True)


def test_a_list_taken_away_from_a_document_leaves_it_as_open_as_its_collection(database: Database) -> None:
    document_id = put(database, "a.md", "alpha", access=allow("user:ana"))
    change(database, lambda session: store.set_document_access(session, "acme", document_id, None))
    assert_reaches(database, BEN, document_id, True)


# --- lists as they are stored ------------------------------------------------------------------


def test_lists_come_back_as_they_were_set(database: Database) -> None:
    narrow = deny("user:ben", allowed=("group:hr", "user:ana"))
    one = put(database, "a.md", "alpha", access=narrow)
    two = put(database, "b.md", "beta")
    three = put(database, "c.md", "gamma", access=AccessList())
    with database.reading() as session:
        assert get_collection_access(session, "acme", "docs") == allow("everyone")
        assert store.get_document_access(session, "acme", one) == narrow
        assert store.get_document_access(session, "acme", two) is None
        assert access_lists(session, "acme", "docs") == (allow("everyone"), {one: narrow, three: NOBODY})
        assert access_lists(session, "acme", "docs", [one, two]) == (allow("everyone"), {one: narrow})
        assert access_lists(session, "other", "docs") == (allow("everyone"), {})


@pytest.mark.parametrize("subject", ["user:nobody", "group:ana", "user:hr", "User:ana", "user:ana ", "ana"])
def test_access_is_given_to_nobody_unknown(database: Database, subject: str) -> None:
    document_id = put(database, "a.md", "alpha")
    for write in (
        lambda session: set_collection_access(session, "acme", "docs", allow(subject)),
        lambda session: store.set_document_access(session, "acme", document_id, deny(subject)),
    ):
        with pytest.raises(InvalidInput, match=subject):
            change(database, write)


def test_lists_of_another_tenant_cannot_be_set_or_read(database: Database) -> None:
    document_id = put(database, "a.md", "alpha")
    for use in (
        lambda session: store.set_document_access(session, "other", document_id, None),
        lambda session: store.get_document_access(session, "other", document_id),
    ):
        with pytest.raises(NotFound, match=document_id):
            change(database, use)


def test_a_namesake_does_not_inherit_what_a_deleted_user_had(database: Database) -> None:
    document_id = put(database, "a.md", "alpha", access=allow("user:ana"))
    with database.reading() as session:
        before, _ = collection_numbers(session, "acme")["docs"]
    change(database, lambda session: delete_user(session, "acme", "ana"))
    change(database, lambda session: create_user(session, "acme", "ana"))
    with database.reading() as session:
        logged = [(c.kind, c.document_id) for c in changes_since(session, "acme", "docs", before)]
    assert logged == [("document", document_id)]
    assert_reaches(database, Principal("acme", "ana"), document_id, False)


def test_a_document_whose_last_reader_is_deleted_does_not_open_to_the_others(database: Database) -> None:
    document_id = put(database, "a.md", "alpha", access=allow("group:hr"))
    change(database, lambda session: delete_group(session, "acme", "hr"))
    assert_reaches(database, BEN, document_id, False)
    with database.reading() as session:
        assert store.get_document_access(session, "acme", document_id) == NOBODY


def test_who_leaves_one_of_two_groups_keeps_what_the_other_gives(database: Database) -> None:
    document_id = put(database, "a.md", "alpha", access=allow("group:hr", "group:sales"))
    change(database, lambda session: remove_member(session, "acme", "sales", "ben"))
    assert_reaches(database, Principal("acme", "ben"), document_id, False)
    assert_reaches(database, Principal("acme", "ben", frozenset({"hr"})), document_id, True)


# --- the look-up itself ------------------------------------------------------------------------


def test_a_stored_chunk_carries_what_a_citation_needs(database: Database) -> None:
    document_id = put(database, "dir/a.md", "alpha\nbeta")
    (first, second) = chunk_ids(database)
    with database.reading() as session:
        stored = look_up(session, ANA, [second, 999_999_999, second])
    assert list(stored) == [second] != [first]
    one = stored[second]
    assert (one.tenant_id, one.collection_id, one.document_id, one.version) == (
        "acme",
        "docs",
        document_id,
        1,
    )
    assert (one.title, one.source_name, one.language) == ("Title of alpha\nbeta", "dir/a.md", "en")
    assert (one.chunk.start, one.chunk.end, one.chunk.page, one.chunk.section) == (6, 10, 1, "Top")


@pytest.mark.parametrize("broken", ["current_version = NULL", "deleted_at = 'now'", "collection_id = 'more'"])
def test_a_stray_chunk_is_not_given_out_only_because_it_is_there(database: Database, broken: str) -> None:
    put(database, "a.md", "alpha")
    ids = chunk_ids(database)
    change(database, lambda session: create_collection(session, "acme", "more", "More"))
    change(database, lambda session: session.execute(text(f"UPDATE documents SET {broken}")))
    assert found(database, ADMIN, ids) == []
    assert chunk_ids(database) == []


def test_nothing_asked_is_nothing_found(database: Database) -> None:
    put(database, "a.md", "alpha")
    with database.reading() as session:
        assert look_up(session, ADMIN, []) == {}
        assert readable_versions(session, ADMIN, []) == set()
        assert list(indexed_chunks(session, "acme", "docs", [])) == []


def test_a_look_up_takes_few_statements_however_many_ids(database: Database) -> None:
    put(database, "a.md", "\n".join(f"line {n}" for n in range(501)))
    ids = chunk_ids(database)
    statements: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *these: statements.append(these[2]))
    for some in (ids[:1], ids[:500], ids):
        statements.clear()
        assert len(found(database, ANA, some)) == len(some)
        assert sum(one.startswith("SELECT") for one in statements) == 3 * (1 + (len(some) > 500))


def test_chunks_of_some_documents_are_only_theirs(database: Database) -> None:
    one, two = put(database, "a.md", "alpha"), put(database, "b.md", "beta")
    theirs = put(database, "c.md", "gamma", tenant_id="other")
    with database.reading() as session:
        chunks = list(indexed_chunks(session, "acme", "docs", [two, theirs, "doc_unknown"]))
    assert [chunk.text for chunk in chunks] == ["beta"]
    assert one != two


# --- against the policy ------------------------------------------------------------------------

SUBJECTS = ["everyone", "user:ana", "user:ben", "group:hr", "group:sales"]
entries = st.frozensets(st.sampled_from(SUBJECTS), max_size=3)
lists = st.builds(AccessList, entries, entries)


@given(collection=lists, document=st.none() | lists)
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
def test_the_database_answers_as_the_policy_does(
    database: Database, collection: AccessList, document: AccessList | None
) -> None:
    put(database, "a.md", "alpha")
    (ids,) = [chunk_ids(database)]
    with database.reading() as session:
        (stored,) = look_up(session, ADMIN, ids).values()
    change(database, lambda session: set_collection_access(session, "acme", "docs", collection))
    change(database, lambda session: store.set_document_access(session, "acme", stored.document_id, document))
    for principal in (ANA, BEN, ADMIN, Principal("acme", "ana", frozenset({"hr", "sales"}))):
        assert_reaches(database, principal, stored.document_id, may_read(principal, collection, document))


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_page_is_filled_from_as_many_rows_as_it_takes(database: Database) -> None:
    with database.writing() as session:
        for number in range(DOCUMENTS_AT_ONCE + 2):
            access = allow("group:hr") if 0 < number <= DOCUMENTS_AT_ONCE else None
            add_version(session, "acme", "docs", f"{number}.md", b"x", "0" * 64, access)
    last = f"{DOCUMENTS_AT_ONCE + 1}.md"
    with database.reading() as session:
        both, end = page_of_documents(session, BEN, "docs", 2)
        assert ([one.source_name for one in both], end) == (["0.md", last], None)
        _, following = page_of_documents(session, BEN, "docs", 1)
        assert following is not None
        assert page_of_documents(session, BEN, "docs", 1, following) == (both[1:], None)
        assert count_documents(session, BEN, "docs") == 2
        assert count_documents(session, ANA, "docs") == DOCUMENTS_AT_ONCE + 2


@pytest.mark.parametrize("after", ["x", "~", "2026-01-01", "2026-01-01T00:00:00.000000Z~doc_1' --"])
def test_a_position_that_was_never_given_out_is_refused(database: Database, after: str) -> None:
    with database.reading() as session, pytest.raises(InvalidInput, match="not the `next`"):
        page_of_documents(session, ANA, "docs", 2, after)
