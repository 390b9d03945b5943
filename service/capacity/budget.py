"""How many tokens of a model's window are left for evidence once everything else has been counted."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ingest.corpus.errors import InvalidInput, OverBudget

SAFETY_MARGIN_TOKENS = 256  # stays on top of an exact count: a template or tokenizer may change under us


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The parts of one sequence, in tokens of the target model. One that exists fits its window.

    Every part is counted with the target model's tokenizer, never estimated from characters.

    :raises InvalidInput: a part that is negative or no whole number; names the field.
    :raises OverBudget: the parts together are more than the window; says by how many tokens.
    """

    context_window: int
    reserved_output: int  # the generation policy's max_new_tokens, never a second number
    system: int
    current_input: int
    history: int = 0
    tool_schema: int = 0
    tool_results: int = 0  # calls and results of earlier rounds
    template_overhead: int = 0  # what the chat template adds around the messages, counted
    safety_margin: int = SAFETY_MARGIN_TOKENS

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            _require_count(name, value)
        if self.used > self.context_window:
            raise OverBudget(
                f"The request exceeds the context by {self.used - self.context_window} tokens.",
                why=f"{self.used} are needed before any evidence, the window holds {self.context_window}.",
                next_step="Shorten the question or the history, or lower max_new_tokens.",
                field="context_window",
            )

    @property
    def used(self) -> int:
        """Tokens taken by everything but evidence."""
        parts: dict[str, int] = asdict(self)
        return sum(parts.values()) - self.context_window

    @property
    def prompt(self) -> int:
        """Tokens that the whole prompt may have, evidence included."""
        return self.context_window - self.reserved_output - self.safety_margin

    @property
    def evidence(self) -> int:
        """Tokens left for evidence; 0 is legal."""
        return self.context_window - self.used


def _require_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(f"{name} must be a whole number of tokens, was: {value!r}.", field=name)
    if value < 0:
        raise InvalidInput(f"{name} must not be negative, was: {value}.", field=name)
