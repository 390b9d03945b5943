"""Who of a set may read which of its documents, by the service's own rule; and what was shown beyond that."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from ingest.corpus.permissions import may_read
from ingest.corpus.types import Principal
from service.evaluation.asking.attempts import Attempt
from service.evaluation.scoring.wording import words
from service.evaluation.sets.cases import CaseSet

IN_A_ROW = 10  # words, or Chinese signs, that two documents hardly share by chance
KEPT = 1024  # texts whose runs of words are remembered


def readable(case_set: CaseSet, user_id: str) -> frozenset[str]:
    """Names of the documents that this person may read. Somebody whom the set does not know: of none."""
    user = next((one for one in case_set.users if one.id == user_id), None)
    if user is None:
        return frozenset()
    principal = Principal(case_set.name, user.id, frozenset(user.group_ids), user.role)
    return frozenset(
        one.name for one in case_set.documents if may_read(principal, case_set.access, one.access)
    )


def shows_unreadable(attempt: Attempt, may: Collection[str], texts: Mapping[str, str]) -> bool:
    """Whether anything that the reader got is of a document not in `may`.

    Either a citation names one, or answer or quote hold ten words in a row that stand in such documents only.
    Less than that would be said by chance.
    """
    if any(one.document not in may for one in attempt.citations):
        return True
    withheld = [text for name, text in texts.items() if name not in may]
    if not withheld:
        return False
    told = frozenset(run for text in _shown(attempt) for run in _runs(text))
    kept_from_him = _found(told, iter(withheld))
    return bool(kept_from_him - _found(kept_from_him, (texts.get(name, "") for name in may)))


def _shown(attempt: Attempt) -> Iterator[str]:
    yield attempt.answer
    yield from (one.quote for one in attempt.citations)


def _found(runs: frozenset[str], texts: Iterator[str]) -> frozenset[str]:
    return frozenset(run for text in texts for run in runs & _runs(text))


@lru_cache(maxsize=KEPT)
def _runs(text: str) -> frozenset[str]:
    found = words(text)
    return frozenset(" ".join(found[at : at + IN_A_ROW]) for at in range(len(found) - IN_A_ROW + 1))
