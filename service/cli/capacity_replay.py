"""`citeward capacity replay`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from service.capacity.log_row import read_log
from service.capacity.replay import replay as replay_rows
from service.cli.show import Json, show, show_json, show_rows


def replay(
    log: Annotated[Path, typer.Argument(metavar="LOGS.jsonl", help="One row for each start of an engine.")],
    as_json: Json = False,
) -> None:
    """Whether the arithmetic gives what engines printed: memory and layers in, tokens out.

    A row is `equal`, `within_rounding` of the printed memory, `refused` (a fact is missing), `explained` (it
    follows from something that the row does not state), or `off`. Ends with 1 if one is off.
    """
    rows = replay_rows(read_log(log))
    summary = Counter(one.status for one in rows)
    if as_json:
        show_json({"rows": rows, "summary": summary})
    else:
        show_rows(rows, COLUMNS, as_json=False)
        show(", ".join(f"{count} {status}" for status, count in summary.most_common()))
    if summary["off"]:
        raise typer.Exit(1)


COLUMNS = {
    "row": lambda one: one.id,
    "status": lambda one: one.status,
    "predicted": lambda one: one.predicted_tokens,
    "reported": lambda one: one.reported_tokens,
    "deviation": lambda one: "" if one.deviation is None else f"{one.deviation:+.2%}",
    "why": lambda one: one.reason,
}
