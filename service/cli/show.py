"""What commands print: results on standard output, as table or JSON; all else on standard error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ingest.corpus.errors import CitewardError
from service.watch import Watch

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output and nothing else there.")]
UNBROKEN = 100_000  # columns
OUT = Console(highlight=False, soft_wrap=True)
ERR = Console(highlight=False, soft_wrap=True, stderr=True)


def say(text: str) -> None:
    """A line about what is going on; never part of the result."""
    ERR.print(_visible(text), markup=False)


def show_error(error: CitewardError) -> None:
    for line in filter(None, (error.what, error.why, error.next_step)):
        ERR.print(_visible(line), markup=False, style="red" if line is error.what else None)


def show(text: str) -> None:
    OUT.print(_visible(text), markup=False)


def show_json(value: object) -> None:
    """Dataclasses become objects, sets sorted lists, paths text."""
    OUT.file.write(json.dumps(value, default=_plain, ensure_ascii=False, indent=2) + "\n")


def show_done(result: object, sentence: str, as_json: bool) -> None:
    """What a command has done, as JSON or as a sentence."""
    if as_json:
        show_json(result)
    else:
        show(sentence)


def show_rows(rows: Sequence[object], columns: Mapping[str, Callable[[Any], object]], as_json: bool) -> None:
    """Rows as `{"rows": […]}`, or as a table with these headings and what each shows of a row."""
    if as_json:
        show_json({"rows": rows})
        return
    if not rows:
        say("None.")
        return
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(escape(_visible(_cell(shown(row)))) for shown in columns.values()))
    # Where no terminal shows it a program may read it, and a row must stay on its line however long it is.
    (OUT if OUT.is_terminal else Console(file=OUT.file, width=UNBROKEN)).print(table)


@contextmanager
def progress() -> Iterator[Watch]:
    """A bar for each thing that is being done; a line for each thing done where nobody can see bars."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bars = Progress(
        *columns,
        console=ERR,
        disable=not ERR.is_terminal,
        redirect_stdout=OUT.is_terminal,  # where results go elsewhere they must not end up among the bars
    )
    with bars:
        tasks: dict[str, Any] = {}

        def watch(doing: str, done: int, of: int) -> None:
            if doing not in tasks:
                tasks[doing] = bars.add_task(escape(_visible(doing)), total=of)
            bars.update(tasks[doing], completed=done, total=of)
            if done == of and not ERR.is_terminal:
                say(f"{doing}: {done} of {of}")

        yield watch


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return str(value)
    return ", ".join(sorted(map(str, value)))


def _visible(text: str) -> str:
    """Names and texts of documents may hold what moves a terminal's cursor; shown is what can be seen."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "�" for sign in text)
