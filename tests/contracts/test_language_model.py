"""What any LanguageModel must do. A further one is a line in MODELS."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from service.adapters.causal_lm import CausalLanguageModel
from service.evaluation.releasing.perplexity import LanguageModel
from tests.contracts.real_models import llm_folder
from tests.fakes import LetterModel

MODELS: dict[str, Callable[[], LanguageModel]] = {
    "fake": LetterModel,
    "weights": lambda: CausalLanguageModel(llm_folder("smollm2-135m-instruct")),
}
HEAD = "The meter is read twice a year."
TAIL = " The reading is sent by post."
CHINESE = "水表每年读两次。"


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS.keys())
def model(request: pytest.FixtureRequest) -> LanguageModel:
    make: Callable[[], LanguageModel] = request.param
    return make()


def test_the_whole_is_its_head_and_its_tail_after_the_head(model: LanguageModel) -> None:
    whole, head = model.likelihood(HEAD + TAIL), model.likelihood(HEAD)
    tail = model.likelihood(HEAD + TAIL, scored_from=len(HEAD))
    assert whole.tokens == head.tokens + tail.tokens
    assert whole.nats == pytest.approx(head.nats + tail.nats, rel=1e-4)
    assert 0 < head.nats < whole.nats


@pytest.mark.parametrize("text", [HEAD, CHINESE, "x", "\n", "表", "🙂", "<|im_end|> [C1]"])
def test_the_same_text_is_as_likely_each_time_and_has_tokens(model: LanguageModel, text: str) -> None:
    first = model.likelihood(text)
    assert first == model.likelihood(text)
    assert first.tokens >= 1
    assert first.nats > 0


@pytest.mark.parametrize("text", ["", HEAD])
def test_where_nothing_is_left_to_score_there_is_no_likelihood(model: LanguageModel, text: str) -> None:
    with pytest.raises(ValueError, match=f"of {len(text)} code points"):
        model.likelihood(text, scored_from=len(text))
