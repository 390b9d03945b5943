"""Attempts kept between runs: what was the service's answer once, and nothing that was not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ingest.corpus.types import AccessList
from service.evaluation.asking.attempts import Attempt
from service.evaluation.asking.kept import attempts_at
from service.evaluation.sets.cases import Case, CaseSet, part_of


def case(name: str, follows: str | None = None) -> Case:
    return Case(
        *(name, f"{name}?", "en", "all", "single_fact", "low", "easy", "ana", "answered", (), ("yes",)),
        follows=follows,
        standalone=f"{name} by itself?" if follows else None,
    )


CASES = (case("one"), case("two", "one"), case("three", "two"), case("four"), case("five", "four"))
EVERYONE = AccessList(frozenset({"everyone"}), frozenset())
SMALL = CaseSet("small", "v1", "0" * 64, "a mill", "Apache-2.0", EVERYONE, (), (), (), CASES)


class Asker:
    """Answers with what came before, and knows what it was asked."""

    def __init__(self, whole: CaseSet, **told: object) -> None:
        self.set, self.told = whole, told
        self.asked: list[str] = []

    def __call__(self, one: Case) -> Attempt:
        self.asked.append(one.id)
        before = ", ".join(earlier.id for earlier in self.set.before(one))
        return Attempt(one.id, **{"ended": "answered", "answer": f"after {before}", **self.told})  # type: ignore[arg-type]


def asked_of(folder: Path, asker: Asker) -> tuple[Attempt, ...]:
    return attempts_at(folder, asker.set, ["settings"], asker, lambda *_: None).made


@pytest.mark.parametrize("every", [2, 3, 4])
def test_a_part_is_asked_as_the_whole_is_and_serves_it(tmp_path: Path, every: int) -> None:
    part = asked_of(tmp_path, Asker(part_of(SMALL, every)))
    rest = Asker(SMALL)
    whole = asked_of(tmp_path, rest)
    assert whole == asked_of(tmp_path / "fresh", Asker(SMALL))
    assert set(rest.asked) == {one.id for one in CASES} - {one.case_id for one in part}
    assert part == tuple(one for one in whole if one.case_id in {each.case_id for each in part})


def test_a_part_of_a_part_knows_the_whole() -> None:
    part = part_of(part_of(SMALL, 2), 2)
    assert (len(part.cases), part.whole) == (2, CASES)
    assert [one.id for one in part.before(CASES[4])] == ["four"]


def test_what_a_part_is_of_does_not_go_by_places() -> None:
    """A set may hold its languages in turn, and a larger part holds a smaller one."""
    many = replace(SMALL, cases=tuple(case(f"q{number}") for number in range(400)))
    fourth, half = part_of(many, 4).cases, part_of(many, 2).cases
    assert (len(fourth), len(half)) == (100, 200)
    assert set(fourth) < set(half)
    assert 30 < sum(one in many.cases[::2] for one in fourth) < 70
    assert [one for one in many.cases if one in fourth] == list(fourth)


def test_how_many_were_kept_is_told_of_the_questions_of_the_part(tmp_path: Path) -> None:
    kept = [
        attempts_at(tmp_path, one, ["settings"], Asker(one), lambda *_: None).kept
        for one in (part_of(SMALL, 2), SMALL, part_of(SMALL, 4))
    ]
    assert kept == [0, 3, 2]


@pytest.mark.parametrize(
    "told",
    [{"ended": "error", "error": "model_timeout"}, {"degraded": ("quoting",)}],
    ids=["failed", "quoted because the model failed"],
)
def test_what_failed_is_asked_again(tmp_path: Path, told: dict[str, object]) -> None:
    asked_of(tmp_path, Asker(SMALL, **told))
    again = Asker(SMALL)
    asked_of(tmp_path, again)
    assert again.asked == [one.id for one in CASES]


def test_what_was_answered_is_not(tmp_path: Path) -> None:
    asked_of(tmp_path, Asker(SMALL, degraded=("fewer_evidence",)))
    again = Asker(SMALL)
    asked_of(tmp_path, again)
    assert again.asked == []


def test_a_line_that_a_crash_cut_off_costs_that_answer_alone(tmp_path: Path) -> None:
    asked_of(tmp_path, Asker(SMALL))
    (path,) = tmp_path.glob("*.jsonl")
    text = path.read_text("utf-8")
    path.write_text(text[: text.index('"three"') + 4], "utf-8")
    first, second = Asker(SMALL), Asker(SMALL)
    asked_of(tmp_path, first)
    asked_of(tmp_path, second)
    assert (first.asked, second.asked) == (["three", "four", "five"], [])


def test_separators_of_lines_within_an_answer_are_no_ends_of_one(tmp_path: Path) -> None:
    odd = "a\u2028b\u2029c\u0085d"
    kept = asked_of(tmp_path, Asker(SMALL, answer=odd))
    again = Asker(SMALL)
    assert asked_of(tmp_path, again) == kept
    assert again.asked == []


def test_another_set_is_asked_for_itself(tmp_path: Path) -> None:
    asked_of(tmp_path, Asker(SMALL))
    other = Asker(replace(SMALL, sha256="1" * 64))
    asked_of(tmp_path, other)
    assert len(other.asked) == len(CASES)
