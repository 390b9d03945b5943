"""What a language model is asked with: which releases there are, and which of them is put in force."""

from __future__ import annotations

from service.api.door import Asker, admin_routes
from service.api.errors import problems
from service.api.schemas import NewActivation, PromptsShown
from service.api.state import Serving
from service.parts import Parts
from service.releases.activations import activate, activation_history, roll_back
from service.releases.grounds import grounds_of
from service.releases.release import SHIPPED, Release, load_release, load_releases
from service.releases.standing import Activation, standing

admin = admin_routes("prompts")


@admin.get("/v1/prompts", summary="Show prompts and policies")
def show_prompts(asker: Asker, service: Serving) -> PromptsShown:
    """Each prompt with each policy, what is in force in your tenant, and how it came to be."""
    releases = _releases(service.parts)
    with service.parts.database.reading() as session:
        history = activation_history(session, asker.tenant_id)
    now = standing(history, releases[SHIPPED].version)
    return PromptsShown(
        asked=service.parts.prompting is not None,
        releases=tuple(one.version for one in releases.values()),
        in_force=now.in_force,
        canary=now.canary,
        history=history,
    )


@admin.post(
    "/v1/prompts/activations",
    summary="Put a prompt and a policy in force",
    status_code=201,
    responses=problems(409, 422),
)
def put_in_force(body: NewActivation, asker: Asker, service: Serving) -> Activation:
    """For all users of your tenant or a share of them, from the next question on."""
    parts = service.parts
    release = load_release(body.release, parts.settings.reserved_output).version
    model = parts.generator.version if parts.prompting else None
    gate = body.gate.to_result() if body.gate else None
    grounds = grounds_of(release, gate, body.override, model)
    with parts.database.writing() as session:
        return activate(
            session, asker.tenant_id, release, body.share, _actor(asker), _shipped(parts), grounds
        )


@admin.post("/v1/prompts/rollback", summary="Go back to what was in force before", responses=problems(409))
def go_back(asker: Asker, service: Serving) -> Activation:
    """A canary ends; without one, what was in force for everybody before is so again."""
    with service.parts.database.writing() as session:
        return roll_back(session, asker.tenant_id, _actor(asker), _shipped(service.parts))


def _releases(parts: Parts) -> dict[str, Release]:
    return load_releases(parts.settings.reserved_output)


def _shipped(parts: Parts) -> str:
    return _releases(parts)[SHIPPED].version


def _actor(asker: Asker) -> str:
    return f"user:{asker.user_id}"
