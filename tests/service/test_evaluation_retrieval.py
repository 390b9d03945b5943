"""Evaluation finds what the service finds, by the service's own code, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.corpus.errors import InvalidInput, Unavailable
from ingest.corpus.seams import TokenVectors
from ingest.corpus.settings import CorpusSettings
from service.evaluation import retrieval as evaluation
from service.evaluation.asking.indexed import as_document
from service.evaluation.retrieval import RetrievalRow, evaluate_retrieval
from service.evaluation.sets.beir import RetrievalSet, SetDocument, SetQuestion, Slice
from service.settings import ServiceSettings
from tests.fakes import HashEmbedder

DOCUMENTS = (
    SetDocument("leave", "Annual leave", "Employees have 25 days of annual leave.", "en"),
    SetDocument("sick", "Sick leave", "Tell your manager on the first day of sick leave.", "en"),
    SetDocument("id", "Asset", "Laptop QX-7731 belongs to the front desk.", "en"),
    SetDocument("zh", "报销", "差旅费须在三十天内报销。", "zh"),
)
QUESTIONS = (
    SetQuestion("q-id", "QX-7731", "en"),
    SetQuestion("q-zh", "差旅费", "zh"),
    SetQuestion("q-absent", "zebra", "en"),  # no document holds the word
)
RELEVANT = {"q-id": frozenset({"id"}), "q-zh": frozenset({"zh"}), "q-absent": frozenset({"leave"})}
SLICE = Slice("all", DOCUMENTS, QUESTIONS, RELEVANT, without_qrels=4)


@pytest.fixture
def settings(tmp_path: Path) -> ServiceSettings:
    return ServiceSettings(corpus=CorpusSettings(home=tmp_path / "home"))


def unwatched(_doing: str, _done: int, _of: int) -> None:
    """Nobody watches."""


def evaluate(settings: ServiceSettings, *slices: Slice) -> tuple[RetrievalRow, ...]:
    rows, _ = evaluate_retrieval([RetrievalSet("tiny", slices)], settings, HashEmbedder(), unwatched)
    return rows


def test_words_find_what_holds_the_word_and_nothing_else(settings: ServiceSettings) -> None:
    (row,) = evaluate(settings, SLICE)
    assert (row.set, row.slice, row.documents, row.queries, row.without_qrels) == ("tiny", "all", 4, 3, 4)
    assert row.words["mrr@10"] == pytest.approx(2 / 3)  # both are first; the absent word finds nothing
    assert row.words["recall@5"] == pytest.approx(2 / 3)


def test_meaning_ranks_every_document(settings: ServiceSettings) -> None:
    (row,) = evaluate(settings, SLICE)
    assert row.meaning["recall@10"] == 1.0
    assert row.hybrid["recall@10"] == 1.0


def test_a_document_stands_where_its_best_chunk_stands(settings: ServiceSettings) -> None:
    filler = "\n\n".join(f"Paragraph {number} tells of nothing in particular. " * 8 for number in range(12))
    long = SetDocument("long", "Handbook", f"{filler}\n\nThe gate code is QX-9944.", "en")
    small = replace(settings, corpus=replace(settings.corpus, chunk_tokens=60))
    question = Slice(
        "one", (*DOCUMENTS, long), (SetQuestion("q", "QX-9944", "en"),), {"q": frozenset({"long"})}, 0
    )
    (row,) = evaluate(small, question)
    assert row.words["mrr@10"] == 1.0


def test_documents_that_answer_nothing_are_in_the_way(settings: ServiceSettings) -> None:
    crowd = [SetDocument(f"n-{at}", "", f"Annual leave of zebra {at}.", "en") for at in range(12)]
    alone = RetrievalSet("tiny", (SLICE,))
    ((before,), _), ((after,), _) = (
        evaluate_retrieval([one], settings, HashEmbedder(), unwatched)
        for one in (alone, alone.among("crowd", crowd))
    )
    assert (after.set, after.documents, after.queries) == ("tiny + crowd", 16, 3)
    assert after.words["mrr@10"] == before.words["mrr@10"]  # the crowd holds the absent word only
    assert after.hybrid["recall@10"] < before.hybrid["recall@10"]


def test_a_document_of_both_cannot_be_told_apart() -> None:
    with pytest.raises(InvalidInput, match="both have a document 'sick'"):
        RetrievalSet("tiny", (SLICE,)).among("crowd", DOCUMENTS[1:2])


def test_slices_do_not_see_each_others_documents(settings: ServiceSettings) -> None:
    english = replace(SLICE, name="en only", documents=DOCUMENTS[:3], questions=QUESTIONS[1:2])
    both, one = evaluate(settings, replace(SLICE, questions=QUESTIONS[1:2]), english)
    assert both.words["mrr@10"] > 0
    assert one.words["mrr@10"] == one.meaning["mrr@10"] == 0


def test_a_second_run_takes_its_vectors_from_the_first(settings: ServiceSettings) -> None:
    first = evaluate(settings, SLICE)

    class Silent(HashEmbedder):
        def _embed(self, text: str) -> None:  # type: ignore[override]
            raise AssertionError(f"{text!r} is embedded again")

    again, _ = evaluate_retrieval([RetrievalSet("tiny", (SLICE,))], settings, Silent(), unwatched)
    assert again == first


def test_nothing_is_left_in_the_data_folder_but_vectors(settings: ServiceSettings) -> None:
    evaluate(settings, SLICE)
    left = {path.relative_to(settings.corpus.home).parts[0] for path in settings.corpus.home.rglob("*")}
    assert left == {"cache"}


def test_without_a_reranker_there_are_no_figures_of_one(settings: ServiceSettings) -> None:
    (row,) = evaluate(settings, SLICE)
    assert (row.reranked, row.rerank_ms) == (None, None)


def test_a_reranker_has_figures_beside_those_of_the_fused_order(settings: ServiceSettings) -> None:
    late = replace(settings, reranker="late-interaction", rerank_seconds=1e-9)  # no deadline holds here
    (row,) = evaluate(late, SLICE)
    (before,) = evaluate(settings, SLICE)
    assert row.hybrid == before.hybrid
    assert row.reranked is not None
    assert row.reranked["recall@10"] == 1.0
    assert row.rerank_ms is not None
    assert row.rerank_ms > 0


def test_figures_of_a_reranker_that_failed_are_not_given(settings: ServiceSettings) -> None:
    class Failing(HashEmbedder):
        def embed_tokens(self, texts: Sequence[str]) -> Sequence[TokenVectors]:
            if "差旅费" in texts:
                raise MemoryError
            return super().embed_tokens(texts)

    late = replace(settings, reranker="late-interaction")
    with pytest.raises(Unavailable, match="rerank_failed"):
        evaluate_retrieval([RetrievalSet("tiny", (SLICE,))], late, Failing(), unwatched)


def test_evaluation_knows_no_search_of_its_own() -> None:
    source = Path(evaluation.__file__).read_text("utf-8")
    assert "from service.retrieve import retrieve\n" in source
    for part in ("fuse", "index", "keywords", "segments", "snapshot", "vectors"):
        assert f".{part} import" not in source


def test_a_document_is_read_as_a_text_file_is_and_keeps_its_title() -> None:
    document = as_document(SetDocument("d", "The title", "One.\r\n\r\nTwo.", "en"))
    assert document.title == "The title"
    assert [document.text[block.start : block.end] for block in document.blocks] == ["One.", "Two."]
