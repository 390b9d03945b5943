"""Reports made up for tests, with one text in every place that may hold any, and a strict reader of pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from importlib.resources import files

from service.evaluation.asking.attempts import Attempt, CandidateSeen, CitationSeen, Passage, StatementSeen
from service.evaluation.failing.failures import LAYERS, Failure
from service.evaluation.report.content import Asked, AtBudget, Comparison, Report, Sweep
from service.evaluation.report.page import report_page
from service.evaluation.scoring.compare import Difference
from service.evaluation.scoring.figures import Figure, Phase, Total
from service.evaluation.scoring.sanity import SanityRow
from service.evaluation.sets.cases import Case, Quote

VOID = {"meta"}


def asked(text: str, failure: Failure | None, case_id: str = "q1") -> Asked:
    case = Case(
        case_id, text, "en", text, "single_fact", "low", "easy", text, "answered",
        ((Quote(text, text), Quote("other.md", text)), (Quote(text, ""),)), (text, "two"), (text,), (text,),
        follows=text, standalone=text,
    )  # fmt: skip
    passage = Passage(text, 1200, 1200 + len(text), text)
    attempt = Attempt(
        case_id,
        "answered",
        answer=f"{text} [C1] and [C7]",
        language=text,
        error=text,
        generator=text,
        degraded=(text,),
        candidates=(
            CandidateSeen(passage, 1, 1, None, True, 1, "C1", None),
            CandidateSeen(replace(passage, document="beside.md"), 2, None, 1, False, None, None, text),
        ),
        statements=(StatementSeen(text, (text, "C1"), "not_supported", "facts", text, 0.51234, False),),
        citations=(CitationSeen("C1", text, 0, 9, text),),
        timings_ms={text: 0.2, "generate": 2310.4},
        input_tokens=3120,
    )
    return Asked(case, attempt, {"language": text, "kind": "single_fact"}, failure)


def a_report(text: str = "年假 leave", layer: str = "not_found") -> Report:
    failure = Failure(next(one for one in LAYERS if one == layer), text)
    figures = [Figure(name, "all", "all", 0.87449, 0.8, 0.9, 1234) for name in ("right", "leak", text)]
    figures += [Figure("right", by, text, 0.5, 0.4, 0.6, 7) for by in ("language", text)]
    differences = [
        Difference("right", by, text, 0.5, 0.6, low, 0.2, 0.04, 9)
        for by, low in (("all", 0.05), ("kind", -0.1))
    ]
    return Report(
        text,
        {"model": text, text: "1"},
        tuple(figures),
        (Phase("generate", 2310.4, 5000, None, 12), Phase(text, 0.2, None, None, 1)),
        (asked(text, failure), asked(text, None, "q2")),
        (SanityRow(text, text, 1, 1, 0.5, (text,)), SanityRow("gold", "right", 1, 1, 1.0, ())),
        (Total(text, 374_400, text),),
        (f"citeward eval {text}", "make"),
        Comparison(text, tuple(differences)),
        Sweep(text, (AtBudget(500, 0.6, 0.5, 0.7, 120.4), AtBudget(2000, 0.8, 0.7, 0.9, None))),
    )


EMPTY = Report("empty 1.0", {}, (), (), (), ())


@dataclass
class Read(HTMLParser):
    """What a parser makes of a page; fails where an end tag does not end what was begun last."""

    open: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)

    def all_of(self, tag: str) -> str:
        return "".join(self.texts.get(tag, []))

    def shown(self) -> str:
        return "".join(
            text for tag, some in self.texts.items() if tag not in ("script", "style") for text in some
        )


def read(report: Report) -> Read:
    page = Read()
    page.feed(report_page(report))
    page.close()
    assert page.open == []
    assert page.others == []
    return page


def packaged(name: str) -> str:
    return files("service.evaluation.report").joinpath(name).read_text("utf-8")
