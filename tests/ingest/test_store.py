"""What becomes of documents: taken in, kept, replaced, failed, deleted; each wholly or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
import pytest
from sqlalchemy import text

from ingest.corpus import store
from ingest.corpus.changes import changes_since, collection_numbers
from ingest.corpus.collections import create_collection, delete_collection, set_collection_access
from ingest.corpus.database import Database, Session
from ingest.corpus.errors import Conflict, FingerprintMismatch, InvalidInput, NotFound
from ingest.corpus.lookup import (
    get_document,
    indexed_chunks,
    list_documents,
    look_up,
    original,
    version_text,
)
from ingest.corpus.types import DocumentInfo
from tests.fakes import HashEmbedder
from tests.ingest.storing import ADMIN, EMBEDDER, add, allow, as_document, furnish, keep, put


@pytest.fixture(autouse=True)
def furnished(database: Database) -> None:
    furnish(database)


def info(database: Database, document_id: str) -> DocumentInfo:
    with database.reading() as session:
        return get_document(session, ADMIN, document_id)


def texts(database: Database, collection_id: str = "docs") -> list[str]:
    """What an index of the tenant acme would hold."""
    with database.reading() as session:
        return [chunk.text for chunk in indexed_chunks(session, "acme", collection_id)]


def count(session: Session, table: str, condition: str = "1 = 1") -> int:
    return session.execute(text(f"SELECT count(*) FROM {table} WHERE {condition}")).scalar_one()


# --- taking in and keeping ---------------------------------------------------------------------


def test_a_kept_document_is_ready_with_all_that_was_made_of_it(database: Database) -> None:
    document_id = put(database, "日本/报告.md", "第一行 😀\nsecond line")
    found = info(database, document_id)
    assert (found.state, found.version, found.chunks, found.pages) == ("ready", 1, 2, 1)
    assert found.source_name == "日本/报告.md"
    with database.reading() as session:
        document, chunks = as_document("第一行 😀\nsecond line")
        assert version_text(session, ADMIN, document_id, 1) == document
        assert original(session, ADMIN, document_id).content == "第一行 😀\nsecond line".encode()
        indexed = list(indexed_chunks(session, "acme", "docs"))
        stored = look_up(session, ADMIN, [one.chunk_id for one in indexed])
    assert [stored[one.chunk_id].chunk for one in indexed] == chunks
    expected = EMBEDDER.embed_passages([chunk.text for chunk in chunks])
    np.testing.assert_array_equal(np.stack([one.vector for one in indexed]), expected)


def test_a_context_is_indexed_before_its_passage(database: Database) -> None:
    document, chunks = as_document("cell")
    chunks = [replace(chunks[0], context="header")]
    with database.writing() as session:
        added = add(session, "table.md", "cell")
        vectors = EMBEDDER.embed_passages(["cell"])
        store.keep_version(session, added.document_id, 1, document, chunks, vectors, EMBEDDER.fingerprint)
    assert texts(database) == ["header\ncell"]


def test_a_queued_document_is_shown_but_cannot_be_found(database: Database) -> None:
    with database.writing() as session:
        added = add(session, "a.md", "alpha")
        store.set_state(session, added.document_id, 1, "reading")
        pending = store.pending_version(session, added.document_id, 1)
    assert pending == store.PendingVersion(added.document_id, 1, "a.md", b"alpha")
    assert info(database, added.document_id).state == "reading"
    assert texts(database) == []


def test_the_same_bytes_again_add_nothing(database: Database) -> None:
    document_id = put(database, "a.md", "alpha")
    with database.writing() as session:
        assert add(session, "a.md", "alpha") == store.AddedVersion(document_id, 1, unchanged=True)


def test_the_bytes_of_now_are_no_news_only_if_nothing_newer_is_on_its_way(database: Database) -> None:
    document_id = put(database, "a.md", "alpha")
    with database.writing() as session:
        add(session, "a.md", "beta")
        again = add(session, "a.md", "alpha")
        assert again == store.AddedVersion(document_id, 3, unchanged=False)


def test_a_failed_version_in_between_does_not_make_the_same_bytes_news(database: Database) -> None:
    document_id = put(database, "a.md", "alpha")
    with database.writing() as session:
        failed = add(session, "a.md", "broken")
        store.fail_version(session, document_id, failed.version, "garbled", "No words in it.")
        assert add(session, "a.md", "alpha").unchanged
        assert not add(session, "a.md", "broken").unchanged  # a second try is allowed


@pytest.mark.parametrize("name", ["", "   ", "a\x00b", "a\nb", "a\x7f", "n" * 501])
def test_a_name_that_cannot_be_stored_everywhere_is_refused(database: Database, name: str) -> None:
    with pytest.raises(InvalidInput, match="name"), database.writing() as session:
        add(session, name, "alpha")


def test_the_longest_name_of_wide_letters_is_taken(database: Database) -> None:
    assert info(database, put(database, "𠮷" * 500, "alpha")).source_name == "𠮷" * 500


def test_a_document_for_a_missing_collection_is_refused(database: Database) -> None:
    with pytest.raises(NotFound), database.writing() as session:
        add(session, "a.md", "alpha", collection_id="none")


# --- a new version -----------------------------------------------------------------------------


def test_a_new_version_takes_the_place_of_the_old_one_wholly(database: Database) -> None:
    document_id = put(database, "limits.md", "limit 10\nold only")
    assert put(database, "limits.md", "limit 20") == document_id
    assert info(database, document_id).version == 2
    assert texts(database) == ["limit 20"]
    with database.reading() as session:
        assert original(session, ADMIN, document_id).content == b"limit 20"
        with pytest.raises(NotFound):
            version_text(session, ADMIN, document_id, 1)
        assert count(session, "document_versions", "text = 'limit 10\nold only'") == 0
        assert count(session, "document_versions", "length(original) > 0") == 1


def test_an_older_version_that_finishes_late_changes_nothing(database: Database) -> None:
    with database.writing() as session:
        first, second = add(session, "a.md", "first"), add(session, "a.md", "second")
        assert keep(session, second, "second")
    with database.writing() as session:
        assert store.pending_version(session, first.document_id, first.version) is None
        assert not keep(session, first, "first")
    assert texts(database) == ["second"]
    assert info(database, first.document_id).version == 2


def test_keeping_a_version_twice_is_keeping_it_once(database: Database) -> None:
    with database.writing() as session:
        added = add(session, "a.md", "alpha")
        assert keep(session, added, "alpha")
    with database.reading() as session:
        before = collection_numbers(session, "acme")
    with database.writing() as session:
        assert keep(session, added, "alpha")
    with database.reading() as session:
        assert collection_numbers(session, "acme") == before
    assert texts(database) == ["alpha"]


def test_a_failed_version_leaves_the_one_before_as_it_was(database: Database) -> None:
    document_id = put(database, "a.md", "alpha")
    with database.writing() as session:
        added = add(session, "a.md", "broken")
        store.fail_version(session, document_id, added.version, "garbled", "No words in it.")
        assert not keep(session, added, "broken")  # a worker that was given up comes too late
    found = info(database, document_id)
    assert (found.state, found.version, found.failure_code) == ("ready", 1, None)
    assert texts(database) == ["alpha"]


def test_a_document_that_never_was_ready_says_why(database: Database) -> None:
    with database.writing() as session:
        added = add(session, "scan.pdf", "scan")
        store.fail_version(session, added.document_id, 1, "no_text_layer", "It holds pictures only.")
    found = info(database, added.document_id)
    assert (found.state, found.failure_code, found.chunks) == ("failed", "no_text_layer", 0)
    assert found.failure_reason == "It holds pictures only."


def test_a_ready_version_can_neither_fail_nor_go_back(database: Database) -> None:
    document_id = put(database, "a.md", "alpha")
    with database.writing() as session:
        store.fail_version(session, document_id, 1, "late", "A stale worker.")
        store.set_state(session, document_id, 1, "embedding")
    assert info(database, document_id).state == "ready"


# --- what does not belong together -------------------------------------------------------------


def spoil(what: str) -> tuple[object, ...]:
    document, chunks = as_document("alpha\nbeta")
    vectors = EMBEDDER.embed_passages(["alpha", "beta"])
    if what == "no chunks":
        return document, [], vectors[:0]
    if what == "offsets":
        return document, [chunks[0], replace(chunks[1], start=5)], vectors
    if what == "too few vectors":
        return document, chunks, vectors[:1]
    if what == "dimension":
        return document, chunks, vectors[:, :4]
    vectors[1, 2] = np.nan
    return document, chunks, vectors


@pytest.mark.parametrize("what", ["no chunks", "offsets", "too few vectors", "dimension", "not finite"])
def test_what_does_not_fit_together_is_never_kept(database: Database, what: str) -> None:
    with database.writing() as session:
        added = add(session, "a.md", "alpha\nbeta")
    with pytest.raises(InvalidInput), database.writing() as session:
        store.keep_version(session, added.document_id, 1, *spoil(what), EMBEDDER.fingerprint)  # type: ignore[arg-type]
    assert texts(database) == []


def test_a_second_embedder_cannot_mix_in(database: Database) -> None:
    put(database, "a.md", "alpha")
    with database.writing() as session:
        added = add(session, "b.md", "beta")
    other = HashEmbedder(dimension=16)
    with pytest.raises(FingerprintMismatch, match=r"hash-8 .* hash-16 .*CITEWARD_EMBEDDER=hash-8"):
        _keep_in_one_transaction(database, added, "beta", other)
    assert texts(database) == ["alpha"]


def test_a_collection_without_vectors_takes_another_embedder_and_starts_afresh(database: Database) -> None:
    document_id = put(database, "a.md", "alpha")
    other = HashEmbedder(dimension=16)
    with database.writing() as session:
        added = add(session, "a.md", "alpha, anew")
        assert keep(session, added, "alpha, anew", other)
    with database.reading() as session:
        number, fingerprint = collection_numbers(session, "acme")["docs"]
        last = changes_since(session, "acme", "docs", number - 1)
    assert fingerprint == other.fingerprint
    assert [(change.kind, change.document_id) for change in last] == [("collection", "")]
    assert info(database, document_id).version == 2


def _keep_in_one_transaction(
    database: Database, added: store.AddedVersion, content: str, embedder: HashEmbedder = EMBEDDER
) -> bool:
    with database.writing() as session:
        return keep(session, added, content, embedder)


# --- deleting ----------------------------------------------------------------------------------


def test_of_a_deleted_document_only_the_bare_fact_stays(database: Database) -> None:
    document_id = put(database, "a.md", "alpha", access=allow("user:ana"))
    put(database, "b.md", "beta")
    with database.writing() as session:
        store.delete_document(session, "acme", document_id)
    assert texts(database) == ["beta"]
    with database.reading() as session:
        mine = f"document_id = '{document_id}'"
        assert [count(session, table, mine) for table in ("document_versions", "chunks", "access")] == [
            0,
            0,
            0,
        ]
        assert count(session, "documents", f"id = '{document_id}' AND deleted_at IS NOT NULL") == 1


def test_deleting_twice_or_in_another_tenant_is_not_found(database: Database) -> None:
    document_id = put(database, "a.md", "alpha")
    with pytest.raises(NotFound), database.writing() as session:
        store.delete_document(session, "other", document_id)
    with database.writing() as session:
        store.delete_document(session, "acme", document_id)
    with pytest.raises(NotFound), database.writing() as session:
        store.delete_document(session, "acme", document_id)


def test_an_upload_after_a_delete_is_a_new_document(database: Database) -> None:
    document_id = put(database, "a.md", "alpha", access=allow("user:ana"))
    with database.writing() as session:
        store.delete_document(session, "acme", document_id)
    new_id = put(database, "a.md", "alpha")
    assert new_id != document_id
    with database.reading() as session:
        assert store.get_document_access(session, "acme", new_id) is None


def test_what_was_deleted_while_it_was_read_is_not_kept(database: Database) -> None:
    with database.writing() as session:
        added = add(session, "a.md", "alpha")
        store.delete_document(session, "acme", added.document_id)
    with database.writing() as session:
        assert store.pending_version(session, added.document_id, 1) is None
        store.fail_version(session, added.document_id, 1, "late", "Too late.")
        assert not keep(session, added, "alpha")
    assert texts(database) == []


def test_an_id_of_a_chunk_is_never_given_out_again(database: Database) -> None:
    document_id = put(database, "a.md", "alpha\nbeta")
    with database.reading() as session:
        old = [chunk.chunk_id for chunk in indexed_chunks(session, "acme", "docs")]
    with database.writing() as session:
        store.delete_document(session, "acme", document_id)
    put(database, "b.md", "gamma\ndelta")
    with database.reading() as session:
        new = [chunk.chunk_id for chunk in indexed_chunks(session, "acme", "docs")]
    assert min(new) > max(old)


def test_a_deleted_collection_takes_everything_along_and_frees_its_id(database: Database) -> None:
    document_id = put(database, "a.md", "alpha", access=allow("user:ana"))
    other_id = put(database, "a.md", "alpha", tenant_id="other")
    with database.writing() as session:
        added = add(session, "b.md", "beta")
        delete_collection(session, "acme", "docs")
        assert not keep(session, added, "beta")
        for table in ("documents", "document_versions", "chunks"):
            key = "id" if table == "documents" else "document_id"
            assert count(session, table, f"{key} <> '{other_id}'") == 0
        create_collection(session, "acme", "docs", "Another")
    with database.reading() as session:
        assert list_documents(session, ADMIN, "docs") == ()
        assert collection_numbers(session, "acme")["docs"][1] is None
        with pytest.raises(NotFound):
            get_document(session, ADMIN, document_id)


@pytest.mark.parametrize(
    ("collection_id", "title"), [("Docs", "x"), ("d/e", "x"), ("ok", ""), ("ok", "a\nb")]
)
def test_a_collection_needs_an_id_and_a_title(database: Database, collection_id: str, title: str) -> None:
    with pytest.raises(InvalidInput), database.writing() as session:
        create_collection(session, "acme", collection_id, title)


def test_a_collection_id_is_taken_once_a_tenant(database: Database) -> None:
    with pytest.raises(Conflict, match="docs"), database.writing() as session:
        create_collection(session, "acme", "docs", "Again")
    with pytest.raises(NotFound, match="nowhere"), database.writing() as session:
        create_collection(session, "nowhere", "docs", "Documents")


# --- the change log ----------------------------------------------------------------------------


def test_every_change_is_logged_in_order_with_what_to_read_again(database: Database) -> None:
    with database.reading() as session:
        start, _ = collection_numbers(session, "acme")["docs"]
    document_id = put(database, "a.md", "alpha")
    with database.writing() as session:
        store.set_document_access(session, "acme", document_id, allow("user:ana"))
        set_collection_access(session, "acme", "docs", allow("group:hr"))
        store.delete_document(session, "acme", document_id)
        delete_collection(session, "acme", "docs")
    with database.reading() as session:
        changes = changes_since(session, "acme", "docs", start)
    kinds = [(change.kind, change.document_id) for change in changes]
    document, access = ("document", document_id), ("access", "")
    assert kinds == [document, document, access, document, ("collection", "")]
    assert [change.number for change in changes] == list(range(start + 1, start + 6))


def test_change_numbers_are_in_the_order_of_the_commits(database: Database) -> None:
    """A follower that has seen number n has seen all before it, whoever wrote them."""
    with database.writing() as session:
        create_collection(session, "acme", "more", "More")
    lengths: list[int] = []

    def follow() -> None:
        while not lengths or lengths[-1] < 33:
            with database.reading() as session:
                changes = [changes_since(session, "acme", one, 0) for one in ("docs", "more")]
            numbers = sorted(change.number for change in chain(*changes))
            assert numbers == list(range(1, len(numbers) + 1)), "a number is missing"
            lengths.append(len(numbers))

    def write(collection_id: str) -> None:
        for turn in range(15):
            put(database, f"{turn}.md", f"text {turn}", collection_id=collection_id)

    _all_at_once([follow, partial(write, "docs"), partial(write, "more")])
    assert lengths == sorted(lengths)


def test_uploads_of_one_name_at_once_end_with_one_document(database: Database) -> None:
    barrier = threading.Barrier(4)

    def write(content: str) -> None:
        barrier.wait()
        put(database, "same.md", content)

    _all_at_once(partial(write, f"content {turn}") for turn in range(4))
    with database.reading() as session:
        (only,) = list_documents(session, ADMIN, "docs")
    assert (only.state, only.version, only.chunks) == ("ready", 4, 1)
    assert len(texts(database)) == 1


def _all_at_once(tasks: Iterable[Callable[[], None]]) -> None:
    """Run each in a thread of its own; an error in any of them is an error of the test."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()
