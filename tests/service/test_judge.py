"""What the judge tells of a statement and a passage, and how it is weighed."""

from __future__ import annotations

import numpy as np
import pytest

from service.checking.compare import FEATURES
from service.checking.fitted import Fitted, read_fitted, shipped_judgement
from service.checking.judge import LexicalSemanticJudge
from service.checking.likeness import open_scales
from service.checking.passage import excerpt, read_passage, tokens_at
from tests.contracts.real_models import real_embedder
from tests.fakes import HashEmbedder, WordTokenizer

RULES = (
    "Parking rules\n\nVisitors park on level two. A permit costs 40 EUR a month. "
    "It is not sold online. The garage closes at 23:00."
)
RULES_ZH = "停车规定\n\n访客把车停在二层。停车证每月40元。停车证不在网上出售。车库在23点关闭。"


@pytest.fixture(scope="module")
def judge() -> LexicalSemanticJudge:
    return LexicalSemanticJudge(HashEmbedder())


def told(judge: LexicalSemanticJudge, claim: str, premise: str = RULES) -> dict[str, float]:
    return judge.compare(premise, claim).features


def test_everything_that_is_weighed_is_told_and_within_bounds(judge: LexicalSemanticJudge) -> None:
    for claim in ("A permit costs 40 EUR.", "停车证每月40元。", "?", "1"):
        found = told(judge, claim)
        assert set(FEATURES) <= set(found)
        assert all(0 <= found[name] < 10 for name in FEATURES)
    assert set(shipped_judgement().weights) <= set(FEATURES)


@pytest.mark.parametrize(
    ("premise", "claim", "nearest"),
    [
        (RULES, "A month's permit costs 40 EUR.", "A permit costs 40 EUR a month."),
        (RULES, "Visitors should park on level two.", "Visitors park on level two."),
        (RULES_ZH, "停车证的价格是每月40元。", "停车证每月40元。"),
    ],
)
def test_the_nearest_sentence_is_the_one_that_says_it(
    judge: LexicalSemanticJudge, premise: str, claim: str, nearest: str
) -> None:
    start, end = judge.compare(premise, claim).nearest
    assert premise[start:end] == nearest


@pytest.mark.parametrize(
    ("name", "with_it", "without"),
    [
        ("denies_alone", "A permit does not cost 40 EUR a month.", "A permit costs 40 EUR a month."),
        ("denied_there", "It is sold online.", "It is not sold online."),
        ("names_missing", "A permit is sold by Acme Parking.", "A permit is sold."),
        ("facts_missing", "A permit costs 50 EUR a month.", "A permit costs 40 EUR a month."),
        ("facts_elsewhere", "Visitors park on level two at 23:00.", "The garage closes at 23:00."),
    ],
)
def test_a_cue_is_seen_where_it_is_and_nowhere_else(
    judge: LexicalSemanticJudge, name: str, with_it: str, without: str
) -> None:
    assert told(judge, with_it)[name] > 0
    assert told(judge, without)[name] == 0


def test_what_is_said_in_other_words_is_held_less_than_what_is_said_in_the_same(
    judge: LexicalSemanticJudge,
) -> None:
    same = told(judge, "A permit costs 40 EUR a month.")
    other = told(judge, "For a licence one pays 40 EUR monthly.")
    for name in ("words_near", "grams_near", "aligned_near", "aligned_near_low", "likeness_near"):
        assert same[name] > other[name]
        assert same[name] == pytest.approx(1, abs=0.02) or name == "likeness_near"


def test_a_statement_of_facts_alone_and_one_of_signs_alone_are_compared(judge: LexicalSemanticJudge) -> None:
    for claim in ("40 EUR", "—", "23:00"):
        assert told(judge, claim).keys() == told(judge, "A permit").keys()


def test_of_a_long_passage_the_sentences_that_share_most_are_read_in_their_order() -> None:
    text = "Alpha is one. " + "Beta is two. " * 50 + "Gamma is three. Delta is four."
    passage = read_passage(text)
    shared = [1.0 if "Gamma" in text[a:b] or "Alpha" in text[a:b] else 0.0 for a, b in passage.spans]
    kept = excerpt(passage, shared, WordTokenizer(), room=11)
    assert [text[start:end] for start, end in kept] == ["Alpha is one.", "Gamma is three."]
    assert excerpt(passage, shared, WordTokenizer(), room=10_000) == ((0, len(text)),)


def test_tokens_of_an_excerpt_are_at_their_places_in_the_passage() -> None:
    text = "Alpha is one. Beta is two. Gamma is three."
    kept = ((0, 13), (27, 42))
    joined = "\n".join(text[start:end] for start, end in kept)
    tokens = tokens_at(kept, text, HashEmbedder().embed_tokens([joined])[0])
    assert tokens.texts == ("Alpha", "is", "one", ".", "Gamma", "is", "three", ".")
    assert [text[int(middle)] for middle in tokens.middles] == list("psn.mse.") or len(tokens.middles) == 8


def test_unrelated_sentences_come_to_nothing_and_equal_ones_to_one() -> None:
    for (said, read), scales in open_scales(HashEmbedder()).items():
        for scale in (scales.aligned, scales.whole):
            assert scale.unrelated < scale.same <= 1 + 1e-6
            ends = scale.of(np.array([scale.unrelated - 0.1, scale.unrelated, scale.same, 1.1]))
            np.testing.assert_allclose(ends, [0, 0, 1, 1])
            assert said != read or scale.same == pytest.approx(1, abs=1e-5)


def test_a_translation_is_as_near_as_the_same_words() -> None:
    judge = LexicalSemanticJudge(real_embedder())
    across = judge.compare(RULES_ZH, "The garage closes at 23:00.").features
    other = judge.compare(RULES_ZH, "Dogs must be kept on a lead.").features
    assert across["aligned_near"] > other["aligned_near"] + 0.2
    assert across["likeness_near"] > other["likeness_near"] + 0.1


def test_a_probability_grows_with_what_has_a_positive_weight() -> None:
    fitted = Fitted("v", "nothing", (), 0.5, -1.0, {"words_near": 2.0, "opposite": -3.0})
    assert fitted.probability({"words_near": 0.5, "opposite": 0.0, "han": 1.0}) == pytest.approx(0.5)
    assert fitted.probability({"words_near": 1.0, "opposite": 0.0}) > 0.7
    assert fitted.probability({"words_near": 1.0, "opposite": 1.0}) < 0.2
    with pytest.raises(KeyError):
        fitted.probability({"words_near": 1.0})


def test_shipped_weights_say_what_they_were_fitted_on() -> None:
    shipped = shipped_judgement()
    assert shipped.version
    assert 0 < shipped.threshold < 1
    assert shipped.sets
    assert all(name in shipped.fitted_on for name in shipped.sets)
    text = (
        '{"version": "v", "fitted_on": "x", "sets": ["a"], "threshold": 0.5, "intercept": 0, "weights": {}}'
    )
    assert read_fitted(text) == Fitted("v", "x", ("a",), 0.5, 0, {})
