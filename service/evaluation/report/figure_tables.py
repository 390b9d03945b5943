"""The sections of a report that show figures: headline, slices, before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from service.evaluation.report.axes import shares
from service.evaluation.report.blocks import folded, nothing, plots, section, table
from service.evaluation.report.content import Comparison
from service.evaluation.report.markup import Markup, element
from service.evaluation.report.plots import Legend, Mark, Row, interval_bar, rows_plot
from service.evaluation.report.written import difference, interval, share
from service.evaluation.scoring.compare import Difference
from service.evaluation.scoring.figures import ALL, Figure
from service.evaluation.scoring.score import SCORES

ARROWS = {"higher": "↑ higher", "lower": "↓ lower"}


class Sliced(Protocol):
    """What is of a slice: a figure, a difference."""

    @property
    def name(self) -> str: ...
    @property
    def by(self) -> str: ...


T = TypeVar("T", bound=Sliced)


# --- headline ----------------------------------------------------------------------------------


def headline(figures: Sequence[Figure]) -> Markup:
    rows = [_headline_row(one) for one in figures if one.by == ALL]
    return section(
        "headline",
        "Headline figures",
        "Means over the questions that each applies to, with 95 % intervals from resampling the questions.",
        table(
            ("Figure", "Value", "From 0 to 1", "Items", "Better"), rows, "Headline figures", "headline", (3,)
        )
        if rows
        else nothing("There are no figures."),
    )


def _headline_row(one: Figure) -> tuple[str, ...]:
    measure = SCORES.get(one.name)
    said = f"{one.name}: {share(one.value)}, 95 % interval {interval(one.low, one.high)}"
    return (
        _over(one.name, measure.what if measure else ""),
        _over(share(one.value), interval(one.low, one.high)),
        interval_bar(one.value, one.low, one.high, said),
        f"{one.items:,}",
        ARROWS[measure.better] if measure else "",
    )


def _over(main: str, small: str) -> Markup:
    return Markup.joined((element("b", main), element("small", small)))


# --- slices ------------------------------------------------------------------------------------


def slices(figures: Sequence[Figure]) -> Markup:
    of_slices = [one for one in figures if one.by != ALL]
    overall = {one.name: one for one in figures if one.by == ALL}
    names = _by_name(of_slices)
    return section(
        "slices",
        "By slice",
        "A mean never stands alone. Dots are means over a slice, the diamond is that over all, lines are "
        "95 % intervals; the number of questions is in brackets.",
        *(
            folded(
                _summary(name, _better(name), overall.get(name)),
                element("p", SCORES[name].what) if name in SCORES else None,
                plots(_slice_plots(name, overall.get(name), members)),
                folded("As a table", _slice_table(name, members)),
                opened=place == 0,
            )
            for place, (name, members) in enumerate(names.items())
        ),
        None if names else nothing("No figure was cut into slices."),
    )


def _summary(name: str, better: str, overall: Figure | None) -> Markup:
    said = " ".join(filter(None, (share(overall.value) if overall else "", better)))
    return Markup.joined((element("b", name), " ", element("span", said, class_="quiet")))


def _better(name: str) -> str:
    return f"({SCORES[name].better} is better)" if name in SCORES else ""


def _slice_plots(
    name: str, overall: Figure | None, members: Sequence[Figure]
) -> Iterator[tuple[str, Markup]]:
    first = [] if overall is None else [overall]
    for by, of_way in _by_way(members).items():
        rows = [_figure_row(one) for one in [*first, *of_way]]
        yield f"by {by}", rows_plot(f"{name} by {by}", shares(name), rows)


def _figure_row(one: Figure) -> Row:
    mark = Mark(one.value, "diamond", 2) if one.by == ALL else Mark(one.value, "dot", 1)
    return Row(f"{one.slice} ({one.items:,})", (mark,), (one.low, one.high), share(one.value))


def _slice_table(name: str, members: Iterable[Figure]) -> Markup:
    rows = (
        (one.by, one.slice, share(one.value), interval(one.low, one.high), f"{one.items:,}")
        for one in members
    )
    return table(("By", "Slice", "Value", "95 % interval", "Items"), rows, f"{name} by slice", "", (2, 3, 4))


# --- before and after --------------------------------------------------------------------------


def before_and_after(comparison: Comparison) -> Markup:
    found = comparison.differences
    said = [verdict(one) for one in found]
    counts = ", ".join(f"{said.count(one)} {one}" for one in ("better", "worse", "changed") if one in said)
    return section(
        "comparison",
        "Before and after",
        f"Against {comparison.baseline}, paired by question. Rings are before, dots after. A change is "
        "clear if its 95 % interval has no 0 in it; of many slices some will by chance.",
        element("p", f"Clear changes: {counts or 'none'}."),
        *(
            folded(
                Markup.joined((element("b", name), " ", _changes(members))),
                plots(_change_plots(name, members)),
                folded("As a table", _change_table(name, members)),
                opened=place == 0,
            )
            for place, (name, members) in enumerate(_by_name(found).items())
        ),
    )


def verdict(one: Difference) -> str:
    """better, worse, or changed where nothing says which is better; unclear if chance could have done it."""
    if one.low <= 0 <= one.high:
        return "unclear"
    measure = SCORES.get(one.name)
    if measure is None:
        return "changed"
    return "better" if (one.change > 0) == (measure.better == "higher") else "worse"


def _changes(members: Iterable[Difference]) -> Markup:
    """The difference over all, and slices that changed clearly."""
    told = []
    for one in members:
        said = verdict(one)
        if one.by == ALL:
            told.append(f"{difference(one.change)} {said}")
        elif said != "unclear":
            told.append(f"{one.slice} {said}")
    return element("span", "; ".join(told), class_="quiet")


def _change_plots(name: str, members: Sequence[Difference]) -> Iterator[tuple[str, Markup]]:
    overall = [one for one in members if one.by == ALL]
    legend: Legend = (("before", "ring"), ("after", "dot"))
    for by, of_way in (_by_way(one for one in members if one.by != ALL) or {ALL: []}).items():
        rows = [_change_row(one) for one in [*overall, *of_way]]
        yield f"by {by}", rows_plot(f"{name} before and after, by {by}", shares(name), rows, legend)


def _change_row(one: Difference) -> Row:
    marks = (Mark(one.before, "ring", 1), Mark(one.after, "dot", 2))
    return Row(f"{one.slice} ({one.items:,})", marks, (one.before, one.after), difference(one.change))


def _change_table(name: str, members: Iterable[Difference]) -> Markup:
    headers = ("By", "Slice", "Before", "After", "Difference", "95 % interval", "Chance", "Items", "So it is")
    rows = (
        (
            one.by,
            one.slice,
            share(one.before),
            share(one.after),
            difference(one.change),
            f"{difference(one.low)} to {difference(one.high)}",
            share(one.chance),
            f"{one.items:,}",
            verdict(one),
        )
        for one in members
    )
    return table(headers, rows, f"{name} before and after", "", range(2, 8))


# --- in the order in which they come -----------------------------------------------------------


def _by_name(all_of_them: Iterable[T]) -> dict[str, list[T]]:
    return _grouped((one.name, one) for one in all_of_them)


def _by_way(all_of_them: Iterable[T]) -> dict[str, list[T]]:
    return _grouped((one.by, one) for one in all_of_them)


def _grouped(keyed: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = {}
    for key, one in keyed:
        groups.setdefault(key, []).append(one)
    return groups
