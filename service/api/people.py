"""Users, groups and their members, and API keys: an admin's affair."""

from __future__ import annotations

from ingest.corpus import people
from ingest.corpus.people import Group, User
from service.api.door import Asker, admin_routes
from service.api.errors import problems
from service.api.schemas import KeyMade, KeyShown, NewGroup, NewKeyRequest, NewUser
from service.api.state import Serving

routes = admin_routes("people")


@routes.get("/v1/users", summary="List users")
def list_users(asker: Asker, service: Serving) -> list[User]:
    with service.parts.database.reading() as session:
        return list(people.list_users(session, asker.tenant_id))


@routes.post("/v1/users", summary="Make a user", status_code=201, responses=problems(409, 422))
def create_user(body: NewUser, asker: Asker, service: Serving) -> User:
    with service.parts.database.writing() as session:
        return people.create_user(session, asker.tenant_id, body.id, body.role)


@routes.delete("/v1/users/{user_id}", summary="Delete a user", status_code=204)
def delete_user(user_id: str, asker: Asker, service: Serving) -> None:
    """With his keys, memberships and entries in access lists: a later namesake inherits nothing."""
    with service.parts.database.writing() as session:
        people.delete_user(session, asker.tenant_id, user_id)


@routes.get("/v1/groups", summary="List groups")
def list_groups(asker: Asker, service: Serving) -> list[Group]:
    with service.parts.database.reading() as session:
        return list(people.list_groups(session, asker.tenant_id))


@routes.post("/v1/groups", summary="Make a group", status_code=201, responses=problems(409, 422))
def create_group(body: NewGroup, asker: Asker, service: Serving) -> Group:
    with service.parts.database.writing() as session:
        return people.create_group(session, asker.tenant_id, body.id)


@routes.delete("/v1/groups/{group_id}", summary="Delete a group", status_code=204)
def delete_group(group_id: str, asker: Asker, service: Serving) -> None:
    """With its memberships and entries in access lists."""
    with service.parts.database.writing() as session:
        people.delete_group(session, asker.tenant_id, group_id)


@routes.put("/v1/groups/{group_id}/members/{user_id}", summary="Put a user into a group", status_code=204)
def add_member(group_id: str, user_id: str, asker: Asker, service: Serving) -> None:
    with service.parts.database.writing() as session:
        people.add_member(session, asker.tenant_id, group_id, user_id)


@routes.delete(
    "/v1/groups/{group_id}/members/{user_id}", summary="Take a user out of a group", status_code=204
)
def remove_member(group_id: str, user_id: str, asker: Asker, service: Serving) -> None:
    """Holds for the next request."""
    with service.parts.database.writing() as session:
        people.remove_member(session, asker.tenant_id, group_id, user_id)


@routes.post("/v1/users/{user_id}/keys", summary="Make an API key", status_code=201, responses=problems(422))
def create_key(user_id: str, body: NewKeyRequest, asker: Asker, service: Serving) -> KeyMade:
    """The key is in this answer and nowhere else: only a keyed hash of it is stored."""
    with service.parts.database.writing() as session:
        made = people.create_key(session, service.key_secret, asker.tenant_id, user_id, body.name)
    return KeyMade(made.credential, made.key.prefix, made.key.user_id, made.key.name, made.key.created_at)


@routes.get("/v1/users/{user_id}/keys", summary="List a user's API keys")
def list_keys(user_id: str, asker: Asker, service: Serving) -> list[KeyShown]:
    """Revoked ones too; never their secrets."""
    with service.parts.database.reading() as session:
        people.find_principal(session, asker.tenant_id, user_id)
        keys = people.list_keys(session, asker.tenant_id)
    return [
        KeyShown(key.prefix, key.user_id, key.name, key.created_at, key.revoked_at)
        for key in keys
        if key.user_id == user_id
    ]


@routes.delete("/v1/keys/{prefix}", summary="Revoke an API key", status_code=204)
def revoke_key(prefix: str, asker: Asker, service: Serving) -> None:
    """Holds for the next request."""
    with service.parts.database.writing() as session:
        people.revoke_key(session, asker.tenant_id, prefix)
