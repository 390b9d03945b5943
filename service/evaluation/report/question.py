"""One failed question in a report: what was expected, what came, and what every stage made of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from service.evaluation.asking.attempts import Attempt, CandidateSeen, CitationSeen, Passage, StatementSeen
from service.evaluation.report.blocks import folded, foreign, pairs, table
from service.evaluation.report.content import Asked
from service.evaluation.report.markup import Markup, element, escaped
from service.evaluation.report.written import milliseconds, share
from service.evaluation.scoring.cited import places
from service.evaluation.sets.cases import Case, Quote

MARKER = re.compile(r"(\[C[1-9][0-9]{0,3}\])")
MOST_CANDIDATES = 25  # of a question, and those further down that hold what was expected
OPENING = 90  # signs of a candidate's text that are shown
SIGNS = {"supported": "✓", "not_supported": "✗", "unknown": "?"}


def failed_question(one: Asked, anchor: str) -> Markup:
    """`anchor` is what links within the page call it."""
    case, attempt = one.case, one.attempt
    summary = Markup.joined(
        [
            element("span", layer_of(one), class_="layer"),
            " ",
            element("code", case.id),
            " ",
            foreign(case.question, kind="question"),
        ]
    )
    return element(
        "details",
        element("summary", summary),
        _why(one),
        element(
            "div",
            element("div", element("h4", "Expected"), _expected(case)),
            element("div", element("h4", "Came instead"), _came(attempt, anchor)),
            class_="sides",
        ),
        _statements(attempt.statements),
        _citations(attempt.citations, anchor),
        _evidence(case, attempt.candidates),
        _candidates(case, attempt.candidates),
        _facts(one),
        class_="asked",
        data_in=json.dumps(filed_under(one), ensure_ascii=False),
    )


def filed_under(one: Asked) -> dict[str, str]:
    """What it can be found by: its layer, and its slices by way to slice."""
    return {"layer": layer_of(one), **one.slices}


def layer_of(one: Asked) -> str:
    return one.failure.layer if one.failure else ""


def _why(one: Asked) -> Markup | None:
    return foreign(one.failure.reason, "p", "reason") if one.failure else None


def _expected(case: Case) -> Markup:
    rows = [
        ("outcome", element("b", case.outcome)),
        ("answer", _any_of(case.answers, " or ")),
        ("must contain", _any_of(case.must_contain, " and ")),
        ("must not contain", _any_of(case.must_not_contain, " nor ")),
        *(
            ("evidence", Markup.joined(_between(map(_quote, group), element("i", " or "))))
            for group in case.evidence
        ),
        ("follows", case.follows or ""),
        ("standalone", foreign(case.standalone) if case.standalone else ""),
    ]
    return pairs((name, said) for name, said in rows if said)


def _any_of(texts: Sequence[str], between: str) -> Markup:
    return Markup.joined(_between((foreign(text, "q") for text in texts), element("i", between)))


def _between(parts: Iterable[Markup], joint: Markup) -> Iterator[Markup]:
    for place, part in enumerate(parts):
        if place:
            yield joint
        yield part


def _quote(quote: Quote) -> Markup:
    where = foreign(quote.document, "cite")
    return Markup.joined([foreign(quote.text, "q"), " ", where]) if quote.text else where


def _came(attempt: Attempt, anchor: str) -> Markup:
    cited = {one.marker for one in attempt.citations}
    codes = (("refusal", attempt.refusal), ("error", attempt.error), ("finish", attempt.finish_reason))
    return Markup.joined(
        [
            pairs(
                [("outcome", element("b", attempt.ended)), *((name, code) for name, code in codes if code)]
            ),
            foreign(attempt.answer, "p", "answer", _linked(attempt.answer, cited, anchor))
            if attempt.answer
            else "",
        ]
    )


def _linked(answer: str, cited: set[str], anchor: str) -> Markup:
    """Markers that stand for a citation lead to it; others are marked."""
    return Markup.joined(
        escaped(piece)
        if place % 2 == 0
        else element("a", piece, href=f"#{anchor}-{marker}")
        if (marker := piece.strip("[]")) in cited
        else element("mark", piece, title="cites nothing")
        for place, piece in enumerate(MARKER.split(answer))
    )


def _statements(statements: Sequence[StatementSeen]) -> Markup:
    rows = (
        (
            element("span", f"{SIGNS[one.status]} {one.status}", class_=one.status),
            foreign(one.text),
            " ".join(one.citations),
            "yes" if one.shown else "no",
            one.level,
            share(one.score),
            foreign(one.reason),
        )
        for one in statements
    )
    headers = ("Verdict", "Statement", "Cites", "Shown", "Level", "Score", "Why")
    return _part("Statements", len(statements), table(headers, rows, "Statements", "", (5,)), opened=True)


def _citations(citations: Sequence[CitationSeen], anchor: str) -> Markup:
    rows = (
        (
            element("b", one.marker, id=f"{anchor}-{one.marker}"),
            foreign(one.quote, "q"),
            _place(one.document, one.start, one.end),
        )
        for one in citations
    )
    shown = table(("Marker", "Quote", "Where"), rows, "Citations")
    return _part("Citations", len(citations), shown, opened=True)


def _evidence(case: Case, candidates: Sequence[CandidateSeen]) -> Markup:
    packed = [one for one in candidates if one.marker is not None]
    rows = (
        (
            element("b", one.marker),
            _expected_in(case, one.passage),
            foreign(one.passage.text, "span", "passage"),
            _place(one.passage.document, one.passage.start, one.passage.end),
        )
        for one in packed
    )
    shown = table(("Marker", "Expected", "Passage", "Where"), rows, "Evidence")
    return _part("Evidence as packed", len(packed), shown)


def _candidates(case: Case, candidates: Sequence[CandidateSeen]) -> Markup:
    rows = (
        (
            str(one.fused_rank),
            _rank(one.words_rank),
            _rank(one.meaning_rank),
            _rank(one.reranked_rank),
            one.marker or one.left_out or ("" if one.given else "not given"),
            _expected_in(case, one.passage),
            foreign(_opening(one.passage.text)),
            _place(one.passage.document, one.passage.start, one.passage.end),
        )
        for one in candidates
        if one.fused_rank <= MOST_CANDIDATES or _expected_in(case, one.passage)
    )
    headers = ("Fused", "Words", "Meaning", "Reranked", "Came to be", "Expected", "Begins", "Where")
    return _part("Candidates", len(candidates), table(headers, rows, "Candidates", "", (0, 1, 2, 3)))


def _facts(one: Asked) -> Markup:
    attempt = one.attempt
    tokens = (
        f"{attempt.input_tokens:,} in, {attempt.output_tokens:,} out, {attempt.evidence_tokens:,} of evidence"
    )
    timed = ", ".join(f"{name} {milliseconds(value)}" for name, value in attempt.timings_ms.items())
    rows = [
        ("asker", foreign(one.case.asker)),
        ("slices", ", ".join(f"{way} {name}" for way, name in one.slices.items())),
        ("generator", attempt.generator),
        ("did without", ", ".join(attempt.degraded)),
        ("tokens", tokens),
        ("timings, ms", timed),
    ]
    return pairs((name, said) for name, said in rows if said)


# --- small things ------------------------------------------------------------------------------


def _part(title: str, count: int, shown: Markup, opened: bool = False) -> Markup:
    """A heading that unfolds, or says that there is nothing to unfold."""
    if not count:
        return element("p", f"{title}: none", class_="nothing")
    return folded(f"{title} ({count:,})", shown, opened=opened)


def _place(document: str, start: int, end: int) -> Markup:
    return Markup.joined([foreign(document, "cite"), " ", element("small", f"{start:,} to {end:,}")])


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


def _opening(text: str) -> str:
    return text if len(text) <= OPENING else f"{text[:OPENING]}…"


def _expected_in(case: Case, passage: Passage) -> str:
    """Says whether the passage holds a quote that the answer was to rest on."""
    wanted = (quote for group in case.evidence for quote in group if quote.document == passage.document)
    is_held = any(next(places(quote.text, passage.text), None) for quote in wanted)
    return element("span", "✓ held", class_="yes") if is_held else ""
