"""`citeward ingest` and `citeward reindex`: documents in, indexes anew."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import typer

from ingest import jobs
from ingest.corpus import collections, lookup
from ingest.corpus.access import require_subjects
from ingest.corpus.changes import collection_numbers
from ingest.corpus.database import Database
from ingest.corpus.errors import InvalidInput, NotFound, TooLarge
from ingest.corpus.types import AccessList, Principal
from ingest.folder import FoundFile, find_files
from ingest.pipeline import Submitted, Workbench, submit_document, work_off_next
from service.cli.loaded import local_embedder, local_parts
from service.cli.local import (
    DEFAULT_TENANT,
    Allow,
    Deny,
    Tenant,
    access_list,
    installation,
    local_database,
    principal,
)
from service.cli.show import Json, progress, say, show, show_done, show_json
from service.watch import Watch

app = typer.Typer()
LOOK_AGAIN_SECONDS = 0.2  # while another process works on the job


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one file."""

    file: str
    state: Literal["ready", "unchanged", "failed"]
    document_id: str | None = None
    version: int | None = None
    chunks: int = 0
    warnings: tuple[str, ...] = ()
    code: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where files are taken in, and how."""

    database: Database
    admin: Principal
    collection_id: str
    access: AccessList | None  # of each document; None: as the collection
    max_bytes: int
    bench: Callable[[], Workbench]  # made when the first file needs it: loading an embedder takes seconds


@app.command()
def ingest(
    context: typer.Context,
    paths: Annotated[
        list[Path], typer.Argument(help="Files, or folders with all that is below.", exists=True)
    ],
    collection: Annotated[str, typer.Option("--collection", "-c", help="Id of the collection.")],
    create: Annotated[bool, typer.Option("--create", help="Make the collection if it is missing.")] = False,
    allow: Allow = None,
    deny: Deny = None,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Take files into a collection; a file that is there unchanged is left alone, a changed one is replaced.

    --allow and --deny say who may read the collection when it is made here, and otherwise narrow who may read
    these documents. A file that fails does not stop the others; the command then ends with 1.
    """
    files = find_all(paths)
    place = _open_place(context, tenant, collection, access_list(allow, deny), create)
    with progress() as watch:
        taken = [_take_in_shown(place, file, at, len(files), watch, as_json) for at, file in enumerate(files)]
    counts = Counter({"ready": 0, "unchanged": 0, "failed": 0})
    counts.update(one.state for one in taken)
    if as_json:
        show_json({"rows": taken, "summary": counts})
    say(f"{counts['ready']} ready, {counts['unchanged']} unchanged, {counts['failed']} failed.")
    raise typer.Exit(1 if counts["failed"] else 0)


def find_all(paths: Iterable[Path]) -> list[FoundFile]:
    """Every file under the paths.

    :raises InvalidInput: if there is none, or two of them would be one document.
    """
    files = [file for path in paths for file in find_files(path)]
    if not files:
        raise InvalidInput("There is no file to ingest.", next_step="Give files, or folders that hold some.")
    named = {file.source_name: file for file in files}
    for file in files:
        other = named[file.source_name]
        if other.path.resolve() != file.path.resolve():
            raise InvalidInput(
                f"{file.path} and {other.path} would both be the document {file.source_name!r}.",
                why="A document is named by its file, below the folder that is given.",
                next_step="Give the folder that holds both, or ingest them into two collections.",
            )
    return list(named.values())


def _open_place(
    context: typer.Context, tenant: str, collection_id: str, access: AccessList | None, create: bool
) -> Place:
    database, settings = local_database(context), installation(context).settings.corpus
    with database.writing() as session:
        admin = principal(session, tenant, None)
        if access is not None:
            require_subjects(session, tenant, access)
        if create and collection_id not in collection_numbers(session, tenant):
            collections.create_collection(session, tenant, collection_id, collection_id)
            collections.set_collection_access(session, tenant, collection_id, access or AccessList())
            access = None  # its documents are as open as the collection
        _require_collection(collection_id, collection_numbers(session, tenant))

    @cache
    def bench() -> Workbench:
        return Workbench(database, local_embedder(context), settings)

    return Place(database, admin, collection_id, access, settings.max_upload_bytes, bench)


