"""An index follows the database at every change, and equals one that is read afresh."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ingest.corpus.collections import create_collection, delete_collection, set_collection_access
from ingest.corpus.database import Database
from ingest.corpus.errors import InvalidInput
from ingest.corpus.index import refresh
from ingest.corpus.lookup import look_up
from ingest.corpus.script import HAN
from ingest.corpus.snapshot import Corpus
from ingest.corpus.store import delete_document, set_document_access
from tests.ingest.indexing import PLACE, afresh, assert_alike, found, fresh, new_corpus, words_found
from tests.ingest.storing import ADMIN, ANA, BEN, EMBEDDER, STRANGER, allow, deny, furnish, keep, put
from tests.ingest.storing import add as add_version


@pytest.fixture(autouse=True)
def furnished(database: Database) -> None:
    furnish(database)


@pytest.fixture
def corpus(database: Database, tmp_path: Path) -> Corpus:
    return new_corpus(database, tmp_path)


# --- following the database --------------------------------------------------------------------


def change_something(database: Database, chance: random.Random, living: dict[str, str]) -> None:
    """One of: a document is added, replaced, deleted, opened, closed; the collection is opened or closed."""
    text = "\n".join(
        chance.choice(["travel", "leave", "budget", "年假有12天"]) + f" {chance.random()}"
        for _ in range(chance.randint(1, 4))
    )
    access = chance.choice([None, allow("group:hr"), deny("user:ben"), allow("everyone")])
    name = chance.choice(sorted(living)) if living else "first.md"
    match chance.randint(0, 9 if living else 0):
        case 0 | 1 | 2 | 3:
            name = f"{chance.random()}.md"
            living[name] = put(database, name, text, access=access)
        case 4 | 5:
            living[name] = put(database, name, text)
        case 6 | 7:
            with database.writing() as session:
                delete_document(session, "acme", living.pop(name))
        case 8:
            with database.writing() as session:
                set_document_access(session, "acme", living[name], access)
        case 9:
            with database.writing() as session:
                set_collection_access(session, *PLACE, access or allow("group:hr"))


def test_following_every_change_equals_reading_afresh(database: Database, corpus: Corpus) -> None:
    chance = random.Random(7)
    living: dict[str, str] = {}
    for _ in range(40):
        change_something(database, chance, living)
        if chance.random() < 0.6:
            assert_alike(fresh(corpus, database), afresh(database))


def test_a_document_can_be_found_replaced_and_deleted_at_once(database: Database, corpus: Corpus) -> None:
    document_id = put(database, "a.md", "limit 10 apples")
    put(database, "b.md", "pears")
    assert len(words_found(fresh(corpus, database), "apples")) == 1
    put(database, "a.md", "limit 20 oranges")
    index = fresh(corpus, database)
    assert words_found(index, "apples") == set()
    assert len(words_found(index, "oranges")) == 1
    with database.writing() as session:
        delete_document(session, "acme", document_id)
    assert words_found(fresh(corpus, database), "oranges") == set()


def test_access_that_is_taken_away_is_gone_for_the_next_question(database: Database, corpus: Corpus) -> None:
    document_id = put(database, "a.md", "salary bands", access=allow("user:ana"))
    assert fresh(corpus, database).permitted_rows(ANA).any()
    with database.writing() as session:
        set_document_access(session, "acme", document_id, allow("user:ben"))
    index = fresh(corpus, database)
    assert not index.permitted_rows(ANA).any()
    assert index.permitted_rows(BEN).any()
    with database.writing() as session:
        set_collection_access(session, *PLACE, allow("group:hr"))
    assert not fresh(corpus, database).permitted_rows(BEN).any()


def test_an_administrator_of_another_tenant_may_read_nothing(database: Database, corpus: Corpus) -> None:
    put(database, "a.md", "salary bands")
    assert not fresh(corpus, database).permitted_rows(STRANGER).any()


def test_what_others_store_does_not_move_a_score(database: Database, corpus: Corpus) -> None:
    put(database, "a.md", "canary word\nanother line")
    before = found(fresh(corpus, database), "canary", ADMIN)
    with database.writing() as session:
        create_collection(session, "acme", "more", "More")
    for number in range(5):
        put(database, f"{number}.md", "canary canary", tenant_id="other")
        put(database, f"{number}.md", "canary canary", collection_id="more")
    index = fresh(corpus, database)
    assert found(index, "canary", ADMIN) == before


def test_without_a_change_the_index_is_the_same_object(database: Database, corpus: Corpus) -> None:
    put(database, "a.md", "alpha")
    index = fresh(corpus, database)
    assert fresh(corpus, database) is index
    with database.reading() as session:
        assert refresh(index, session) is index


def test_an_older_index_still_answers_from_its_moment(database: Database, corpus: Corpus) -> None:
    put(database, "a.md", "alpha")
    before = fresh(corpus, database)
    expected = found(before, "alpha", ADMIN)
    put(database, "a.md", "beta")
    put(database, "b.md", "alpha gamma")
    fresh(corpus, database)
    assert found(before, "alpha", ADMIN) == expected


def test_many_small_documents_make_few_segments(database: Database, corpus: Corpus) -> None:
    for number in range(40):
        put(database, f"{number}.md", f"document {number}")
        index = fresh(corpus, database)
    assert len(index.segments) <= 6
    assert index.alive.sum() == 40


def test_the_dead_are_cleared_out(database: Database, corpus: Corpus) -> None:
    documents = [put(database, f"{number}.md", f"document {number}") for number in range(20)]
    fresh(corpus, database)
    with database.writing() as session:
        for document_id in documents[:15]:
            delete_document(session, "acme", document_id)
    assert len(fresh(corpus, database).alive) == 5


def test_a_few_dead_hinder_no_question(database: Database, corpus: Corpus) -> None:
    """They stay in the index until there are more of them."""
    documents = [put(database, f"{number}.md", f"travel document {number}") for number in range(20)]
    fresh(corpus, database)
    with database.writing() as session:
        delete_document(session, "acme", documents[3])
    put(database, "5.md", "travel document 5, second version")
    index = fresh(corpus, database)
    assert index.alive.sum() == 19 < len(index.alive)
    assert_alike(index, afresh(database))
    gone = index.chunk_ids[~index.alive].tolist()
    with pytest.raises(InvalidInput):
        index.score_words("travel", gone)


def test_a_collection_made_again_under_its_id_starts_empty(database: Database, corpus: Corpus) -> None:
    put(database, "a.md", "alpha")
    fresh(corpus, database)
    with database.writing() as session:
        delete_collection(session, *PLACE)
    with database.reading() as session:
        assert corpus.fresh(session, "acme", ["docs"]) == []
    with database.writing() as session:
        create_collection(session, *PLACE, "Again")
    assert len(fresh(corpus, database).chunk_ids) == 0


def test_questions_and_writers_at_once_see_whole_documents(database: Database, corpus: Corpus) -> None:
    def write(number: int) -> None:
        put(database, f"{number}.md", "alpha\nalpha\nalpha")

    def ask(_: int) -> int:
        return len(words_found(fresh(corpus, database), "alpha"))

    with ThreadPoolExecutor(4) as pool:
        writes = pool.map(write, range(8))
        counts = list(pool.map(ask, range(24)))
        list(writes)
    assert {count % 3 for count in counts} == {0}
    assert ask(0) == 24


# --- scores ------------------------------------------------------------------------------------


def test_chunks_can_be_scored_that_a_search_did_not_return(database: Database, corpus: Corpus) -> None:
    put(database, "a.md", "travel costs\nlunch")
    put(database, "b.md", "travel by train")
    index = fresh(corpus, database)
    everything = [
        hit.chunk_id for hit in index.search_meaning(EMBEDDER.embed_query("travel"), 10, index.alive)
    ]
    by_words, by_meaning = found(index, "travel", ADMIN)
    words = index.score_words("travel", everything)
    assert [one for one, score in zip(everything, words, strict=True) if not np.isnan(score)] == [
        one for one in everything if one in by_words
    ]
    assert index.score_meaning(EMBEDDER.embed_query("travel"), everything).tolist() == pytest.approx(
        [by_meaning[one] for one in everything]
    )
    assert index.coverage("travel by train", everything).max() == pytest.approx(1.0)


def test_what_is_common_is_taken_off_the_passages_of_its_script_alone(
    database: Database, corpus: Corpus
) -> None:
    put(database, "a.md", "travel costs\nlunch by train\ntravel by ship")
    put(database, "b.md", "差旅费用标准\n年假天数规定")
    index, vector = fresh(corpus, database), EMBEDDER.embed_query("travel by train")
    plain = {hit.chunk_id: hit.score for hit in index.search_meaning(vector, 9, index.alive)}
    everything = sorted(plain)
    scripts = dict(zip(everything, index.scripts_of(everything).tolist(), strict=True))
    found = index.search_meaning(vector, 9, index.alive, np.array([2.0, 0.5]))
    assert {scripts[hit.chunk_id] for hit in found[:2]} == {HAN}
    assert {hit.chunk_id: hit.score for hit in found} == pytest.approx(
        {one: plain[one] - (0.5 if scripts[one] == HAN else 2.0) for one in everything}
    )
    assert index.score_meaning(vector, everything).tolist() == pytest.approx(
        [plain[one] for one in everything]
    )


def test_a_chunk_that_is_not_here_cannot_be_scored(database: Database, corpus: Corpus) -> None:
    with pytest.raises(InvalidInput):
        fresh(corpus, database).score_words("travel", [1])
    put(database, "a.md", "travel")
    with pytest.raises(InvalidInput):
        fresh(corpus, database).score_words("travel", [10**9])


def test_an_interrupted_replacement_shows_the_old_version(database: Database, corpus: Corpus) -> None:
    """Queued is not kept: the index holds what look-up would give."""
    put(database, "a.md", "old text")
    with database.writing() as session:
        added = add_version(session, "a.md", "new text")
    index = fresh(corpus, database)
    with database.reading() as session:
        assert set(look_up(session, ADMIN, words_found(index, "text"))) == words_found(index, "text")
    assert words_found(index, "old")
    with database.writing() as session:
        keep(session, added, "new text")
    assert words_found(fresh(corpus, database), "old") == set()
