"""Every error that this project raises on purpose.

CitewardError
├── InvalidInput            what the caller sent cannot be right
│   └── UnknownSetting
├── NotFound                missing, or forbidden to this principal: the same thing
├── Conflict                it would contradict what is stored
├── Unauthenticated         no credential, or none that is known
├── Unreadable              a file that gives no trustworthy text; has a stable code
├── TooLarge                over a limit that is named
│   └── OverBudget          more tokens than the window holds
├── FingerprintMismatch     vectors of one embedder met an index or service of another
├── SnapshotDamaged         a stored index failed its checksum or shape
├── Unavailable             a part is missing or down; may pass
├── Overloaded              more is asked for than there is room for; says when to ask again
│   ├── QueueFull           so many wait already that this one is not taken in
│   └── NoCapacity          it waited, and its time ran out before there was room
└── ModelFailed             the language model gave no draft that can be used
    ├── ModelUnavailable    its server is not there, turns us away, or left in the middle
    ├── ModelBadOutput      what it sent is not what it was asked for, or it refuses this very request
    └── ModelTimeout        it was too slow

Each says what happened, why, and what to do next, with the values. Statuses are the business of
`service/api/errors.py` alone.
"""

from __future__ import annotations


class CitewardError(Exception):
    """What happened, why, and the next step, each a sentence of its own."""

    code = "error"

    def __init__(self, what: str, *, why: str = "", next_step: str = "", field: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.next_step = next_step
        self.field = field

    def __str__(self) -> str:
        return " ".join(part for part in (self.what, self.why, self.next_step) if part)


class InvalidInput(CitewardError, ValueError):
    code = "invalid_input"


class UnknownSetting(InvalidInput):
    code = "unknown_setting"


class NotFound(CitewardError):
    code = "not_found"


class Conflict(CitewardError):
    code = "conflict"


class Unauthenticated(CitewardError):
    code = "unauthenticated"


class Unreadable(CitewardError):
    """`code` is one of the stable codes of README's table: no_text_layer, garbled, encrypted_document, …"""

    def __init__(self, code: str, what: str, *, why: str = "", next_step: str = "") -> None:
        super().__init__(what, why=why, next_step=next_step)
        self.code = code


class TooLarge(CitewardError):
    code = "too_large"


class OverBudget(TooLarge, ValueError):
    code = "over_budget"


class FingerprintMismatch(CitewardError):
    code = "embedder_mismatch"


class SnapshotDamaged(CitewardError):
    code = "snapshot_damaged"


class Unavailable(CitewardError):
    code = "unavailable"


class Overloaded(CitewardError):
    def __init__(
        self, what: str, *, retry_after_seconds: int = 1, why: str = "", next_step: str = ""
    ) -> None:
        super().__init__(what, why=why, next_step=next_step)
        self.retry_after_seconds = retry_after_seconds


class QueueFull(Overloaded):
    code = "queue_full"


class NoCapacity(Overloaded):
    code = "no_capacity"


class ModelFailed(CitewardError):
    code = "model_failed"


class ModelUnavailable(ModelFailed):
    code = "model_unavailable"


class ModelBadOutput(ModelFailed):
    code = "model_bad_output"


class ModelTimeout(ModelFailed):
    code = "model_timeout"
