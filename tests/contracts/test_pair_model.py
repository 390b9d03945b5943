"""What any PairModel must do, the fake one that other tests use included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ingest.corpus.errors import OverBudget
from service.adapters.cross_encoder import CrossEncoderModel
from service.seams import PairModel
from tests.contracts.tiny_cross_encoder import save_tiny
from tests.fakes import SharedWords

INFERENCE = ("contradiction", "entailment", "neutral")
MODELS: dict[str, Callable[[Path], PairModel]] = {
    "one label": lambda folder: CrossEncoderModel(save_tiny(folder)),
    "three labels": lambda folder: CrossEncoderModel(save_tiny(folder, INFERENCE)),
    "fake": lambda _: SharedWords(),
    "fake, three labels": lambda _: SharedWords(labels=INFERENCE),
}
PAIRS = [
    ("How long may goods be returned?", "Goods may be returned within 30 days of delivery."),
    ("退货期限", "商品在签收后30天内可以退货。"),
    ("", ""),
    ("👩‍👩‍👧‍👦 \x00", "\u0301\u200d"),
    ("helmets", "red " * 20),
]


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS.keys())
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PairModel:
    make: Callable[[Path], PairModel] = request.param
    return make(tmp_path_factory.mktemp("model") / "tiny")


def test_each_pair_has_a_finite_number_for_each_label(model: PairModel) -> None:
    found = model.logits(PAIRS)
    assert found.shape == (len(PAIRS), len(model.labels))
    assert np.isfinite(found).all()


def test_no_pairs_have_no_numbers(model: PairModel) -> None:
    assert model.logits([]).shape == (0, len(model.labels))


def test_a_pair_has_the_same_numbers_among_others_as_alone(model: PairModel) -> None:
    alone = np.concatenate([model.logits([pair]) for pair in PAIRS])
    np.testing.assert_allclose(model.logits(PAIRS), alone, atol=1e-4)


def test_a_pair_that_fills_the_window_is_read_and_one_token_more_is_refused(model: PairModel) -> None:
    room = model.max_tokens - model.special_tokens - model.tokenizer.count("red")
    assert model.logits([("red", "red " * room)]).shape == (1, len(model.labels))
    for pair in (("red", "red " * (room + 1)), ("red " * (room + 1), "red")):
        with pytest.raises(OverBudget, match=str(model.max_tokens)):
            model.logits([pair])


def test_a_special_token_that_a_text_spells_is_text(model: PairModel) -> None:
    written, spelled = (model.logits([("red", f"goods {text} red")]) for text in ("[SEP]", "[sep]"))
    np.testing.assert_allclose(written, spelled, atol=1e-5)


def test_the_version_stays(model: PairModel) -> None:
    before = model.version
    model.logits(PAIRS)
    assert before.strip()
    assert model.version == before
