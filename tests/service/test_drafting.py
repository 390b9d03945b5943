"""Drafts of a language model, read in whatever pieces they come: every way to be wrong or to be cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ingest.corpus.errors import ModelBadOutput
from service.checking.cite import parse_draft, says_something
from service.drafting import (
    LONGEST_STRETCH,
    UNANSWERABLE,
    DraftReader,
    ProseReader,
    StatementsReader,
    read_statement,
    statements_schema,
)
from service.types import DraftStatement

MARKERS = ("C1", "C2", "C3")
SKY = '{"text": "Sky is blue.", "citations": ["C1"]}'
SEA = '{"citations":["C3","C1"],"text":"海是\\u84dd的 \\ud83d\\ude00 \\"}]\\\\"}'
WHOLE = f'{{"answerable": true, "statements": [{SKY}, {SEA}]}}'
BOTH = [DraftStatement("Sky is blue.", ("C1",)), DraftStatement('海是蓝的 😀 "}]\\', ("C3", "C1"))]


def statements() -> StatementsReader:
    return StatementsReader(MARKERS)


def read(reader: DraftReader, pieces: Sequence[str], cut_off: bool = False) -> list[DraftStatement | str]:
    """The statements; "refused" last if it was."""
    found: list[DraftStatement | str] = []
    try:
        for piece in pieces:
            for statement in reader.feed(piece):
                found.append(statement)
        found.extend(reader.finish(cut_off))
    except ModelBadOutput:
        found.append("refused")
    return found


def cut(text: str, places: Sequence[int]) -> list[str]:
    ends = [*sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


# --- JSON --------------------------------------------------------------------------------------


def test_each_statement_is_there_when_its_object_is_complete() -> None:
    reader = statements()
    after = WHOLE.index(SKY) + len(SKY)
    assert list(reader.feed(WHOLE[: after - 1])) == []
    assert list(reader.feed(WHOLE[after - 1 : after])) == BOTH[:1]
    assert list(reader.feed(WHOLE[after:-3])) == []
    assert list(reader.feed(WHOLE[-3:])) == BOTH[1:]
    assert list(reader.finish(cut_off=False)) == []


@pytest.mark.parametrize("gap", ["", " ", "\n\t\r "])
def test_blanks_between_its_parts_mean_nothing(gap: str) -> None:
    parts = ["", "{", '"answerable"', ":", "true", ",", '"statements"', ":", "[", SKY, ",", SEA, "]", "}", ""]
    assert read(statements(), [gap.join(parts)]) == BOTH


def test_an_answer_that_says_to_be_none_states_nothing() -> None:
    assert read(statements(), [WHOLE.replace("true", "false")]) == []
    assert read(statements(), ['{"answerable":false,"statements":[]}']) == []
    assert read(statements(), ['{"answerable":true,"statements":[]}']) == []


def test_a_draft_that_was_cut_off_keeps_its_complete_statements() -> None:
    assert read(statements(), [WHOLE[:-10]], cut_off=True) == BOTH[:1]
    assert read(statements(), [WHOLE[:-10]]) == [*BOTH[:1], "refused"]


def test_a_citation_within_the_text_is_taken_out_and_counts() -> None:
    def of(text: str) -> DraftStatement | None:
        return read_statement(json.dumps({"text": text, "citations": ["C2"]}), MARKERS)

    assert of("Sky [C1] is blue. Sea is too [C2].") == DraftStatement(
        "Sky is blue. Sea is too.", ("C2", "C1")
    )
    assert of("Sky is blue [c1].") == DraftStatement("Sky is blue [c1].", ("C2",), ("[c1]",))
    assert of("Sky is blue [C9].") == DraftStatement("Sky is blue.", ("C2", "C9"))  # for `check` to refuse
    assert of("[C1]") is None


HEAD = '{"answerable":true,"statements":['
WRONG_ITEMS = {
    "no text": '{"citations":["C1"]}',
    "no citations": '{"text":"x"}',
    "more": '{"text":"x","citations":["C1"],"note":"y"}',
    "blank": '{"text":" ","citations":["C1"]}',
    "nothing cited": '{"text":"x","citations":[]}',
    "unknown id": '{"text":"x","citations":["C4"]}',
    "id in lower case": '{"text":"x","citations":["c1"]}',
    "text a number": '{"text":1,"citations":["C1"]}',
    "text a huge number": f'{{"text":{"9" * 5000},"citations":["C1"]}}',
    "text NaN": '{"text":NaN,"citations":["C1"]}',
    "text infinite": '{"text":1e999,"citations":["C1"]}',
    "text null": '{"text":null,"citations":["C1"]}',
    "citations a text": '{"text":"x","citations":"C1"}',
    "citations a number": '{"text":"x","citations":[1]}',
    "citations true": '{"text":"x","citations":[true]}',
    "citations deep": '{"text":"x","citations":[["C1"]]}',
    "citations very deep": f'{{"text":"x","citations":{"[" * 9000}',
    "objects in objects": '{"text":{"a":1},"citations":["C1"]}',
    "twins": '{"text":"x","text":"y","citations":["C1"]}',
    "half a pair": '{"text":"\\ud83d","citations":["C1"]}',
    "line break in a text": '{"text":"a\nb","citations":["C1"]}',
    "bad escape": '{"text":"\\x41","citations":["C1"]}',
    "comma too many": '{"text":"x","citations":["C1",]}',
    "not quoted": "{text:'x',citations:['C1']}",
    "a text": '"x"',
    "an array": "[]",
    "never ending": '{"text":"' + "x" * (LONGEST_STRETCH + 1) + '","citations":["C1"]}',
}
WRONG_WHOLES = {
    "nothing": "",
    "prose": "Sky is blue [C1].",
    "fenced": f"```json\n{WHOLE}\n```",
    "other order": f'{{"statements":[{SKY}],"answerable":true}}',
    "answerable a text": f'{{"answerable":"true","statements":[{SKY}]}}',
    "answerable a number": f'{{"answerable":1,"statements":[{SKY}]}}',
    "answerable twice": f'{{"answerable":true,"answerable":true,"statements":[{SKY}]}}',
    "a bare list": f"[{SKY}]",
    "blanks without end": " " * 300 + WHOLE,
    "null": "null",
    "UTF-8 mark": f"\ufeff{WHOLE}",
    "no statements": '{"answerable":true}',
    "statements null": '{"answerable":true,"statements":null}',
}
WRONG_ENDS = {
    "more after the end": f"{WHOLE} Sky is green.",
    "twice": WHOLE + WHOLE,
    "no end": WHOLE[:-1],
    "no end of the list": WHOLE[:-2],
    "another part": WHOLE[:-1] + ',"more":1}',
    "two commas": f"{HEAD}{SKY},,{SEA}]}}",
    "no comma": f"{HEAD}{SKY} {SEA}]}}",
    "comma at the end": f"{HEAD}{SKY},]}}",
    "blanks without end": WHOLE + " " * (LONGEST_STRETCH + 1),
}


@pytest.mark.parametrize("item", WRONG_ITEMS.values(), ids=WRONG_ITEMS.keys())
def test_a_wrong_statement_is_refused_and_those_before_it_stand(item: str) -> None:
    whole = f"{HEAD}{SKY},{item},{SEA}]}}"
    assert read(statements(), [whole]) == [BOTH[0], "refused"]
    assert read(statements(), cut(whole, range(0, len(whole), 7))) == [BOTH[0], "refused"]


@pytest.mark.parametrize("whole", WRONG_WHOLES.values(), ids=WRONG_WHOLES.keys())
def test_what_is_not_the_form_is_refused(whole: str) -> None:
    assert read(statements(), [whole]) == ["refused"]
    assert read(statements(), list(whole)) == ["refused"]


@pytest.mark.parametrize("whole", WRONG_ENDS.values(), ids=WRONG_ENDS.keys())
def test_a_wrong_end_is_refused(whole: str) -> None:
    found = read(statements(), [whole])
    assert found[0] == BOTH[0]
    assert found[-1] == "refused"
    assert read(statements(), list(whole)) == found


@given(st.lists(st.integers(0), max_size=12))
def test_json_cut_anywhere_says_the_same(places: list[int]) -> None:
    assert read(statements(), cut(WHOLE, places)) == BOTH


WORDS = ['"text"', '"citations"', '"C1"', '"C4"', "\\ud83d", "\\ude00", "]}", "1", "NaN", "true"]
SCRAPS = [*'{}[],:"\\ x', *WORDS, SKY, SEA, HEAD]


@given(st.lists(st.sampled_from(SCRAPS), max_size=12).map("".join), st.lists(st.integers(0), max_size=8))
def test_anything_cut_anywhere_gives_the_same_statements_and_the_same_refusal(
    scraps: str, places: list[int]
) -> None:
    for whole in (scraps, HEAD + scraps):
        assert read(statements(), cut(whole, places)) == read(statements(), [whole])


def test_the_schema_lets_in_only_what_the_reader_takes() -> None:
    schema = statements_schema(MARKERS)
    assert list(schema["properties"]) == schema["required"] == ["answerable", "statements"]
    item = schema["properties"]["statements"]["items"]
    assert set(item["properties"]) == set(item["required"]) == {"text", "citations"}
    assert item["properties"]["citations"]["items"]["enum"] == list(MARKERS)
    assert not schema["additionalProperties"]
    assert not item["additionalProperties"]


# --- prose -------------------------------------------------------------------------------------

PROSE = "Sky is blue. [C1] Dr. No paid 3.5 EUR [C1][C2].\n- item [C3]\n海是蓝的。[C2]天也是[see C1]。完"


def test_a_sentence_is_there_when_the_next_has_begun() -> None:
    reader = ProseReader()
    assert list(reader.feed("Sky is blue.")) == []
    assert list(reader.feed(" [C1]")) == []
    assert list(reader.feed(" Sea")) == [DraftStatement("Sky is blue.", ("C1",))]
    assert list(reader.feed(" is too [C2].")) == []
    assert list(reader.finish(cut_off=False)) == [DraftStatement("Sea is too.", ("C2",))]


def test_a_sentence_that_was_cut_off_is_not_said() -> None:
    assert read(ProseReader(), ["Sky is blue [C1]. Sea is not", " [C2]"], cut_off=True) == [
        DraftStatement("Sky is blue.", ("C1",))
    ]


@pytest.mark.parametrize("said", [UNANSWERABLE, f"{UNANSWERABLE}.", f" {UNANSWERABLE}。\n"])
def test_prose_that_says_that_it_has_no_answer_states_nothing(said: str) -> None:
    assert read(ProseReader(), list(said)) == []
    assert read(ProseReader(), ["Sky is blue [C1]. ", said]) == [DraftStatement("Sky is blue.", ("C1",))]
    assert read(ProseReader(), [f"It is {said}"]) != []


SIGNS = '[]［【】(（){}<‹›C1 .。!…\n\t-–,、;"”\u3000'
CITED = ["[C1]", "【C2】", "[c1]", "[see C1]", "ID:7", "summary of"]
PHRASES = ["Foo", "bar", "e.g.", "No.", "\n\n", "1. ", "- ", "# ", "（一）"]
LINES = ["| a |", "a" * 59, "字" * 31]


@example(["字" * 31, "\n- ", "[C1]"])
@example(["[", "\n", "C1"])
@example(["(C1,\nC", "2)"])
@example(["[see C1. ", "More. ", "]", "]"])
@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*SIGNS, *CITED, *PHRASES, *LINES]), max_size=25))
def test_prose_cut_anywhere_says_what_the_whole_says(pieces: list[str]) -> None:
    whole = "".join(pieces)
    expected = [one for one in parse_draft(whole) if says_something(one.text)]
    assert read(ProseReader(), pieces) == expected
    assert read(ProseReader(), list(whole)) == expected


def test_every_single_cut_of_prose_says_the_same() -> None:
    expected = list(parse_draft(PROSE))
    assert [one.citations for one in expected] == [("C1",), ("C1", "C2"), ("C3",), ("C2",), (), ()]
    for place in range(len(PROSE)):
        assert read(ProseReader(), [PROSE[:place], PROSE[place:]]) == expected


HOSTILE: dict[str, tuple[Callable[[], DraftReader], str]] = {
    "brackets": (ProseReader, "[" * 2000),
    "sentences": (ProseReader, "a. B" * 500),
    "citations": (ProseReader, "[C1]" * 500),
    "quotes": (statements, HEAD + '{"text":"' + '\\"' * 7000),
    "braces": (statements, HEAD + "{" * 14_000),
    "escapes": (statements, HEAD + '{"' + "\\" * 14_000),
}


@pytest.mark.parametrize(("make", "text"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_read_to_its_end(make: Callable[[], DraftReader], text: str) -> None:
    """Not in time without end: what looks back at each sign would not end here."""
    pieces = [text[start : start + 4] for start in range(0, len(text), 4)]
    assert read(make(), pieces) == read(make(), [text])
