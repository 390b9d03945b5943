"""A set's people, permissions and documents put onto a live service by an admin, over HTTP."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ingest.corpus.errors import Conflict
from ingest.corpus.types import AccessList, Role
from service.client import Client, Problem, entries
from service.evaluation.asking.keys import EVALUATOR
from service.evaluation.sets.cases import CaseDocument, CaseSet
from service.watch import Watch

KEY_NAME = "evaluation"
CONFLICT = 409
LOOK_EVERY_SECONDS = 0.5


def install_live(case_set: CaseSet, admin: Client, collection: str, watch: Watch) -> Mapping[str, str]:
    """User id -> a new key of his, with an evaluator's among them; keys of an earlier time are revoked.

    The evaluator is let in wherever somebody is: he must read all documents to judge what was made of them.
    What is there already is made to be as the set has it, and a stopped installation goes on.

    :raises Conflict: if there are other people in the tenant: they could read the set, and the set's people
        would have their names.
    :raises Problem: if the service refuses something, for one that the key is not an admin's.
    """
    _require_nobody_else(case_set, admin)
    _let_in(case_set, admin)
    _create(admin, "/v1/collections", {"id": collection, "title": case_set.label})
    admin.send("PUT", f"/v1/collections/{collection}/acl", entries(_with_evaluator(case_set.access)))
    for done, one in enumerate(case_set.documents, start=1):
        _ingest(one, admin, collection)
        watch(f"{case_set.label}: documents ingested", done, len(case_set.documents))
    return {user_id: _renewed_key(admin, user_id) for user_id in _roles(case_set)}


def _roles(case_set: CaseSet) -> dict[str, Role]:
    roles: dict[str, Role] = {user.id: user.role for user in case_set.users}
    return {**roles, EVALUATOR: "evaluator"}


def _require_nobody_else(case_set: CaseSet, admin: Client) -> None:
    """Admins read everything anyway."""
    roles = _roles(case_set)
    people = {one["id"]: one["role"] for one in admin.send("GET", "/v1/users")}
    others = [user_id for user_id, role in people.items() if role != roles.get(user_id, "admin")]
    if others:
        raise Conflict(
            f"There are other people in this tenant: {len(others)}, {others[0]} among them.",
            why="They could read what everyone may of the set, and the set's people would have their names.",
            next_step="Make a tenant for it (`citeward init --tenant evaluation`), and use its admin's key.",
        )


def _let_in(case_set: CaseSet, admin: Client) -> None:
    roles, groups = _roles(case_set), {group.id for group in case_set.groups}
    for group_id in groups:
        _create(admin, "/v1/groups", {"id": group_id})
    for user_id, role in roles.items():
        _create(admin, "/v1/users", {"id": user_id, "role": role})
    members = {(group_id, user.id) for user in case_set.users for group_id in user.group_ids}
    there = {(group["id"], one) for group in admin.send("GET", "/v1/groups") for one in group["user_ids"]}
    for group_id, user_id in sorted(members - there):
        admin.send("PUT", f"/v1/groups/{group_id}/members/{user_id}")
    for group_id, user_id in sorted(there - members):
        if group_id in groups and user_id in roles:
            admin.send("DELETE", f"/v1/groups/{group_id}/members/{user_id}")


def _create(admin: Client, path: str, body: Mapping[str, str]) -> None:
    try:
        admin.send("POST", path, body)
    except Problem as problem:
        if problem.status != CONFLICT:  # it is there already
            raise


def _ingest(one: CaseDocument, admin: Client, collection: str) -> None:
    """Until it is ready, or has failed: then it cannot be read, and is kept as such."""
    access = None if one.access is None else _with_evaluator(one.access)
    uploaded = admin.upload(collection, one.name, one.original, access)
    if access is None:  # it may have had a list of its own before
        admin.send("DELETE", f"/v1/documents/{uploaded['document_id']}/acl")
    state = uploaded["state"]
    while state not in ("done", "ready", "failed"):
        time.sleep(LOOK_EVERY_SECONDS)
        state = admin.send("GET", f"/v1/jobs/{uploaded['job_id']}")["state"]


def _with_evaluator(access: AccessList) -> AccessList:
    return AccessList(access.allow | {f"user:{EVALUATOR}"}, access.deny)


def _renewed_key(admin: Client, user_id: str) -> str:
    for key in admin.send("GET", f"/v1/users/{user_id}/keys"):
        if key["name"] == KEY_NAME and key["revoked_at"] is None:
            admin.send("DELETE", f"/v1/keys/{key['prefix']}")
    made: str = admin.send("POST", f"/v1/users/{user_id}/keys", {"name": KEY_NAME})["key"]
    return made
