"""Who changed what, and when: for the admins of a tenant, of their own tenant alone."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from service.api.door import Asker, admin_routes
from service.api.errors import problems
from service.api.state import Serving
from service.audit import Audited, list_audit

MOST = 500
admin = admin_routes("audit")
Of = Annotated[str | None, Query(max_length=100, description="Absent: of all.")]


@admin.get("/v1/audit", summary="List what was changed", responses=problems(422))
def show_audit(
    asker: Asker,
    service: Serving,
    actor: Of = None,
    about: Annotated[
        str | None, Query(max_length=64, description="What the action begins with, as release.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = 100,
) -> tuple[Audited, ...]:
    """The newest first. It holds no text of a question, a document or an answer."""
    with service.parts.database.reading() as session:
        return list_audit(session, asker.tenant_id, limit, actor, about)
