"""`citeward ask` and `citeward search`: on the data of this machine, as one of its users."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from ingest.corpus import collections as stored
from ingest.corpus.types import Principal
from service.answer import answer_question
from service.api.schemas import PassageShown, SearchResult
from service.api.shown import answer_shown, passage_shown
from service.cli.loaded import local_parts
from service.cli.local import DEFAULT_TENANT, Tenant, User, principal
from service.cli.show import Json, say, show, show_json
from service.fit import require_fitting
from service.parts import Parts
from service.question import language_of, require_searchable
from service.releases.in_force import parts_for
from service.search import search as search_passages
from service.types import Answer, Citation, Done, Progress, Question

app = typer.Typer()
LONGEST_SHOWN = 300  # characters of a passage in `search`; --json has all

In = Annotated[
    list[str] | None,
    typer.Option("--collection", "-c", help="Only there; all that may be read if not given. Repeatable."),
]


@app.command()
def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="In Chinese or English.")],
    user: User = None,
    collection: In = None,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Answer a question, every statement cited and checked, or refuse."""
    parts = local_parts(context)
    asked, asker = prepare(parts, question, "question", tenant, user, collection)
    require_fitting(asked, parts_for(asker, parts))
    answer = answer_shown(asyncio.run(_answer(asked, asker, parts)), asked, asker)
    if as_json:
        show_json(answer)
    else:
        _show_answer(answer)


@app.command()
def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="Words or a question, in Chinese or English.")],
    user: User = None,
    collection: In = None,
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, max=50, help="Most passages.")] = 10,
    tenant: Tenant = DEFAULT_TENANT,
    as_json: Json = False,
) -> None:
    """Find the passages that an answer would be made of, best first."""
    parts = local_parts(context, answering=False)
    asked, asker = prepare(parts, query, "query", tenant, user, collection)
    found = search_passages(asked, asker, parts, top_k)
    result = SearchResult(tuple(passage_shown(rank, one, asker) for rank, one in enumerate(found, start=1)))
    if as_json:
        show_json(result)
        return
    for hit in result.hits:
        _show_passage(hit)
    if not result.hits:
        say("Nothing was found.")


def prepare(
    parts: Parts, text: str, field: str, tenant: str, user: str | None, collection: list[str] | None
) -> tuple[Question, Principal]:
    """The question as the service would take it, and who asks.

    :raises InvalidInput: for a text that says nothing or cannot be searched for.
    :raises OverBudget: for one that is too long to be searched for.
    :raises NotFound: for a user that is missing, or a collection that is or that he may not read.
    """
    require_searchable(text, field, parts)
    with parts.database.reading() as session:
        asker = principal(session, tenant, user)
        for one in collection or ():
            stored.get_collection(session, asker, one)
    return Question(text, language_of(text), tuple(collection) if collection else None), asker


async def _answer(question: Question, asker: Principal, parts: Parts) -> Answer:
    answer: Answer | None = None
    async for event in answer_question(question, asker, parts):
        if isinstance(event, Progress):
            say(f"{event.stage} …")
        if isinstance(event, Done):
            answer = event.answer
    assert answer is not None, "an answer ends with Done"
    return answer


def _show_answer(answer: Answer) -> None:
    show(answer.refusal.text if answer.refusal else answer.answer)
    for one in answer.disagreements:
        show(f"\n{one.text}")
    for citation in answer.citations:
        held = f", in force {citation.in_force}" if citation.in_force else ""
        show(f"\n[{citation.marker}] {_source(citation)}{held}\n    “{' '.join(citation.quote.split())}”")
    spent = answer.timings_ms.get("e2e")
    say(f"\n{answer.outcome}, {answer.generator}" + (f", {spent:.0f} ms" if spent is not None else ""))


def _source(citation: Citation | PassageShown) -> str:
    page = f", p. {citation.page}" if citation.page is not None else ""
    section = f", {citation.section}" if citation.section else ""
    return f"{citation.title}{page}{section} ({citation.document_id}, version {citation.version})"


def _show_passage(hit: PassageShown) -> None:
    text = " ".join(hit.text.split())
    show(f"{hit.rank}. {_source(hit)}")
    show(f"   {text[:LONGEST_SHOWN]}{'…' if len(text) > LONGEST_SHOWN else ''}\n")