def _require_collection(collection_id: str, known: Iterable[str]) -> None:
    if collection_id not in known:
        raise NotFound(
            f"There is no collection {collection_id!r}.",
            next_step="Add --create to make it, or check the id with `citeward collections list`.",
        )


# --- one file ----------------------------------------------------------------------------------


def _take_in_shown(place: Place, file: FoundFile, at: int, of: int, watch: Watch, as_json: bool) -> Taken:
    watch("files", at, of)
    taken = _take_in(place, file)
    if not as_json:
        show(_line(taken))
    watch("files", at + 1, of)
    return taken


def _take_in(place: Place, file: FoundFile) -> Taken:
    try:
        submitted = _submit(place, file)
    except OSError as error:
        return Taken(file.source_name, "failed", code="not_opened", reason=f"{error.strerror}: {file.path}")
    except (InvalidInput, TooLarge) as error:
        return Taken(file.source_name, "failed", code=error.code, reason=str(error))
    there = Taken(file.source_name, "unchanged", submitted.document_id, submitted.version)
    return there if submitted.job_id is None else _work_off(place, submitted.job_id, there)


def _submit(place: Place, file: FoundFile) -> Submitted:
    size = file.path.stat().st_size
    if size > place.max_bytes:  # before it is read
        raise TooLarge(
            f"{file.source_name!r} has {size:,} bytes.",
            why=f"The limit is {place.max_bytes:,}.",
            next_step="Split the file or raise CITEWARD_MAX_UPLOAD_BYTES.",
        )
    return submit_document(
        place.database,
        place.admin.tenant_id,
        place.collection_id,
        file.source_name,
        file.path.read_bytes(),
        max_bytes=place.max_bytes,
        access=place.access,
    )


def _work_off(place: Place, job_id: str, submitted: Taken) -> Taken:
    job = _finished(place, job_id)
    if job.state == "failed":
        return replace(submitted, state="failed", code=job.failure_code, reason=job.failure_reason)
    with place.database.reading() as session:
        info = lookup.get_document(session, place.admin, job.document_id)
    return replace(submitted, state="ready", chunks=info.chunks, warnings=info.warnings)


def _finished(place: Place, job_id: str) -> jobs.Job:
    """The job at its end; a service that runs on the same database may be the one that does it."""
    while True:
        work_off_next(place.bench())
        with place.database.reading() as session:
            job = jobs.get_job(session, place.admin.tenant_id, job_id)
        if job.state in ("done", "failed"):
            return job
        time.sleep(LOOK_AGAIN_SECONDS)


def _line(taken: Taken) -> str:
    if taken.state == "failed":
        return f"failed     {taken.file}: {taken.code}: {taken.reason}"
    chunks = f" ({taken.chunks} chunks)" if taken.state == "ready" else ""
    warnings = "".join(f"\n           {one}" for one in taken.warnings)
    return f"{taken.state:<10} {taken.file}{chunks}{warnings}"


# --- reindex -----------------------------------------------------------------------------------


@app.command()
def reindex(
    context: typer.Context,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Only this one; all of the tenant if not given.")
    ] = None,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Build the indexes anew from the database; nothing is embedded again."""
    parts = local_parts(context, answering=False)
    with parts.database.reading() as session:
        known = sorted(collection_numbers(session, tenant))
        if collection is not None:
            _require_collection(collection, known)
        wanted = known if collection is None else [collection]
        with progress() as watch:
            for done, one in enumerate(wanted, start=1):
                parts.corpus.rebuild(session, tenant, one)
                watch("collections", done, len(wanted))
    parts.corpus.save_all()
    names = ", ".join(wanted) or "none, as there is no collection"
    show_done({"rows": [{"collection": one} for one in wanted]}, f"Indexes built anew: {names}.", as_json)
