"""How many tokens a request takes, part by part, and how many are left for evidence."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from anyio import to_thread
from pydantic import Field

from ingest.corpus.errors import InvalidInput
from service.api.door import Asker, reader_routes
from service.api.errors import problems
from service.api.schemas import BudgetShown, Sent
from service.api.state import Serving
from service.capacity.budget import TokenBudget
from service.fit import SAMPLE_BOUNDARY, budget_of, quoting_budget
from service.parts import Parts
from service.question import language_of, require_searchable
from service.releases.in_force import parts_for
from service.types import Question

COUNTED = ("system", "current_input", "template_overhead")  # of a question that is given
routes = reader_routes("tokens")


Tokens = Annotated[int, Field(le=1_000_000_000)]  # more than any window


class BudgetRequest(Sent):
    """Counts in tokens of the answering model. What is absent is 0, or as the service has it."""

    question: Annotated[
        str | None,
        Field(
            description=f"Counted here; {', '.join(COUNTED)} are not given.",
            examples=["年假有几天？"],
        ),
    ] = None
    context_window: Annotated[Tokens | None, Field(description="Absent: the service's.")] = None
    reserved_output: Annotated[Tokens | None, Field(description="max_new_tokens. Absent: the policy's.")] = (
        None
    )
    system: Tokens | None = None
    current_input: Tokens | None = None
    history: Tokens | None = None
    tool_schema: Tokens | None = None
    tool_results: Tokens | None = None
    template_overhead: Tokens | None = None
    safety_margin: Annotated[Tokens | None, Field(description="Absent: the service's.")] = None


@routes.post("/v1/tokens/budget", summary="Count what a request takes", responses=problems(413, 422))
async def budget(body: BudgetRequest, asker: Asker, service: Serving) -> BudgetShown:
    """Every part, and what remains for evidence; 413 if they are more than the window holds."""
    parts = await to_thread.run_sync(parts_for, asker, service.parts)
    made = await to_thread.run_sync(to_budget, body, parts)
    return BudgetShown(**asdict(made), used=made.used, prompt=made.prompt, evidence=made.evidence)


def to_budget(body: BudgetRequest, parts: Parts) -> TokenBudget:
    """:raises InvalidInput: for a part that is negative, or given although it is counted.
    :raises OverBudget: if the parts are more than the window holds.
    """
    settings = parts.settings
    given = {
        name: value for name, value in body.model_dump(exclude={"question"}).items() if value is not None
    }
    own = {
        "context_window": settings.context_window,
        "reserved_output": parts.prompting.policy.max_new_tokens
        if parts.prompting
        else settings.reserved_output,
        "safety_margin": settings.safety_margin,
    }
    counted = {"system": 0, "current_input": 0}
    if body.question is not None:
        _refuse_counted(given)
        counted = count_question(body.question, parts)
    return TokenBudget(**{**own, **counted, **given})


def count_question(text: str, parts: Parts) -> dict[str, int]:
    """What the prompt of this question has without any evidence."""
    require_searchable(text, "question", parts)
    question = Question(text, language_of(text))
    if parts.prompting is None:
        made = quoting_budget(question, parts)
    else:
        made = budget_of(question, SAMPLE_BOUNDARY, parts.prompting, parts.settings)
    return {name: getattr(made, name) for name in COUNTED}


def _refuse_counted(given: dict[str, int]) -> None:
    for name in COUNTED:
        if name in given:
            raise InvalidInput(
                f"{name} is given, and so is a question.",
                why="What the question takes is counted here.",
                next_step=f"Leave out {name} or the question.",
                field=name,
            )
