"""What is known of an answer before it is made, and so stands in every piece of it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from service.types import Answer, FinishReason

ANSWER = TypeAdapter(Answer)
FINGERPRINT_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Head:
    """`id` is the answer's own: /v1/answers opens it."""

    id: str
    model: str
    created: int  # seconds since 1970
    fingerprint: str  # another one for other versions of anything that makes answers
    ignored: tuple[str, ...]


def head_of(answer_id: str, model: str, versions: Mapping[str, str], ignored: tuple[str, ...]) -> Head:
    digest = hashlib.sha256(json.dumps(versions, sort_keys=True).encode()).hexdigest()
    return Head(answer_id, model, int(time.time()), f"fp_{digest[:FINGERPRINT_DIGITS]}", ignored)


def ours(answer: Answer, head: Head) -> dict[str, Any]:
    """Beside what OpenAI's API knows: the citations in full, the answer as /v1/ask has it, and what was sent
    in vain."""
    whole = ANSWER.dump_python(answer, mode="json")
    return {"citations": whole["citations"], "citeward": whole, "ignored": list(head.ignored)}


def shown_text(answer: Answer) -> str:
    """A refusal is shown as an answer is: its reader must learn of it, whatever his client shows."""
    return answer.refusal.text if answer.refusal else answer.answer


def was_cut_off(reason: FinishReason) -> bool:
    return reason == "length"
