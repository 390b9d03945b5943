"""The parts that a question is answered with: prompt and policy as they are in force for who asks."""

from __future__ import annotations

from dataclasses import replace

from ingest.corpus.errors import Unavailable
from ingest.corpus.types import Principal
from service.checking.both import BothJudges
from service.parts import Parts, Prompting
from service.releases.activations import newest_activation


def parts_for(principal: Principal, parts: Parts) -> Parts:
    """Read anew for each question: a change holds for the next one, in every process of the service.

    The same parts where there is no language model, and where nobody has activated anything; but a language
    model that judges reads this tenant's passages apart from others', as the one that answers does.

    :raises Unavailable: if what is in force is not of this program, which so cannot ask with it.
    """
    prompting = parts.prompting
    if prompting is None:
        return parts
    if isinstance(parts.judge, BothJudges):
        parts = replace(parts, judge=parts.judge.salted(prompting.salt(principal.tenant_id)))
    with parts.database.reading() as session:
        newest = newest_activation(session, principal.tenant_id)
    if newest is None:
        return parts
    return replace(parts, prompting=asked_with(prompting, newest.release_for(principal)))


def versions_for(principal: Principal, parts: Parts) -> dict[str, str]:
    """What answers of this tenant are made by, apart from what each question decides."""
    versions = parts.versions()
    if parts.prompting is None:
        return versions
    with parts.database.reading() as session:
        newest = newest_activation(session, principal.tenant_id)
    return versions if newest is None else {**versions, "release": newest.said}


def asked_with(prompting: Prompting, version: str) -> Prompting:
    """:param version: of a release, with its hash."""
    release = prompting.releases.get(version.partition("@")[0])
    if release is None or release.version != version:
        raise Unavailable(
            f"The release {version} is in force, and is not of this program.",
            why="Another version of Citeward activated it, or its files are others here.",
            next_step="Run the version that has it, or `citeward prompts rollback`.",
        )
    return replace(prompting, release=release)
