"""Documents: uploaded, listed, read, downloaded, deleted, opened to readers."""

from __future__ import annotations

import time
from typing import Annotated
from urllib.parse import quote

from anyio import sleep, to_thread
from fastapi import File, Form, Path, Query, Request, Response, UploadFile
from pydantic import ValidationError
from starlette.datastructures import FormData

from ingest import jobs
from ingest.corpus import lookup, store
from ingest.corpus.errors import InvalidInput
from ingest.corpus.types import AccessList, DocumentInfo
from ingest.pipeline import Submitted, submit_document
from ingest.read.detect import media_type_of
from service.api.collections import access_shown
from service.api.door import Asker, admin_routes, parse_strictly, reader_routes, upload_routes
from service.api.errors import problems
from service.api.schemas import Access, AccessShown, DocumentPage, DocumentText, Uploaded
from service.api.state import Service, Serving

LONGEST_WAIT_SECONDS = 120.0
LOOK_EVERY_SECONDS = 0.05
FORM_FIELDS = ("file", "name", "access")
routes = reader_routes("documents")
admin = admin_routes("documents")
uploads = upload_routes("documents")
Version = Annotated[int, Path(ge=1, le=2**31 - 1)]


@uploads.post(
    "/v1/collections/{collection_id}/documents",
    summary="Upload a document",
    status_code=202,
    responses={200: {"model": Uploaded}, **problems(413, 415, 422)},
)
async def upload(
    collection_id: str,
    request: Request,
    asker: Asker,
    service: Serving,
    response: Response,
    file: Annotated[UploadFile, File(description="In a format that docs/ingestion.md lists.")],
    name: Annotated[str | None, Form(description="In the collection; the file's own if absent.")] = None,
    access: Annotated[str | None, Form(examples=['{"allow": ["group:hr"]}'])] = None,
    wait: Annotated[bool, Query(description="Answer when it is finished, at most 120 s later.")] = False,
) -> Uploaded:
    """A new document, or the next version of the one of this name, shown when it is ready and not before."""
    refuse_unclear_form(await request.form())
    data, source_name = await file.read(), name or file.filename or ""
    given = None if access is None else to_access(access)
    submitted = await to_thread.run_sync(
        _submit, service, asker.tenant_id, collection_id, source_name, data, given
    )
    uploaded = await _follow(service, asker.tenant_id, submitted, LONGEST_WAIT_SECONDS if wait else 0.0)
    response.status_code = 200 if uploaded.state in ("ready", "failed") else 202
    return uploaded


@routes.get(
    "/v1/collections/{collection_id}/documents", summary="List documents", responses=problems(404, 422)
)
def list_documents(
    collection_id: str,
    asker: Asker,
    service: Serving,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Annotated[str, Query(max_length=100, description="The `next` of the page before.")] = "",
) -> DocumentPage:
    """Those that you may read, in the order of their coming; `next` is null on the last page."""
    with service.parts.database.reading() as session:
        found, following = lookup.page_of_documents(session, asker, collection_id, limit, after)
        total = lookup.count_documents(session, asker, collection_id)
    return DocumentPage(found, total, following)


@routes.get("/v1/documents/{document_id}", summary="Show a document", responses=problems(404))
def get_document(document_id: str, asker: Asker, service: Serving) -> DocumentInfo:
    with service.parts.database.reading() as session:
        return lookup.get_document(session, asker, document_id)


@routes.get(
    "/v1/documents/{document_id}/original",
    summary="Download the file as it came in",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}, **problems(404)},
)
def get_original(document_id: str, asker: Asker, service: Serving) -> Response:
    """Always as an attachment: a browser must not run what somebody uploaded."""
    with service.parts.database.reading() as session:
        original = lookup.original(session, asker, document_id)
    file_name = quote(original.source_name.rpartition("/")[2], safe="")
    return Response(
        original.content,
        media_type="application/octet-stream",
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{file_name}"},
    )


@routes.get(
    "/v1/documents/{document_id}/versions/{version}",
    summary="Read the text that citations point into",
    responses=problems(404, 422),
)
def get_version(document_id: str, version: Version, asker: Asker, service: Serving) -> DocumentText:
    """Offsets are code points, the end excluded. A replaced version is gone."""
    with service.parts.database.reading() as session:
        document = lookup.version_text(session, asker, document_id, version)
    return DocumentText(document_id, version, document)


