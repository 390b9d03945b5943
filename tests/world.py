"""Two companies in one running service: real app, real databases, a fake embedder, callers with real keys."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from fastapi.testclient import TestClient

from ingest.corpus import collections, lookup, people, store
from ingest.corpus.database import Database
from ingest.corpus.settings import CorpusSettings
from ingest.corpus.snapshot import Corpus
from ingest.corpus.types import AccessList, Principal
from ingest.pipeline import split_to_embed
from ingest.read.parse import parse
from service.adapters.telemetry import Telemetry
from service.answerable import shipped_answerability
from service.app import create_app
from service.bootstrap import config_hash
from service.checking.judge import LexicalSemanticJudge
from service.nearness import open_background
from service.parts import Parts
from service.quoting import QuotingGenerator
from service.rerank import FusedOrder
from service.settings import ServiceSettings
from service.strength import SentenceWeigher
from service.sufficiency import SufficiencyJudge
from tests.fakes import HashEmbedder

KEY_SECRET = "what keys are hashed with in tests"
EVERYONE = AccessList(frozenset({"everyone"}))
HR_ONLY = AccessList(frozenset({"group:hr"}))


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody with a key."""

    client: TestClient
    key: str
    principal: Principal

    def send(self, method: str, path: str, **kwargs: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.key}"} | kwargs.pop("headers", {})
        return self.client.request(method, path, headers=headers, **kwargs)

    def get(self, path: str, **kwargs: Any) -> httpx2.Response:
        return self.send("GET", path, **kwargs)

    def ask(self, question: str, **fields: Any) -> dict[str, Any]:
        response = self.send("POST", "/v1/ask", json={"question": question, **fields})
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    def search(self, query: str, **fields: Any) -> list[dict[str, Any]]:
        response = self.send("POST", "/v1/search", json={"query": query, **fields})
        assert response.status_code == 200, response.text
        hits: list[dict[str, Any]] = response.json()["hits"]
        return hits


@dataclass(frozen=True, slots=True)
class World:
    """Acme: root (admin), ana (in group hr), bob. Globex: boss (admin), eve. Both have a group hr.

    Each company has two collections, `handbook` for everyone and `hr` for the group, with the same words
    in them but for a canary that occurs nowhere else.
    """

    parts: Parts
    client: TestClient
    root: Caller
    ana: Caller
    bob: Caller
    boss: Caller
    eve: Caller

    def put(
        self,
        caller: Caller,
        collection_id: str,
        name: str,
        text: str,
        access: AccessList | None = None,
    ) -> str:
        """The id of a document that is ready; kept as ingestion keeps it, but read in this process."""
        return keep_text(self.parts, caller.principal.tenant_id, collection_id, name, text, access)

    def callers(self) -> tuple[Caller, ...]:
        return (self.root, self.ana, self.bob, self.boss, self.eve)


def canary(company: str, collection_id: str) -> str:
    return f"zq{company}{collection_id}canary"


@contextmanager
def running_world(
    database: Database,
    home: Path,
    change: Callable[[Parts], Parts] = lambda parts: parts,
    telemetry: Telemetry | None = None,
) -> Iterator[World]:
    parts = change(make_parts(database, home))
    keys = {company: found_company(parts, company) for company in ("acme", "globex")}
    with running(parts, telemetry=telemetry) as client:
        acme, globex = keys["acme"], keys["globex"]
        yield World(
            parts,
            client,
            root=_caller(client, parts, acme["root"]),
            ana=_caller(client, parts, acme["ana"]),
            bob=_caller(client, parts, acme["bob"]),
            boss=_caller(client, parts, globex["root"]),
            eve=_caller(client, parts, globex["bob"]),
        )


@contextmanager
def running(
    parts: Parts, address: str = "198.51.100.7", telemetry: Telemetry | None = None
) -> Iterator[TestClient]:
    """The app over these parts, called from elsewhere unless told otherwise."""
    app = create_app(parts, telemetry)
    with TestClient(app, client=(address, 50000), raise_server_exceptions=False) as client:
        yield client


def make_parts(database: Database, home: Path) -> Parts:
    corpus_settings = CorpusSettings(home=home, max_upload_bytes=200_000)
    settings = ServiceSettings(corpus=corpus_settings, key_secret=KEY_SECRET, max_body_bytes=20_000)
    embedder = HashEmbedder()
    background = open_background(embedder)
    weigher = SentenceWeigher(embedder, background)
    return Parts(
        settings=settings,
        database=database,
        corpus=Corpus(database, embedder.fingerprint, home / "snapshots"),
        embedder=embedder,
        background=background,
        reranker=FusedOrder(),
        generator=QuotingGenerator(weigher),
        judge=LexicalSemanticJudge(embedder),
        sufficiency=SufficiencyJudge(weigher, shipped_answerability()),
        config_hash=config_hash(settings),
        code_version="test",
    )


def found_company(parts: Parts, company: str) -> dict[str, str]:
    """People, groups, collections and one document in each; user id -> key."""
    with parts.database.writing() as session:
        people.create_tenant(session, company)
        people.create_group(session, company, "hr")
        for user_id in ("root", "ana", "bob"):
            people.create_user(session, company, user_id, "admin" if user_id == "root" else "reader")
        people.add_member(session, company, "hr", "ana")
        for collection_id, access in (("handbook", EVERYONE), ("hr", HR_ONLY)):
            collections.create_collection(session, company, collection_id, f"{collection_id} of {company}")
            collections.set_collection_access(session, company, collection_id, access)
        keys = {
            user_id: people.create_key(session, KEY_SECRET.encode(), company, user_id).credential
            for user_id in ("root", "ana", "bob")
        }
    for collection_id in ("handbook", "hr"):
        word = canary(company, collection_id)
        keep_text(parts, company, collection_id, f"{word}.txt", f"{word} rules\n\nThe secret word is {word}.")
    return keys


def keep_text(
    parts: Parts, tenant_id: str, collection_id: str, name: str, text: str, access: AccessList | None = None
) -> str:
    data = text.encode()
    with parts.database.writing() as session:
        added = store.add_version(
            session, tenant_id, collection_id, name, data, hashlib.sha256(data).hexdigest(), access
        )
    assert not added.unchanged
    document, embedder = parse(data, name), parts.embedder
    chunks, texts = split_to_embed(document, embedder, parts.settings.corpus.chunk_tokens)
    vectors = embedder.embed_passages(texts)
    with parts.database.writing() as session:
        store.keep_version(
            session, added.document_id, added.version, document, chunks, vectors, embedder.fingerprint
        )
    return added.document_id


def documents_of(world: World, caller: Caller, collection_id: str) -> list[str]:
    with world.parts.database.reading() as session:
        return [one.id for one in lookup.list_documents(session, caller.principal, collection_id)]


def _caller(client: TestClient, parts: Parts, key: str) -> Caller:
    with parts.database.reading() as session:
        return Caller(client, key, people.authenticate(session, KEY_SECRET.encode(), key))
