"""An answer's citations: do they lead where they say, carry what they are cited for, and suffice?"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from service.checking.cite import MARKER
from service.evaluation.asking.attempts import Attempt, CitationSeen, StatementSeen
from service.evaluation.sets.cases import Case, Quote

Supports = Callable[[str, str], bool]  # premise, claim: does the premise entail the claim?


def citation_validity(attempt: Attempt, may: Collection[str], texts: Mapping[str, str]) -> float | None:
    """Share of the citations shown that are well-formed, used, readable and quote what stands there, 0..1.

    A marker in a statement that leads nowhere is an invalid one. 0 if a statement has no citation at all;
    None if nothing is cited and nothing had to be.

    :param may: names of the documents that the asker may read.
    """
    statements = shown(attempt)
    if not all(one.citations for one in statements):
        return 0.0
    used = {marker for one in statements for marker in one.citations}
    dangling = used - {one.marker for one in attempt.citations}
    valid = [one.marker in used and one.document in may and _stands(one, texts) for one in attempt.citations]
    return _share([*valid, *(False for _ in dangling)])


def citation_support(attempt: Attempt, supports: Supports) -> tuple[float, float]:
    """Citation recall and precision of ALCE (Gao et al. 2023, section 3.3), each 0..1.

    Recall: share of the statements that have citations which all together entail them. Precision: share of
    the citations, counted in each statement, that are of such a statement and not irrelevant. Irrelevant is
    one that does not entail the statement alone and that the others can do without. Nothing stated or cited
    gives 0.
    """
    passages = _passages(attempt)
    recalled: list[bool] = []
    precise: list[bool] = []
    for one in shown(attempt):
        cited = [passages.get(marker) for marker in one.citations]
        known = [passage for passage in cited if passage is not None]
        entailed = bool(cited) and len(known) == len(cited) and supports(_joined(known), one.text)
        recalled.append(entailed)
        precise += [entailed and _is_relevant(at, known, one.text, supports) for at in range(len(cited))]
    return _share(recalled) or 0.0, _share(precise) or 0.0


def completeness(case: Case, attempt: Attempt, texts: Mapping[str, str]) -> float | None:
    """Share of the evidence groups of which a citation overlaps a quote, 0..1. None without evidence."""
    return _share(
        any(_overlaps(one, quote, texts) for quote in group for one in attempt.citations)
        for group in case.evidence
    )


def evidence_recall(case: Case, attempt: Attempt) -> float | None:
    """Share of the evidence groups of which a quote lies whole in a passage that the generator was given."""
    given = [one.passage for one in attempt.candidates if one.marker is not None]
    return _share(
        any(
            one.document == quote.document and next(places(quote.text, one.text), None) is not None
            for quote in group
            for one in given
        )
        for group in case.evidence
    )


def places(quote: str, text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of a quote wherever it stands in `text`, white space folded; of an empty one all of it."""
    parts = quote.split()
    if not parts:
        yield 0, len(text)
        return
    for found in re.finditer(r"\s+".join(map(re.escape, parts)), text):
        yield found.span()


def shown(attempt: Attempt) -> list[StatementSeen]:
    return [one for one in attempt.statements if one.shown]


def _stands(one: CitationSeen, texts: Mapping[str, str]) -> bool:
    text = texts.get(one.document, "")
    within = 0 <= one.start < one.end <= len(text)
    return MARKER.fullmatch(one.marker) is not None and within and text[one.start : one.end] == one.quote


def _overlaps(one: CitationSeen, quote: Quote, texts: Mapping[str, str]) -> bool:
    return one.document == quote.document and any(
        one.start < end and start < one.end for start, end in places(quote.text, texts.get(one.document, ""))
    )


def _passages(attempt: Attempt) -> dict[str, str]:
    """Marker -> the passage that it leads to: the one given to the generator or, unknown, its quote."""
    evidence = {(one.marker, one.passage.document): one.passage.text for one in attempt.candidates}
    return {one.marker: evidence.get((one.marker, one.document), one.quote) for one in attempt.citations}


def _is_relevant(at: int, passages: Sequence[str], claim: str, supports: Supports) -> bool:
    others = [*passages[:at], *passages[at + 1 :]]
    return not others or supports(passages[at], claim) or not supports(_joined(others), claim)


def _joined(passages: Sequence[str]) -> str:
    return "\n".join(passages)


def _share(values: Iterator[bool] | Sequence[bool]) -> float | None:
    kept = list(values)
    return sum(kept) / len(kept) if kept else None
