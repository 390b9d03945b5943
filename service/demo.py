"""The demonstration, a client of a running service and nothing more: load the sample over HTTP, ask, judge.

The admin's key comes on standard input, as `citeward init --new-key --json` printed it, and is revoked at the
end. It exits with 1 if an answer is not what the sample says it must be.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.corpus.errors import CitewardError
from service.client import PATIENCE_SECONDS, Client, Problem, entries
from service.sample import Ask, Sample, SampleQuestion, load_sample

KEY_NAME = "demo"
TELL_SECONDS = 5.0  # between two signs of life
READY_SECONDS = 180.0  # loading the embedder takes a busy two-core machine half a minute
CONFLICT = 409
LOG_LINES = 15


class DemoFailed(Exception):
    """Something that the demonstration cannot go on after; the text is for people."""


# --- waiting for the service -------------------------------------------------------------------


def wait_until_ready(url: str, pid_file: Path | None) -> None:
    """:raises DemoFailed: if the service ends, or is not ready in time."""
    started = told = time.monotonic()
    tell("==> Waiting for the service to load its embedder")
    while not is_ready(url):
        waited = time.monotonic() - started
        if time.monotonic() - told >= TELL_SECONDS:
            told = time.monotonic()
            tell(f"    … {waited:.0f} s")
        if pid_file is not None and not is_alive(pid_file):
            raise DemoFailed(f"The service ended.\n{end_of_log(pid_file)}")
        if waited > READY_SECONDS:
            raise DemoFailed(f"The service was not ready within {READY_SECONDS:.0f} s: see {url}/readyz.")
        time.sleep(0.5)
    tell(f"==> The service is ready at {url}, after {time.monotonic() - started:.0f} s")


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:  # not listening yet, or not ready: HTTPError is one too
        return False


def is_alive(pid_file: Path) -> bool:
    try:
        os.kill(int(pid_file.read_text()), 0)
    except ProcessLookupError:
        return False
    return True


def end_of_log(pid_file: Path) -> str:
    log = pid_file.with_suffix(".log")
    lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    return "\n".join(["Its log ends so:", *lines[-LOG_LINES:]])


# --- the sample --------------------------------------------------------------------------------


def load(admin: Client, sample: Sample) -> None:
    """Groups, users, collection and documents, as an admin would; what is there already stays.

    :raises DemoFailed: if a document does not become ready.
    """
    create(admin, "/v1/collections", {"id": sample.collection_id, "title": sample.collection_name})
    admin.send("PUT", f"/v1/collections/{sample.collection_id}/acl", entries(sample.access))
    for group in sample.groups:
        create(admin, "/v1/groups", {"id": group.id})
    for user in sample.users:
        create(admin, "/v1/users", {"id": user.id, "role": user.role})
        for group_id in user.group_ids:
            admin.send("PUT", f"/v1/groups/{group_id}/members/{user.id}")
    for number, document in enumerate(sample.documents, start=1):
        uploaded = admin.upload(sample.collection_id, document.path, document.read_bytes(), document.access)
        if uploaded["state"] != "ready":
            raise DemoFailed(f"{document.path} is {uploaded['state']}: {uploaded['failure_reason']}")
        tell(f"    {number}/{len(sample.documents)}  {document.path}")


def create(admin: Client, path: str, body: object) -> None:
    try:
        admin.send("POST", path, body)
    except Problem as problem:
        if problem.status != CONFLICT:  # it is there already: a second demonstration
            raise


def renew_key(admin: Client, user_id: str) -> str:
    """A key for the user; those of earlier demonstrations are revoked."""
    keys = admin.send("GET", f"/v1/users/{user_id}/keys")
    for key in keys:
        if key["name"] == KEY_NAME and key["revoked_at"] is None:
            admin.send("DELETE", f"/v1/keys/{key['prefix']}")
    made: str = admin.send("POST", f"/v1/users/{user_id}/keys", {"name": KEY_NAME})["key"]
    return made


@contextmanager
def revoked_afterwards(admin: Client) -> Iterator[Client]:
    """The admin, whose key is of no use once the block has ended: nobody is to find it lying about."""
    try:
        yield admin
    finally:
        _, prefix, _ = admin.key.split("_", 2)
        admin.send("DELETE", f"/v1/keys/{prefix}")


# --- asking ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of one user, the answer he got, and what is wrong with it."""

    question: SampleQuestion
    ask: Ask
    answer: dict[str, Any]
    wrong: tuple[str, ...]
    withheld: tuple[dict[str, Any], ...] = ()  # what the model wrote and the checks did not let through


def demo_questions(sample: Sample) -> list[SampleQuestion]:
    return [question for question in sample.questions if question.demo]


def make_readers(admin: Client, sample: Sample) -> dict[str, Client]:
    """Who asks the demonstration's questions, by user id, each with a key of his own."""
    askers = sorted({ask.asker for question in demo_questions(sample) for ask in question.asks})
    return {asker: Client(admin.url, renew_key(admin, asker), admin.patience) for asker in askers}


def ask_all(admin: Client, readers: Mapping[str, Client], sample: Sample, generator: str) -> Iterator[Asked]:
    """The demonstration's questions, each by each of its askers; `generator` must have answered."""
    for question in demo_questions(sample):
        for ask in question.asks:
            reader = readers[ask.asker]
            body = {"question": question.text, "collections": [sample.collection_id]}
            answer = reader.send("POST", "/v1/ask", body)
            wrong = tuple(faults(reader, question, ask, answer, generator))
            yield Asked(question, ask, answer, wrong, tuple(withheld(admin, answer)))


