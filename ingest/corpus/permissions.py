"""Who may read what: the whole policy, without a database.

A document is readable if its collection's list lets the principal in and, where the document has a list of
its own, that list too: a document's list only narrows. Nothing allowed means nobody; a denied entry wins.
Tenants are not the policy's affair: lists and principal must already be of one tenant.
"""

from __future__ import annotations

import re

from ingest.corpus.errors import InvalidInput
from ingest.corpus.types import AccessList, Principal

EVERYONE = "everyone"
NOBODY = AccessList(deny=frozenset({EVERYONE}))
# Small ASCII only: ids that look alike, or differ in case or by a blank, are never the same or both possible.
ID = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")
LONGEST_SHOWN = 60  # characters of a refused text that its error repeats
SUBJECT = re.compile(rf"{EVERYONE}|(?:user|group):{ID.pattern}")


def may_read(principal: Principal, collection: AccessList, document: AccessList | None) -> bool:
    """Whether `principal` may read a document; `document` is None where it has no list of its own."""
    if principal.role == "admin":
        return True
    asks_as = subjects(principal)
    return _lets_in(collection, asks_as) and (document is None or _lets_in(document, asks_as))


def subjects(principal: Principal) -> frozenset[str]:
    """Every entry of an access list that means this principal."""
    groups = (f"group:{group_id}" for group_id in principal.group_ids)
    return frozenset({EVERYONE, f"user:{principal.user_id}", *groups})


def parse_subject(text: str) -> str:
    """`text` itself, if it is "everyone", "user:<id>" or "group:<id>".

    :raises InvalidInput: for anything else, however alike it looks.
    """
    if not SUBJECT.fullmatch(text):
        raise InvalidInput(
            f"{text[:LONGEST_SHOWN]!r} is nobody that access can be given to.",
            why='An entry is "everyone", "user:<id>" or "group:<id>".',
            next_step="Write user: or group: before the id of a person or a group.",
            field="access",
        )
    return text


def parse_access(allow: frozenset[str], deny: frozenset[str] = frozenset()) -> AccessList:
    """:raises InvalidInput: for an entry that is no subject."""
    return AccessList(frozenset(map(parse_subject, allow)), frozenset(map(parse_subject, deny)))


def parse_id(text: str, field: str) -> str:
    """`text` itself, if it can name a tenant, user, group or collection.

    :raises InvalidInput: naming the field and the value.
    """
    if not ID.fullmatch(text):
        raise InvalidInput(
            f"{text[:LONGEST_SHOWN]!r} cannot be the id of a {field}.",
            why="An id is 1 to 64 characters of a-z, 0-9 and . _ @ + -, and begins with a letter or digit.",
            next_step="Choose another.",
            field=field,
        )
    return text


def _lets_in(access: AccessList, asks_as: frozenset[str]) -> bool:
    return access.deny.isdisjoint(asks_as) and not access.allow.isdisjoint(asks_as)
