"""`citeward read`: what reading and splitting make of files; nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import typer

from ingest.corpus.seams import Embedder
from ingest.corpus.settings import CorpusSettings
from ingest.pipeline import limits_of, options_of, split_to_embed
from ingest.read.canonical import count_signs
from ingest.read.child import measure_read
from service.cli.loaded import local_embedder
from service.cli.local import installation
from service.cli.show import Json, progress, show_rows

app = typer.Typer()


@dataclass(frozen=True, slots=True)
class ChunkShown:
    start: int  # code points in `text`, end excluded
    end: int
    page: int | None
    section: str


@dataclass(frozen=True, slots=True)
class FileRead:
    file: str
    state: Literal["ready", "failed"]
    code: str | None
    reason: str | None
    pages: int | None
    text: str
    chunks: tuple[ChunkShown, ...]
    warnings: tuple[str, ...]
    seconds: float  # of reading, in its own process
    peak_mib: float  # of that process
    characters_in: int  # visible ones that the file holds
    characters_out: int  # those in `text`


@app.command()
def read(
    context: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files.", exists=True, dir_okay=False)
    ],
    as_json: Json = False,
) -> None:
    """Show what reading and splitting make of files, and at what cost; ends with 1 if one of them fails."""
    settings = installation(context).settings.corpus
    embedder = cache(lambda: local_embedder(context))  # loaded for the first file that gives a text
    with progress() as watch:
        rows = []
        for done, path in enumerate(files, start=1):
            rows.append(read_one(path, settings, embedder))
            watch("files", done, len(files))
    show_rows(rows, COLUMNS, as_json)
    raise typer.Exit(1 if any(row.state == "failed" for row in rows) else 0)


def read_one(path: Path, settings: CorpusSettings, embedder: Callable[[], Embedder]) -> FileRead:
    report = measure_read(path.read_bytes(), path.name, limits_of(settings), options_of(settings))
    if report.document is None:
        failed = (report.code, report.reason, None, "", (), ())
        return FileRead(
            str(path), "failed", *failed, round(report.seconds, 3), round(report.peak_mib, 1), 0, 0
        )
    document = report.document
    visible, _ = count_signs(document.text)
    chunks, _ = split_to_embed(document, embedder(), settings.chunk_tokens)
    return FileRead(
        file=str(path),
        state="ready",
        code=None,
        reason=None,
        pages=document.pages,
        text=document.text,
        chunks=tuple(ChunkShown(one.start, one.end, one.page, one.section) for one in chunks),
        warnings=document.warnings,
        seconds=round(report.seconds, 3),
        peak_mib=round(report.peak_mib, 1),
        characters_in=visible + document.left_out,
        characters_out=visible,
    )


COLUMNS: dict[str, Callable[[FileRead], object]] = {
    "file": lambda row: row.file,
    "state": lambda row: row.state,
    "pages": lambda row: row.pages,
    "characters": lambda row: f"{row.characters_out:,} of {row.characters_in:,}",
    "chunks": lambda row: len(row.chunks),
    "seconds": lambda row: f"{row.seconds:.2f}",
    "MiB": lambda row: f"{row.peak_mib:.0f}",
    "reason or warnings": lambda row: row.reason or " ".join(row.warnings),
}
