"""What any Chooser must do, run over the real one and over the fake. A further one is a line in CHOOSERS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ingest.corpus.errors import ModelFailed, ModelUnavailable
from service.adapters.vllm_choice import VllmChooser
from service.evaluation.asking.remembered import RememberedChooser
from service.seams import Chooser
from service.types import Message
from tests.fakes import SharedWordsChooser
from tests.scripted_engine import MODEL, Do, Reply, scripted_engine
from tests.service.test_vllm_choice import answer

ANSWERS = ("yes", "no")
ASKED = (
    Message("system", "Judge."),
    Message("user", "<passage>Tea is in.</passage><statement>Tea</statement>"),
)


@contextmanager
def over_http(fails: bool) -> Iterator[Chooser]:
    """:param fails: whether the engine dies whenever it is asked."""
    reply = Reply([Do.BREAK]) if fails else Reply([json.dumps(answer()).encode()])
    with scripted_engine(reply) as engine:
        yield VllmChooser(engine.url, MODEL, seconds=20.0, connect_seconds=5.0)


@contextmanager
def shared_words(fails: bool) -> Iterator[Chooser]:
    yield SharedWordsChooser(ModelUnavailable("It is gone.") if fails else None)


@contextmanager
def remembered(fails: bool) -> Iterator[Chooser]:
    with TemporaryDirectory() as folder, over_http(fails) as chooser:
        yield RememberedChooser(chooser, Path(folder))


Make = Callable[[bool], AbstractContextManager[Chooser]]
CHOOSERS: dict[str, Make] = {
    "vllm, scripted server": over_http,
    "vllm, remembered": remembered,
    "shared words": shared_words,
}


@pytest.fixture(params=CHOOSERS.values(), ids=CHOOSERS.keys())
def make(request: pytest.FixtureRequest) -> Make:
    chosen: Make = request.param
    return chosen


def test_each_answer_has_a_probability_and_together_they_are_no_more_than_all(make: Make) -> None:
    with make(False) as chooser:
        found = chooser.choose(ASKED, ANSWERS)
    assert set(found) == set(ANSWERS)
    assert all(one <= 0 for one in found.values())
    assert sum(map(exp, found.values())) <= 1 + 1e-9


def test_the_same_question_has_the_same_answer_with_any_salt(make: Make) -> None:
    with make(False) as chooser:
        found = [dict(chooser.choose(ASKED, ANSWERS, salt)) for salt in ("", "5a17", "c3")]
    assert found[0] == found[1] == found[2]


def test_what_goes_wrong_is_said_by_a_failure_of_the_model(make: Make) -> None:
    with make(True) as chooser, pytest.raises(ModelFailed):
        chooser.choose(ASKED, ANSWERS)


def test_a_version_says_something_and_stays(make: Make) -> None:
    with make(False) as chooser:
        before = chooser.version
        chooser.choose(ASKED, ANSWERS)
        assert before.strip()
        assert chooser.version == before
