"""Answers as they were given, without what the reader may no longer read."""

from __future__ import annotations

from service.api.door import Asker, reader_routes
from service.api.errors import problems
from service.api.schemas import AnswerShown, ServiceVersions
from service.api.shown import stored_answer_shown
from service.api.state import Serving
from service.history import ListedAnswer, get_answer, list_answers
from service.releases.in_force import versions_for

MOST_LISTED = 100
routes = reader_routes("answers")


@routes.get("/v1/versions", summary="Show what answers are made by")
def show_versions(asker: Asker, service: Serving) -> ServiceVersions:
    """As each answer tells it, without what each question decides; of a canary both releases."""
    return ServiceVersions(service.parts.generator.kind, versions_for(asker, service.parts))


@routes.get("/v1/answers", summary="List your newest questions")
def show_answers(asker: Asker, service: Serving) -> list[ListedAnswer]:
    with service.parts.database.reading() as session:
        return list(list_answers(session, asker, MOST_LISTED))


@routes.get("/v1/answers/{answer_id}", summary="Show a stored answer", responses=problems(404))
def show_answer(answer_id: str, asker: Asker, service: Serving) -> AnswerShown:
    """Your own, with what made it, and whether the same text can be expected again. Admins get all with the
    record of everything that made them; evaluators those of which every collection that was searched is open
    to them, without what is not."""
    with service.parts.database.reading() as session:
        return stored_answer_shown(get_answer(session, asker, answer_id), asker)
