"""What is in force, as it follows from what was activated: pure, over the history of a tenant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ingest.corpus.types import Principal
from service.releases.release import ALL, is_among

Action = Literal["activate", "canary", "rollback"]


@dataclass(frozen=True, slots=True)
class Grounds:
    """Why a release may be put in force; one of the two."""

    gate: Mapping[str, Any] | None = None  # what is kept of a gate run that it passed
    override: str | None = None  # the reason of somebody who did without


@dataclass(frozen=True, slots=True)
class Activation:
    """One change of what is in force: `share` percent of the users get `release`, the others `previous`.

    Releases are named with their hashes.
    """

    number: int  # from 1, without gaps
    action: Action
    release: str
    previous: str
    share: int  # 1..100
    actor: str
    at: str
    grounds: Grounds | None  # None: of a rollback, which needs none

    def release_for(self, principal: Principal) -> str:
        return self.release if is_among(principal, self.release, self.share) else self.previous

    @property
    def said(self) -> str:
        """In one line; of a canary both, as neither made all answers."""
        if self.share == ALL:
            return self.release
        return f"{self.release} for {self.share} %, {self.previous} for the others"


@dataclass(frozen=True, slots=True)
class Standing:
    stable: tuple[str, ...]  # for everybody, one after the other; the last one is in force
    canary: Activation | None = None  # of a release that only a share of the users gets

    @property
    def in_force(self) -> str:
        return self.stable[-1]


def standing(history: Iterable[Activation], shipped: str) -> Standing:
    """:param history: the oldest first.
    :param shipped: what was in force before all of it.
    """
    stable, canary = [shipped], None
    for one in history:
        if one.action == "canary":
            canary = one
            continue
        if one.action == "activate":
            stable.append(one.release)
        elif canary is None:  # a rollback of an activation; that of a canary ends the canary
            stable.pop()
        canary = None
    return Standing(tuple(stable), canary)
