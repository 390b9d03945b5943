"""What ships to decide whether evidence answers, and what of the evidence it goes by."""

from __future__ import annotations

import numpy as np

from service.answerable import (
    FEATURES,
    features_of,
    read_answerability,
    shipped_answerability,
    written,
)
from service.strength import Weighed


def weighed(own: list[bool], abroad: list[bool], nearness: list[float], margins: list[float]) -> Weighed:
    return Weighed((), (), np.array(nearness), np.array(margins), np.array(own), np.array(abroad))


def test_what_ships_weighs_each_way_and_script_as_reason_says() -> None:
    shipped = shipped_answerability()
    assert set(shipped.fitted) == {f"{way}-{script}" for way in FEATURES for script in ("en", "zh")}
    for name, fitted in shipped.fitted.items():
        signs = FEATURES["own" if name.startswith("own") else "abroad"]
        assert fitted.version == shipped.version
        assert 0 < fitted.threshold < 1
        assert fitted.weights.keys() <= signs.keys()
        assert any(fitted.weights.values())
        assert all(weight * signs[feature] >= 0 for feature, weight in fitted.weights.items())
        assert fitted.sets
        assert fitted.fitted_on


def test_what_is_written_is_read_again() -> None:
    assert read_answerability(written(shipped_answerability())) == shipped_answerability()


def test_each_way_goes_by_its_own_best_sentences() -> None:
    told = dict(
        features_of(
            weighed(
                [True, True, False, False],
                [False, False, True, False],
                [0.1, 0.2, 0.7, 0.9],
                [0.5, 0.3, 9, 9],
            )
        )
    )
    assert told == {"own": {"strength": 0.5, "nearness": 0.2}, "abroad": {"nearness": 0.7}}


def test_a_foreign_sentence_within_a_passage_of_the_own_script_is_no_way_abroad() -> None:
    assert dict(features_of(weighed([False], [False], [0.9], [9.0]))) == {}


def test_without_a_sentence_nothing_is_likely() -> None:
    nothing = weighed([], [], [], [])
    assert shipped_answerability().of("How long is the warranty?", nothing) == (0.0, False)


def test_a_stronger_and_nearer_sentence_is_never_less_likely_to_answer() -> None:
    shipped = shipped_answerability()
    for question in ("How long is the warranty?", "保修期多长？"):
        likely = [
            shipped.of(question, weighed([True], [False], [0.02 * step], [0.1 * step - 1]))[0]
            for step in range(20)
        ]
        assert likely == sorted(likely)
        assert likely[-1] > 0.9 > 0.1 > likely[0]
