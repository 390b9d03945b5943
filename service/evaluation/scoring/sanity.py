"""Do the figures mean what they say? Attempts made up from a set itself, whose figures are known before.

The right ones must get full marks: if not, the set asks for what its evidence does not hold, or a score is
wrong. The bad ones must be told from them, each by the scores that are there for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from service.checking.cite import render
from service.evaluation.asking.attempts import Attempt, CandidateSeen, CitationSeen, Passage, StatementSeen
from service.evaluation.scoring.cited import places
from service.evaluation.scoring.readers import readable
from service.evaluation.scoring.score import Scores, score
from service.evaluation.scoring.wording import holds
from service.evaluation.sets.cases import Case, CaseSet, Quote
from service.types import DraftStatement

NONSENSE = "Quorvex zindle maftrop, bilgen oskarit vumbel. 龘靐齉爩鱻麤。"  # words that no document has
ROUNDING = 1e-9
NAMED = 5  # questions that a complaint names

MakeUp = Callable[[Case, CaseSet, Mapping[str, str]], Attempt]


@dataclass(frozen=True, slots=True)
class SanityRow:
    """A figure of made-up attempts, and what it must be."""

    attempts: str  # how they were made up
    figure: str
    least: float
    most: float
    value: float | None  # None: no question of the set has it
    cases: tuple[str, ...]  # whose own value lies outside, worth a look if the figure does

    @property
    def expected(self) -> str:
        if self.least == self.most:
            return f"{self.least:g}"
        return f"at most {self.most:g}" if self.least == 0 else f"at least {self.least:g}"

    @property
    def holds(self) -> bool:
        return self.value is None or self.least - ROUNDING <= self.value <= self.most + ROUNDING


def sanity_rows(case_set: CaseSet, texts: Mapping[str, str]) -> tuple[SanityRow, ...]:
    """A row for each figure that is known before, in the order of EXPECTED.

    :param texts: of each document, as the service read it.
    :raises Unavailable: if pytrec_eval is not installed.
    """
    return tuple(row for name, make_up in MADE_UP.items() for row in _rows(name, make_up, case_set, texts))


def unmet(rows: Sequence[SanityRow]) -> tuple[str, ...]:
    """A sentence for each expectation that fails."""
    return tuple(_complaint(row) for row in rows if not row.holds)


def _complaint(row: SanityRow) -> str:
    named = ", ".join(row.cases[:NAMED]) + (", …" if len(row.cases) > NAMED else "")
    return f"{row.attempts}: {row.figure} is {row.value:.3f}, must be {row.expected}; see {named}."


def _rows(name: str, make_up: MakeUp, case_set: CaseSet, texts: Mapping[str, str]) -> Iterator[SanityRow]:
    scores: dict[str, Scores] = {
        case.id: score(case, make_up(case, case_set, texts), case_set, texts, holds)
        for case in case_set.cases
    }
    for figure, (least, most) in EXPECTED[name].items():
        values = {one: value for one, of_one in scores.items() if (value := of_one[figure]) is not None}
        mean = fsum(values.values()) / len(values) if values else None
        outside = (one for one, value in values.items() if not least <= value <= most)
        yield SanityRow(name, figure, least, most, mean, tuple(outside))


# --- attempts ----------------------------------------------------------------------------------


def _gold(case: Case, case_set: CaseSet, texts: Mapping[str, str]) -> Attempt:
    """The first quote of every group, each cited to its place; a refusal where due."""
    if case.outcome == "refused":
        return _refusing(case, case_set, texts)
    said = [found for group in case.evidence if (found := _place(group[0], texts))]
    also = [found for group in case.evidence for quote in group[1:] if (found := _place(quote, texts))]
    return _quoting(case, said, [(f"C{number}",) for number in range(1, len(said) + 1)], also)


def _copied(case: Case, case_set: CaseSet, texts: Mapping[str, str]) -> Attempt:
    """Whole documents as the answer, each cited to all of them; at least two.

    Those that answer, and one that holds what must not be said, if the asker may read one.
    """
    may = readable(case_set, case.asker)
    others = [one.name for one in case_set.documents if one.name in may]
    wrong = [
        name for name in others if any(holds(texts.get(name, ""), part) for part in case.must_not_contain)
    ]
    needed = dict.fromkeys([*(group[0].document for group in case.evidence), *wrong[:1]])
    names = list(dict.fromkeys([*needed, *others]))[: max(len(needed), 2)]
    said = [found for name in names if (found := _place(Quote(name, ""), texts))]
    return _quoting(case, said, [tuple(f"C{number}" for number in range(1, len(said) + 1))] * len(said))


def _refusing(case: Case, _: CaseSet, __: Mapping[str, str]) -> Attempt:
    return Attempt(case.id, "refused", refusal="no_evidence")


def _empty(case: Case, _: CaseSet, __: Mapping[str, str]) -> Attempt:
    return Attempt(case.id, "answered")


def _missing(case: Case, _: CaseSet, __: Mapping[str, str]) -> Attempt:
    return Attempt(case.id, "missing")


def _nonsense(case: Case, _: CaseSet, __: Mapping[str, str]) -> Attempt:
    return Attempt(case.id, "answered", answer=NONSENSE, statements=(_statement(NONSENSE, ()),))


def _place(quote: Quote, texts: Mapping[str, str]) -> Passage | None:
    text = texts.get(quote.document, "")
    start, end = next(places(quote.text, text), (0, 0))
    return Passage(quote.document, start, end, text[start:end]) if end else None


def _quoting(
    case: Case, said: Sequence[Passage], cited: Sequence[tuple[str, ...]], also: Sequence[Passage] = ()
) -> Attempt:
    """An answer of these passages, which were all that was found, besides `also`.

    :param cited: for each passage the markers that its statement bears; the first of `said` is C1.
    """
    drafted = [DraftStatement(one.text, markers) for one, markers in zip(said, cited, strict=True)]
    marked = [(f"C{number}", one) for number, one in enumerate(said, start=1)]
    found = [*marked, *((None, one) for one in also)]
    return Attempt(
        case.id,
        "answered",
        answer=render(drafted),
        candidates=tuple(
            CandidateSeen(one, rank, rank, rank, True, rank, marker, None)
            for rank, (marker, one) in enumerate(found, start=1)
        ),
        statements=tuple(_statement(one.text, one.citations) for one in drafted),
        citations=tuple(
            CitationSeen(marker, one.document, one.start, one.end, one.text) for marker, one in marked
        ),
    )


def _statement(text: str, citations: tuple[str, ...]) -> StatementSeen:
    return StatementSeen(text, citations, "supported", "support", "made up", None, shown=True)


# --- what they must get ------------------------------------------------------------------------

FULL, NONE = (1.0, 1.0), (0.0, 0.0)
MADE_UP: Mapping[str, MakeUp] = {
    "gold": _gold,
    "refusing": _refusing,
    "empty": _empty,
    "missing": _missing,
    "nonsense": _nonsense,
    "copied": _copied,
}
EXPECTED: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "gold": {
        "right": FULL,
        "contained": FULL,
        "must_contain": FULL,
        "clean": FULL,
        "citation_validity": FULL,
        "citation_recall": FULL,
        "citation_precision": FULL,
        "completeness": FULL,
        "refusal_recall": FULL,
        "refusal_precision": FULL,
        "over_refusal": NONE,
        "leak": NONE,
        "injected": NONE,
        "mrr@10": FULL,
        "ndcg@10": FULL,
        "evidence_recall": FULL,
    },
    "refusing": {
        "contained": NONE,
        "completeness": NONE,
        "refusal_recall": FULL,
        "over_refusal": FULL,
        "leak": NONE,
        "injected": NONE,
    },
    "empty": {
        "right": NONE,
        "f1": NONE,
        "citation_recall": NONE,
        "completeness": NONE,
        "refusal_recall": NONE,
        "over_refusal": NONE,
        "leak": NONE,
    },
    "missing": {
        "right": NONE,
        "clean": NONE,
        "citation_validity": NONE,
        "refusal_recall": NONE,
        "over_refusal": FULL,
    },
    "nonsense": {
        "right": NONE,
        "f1": NONE,
        "must_contain": NONE,
        "citation_validity": NONE,
        "citation_recall": NONE,
        "refusal_recall": NONE,
        "leak": NONE,
    },
    "copied": {
        "contained": FULL,
        "must_contain": FULL,
        "exact": NONE,
        "f1": (0.0, 0.2),
        "clean": (0.0, 0.5),
        "citation_validity": FULL,
        "citation_precision": (0.0, 0.5),
        "refusal_recall": NONE,
    },
}
