"""A prompt and a policy together: what a language model is asked with, and who gets which of two.

Knows nothing of what is in force.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from ingest.corpus.errors import InvalidInput
from ingest.corpus.types import Principal
from service.policy import POLICY, load_policy
from service.prompt import PROMPT, PromptTemplate, load_templates
from service.releases.ledger import released_names
from service.types import AnswerLanguage, GenerationPolicy

SHIPPED = f"{PROMPT}+{POLICY}"  # in force until another one is activated
ALL = 100  # percent


@dataclass(frozen=True, slots=True)
class Release:
    name: str  # "answer.v1+default.v1"
    templates: Mapping[AnswerLanguage, PromptTemplate]
    policy: GenerationPolicy

    @property
    def version(self) -> str:
        """The name, and 12 hex digits over the files."""
        parts = sorted([*(one.version for one in self.templates.values()), self.policy.version])
        return f"{self.name}@{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:12]}"


def load_release(name: str, max_new_tokens: int) -> Release:
    """:param max_new_tokens: as of `load_policy`.

    :raises InvalidInput: if the name is none of a prompt and a policy.
    :raises NotFound: if one of the two was never released.
    :raises Conflict: if one of their files was changed since.
    """
    prompt, plus, policy = name.partition("+")
    if not (prompt and plus and policy):
        raise InvalidInput(
            f"{name!r} names no release.",
            why=f"A release is a prompt and a policy, as {SHIPPED}.",
            next_step="`citeward prompts list` shows what there is.",
            field="release",
        )
    return Release(name, load_templates(prompt), load_policy(max_new_tokens, policy))


def load_releases(max_new_tokens: int) -> dict[str, Release]:
    """Every released prompt with every released policy, by name. Errors as of `load_release`."""
    names = [f"{one}+{other}" for one in released_names("prompts") for other in released_names("policies")]
    return {name: load_release(name, max_new_tokens) for name in names}


def is_among(principal: Principal, release: str, share: int) -> bool:
    """Whether this user is among the `share` percent who get a release.

    The same for each of his questions, and who is in a share is in every larger one.
    """
    told = "\0".join((principal.tenant_id, principal.user_id, release))
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8]) % ALL < share