@admin.delete("/v1/documents/{document_id}", summary="Delete a document", status_code=204)
def delete_document(document_id: str, asker: Asker, service: Serving) -> None:
    """With all versions and originals. Holds for the next request."""
    with service.parts.database.writing() as session:
        store.delete_document(session, asker.tenant_id, document_id)


@admin.get("/v1/documents/{document_id}/acl", summary="Show who may read a document")
def get_access(document_id: str, asker: Asker, service: Serving) -> AccessShown:
    with service.parts.database.reading() as session:
        return access_shown(store.get_document_access(session, asker.tenant_id, document_id))


@admin.put(
    "/v1/documents/{document_id}/acl", summary="Narrow who may read a document", responses=problems(422)
)
def set_access(document_id: str, body: Access, asker: Asker, service: Serving) -> AccessShown:
    """A reader must pass this list and the collection's. Empty lists mean nobody but admins."""
    access = body.to_access()
    with service.parts.database.writing() as session:
        store.set_document_access(session, asker.tenant_id, document_id, access)
    return access_shown(access)


@admin.delete("/v1/documents/{document_id}/acl", summary="Take a document's own list away", status_code=204)
def clear_access(document_id: str, asker: Asker, service: Serving) -> None:
    """It is then as open as its collection."""
    with service.parts.database.writing() as session:
        store.set_document_access(session, asker.tenant_id, document_id, None)


def refuse_unclear_form(form: FormData) -> None:
    """A misspelt, repeated or empty access list would open the document to all readers of its collection.

    :raises InvalidInput: for a field that is unknown or repeated, and for an empty `access`.
    """
    names = [name for name, _ in form.multi_items()]
    for name in names:
        if name not in FORM_FIELDS or names.count(name) > 1:
            raise InvalidInput(
                f"The form's field {name[:60]!r} is {'repeated' if name in FORM_FIELDS else 'unknown'}.",
                why="A form holds file, and name and access where they are wanted, each once.",
                next_step="Correct the form.",
                field=name[:60],
            )
    if form.get("access") == "":
        raise InvalidInput(
            "access is empty.",
            why='It must be JSON such as {"allow": ["group:hr"], "deny": []}.',
            next_step="Correct or leave it out.",
            field="access",
        )


def to_access(text: str) -> AccessList:
    """:raises InvalidInput: if it is not the JSON of an access list."""
    try:
        return Access.model_validate(parse_strictly(text.encode())).to_access()
    except (ValidationError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            f"access is {text[:60]!r}.",
            why='It must be JSON such as {"allow": ["group:hr"], "deny": []}.',
            next_step="Correct or leave it out.",
            field="access",
        ) from error


def _submit(
    service: Service, tenant_id: str, collection_id: str, name: str, data: bytes, access: AccessList | None
) -> Submitted:
    settings = service.parts.settings.corpus
    if data:  # what has no bytes is refused with its own words below
        media_type_of(data, name)
    submitted = submit_document(
        service.parts.database,
        tenant_id,
        collection_id,
        name,
        data,
        max_bytes=settings.max_upload_bytes,
        access=access,
    )
    service.wake_worker()
    return submitted


async def _follow(service: Service, tenant_id: str, submitted: Submitted, wait_seconds: float) -> Uploaded:
    """How far the version has come, asked until it is finished or the time is over, holding no thread."""
    until = time.monotonic() + wait_seconds
    while True:
        uploaded = await to_thread.run_sync(_progress, service, tenant_id, submitted)
        if uploaded.state in ("ready", "failed") or time.monotonic() >= until:
            return uploaded
        await sleep(LOOK_EVERY_SECONDS)


def _progress(service: Service, tenant_id: str, submitted: Submitted) -> Uploaded:
    if submitted.job_id is None:
        return Uploaded(submitted.document_id, submitted.version, None, "ready")
    with service.parts.database.reading() as session:
        job = jobs.get_job(session, tenant_id, submitted.job_id)
    state = {"queued": "queued", "running": "reading", "done": "ready", "failed": "failed"}[job.state]
    return Uploaded(job.document_id, job.version, job.id, state, job.failure_code, job.failure_reason)  # type: ignore[arg-type]