def withheld(admin: Client, answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The statements that a language model drafted and the checks did not let through, from the record."""
    if answer["generator"] == "vllm":
        kept = admin.send("GET", f"/v1/answers/{answer['answer_id']}")
        yield from (one for one in kept["record"]["statements"] if one["verdict"]["status"] != "supported")


def faults(
    reader: Client, question: SampleQuestion, ask: Ask, answer: dict[str, Any], generator: str
) -> Iterator[str]:
    """What differs from the sample's word; and each quote must stand where its citation says.

    An answer of a language model that its checks withheld is none: small models write what is not so, and
    that it is not shown is what the checks are for.
    """
    if answer["generator"] == "vllm" and (answer["refusal"] or {}).get("code") == "unsupported_answer":
        return
    if answer["outcome"] != ask.outcome:
        yield f"it was {answer['outcome']}, and must be {ask.outcome}"
        return
    if answer["generator"] != generator:
        yield f"{answer['generator']} answered, and {generator} must have"
    said = answer["answer"] + "".join(citation["quote"] for citation in answer["citations"])
    if ask.outcome == "answered":
        yield from (f"it lacks {words!r}" for words in question.must_contain if words not in said)
    for citation in answer["citations"]:
        text = reader.send("GET", citation["url"])["document"]["text"]
        if text[citation["start"] : citation["end"]] != citation["quote"]:
            yield f"{citation['marker']} does not stand in the document where it says"


# --- telling -----------------------------------------------------------------------------------


def tell(text: str) -> None:
    print(text, flush=True)  # a pipe would hold progress back


def describe(asked: Asked, sample: Sample) -> str:
    user = next(user for user in sample.users if user.id == asked.ask.asker)
    groups = ", ".join(user.group_ids) or "no group"
    answer = asked.answer
    said = answer["answer"] if answer["outcome"] == "answered" else refusal(answer)
    lines = [f"\n{user.name} ({groups}) asks: {asked.question.text}", f"  {said}"]
    lines += [f"    {verdict(statement)}" for statement in answer["statements"]]
    lines += [f"    {cited(citation)}" for citation in answer["citations"]]
    lines.append(f"    {timings(answer)}")
    lines += [f"    Withheld: “{one['text']}” – {verdict(one)}" for one in asked.withheld]
    lines += [f"  NOT AS EXPECTED: {fault}" for fault in asked.wrong]
    return "\n".join(lines)


def refusal(answer: dict[str, Any]) -> str:
    return f"Refused ({answer['refusal']['code']}): {answer['refusal']['text']}"


def verdict(statement: dict[str, Any]) -> str:
    found = statement["verdict"]
    markers = ", ".join(statement["citations"])
    return f"{markers} checked: {found['status']} ({found['level']}: {found['reason']})"


def cited(citation: dict[str, Any]) -> str:
    page = f", page {citation['page']}" if citation["page"] else ""
    place = f"{citation['title']}{page}, characters {citation['start']}–{citation['end']}"
    return f"{citation['marker']} {place}: “{' '.join(citation['quote'].split())}”"


def timings(answer: dict[str, Any]) -> str:
    spent = dict(answer["timings_ms"])
    rate = spent.pop("tokens_per_second", None)
    stages = ", ".join(f"{stage} {milliseconds:.0f}" for stage, milliseconds in spent.items())
    return f"ms: {stages}" + (f"; tokens a second {rate:.1f}" if rate is not None else "")


def how_to_go_on(asker: str, reader: Client, collection_id: str, citeward: str) -> str:
    body = json.dumps({"question": "Does BW-40 measure hot water?"})
    return "\n".join(
        [
            f"\nAsk on, as {asker}, who may read what everyone may (until the next demonstration):",
            f"  curl -s {reader.url}/v1/ask -H 'Authorization: Bearer {reader.key}' \\",
            f"       -H 'Content-Type: application/json' -d '{body}'",
            "Add a file of your own; everyone may read it:",
            f"  {citeward} ingest FILE --collection {collection_id}",
            f"What the API can do: {reader.url}/docs",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Load the sample into a running service and ask it.")
    parser.add_argument("--url", default="http://127.0.0.1:8080", help="where the service listens")
    parser.add_argument(
        "--pid-file", type=Path, help="of the service, to notice if it ends; its log stands beside it"
    )
    parser.add_argument("--generator", default="quoting", help="who must have answered: quoting or vllm")
    parser.add_argument("--patience", type=float, default=PATIENCE_SECONDS, help="longest wait, in seconds")
    parser.add_argument("--citeward", default="citeward", help="how the command is called on its data")
    arguments = parser.parse_args()
    sample = load_sample()
    try:
        wait_until_ready(arguments.url, arguments.pid_file)
        with revoked_afterwards(
            Client(arguments.url, json.load(sys.stdin)["api_key"], arguments.patience)
        ) as admin:
            tell(f"==> Loading the sample: {len(sample.documents)} documents of {sample.company}")
            load(admin, sample)
            readers = make_readers(admin, sample)
            wrong = drafts = 0
            for asked in ask_all(admin, readers, sample, arguments.generator):
                tell(describe(asked, sample))
                wrong += bool(asked.wrong)
                drafts += len(asked.withheld)
        asker = demo_questions(sample)[0].asks[0].asker
        tell(how_to_go_on(asker, readers[asker], sample.collection_id, arguments.citeward))
    except (DemoFailed, CitewardError) as failure:
        tell(f"\nThe demonstration failed. {failure}")
        return 1
    tell(f"\n{wrong} answers are not what they must be." if wrong else "\nEvery answer is what it must be.")
    if drafts:
        tell(f"{drafts} statements of the model did not pass their checks, and no reader was shown them.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
