"""Which order comes out of reranking, and that without a better one the fused order stands and is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, nan
from threading import Event

import numpy as np
import pytest

from ingest.corpus.errors import InvalidInput
from ingest.corpus.seams import TokenVectors
from service.cross_encoding import CrossEncoderScorer
from service.late_interaction import LateInteraction, max_sim
from service.rerank import RERANKED, ScoredOrder, is_settled_by_words
from service.types import RankedChunk
from tests.fakes import HashEmbedder, SharedWords
from tests.service.passages import ranked

QUESTION = "When does the canteen open?"
CHUNKS = tuple(ranked(number, f"passage {number}", score) for number, score in ((1, 3.0), (2, 2.0), (3, 1.0)))


class Scripted:
    """Gives each passage the score that it is told to."""

    version = "scripted"

    def __init__(self, *scores: float) -> None:
        self._scores = scores
        self.read: list[str] = []

    def scores(self, question: str, passages: Sequence[str]) -> Iterator[list[tuple[int, float]]]:  # noqa: ARG002
        self.read.extend(passages)
        for place, score in zip(range(len(passages)), self._scores, strict=False):
            yield [(place, score)]


def ids(chunks: Sequence[RankedChunk]) -> list[int]:
    return [one.stored.id for one in chunks]


def test_the_scorer_alone_decides_where_it_has_the_whole_share() -> None:
    found = ScoredOrder(Scripted(0.1, 0.3, 0.2), 1.0, 60).rerank(QUESTION, CHUNKS)
    assert (ids(found.chunks), found.fault) == ([2, 3, 1], None)


def test_without_a_share_the_fused_order_stays() -> None:
    found = ScoredOrder(Scripted(0.1, 0.3, 0.2), 0.0, 60).rerank(QUESTION, CHUNKS)
    assert ids(found.chunks) == [1, 2, 3]


def test_of_several_scores_of_a_passage_the_best_counts() -> None:
    class Windows(Scripted):
        def scores(self, question: str, passages: Sequence[str]) -> Iterator[list[tuple[int, float]]]:  # noqa: ARG002
            yield [(0, 0.5), (1, 0.9), (2, 0.6)]
            yield [(1, 0.0), (2, 0.7)]

    assert ids(ScoredOrder(Windows(), 1.0, 60).rerank(QUESTION, CHUNKS).chunks) == [2, 3, 1]


def test_passages_that_score_the_same_stay_as_they_were_also_for_who_sorts_by_score() -> None:
    chunks = tuple(ranked(number, "the same", 1.0) for number in (9, 4, 7))
    found = ScoredOrder(Scripted(0.5, 0.5, 0.5), 1.0, 60).rerank(QUESTION, chunks).chunks
    assert ids(found) == [9, 4, 7]
    assert ids(sorted(found, key=lambda one: (-one.score, one.stored.id))) == [9, 4, 7]


def test_those_beyond_the_first_are_not_scored_and_stay_behind() -> None:
    chunks = tuple(ranked(number, f"passage {number}", 100.0 - number) for number in range(RERANKED + 5))
    scorer = Scripted(*range(RERANKED))
    found = ScoredOrder(scorer, 1.0, 60).rerank(QUESTION, chunks).chunks
    assert len(scorer.read) == RERANKED
    assert ids(found) == [*reversed(range(RERANKED)), *range(RERANKED, RERANKED + 5)]
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_a_passage_is_read_with_its_title_and_context() -> None:
    scorer = Scripted(1.0, 2.0)
    chunk = ranked(1, "| Suzhou | 700 |", title="Travel", context="| City | Limit |")
    ScoredOrder(scorer, 1.0, 60).rerank(QUESTION, (chunk, CHUNKS[0]))
    assert scorer.read[0] == "Travel\n| City | Limit |\n| Suzhou | 700 |"


@pytest.mark.parametrize("score", [nan, inf, -inf], ids=str)
def test_a_score_that_is_no_number_leaves_the_fused_order(score: float) -> None:
    found = ScoredOrder(Scripted(0.1, score, 0.9), 1.0, 60).rerank(QUESTION, CHUNKS)
    assert (found.chunks, found.fault) == (CHUNKS, "rerank_not_finite")


def test_a_passage_without_a_score_leaves_the_fused_order() -> None:
    found = ScoredOrder(Scripted(0.1, 0.3), 1.0, 60).rerank(QUESTION, CHUNKS)
    assert (found.chunks, found.fault) == (CHUNKS, "rerank_not_finite")


def test_a_scorer_that_fails_leaves_the_fused_order_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Failing(Scripted):
        def scores(self, question: str, passages: Sequence[str]) -> Iterator[list[tuple[int, float]]]:  # noqa: ARG002
            yield [(0, 1.0)]
            raise RuntimeError("out of memory, with the text of a passage")

    found = ScoredOrder(Failing(), 1.0, 60).rerank(QUESTION, CHUNKS)
    assert (found.chunks, found.fault) == (CHUNKS, "rerank_failed")
    assert "RuntimeError" in caplog.text
    assert "passage" not in caplog.text


def test_after_the_deadline_the_fused_order_stands_and_the_scorer_ends_at_its_next_passage() -> None:
    class Slow(Scripted):
        def scores(self, question: str, passages: Sequence[str]) -> Iterator[list[tuple[int, float]]]:  # noqa: ARG002
            for place in range(len(passages)):
                assert goes_on.wait(60)
                self.read.append(passages[place])
                yield [(place, 1.0)]

    goes_on = Event()
    slow = Slow()
    reranker = ScoredOrder(slow, 1.0, 0.05)
    first = reranker.rerank(QUESTION, CHUNKS)
    waiting = reranker.rerank(QUESTION, CHUNKS)  # the first still holds the worker
    assert (first.chunks, first.fault) == (waiting.chunks, waiting.fault) == (CHUNKS, "rerank_timeout")
    goes_on.set()
    patient = ScoredOrder(slow, 1.0, 60)
    patient._worker = reranker._worker
    assert patient.rerank(QUESTION, CHUNKS).fault is None
    assert slow.read == ["passage 1", "passage 1", "passage 2", "passage 3"]


# --- when to keep out --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "passage", "settled"),
    [
        ("What is the salary of employee emp_0001?", "Employee EMP_0001 earns 178997.", True),
        ("What is the salary of employee emp_0001?", "Employee emp_0010 earns 178997.", False),
        ("What priority does IT ticket 12671 have?", "Ticket １２６７１: high", True),
        ("PRD-2041的保修期是多久？", "产品PRD-2041保修24个月。", True),
        ("PRD-2041和PRD-2042的保修期是多久？", "产品PRD-2041保修24个月。", False),
        ("When does the canteen open?", "When does the canteen open? At 8.", False),
        ("退货期限是多久？", "退货期限是多久？30天。", False),
    ],
)
def test_a_question_by_identifiers_that_one_passage_holds_is_settled(
    question: str, passage: str, settled: bool
) -> None:
    assert is_settled_by_words(question, ["something else", passage]) is settled
    scorer = Scripted(0.0, 1.0, 2.0)
    found = ScoredOrder(scorer, 1.0, 60).rerank(question, (ranked(7, passage, 4.0), *CHUNKS[:2]))
    assert ids(found.chunks) == ([7, 1, 2] if settled else [2, 1, 7])
    assert found.fault is None
    assert bool(scorer.read) is not settled  # nothing is computed where nothing can be gained


# --- late interaction --------------------------------------------------------------------------


def test_max_sim_is_the_mean_over_the_question_of_the_likest_token_of_the_passage() -> None:
    question = np.array([[1, 0], [0, 1]], dtype=np.float32)
    passage = np.array([[0.6, 0.8], [1, 0], [-1, 0]], dtype=np.float32)
    assert max_sim(question, passage) == pytest.approx((1 + 0.8) / 2)
    assert max_sim(question, passage[:0]) == max_sim(question[:0], passage) == 0.0


def test_late_interaction_prefers_the_passage_that_has_the_questions_words() -> None:
    passages = ["It is closed in May.", "The canteen does open at eight.", "open canteen when does the"]
    scores = dict(one for some in LateInteraction(HashEmbedder()).scores(QUESTION, passages) for one in some)
    assert sorted(scores, key=scores.__getitem__) == [0, 1, 2]


def test_late_interaction_reads_as_much_of_a_passage_as_the_embedder_takes() -> None:
    class Counting(HashEmbedder):
        longest = 0

        def embed_tokens(self, texts: Sequence[str]) -> Sequence[TokenVectors]:
            self.longest = max(self.longest, *map(self.tokenizer.count, texts))
            return super().embed_tokens(texts)

    embedder = Counting(max_tokens=100)
    list(LateInteraction(embedder).scores("word " * 500, ["word " * 500, "one"]))
    assert embedder.longest == 84


# --- cross-encoder -----------------------------------------------------------------------------


def test_a_long_passage_counts_as_its_best_window_and_the_question_is_never_cut() -> None:
    model = SharedWords(max_tokens=40)
    filler = "Nothing of this is asked for here. " * 10
    passages = [filler, f"{filler}When does the canteen open? {filler}", "The canteen."]
    found: dict[int, float] = {}
    for place, score in (
        one for some in CrossEncoderScorer(model).scores(QUESTION, passages) for one in some
    ):
        found[place] = max(score, found.get(place, -inf))
    assert max(found, key=found.__getitem__) == 1
    assert all(question == QUESTION for question, _ in model.read)
    assert len(model.read) > len(passages)


def test_a_question_that_leaves_no_room_leaves_the_fused_order() -> None:
    reranker = ScoredOrder(CrossEncoderScorer(SharedWords(max_tokens=40)), 1.0, 60)
    found = reranker.rerank("canteen " * 30, CHUNKS)
    assert (found.chunks, found.fault) == (CHUNKS, "rerank_failed")


def test_a_model_with_several_labels_is_no_reranker() -> None:
    with pytest.raises(InvalidInput, match="3 labels"):
        CrossEncoderScorer(SharedWords(labels=("entailment", "neutral", "contradiction")))
