"""Collections: made, listed, deleted, opened to readers."""

from __future__ import annotations

from ingest.corpus import collections
from ingest.corpus.collections import CollectionInfo
from ingest.corpus.types import AccessList
from service.api.door import Asker, admin_routes, reader_routes
from service.api.errors import problems
from service.api.schemas import Access, AccessShown, CollectionShown, NewCollection
from service.api.state import Serving

routes = reader_routes("collections")
admin = admin_routes("collections")


@routes.get("/v1/collections", summary="List collections")
def list_collections(asker: Asker, service: Serving) -> list[CollectionShown]:
    """Those that you may read, by id."""
    with service.parts.database.reading() as session:
        return [_shown(one) for one in collections.list_collections(session, asker)]


@routes.get("/v1/collections/{collection_id}", summary="Show a collection", responses=problems(404))
def get_collection(collection_id: str, asker: Asker, service: Serving) -> CollectionShown:
    with service.parts.database.reading() as session:
        return _shown(collections.get_collection(session, asker, collection_id))


@admin.post("/v1/collections", summary="Make a collection", status_code=201, responses=problems(409, 422))
def create_collection(body: NewCollection, asker: Asker, service: Serving) -> CollectionShown:
    """Nobody but admins may read it until its access list lets somebody in."""
    with service.parts.database.writing() as session:
        return _shown(collections.create_collection(session, asker.tenant_id, body.id, body.title))


@admin.delete("/v1/collections/{collection_id}", summary="Delete a collection", status_code=204)
def delete_collection(collection_id: str, asker: Asker, service: Serving) -> None:
    """With its documents, originals, chunks and access."""
    with service.parts.database.writing() as session:
        collections.delete_collection(session, asker.tenant_id, collection_id)


@admin.get("/v1/collections/{collection_id}/acl", summary="Show who may read a collection")
def get_access(collection_id: str, asker: Asker, service: Serving) -> AccessShown:
    with service.parts.database.reading() as session:
        return access_shown(collections.get_collection_access(session, asker.tenant_id, collection_id))


@admin.put(
    "/v1/collections/{collection_id}/acl", summary="Say who may read a collection", responses=problems(422)
)
def set_access(collection_id: str, body: Access, asker: Asker, service: Serving) -> AccessShown:
    """Holds for the next request. Empty lists mean nobody but admins."""
    access = body.to_access()
    with service.parts.database.writing() as session:
        collections.set_collection_access(session, asker.tenant_id, collection_id, access)
    return access_shown(access)


def access_shown(access: AccessList | None) -> AccessShown:
    if access is None:
        return AccessShown([], [], inherited=True)
    return AccessShown(sorted(access.allow), sorted(access.deny), inherited=False)


def _shown(info: CollectionInfo) -> CollectionShown:
    """Without its change number, which would tell of documents that the reader may not see."""
    return CollectionShown(info.id, info.title, info.created_at)
