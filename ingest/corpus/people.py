"""Tenants, users, groups and API keys; and who somebody is by the key that he shows."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, delete, insert, select, update
from sqlalchemy.orm import Session

from ingest.corpus.access import forget_subject
from ingest.corpus.changes import missing_tenant
from ingest.corpus.clock import now_utc
from ingest.corpus.errors import Conflict, InvalidInput, NotFound, Unauthenticated
from ingest.corpus.ids import ALPHABET, random_text
from ingest.corpus.names import parse_name
from ingest.corpus.permissions import parse_id
from ingest.corpus.settings import require_long_secret
from ingest.corpus.tables import ApiKeyRow, GroupRow, MembershipRow, TenantRow, UserRow
from ingest.corpus.types import ROLES, Principal, Role

PREFIX_LENGTH = 12  # characters; finds the row, is no secret
LONGEST_KEY_NAME = 100  # characters
SECRET_BYTES = 32  # random; 43 characters
CREDENTIAL = re.compile(rf"cw_([{ALPHABET}]{{{PREFIX_LENGTH}}})_([A-Za-z0-9_-]{{43}})")
NO_PREFIX = "0" * PREFIX_LENGTH  # of no key: the alphabet has no 0
NO_HASH = "-" * 64  # of no secret, as long as a real one


@dataclass(frozen=True, slots=True)
class User:
    tenant_id: str
    id: str
    role: Role
    group_ids: frozenset[str]
    created_at: str


@dataclass(frozen=True, slots=True)
class Group:
    tenant_id: str
    id: str
    user_ids: frozenset[str]
    created_at: str


@dataclass(frozen=True, slots=True)
class ApiKey:
    """All of a key but its secret."""

    prefix: str
    tenant_id: str
    user_id: str
    name: str
    created_at: str
    revoked_at: str | None


@dataclass(frozen=True, slots=True)
class NewKey:
    key: ApiKey
    credential: str  # shown once; only a hash of its secret is stored


# --- tenants -----------------------------------------------------------------------------------


def create_tenant(session: Session, tenant_id: str) -> None:
    """:raises Conflict: if there is one of this id."""
    parse_id(tenant_id, "tenant")
    if tenant_id in list_tenants(session):
        raise Conflict(f"There is a tenant {tenant_id!r} already.", next_step="Choose another id.")
    session.execute(insert(TenantRow).values(id=tenant_id, created_at=now_utc()))


def list_tenants(session: Session) -> tuple[str, ...]:
    return tuple(sorted(session.scalars(select(TenantRow.id))))


# --- users and groups --------------------------------------------------------------------------


def create_user(session: Session, tenant_id: str, user_id: str, role: Role = "reader") -> User:
    """:raises Conflict: if the tenant has one of this id.
    :raises NotFound: if there is no such tenant.
    """
    parse_id(user_id, "user")
    if role not in ROLES:
        raise InvalidInput(
            f"There is no role {role!r}.", next_step=f"Use one of {', '.join(ROLES)}.", field="role"
        )
    _require_free(session, UserRow, tenant_id, user_id, "user")
    created_at = now_utc()
    session.execute(insert(UserRow).values(tenant_id=tenant_id, id=user_id, role=role, created_at=created_at))
    return User(tenant_id, user_id, role, frozenset(), created_at)


def list_users(session: Session, tenant_id: str) -> tuple[User, ...]:
    rows = session.execute(
        select(UserRow.id, UserRow.role, UserRow.created_at).where(UserRow.tenant_id == tenant_id)
    )
    members = _memberships(session, tenant_id)
    users = (
        User(tenant_id, row.id, row.role, frozenset(g for g, u in members if u == row.id), row.created_at)
        for row in rows
    )
    return tuple(sorted(users, key=lambda user: user.id))


def delete_user(session: Session, tenant_id: str, user_id: str) -> None:
    """Remove a user with his keys, memberships and entries in access lists.

    :raises NotFound: if the tenant has no such user.
    """
    _delete(session, UserRow, tenant_id, user_id, "user")
    forget_subject(session, tenant_id, f"user:{user_id}")


def create_group(session: Session, tenant_id: str, group_id: str) -> Group:
    """:raises Conflict: if the tenant has one of this id.
    :raises NotFound: if there is no such tenant.
    """
    parse_id(group_id, "group")
    _require_free(session, GroupRow, tenant_id, group_id, "group")
    created_at = now_utc()
    session.execute(insert(GroupRow).values(tenant_id=tenant_id, id=group_id, created_at=created_at))
    return Group(tenant_id, group_id, frozenset(), created_at)


def list_groups(session: Session, tenant_id: str) -> tuple[Group, ...]:
    rows = session.execute(select(GroupRow.id, GroupRow.created_at).where(GroupRow.tenant_id == tenant_id))
    members = _memberships(session, tenant_id)
    groups = (
        Group(tenant_id, row.id, frozenset(u for g, u in members if g == row.id), row.created_at)
        for row in rows
    )
    return tuple(sorted(groups, key=lambda group: group.id))


def delete_group(session: Session, tenant_id: str, group_id: str) -> None:
    """Remove a group with its memberships and entries in access lists.

    :raises NotFound: if the tenant has no such group.
    """
    _delete(session, GroupRow, tenant_id, group_id, "group")
    forget_subject(session, tenant_id, f"group:{group_id}")


def add_member(session: Session, tenant_id: str, group_id: str, user_id: str) -> None:
    """Put a user into a group; doing it twice changes nothing.

    :raises NotFound: if the tenant has no such group or no such user.
    """
    _require_there(session, GroupRow, tenant_id, group_id, "group")
    _require_there(session, UserRow, tenant_id, user_id, "user")
    if (group_id, user_id) not in _memberships(session, tenant_id):
        session.execute(insert(MembershipRow).values(tenant_id=tenant_id, group_id=group_id, user_id=user_id))


def remove_member(session: Session, tenant_id: str, group_id: str, user_id: str) -> None:
    """:raises NotFound: if the user is not in the group."""
    removed = session.scalar(
        delete(MembershipRow)
        .where(
            MembershipRow.tenant_id == tenant_id,
            MembershipRow.group_id == group_id,
            MembershipRow.user_id == user_id,
        )
        .returning(MembershipRow.user_id)
    )
    if removed is None:
        raise NotFound(f"There is no user {user_id!r} in group {group_id!r}.", next_step="Check the ids.")


# --- keys --------------------------------------------------------------------------------------


def create_key(session: Session, key_secret: bytes, tenant_id: str, user_id: str, name: str = "") -> NewKey:
    """A new key of a user; the credential is `cw_<prefix>_<secret>` and is given out here only.

    :raises InvalidInput: for a name that cannot be used.
    :raises NotFound: if the tenant has no such user.
    """
    name = parse_name(name, "name", LONGEST_KEY_NAME) if name else ""
    _require_there(session, UserRow, tenant_id, user_id, "user")
    secret = secrets.token_urlsafe(SECRET_BYTES)
    key = ApiKey(random_text(PREFIX_LENGTH), tenant_id, user_id, name, now_utc(), None)
    session.execute(
        insert(ApiKeyRow).values(
            prefix=key.prefix,
            tenant_id=tenant_id,
            user_id=user_id,
            secret_hash=hash_secret(key_secret, secret),
            name=name,
            created_at=key.created_at,
        )
    )
    return NewKey(key, f"cw_{key.prefix}_{secret}")


def list_keys(session: Session, tenant_id: str) -> tuple[ApiKey, ...]:
    """All keys of the tenant, revoked ones included, in the order of their making."""
    columns = (
        ApiKeyRow.prefix,
        ApiKeyRow.tenant_id,
        ApiKeyRow.user_id,
        ApiKeyRow.name,
        ApiKeyRow.created_at,
        ApiKeyRow.revoked_at,
    )
    rows = session.execute(select(*columns).where(ApiKeyRow.tenant_id == tenant_id))
    return tuple(sorted((ApiKey(*row) for row in rows), key=lambda key: (key.created_at, key.prefix)))


def revoke_key(session: Session, tenant_id: str, prefix: str) -> None:
    """:raises NotFound: if the tenant has no such key, or it is revoked already."""
    revoked = session.scalar(
        update(ApiKeyRow)
        .where(ApiKeyRow.tenant_id == tenant_id, ApiKeyRow.prefix == prefix, ApiKeyRow.revoked_at.is_(None))
        .values(revoked_at=now_utc())
        .returning(ApiKeyRow.prefix)
    )
    if revoked is None:
        raise NotFound(f"There is no key {prefix!r}.", next_step="Check the prefix.")


def authenticate(session: Session, key_secret: bytes, credential: str) -> Principal:
    """Who shows this key, with his role and groups of this moment.

    A malformed, unknown, revoked or wrong key costs the same look-up, hash and comparison.

    :raises Unauthenticated: for each of them, in the same words.
    """
    match = CREDENTIAL.fullmatch(credential)
    prefix, secret = match.groups() if match else (NO_PREFIX, "")
    shown = hash_secret(key_secret, secret)
    row = session.execute(_keys_in_force().where(ApiKeyRow.prefix == prefix)).one_or_none()
    if not hmac.compare_digest(shown, row.secret_hash if row else NO_HASH) or row is None:
        raise Unauthenticated("The key is not valid.", next_step="Use a key that an admin has made for you.")
    return _principal(session, row.tenant_id, row.user_id, row.role)


def hash_secret(key_secret: bytes, secret: str) -> str:
    """Keyed hash, HMAC-SHA256 (RFC 2104), in hex: 64 characters. Fast is right: a secret has 256 random bits.

    :raises InvalidInput: if `key_secret` is too short.
    """
    require_long_secret(key_secret)
    return hmac.new(key_secret, secret.encode(), hashlib.sha256).hexdigest()


def _keys_in_force() -> Select[str, str, str, str]:
    return (
        select(ApiKeyRow.secret_hash, ApiKeyRow.tenant_id, ApiKeyRow.user_id, UserRow.role)
        .join(UserRow, (UserRow.tenant_id == ApiKeyRow.tenant_id) & (UserRow.id == ApiKeyRow.user_id))
        .where(ApiKeyRow.revoked_at.is_(None))
    )


def _principal(session: Session, tenant_id: str, user_id: str, role: Any) -> Principal:
    groups = session.scalars(
        select(MembershipRow.group_id).where(
            MembershipRow.tenant_id == tenant_id, MembershipRow.user_id == user_id
        )
    )
    return Principal(tenant_id, user_id, frozenset(groups), role)


def find_principal(session: Session, tenant_id: str, user_id: str) -> Principal:
    """A user as he would be after showing a key; for commands on the machine itself.

    :raises NotFound: if the tenant has no such user.
    """
    role = session.scalar(select(UserRow.role).where(UserRow.tenant_id == tenant_id, UserRow.id == user_id))
    if role is None:
        raise _missing("user", user_id)
    return _principal(session, tenant_id, user_id, role)


# --- what users and groups have in common ------------------------------------------------------

Named = type[UserRow] | type[GroupRow]


def _memberships(session: Session, tenant_id: str) -> frozenset[tuple[str, str]]:
    """Pairs (group id, user id)."""
    rows = session.execute(
        select(MembershipRow.group_id, MembershipRow.user_id).where(MembershipRow.tenant_id == tenant_id)
    )
    return frozenset((row.group_id, row.user_id) for row in rows)


def _require_free(session: Session, table: Named, tenant_id: str, one_id: str, kind: str) -> None:
    if tenant_id not in list_tenants(session):
        raise missing_tenant(tenant_id)
    if _is_there(session, table, tenant_id, one_id):
        raise Conflict(f"There is a {kind} {one_id!r} already.", next_step="Choose another id.")


def _require_there(session: Session, table: Named, tenant_id: str, one_id: str, kind: str) -> None:
    if not _is_there(session, table, tenant_id, one_id):
        raise _missing(kind, one_id)


def _is_there(session: Session, table: Named, tenant_id: str, one_id: str) -> bool:
    found = select(table.id).where(table.tenant_id == tenant_id, table.id == one_id)
    return session.scalar(found) is not None


def _delete(session: Session, table: Named, tenant_id: str, one_id: str, kind: str) -> None:
    gone = delete(table).where(table.tenant_id == tenant_id, table.id == one_id).returning(table.id)
    if session.scalar(gone) is None:
        raise _missing(kind, one_id)


def _missing(kind: str, one_id: str) -> NotFound:
    return NotFound(f"There is no {kind} {one_id!r}.", next_step="Check the id.")
