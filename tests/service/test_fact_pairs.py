"""Pairs of a statement and a passage, judged by a careful reader: does the one state the other's figures?

`fact_pairs.tsv` is the table: kind, statement, passage (a backslash and n are a line end), verdict, the
figure or word that a mismatch names, and what makes the pair a trap. `same` says that no figure, bound or
denial differs, not that the passage carries the statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.checking.check import check_statement
from service.checking.facts import find_mismatch
from service.checking.judge import LexicalSemanticJudge
from service.types import DraftStatement, Verdict
from tests.fakes import HashEmbedder
from tests.service.passages import evidence

TABLE = Path(__file__).with_name("fact_pairs.tsv")
FALLS_SHORT = {
    "北京的收入为120元。": "for which columns a table's scale is meant is not known",
    "The deposit is 500 EUR.": "a bound left out is often no fault: notice 5 days ahead for at least 5 days",
}


@dataclass(frozen=True)
class Pair:
    kind: str
    statement: str
    passage: str
    verdict: str
    figure: str
    trap: str


def pairs() -> list[Pair]:
    _, *rows = TABLE.read_text("utf-8").splitlines()
    return [Pair(*(cell.replace("\\n", "\n") for cell in row.split("\t"))) for row in rows]


def cases() -> Sequence[object]:
    return [
        pytest.param(
            one,
            id=f"{one.kind}-{one.statement}-{one.passage}",
            marks=[pytest.mark.xfail(reason=FALLS_SHORT[one.statement], strict=True)]
            if one.statement in FALLS_SHORT
            else [],
        )
        for one in pairs()
    ]


def checked(statement: str, passage: str) -> Verdict:
    draft = DraftStatement(statement, ("C1",))
    judge = LexicalSemanticJudge(HashEmbedder())
    return check_statement(draft, evidence(passage, start=100), {1}, judge).verdict


@pytest.mark.parametrize("pair", cases())
def test_pair_is_judged_as_a_careful_reader_does(pair: Pair) -> None:
    verdict = checked(pair.statement, pair.passage)
    assert verdict.level == ("facts" if pair.verdict == "differs" else "support"), verdict.reason
    assert pair.figure in verdict.reason


def test_every_text_of_the_table_states_its_own_figures() -> None:
    texts = {one.statement for one in pairs()} | {one.passage for one in pairs()}
    assert [text for text in sorted(texts) if find_mismatch(text, text, "C1")] == []


def test_the_table_is_large_and_half_of_it_are_traps() -> None:
    table = pairs()
    assert len(table) == len({(one.statement, one.passage) for one in table}) >= 150
    assert 2 * sum(bool(one.trap) for one in table) >= len(table)
    assert {one.verdict for one in table} == {"same", "differs"}
    assert all(bool(one.figure) == (one.verdict == "differs") for one in table)


@pytest.mark.parametrize(
    ("statement", "passage", "said", "instead"),
    [
        ("Pay within 300 days.", "Pay within 30 days.", "300 days", "30 days"),
        ("员工每年享有二十天年假。", "员工每年享有十五天年假。", "二十天", "十五天"),
        ("At most 10 guests may come.", "At least 10 guests may come.", "At most 10", "At least 10"),
        ("It ends on 5 May.", "It began on 1 May.", "5 May", "1 May"),
    ],
)  # fmt: skip
def test_a_mismatch_says_which_figure_where_and_what_stands_there_instead(
    statement: str, passage: str, said: str, instead: str
) -> None:
    verdict = checked(statement, passage)
    at = statement.index(said)
    assert verdict.reason.startswith(f"{said} is not in C1; it has {instead}.")
    assert f"(At characters {at + 1} to {at + len(said)} of the statement.)" in verdict.reason
    (span,) = verdict.spans
    assert passage[span.start - 100 : span.end - 100] == instead


def test_a_denial_is_shown_where_it_stands() -> None:
    passage = "The hall is warm. Visitors must not smoke in it."
    (span,) = checked("Visitors may smoke in the hall.", "Visitors must not smoke in the hall.").spans
    assert (span.start, span.end) == (100, 136)
    (span,) = checked("Visitors smoke in it.", passage).spans
    assert passage[span.start - 100 : span.end - 100] == "Visitors must not smoke in it."


def test_of_several_passages_the_span_is_in_the_one_that_says_otherwise() -> None:
    passages = evidence("The hall is warm.", "Pay within 30 days.", start=50)
    judge = LexicalSemanticJudge(HashEmbedder())
    draft = DraftStatement("The hall is warm. Pay within 300 days.", ("C1", "C2"))
    verdict = check_statement(draft, passages, {1, 2}, judge).verdict
    (span,) = verdict.spans
    assert (span.marker, span.start, span.end) == ("C2", 61, 68)
