"""Nearness: what unrelated texts have in common is taken off, whatever the script."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import numpy as np
import pytest

from ingest.corpus.script import HAN, OTHER, script_of
from service.nearness import Background, open_background
from tests.contracts.real_models import real_embedder
from tests.fakes import HashEmbedder

# Three axes: what all texts share, what texts of one script share, and what they are about.
MEANS = np.array([[0.8, 0.0, 0.0], [0.8, 0.4, 0.0]], dtype=np.float32)  # OTHER, HAN
BACKGROUND = Background(MEANS, np.array([[1.0, 1.6], [1.3, 1.0]]))


@lru_cache
def real_background() -> Background:
    """Of the default embedder; the same each time, and seconds of embedding."""
    return open_background(real_embedder())


def near(question: list[float], asked_in: int, text: list[float], script: int) -> float:
    probe = BACKGROUND.probe(np.array(question, dtype=np.float32), asked_in)
    product = np.array(text, dtype=np.float64) @ probe.vector
    return float(probe.nearness(np.array([product]), np.array([script]))[0])


def test_texts_that_share_only_the_common_are_not_near():
    assert near([0.8, 0.0, 0.6], OTHER, [0.8, 0.0, 0.0], OTHER) == pytest.approx(0.0, abs=1e-6)
    assert near([0.8, 0.4, 0.4], HAN, [0.8, 0.4, 0.0], HAN) == pytest.approx(0.0, abs=1e-6)


def test_texts_about_the_same_are_near():
    assert near([0.8, 0.0, 0.6], OTHER, [0.8, 0.0, 0.6], OTHER) == pytest.approx(2 * 0.36)


def test_text_in_the_question_s_script_is_not_nearer_for_that():
    question, answer, other = [0.8, 0.4, 0.3], [0.8, 0.0, 0.4], [0.8, 0.4, 0.0]
    assert np.dot(question, answer) < np.dot(question, other)  # what the inner product alone says
    assert near(question, HAN, answer, OTHER) > near(question, HAN, other, HAN)


def test_text_that_is_near_to_everything_is_less_near():
    """Both have the same inner product with the question."""
    hub, plain = [1.0, 0.0, 0.1], [0.8, 0.0, 0.1 + 0.2 * 0.8 / 0.6]
    assert np.dot([0.8, 0, 0.6], hub) == pytest.approx(np.dot([0.8, 0, 0.6], plain))
    assert near([0.8, 0.0, 0.6], OTHER, hub, OTHER) < near([0.8, 0.0, 0.6], OTHER, plain, OTHER)


def test_background_is_the_mean_of_as_many_sentences_in_each_script():
    embedder = HashEmbedder()
    english, chinese = (
        files("service").joinpath("unrelated", f"{one}.txt").read_text("utf-8").splitlines()
        for one in ("en", "zh")
    )
    assert len(english) == len(chinese)
    means = open_background(embedder).means
    assert np.allclose(means[OTHER], embedder.embed_passages(english).mean(axis=0))
    assert np.allclose(means[HAN], embedder.embed_passages(chinese).mean(axis=0))


def test_what_is_no_nearer_for_its_script_is_compared_by_the_ratio_of_its_pair():
    probe = BACKGROUND.probe(np.array([0.8, 0.0, 0.6], dtype=np.float32), OTHER)
    products, scripts = np.array([1.0, 1.0]), np.array([OTHER, HAN])
    assert probe.compared(products, scripts) == pytest.approx(probe.nearness(products, scripts) * [1, 1.6])


def test_a_translation_that_is_hardly_nearer_than_anything_is_not_made_up_for():
    """The embedder of hashes reads no language: what it finds near is chance."""
    assert np.array_equal(open_background(HashEmbedder()).scales, np.ones((2, 2)))


def test_a_sentence_and_its_translation_compare_alike_with_the_default_embedder():
    background = real_background()
    assert background.scales.diagonal() == pytest.approx(1.0)
    assert background.scales[OTHER, HAN] == pytest.approx(1.59, abs=0.05)
    assert background.scales[HAN, OTHER] == pytest.approx(1.35, abs=0.05)


ANSWERS = [
    ("How long is the warranty?", "The warranty is two years.", "The canteen opens at noon."),
    ("保修期多长？", "保修期为两年。", "食堂中午开门。"),
    ("保修期多长？", "The warranty is two years.", "食堂中午开门。"),
    ("How long is the warranty?", "保修期为两年。", "The canteen opens at noon."),
]


@pytest.mark.parametrize(("question", "answer", "other"), ANSWERS)
def test_answer_is_nearer_than_another_text_whatever_the_languages(question: str, answer: str, other: str):
    embedder = real_embedder()
    probe = real_background().probe(embedder.embed_query(question), script_of(question))
    products = embedder.embed_passages([answer, other]).astype(np.float64) @ probe.vector
    nearness = probe.nearness(products, np.array([script_of(answer), script_of(other)]))
    assert nearness[0] > nearness[1] + 0.05
