"""What language models really write: each output has one right reading, in whatever pieces it comes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import pytest

from ingest.corpus.errors import ModelBadOutput
from service.engine.chat import Deadlines, Heard, reader_for
from service.types import DraftStatement, GenerationTask, Question
from tests.service.passages import evidence
from tests.service.ugly_json import JSON
from tests.service.ugly_prose import PROSE, Ugly

FORMS: tuple[tuple[Literal["statements", "text"], Sequence[Ugly]], ...] = (
    ("text", PROSE),
    ("statements", JSON),
)
CASES = [pytest.param(form, one, id=f"{form}: {one.name}") for form, table in FORMS for one in table]


def heard(
    form: Literal["statements", "text"], pieces: Sequence[str], cut_off: bool
) -> tuple[list[DraftStatement], bool]:
    """What is said, and whether the rest was refused, read as the generator does."""
    task = GenerationTask(Question("What is blue?", "en", output=form), evidence("Sky.", "Sea.", "Sun."))
    reader, stream = reader_for(task), Heard(task, Deadlines(1, 1, 1))
    statements: list[DraftStatement] = []
    try:
        for piece in pieces:
            for one in stream.anew(reader.feed(piece)):
                statements.append(one)
        statements.extend(stream.anew(reader.finish(cut_off)))
    except ModelBadOutput:
        return statements, True
    return statements, False


def cut(text: str, seed: int) -> list[str]:
    chance = random.Random(seed)
    places = sorted({0, len(text), *(chance.randint(0, len(text)) for _ in range(chance.randint(1, 12)))})
    return [text[start:end] for start, end in pairwise(places)]


@pytest.mark.parametrize(("form", "ugly"), CASES)
def test_output_has_one_right_reading(form: Literal["statements", "text"], ugly: Ugly) -> None:
    assert heard(form, [ugly.written], ugly.cut_off) == (list(ugly.right), ugly.refused)


@pytest.mark.parametrize(("form", "ugly"), CASES)
def test_output_is_read_the_same_in_any_pieces(form: Literal["statements", "text"], ugly: Ugly) -> None:
    whole = (list(ugly.right), ugly.refused)
    assert heard(form, list(ugly.written), ugly.cut_off) == whole
    for seed in range(8):
        assert heard(form, cut(ugly.written, seed), ugly.cut_off) == whole


def test_the_tables_are_large_and_say_each_thing_once() -> None:
    assert sum(len(table) for _, table in FORMS) >= 120
    for _, table in FORMS:
        assert len({one.name for one in table}) == len(table)
        assert len({(one.written, one.cut_off) for one in table}) == len(table)
