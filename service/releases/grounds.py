"""Whether a gate run, or somebody's word, is ground enough to put a release in force."""

from __future__ import annotations

from dataclasses import asdict

from ingest.corpus.errors import Conflict, InvalidInput
from service.evaluation.scoring.gate_result import GateResult
from service.releases.standing import Grounds

LEAST_WRITTEN = 0.9  # of the questions; where quoting stood in for the model a run tells of quoting
LONGEST_REASON = 500  # characters


def grounds_of(
    release: str, gate: GateResult | None, override: str | None, model: str | None
) -> Grounds | None:
    """None if neither is given.

    :param model: that the service asks, as answers name it; None: it has none, so nothing is compared.
    :raises InvalidInput: for both at once, or a reason that is blank or too long.
    :raises Conflict: as `require_passed`.
    """
    if gate is not None and override is not None:
        raise InvalidInput(
            "There is a gate run, and a reason to do without one.",
            next_step="Give one of the two.",
            field="override",
        )
    if gate is not None:
        require_passed(gate, release, model)
        return Grounds(gate=asdict(gate) | {"sha256": gate.sha256})
    return None if override is None else Grounds(override=_reason(override))


def require_passed(gate: GateResult, release: str, model: str | None) -> None:
    """:raises Conflict: unless this very release, asked of this model, passed; says what is in the way."""
    of = gate.versions.get("release", "none")
    if of != release:
        raise _not_enough(release, f"The gate run is of {of}.")
    if gate.faults:
        more = f" and {len(gate.faults) - 1} more" if len(gate.faults) > 1 else ""
        raise _not_enough(release, f"It did not pass: {gate.faults[0]}{more}")
    if gate.written < LEAST_WRITTEN * gate.questions or not gate.questions:
        raise _not_enough(
            release,
            f"The model itself answered {gate.written} of {gate.questions} questions in the gate run.",
        )
    asked = gate.versions.get("model", "none")
    if model is not None and _weights(asked) != _weights(model):
        raise _not_enough(release, f"The gate run asked {asked}, and the service asks {model}.")


def _weights(model: str) -> str:
    """Of "vllm:NAME@REVISION" the revision, which is the same wherever the model lies."""
    return model.rpartition("@")[2]


def _reason(override: str) -> str:
    reason = " ".join(override.split())
    if not reason or len(reason) > LONGEST_REASON or not reason.isprintable():
        raise InvalidInput(
            "The reason for the override is blank, too long, or no text.",
            why=f"It is kept for whoever asks later, and may have {LONGEST_REASON} characters.",
            next_step="Say why the release is put in force without a gate run.",
            field="override",
        )
    return reason


def _not_enough(release: str, why: str) -> Conflict:
    return Conflict(
        f"{release} may not be put in force on this gate run.",
        why=why,
        next_step="Run `citeward eval gate` with this release and model, or override with a reason.",
    )
