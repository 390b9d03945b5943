"""Puts the real parts together, once a process: for the server, for the command line, for a benchmark."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path

from ingest.corpus.database import Database, open_database
from ingest.corpus.embedder import SentenceTransformerEmbedder, locate_model
from ingest.corpus.errors import InvalidInput, ModelFailed, NotFound, Overloaded
from ingest.corpus.seams import Embedder
from ingest.corpus.snapshot import Corpus
from ingest.pipeline import Workbench, require_fitting_chunks
from service.adapters.chat_template import TemplateTokenizer, folder_of
from service.adapters.cross_encoder import NEXT_STEP, CrossEncoderModel
from service.adapters.telemetry import Telemetry, open_telemetry
from service.adapters.vllm import VllmGenerator
from service.adapters.vllm_choice import VllmChooser
from service.admitted import AdmittedGenerator, Step
from service.answerable import shipped_answerability
from service.breaker import CircuitBreaker
from service.capacity.admission import Admission, Limits
from service.capacity.engine_room import EngineRoom
from service.capacity.geometry import geometries
from service.capacity.self_test import find_drift
from service.checking.asked import ANSWER_TOKENS, JUDGE_TOKENS, AskedJudge
from service.checking.both import BothJudges
from service.checking.entailment import EntailmentJudge
from service.checking.judge import LexicalSemanticJudge
from service.cross_encoding import CrossEncoderScorer
from service.engine.cache import CacheSeen, look_at_cache
from service.engine.chat import Deadlines
from service.engine.launch import find_model
from service.engine.weights import revision
from service.fallback import FallbackGenerator
from service.late_interaction import LATE_INTERACTION, SHARE, LateInteraction
from service.memory import load_memories
from service.migrate import require_current_schema
from service.nearness import open_background
from service.parts import Parts, Prompting
from service.quoting import QuotingGenerator
from service.releases.release import SHIPPED, load_releases
from service.repair import load_repairs
from service.rerank import FusedOrder, ScoredOrder
from service.seams import ChatTokenizer, Generator, Judge, Reranker
from service.secret import key_secret
from service.settings import JUDGE_BY_LLM, ServiceSettings
from service.strength import SentenceWeigher
from service.sufficiency import SufficiencyJudge
from service.version import code_version

# Where things are, what they may take, who gets in: none of it is in the words of an answer.
NOT_IN_ANSWERS = frozenset(
    {
        "corpus",
        "host",
        "port",
        "key_secret",
        "max_body_bytes",
        "max_question_chars",
        "rerank_seconds",
        "judge_seconds",
        "engine_url",
        "engine_python",
        "engine_kv_gib",
        "engine_connect_seconds",
        "engine_first_token_seconds",
        "engine_total_seconds",
        "kv_headroom",
        "queue_length",
        "queue_seconds",
        "batch_queue_seconds",
        "otlp_endpoint",
    }
)

STEPS: dict[str, tuple[Step, ...]] = {  # how a draft is made smaller, by the setting `on_no_room`
    "no": (),
    "fewer_evidence": ("fewer_evidence",),
    "shorter_output": ("fewer_evidence", "shorter_output"),
    "quoting": ("fewer_evidence", "shorter_output"),
}


def open_parts(settings: ServiceSettings, embedder: Embedder | None = None) -> Parts:
    """The parts of a running service; `embedder` replaces the one that the settings name.

    :raises Unavailable: if the model is not here or the database cannot be reached.
    :raises Conflict: if the tables are not those of this version.
    """
    database = open_database(settings.corpus.sqlalchemy_url)
    require_current_schema(database)
    return put_together(settings, database, embedder or open_embedder(settings))


def put_together(settings: ServiceSettings, database: Database, embedder: Embedder) -> Parts:
    """The parts over a database and an embedder that are open already.

    :raises InvalidInput: if the embedder does not take chunks as long as the settings have them.
    """
    require_fitting_chunks(settings.corpus.chunk_tokens, embedder)
    background = open_background(embedder)
    weigher = SentenceWeigher(embedder, background)
    quoting = QuotingGenerator(weigher)
    admission = open_admission(settings, database) if settings.llm else None
    generator, prompting = (
        open_language_model(settings, quoting, admission) if settings.llm else (quoting, None)
    )
    return Parts(
        settings=settings,
        database=database,
        corpus=Corpus(database, embedder.fingerprint, settings.corpus.snapshots),
        embedder=embedder,
        background=background,
        reranker=open_reranker(settings, embedder),
        generator=generator,
        judge=open_judge(settings, embedder, prompting.chat if prompting else None),
        sufficiency=SufficiencyJudge(weigher, shipped_answerability()),
        config_hash=config_hash(settings),
        code_version=code_version(),
        prompting=prompting,
        admission=admission,
    )


def open_language_model(
    settings: ServiceSettings, quoting: Generator, admission: Admission | None = None
) -> tuple[Generator, Prompting]:
    """The one that the settings name, and what it is asked with.

    :raises Unavailable: if its files are not here. Other errors as of `find_model` and `load_releases`.
    """
    model = _language_model(settings)
    releases = load_releases(settings.reserved_output)
    prompting = Prompting(
        chat=TemplateTokenizer(model),
        release=releases[SHIPPED],
        key_secret=key_secret(settings),
        releases=releases,
        repairs=load_repairs() if settings.repair else None,
        memories=load_memories() if settings.history_tokens else None,
    )
    folder = folder_of(model)
    if admission is not None:
        admission.room.self_test = open_self_test(folder)
    return open_generator(settings, quoting, revision(folder), admission), prompting


def open_generator(
    settings: ServiceSettings,
    quoting: Generator,
    weights: str = "",
    admission: Admission | None = None,
) -> Generator:
    """The language model's server, with quoting behind it unless the settings say otherwise.

    :param weights: their revision.
    :param admission: lets drafts in; None: nobody does.
    """
    deadlines = Deadlines(
        connect=settings.engine_connect_seconds,
        first_token=settings.engine_first_token_seconds,
        total=settings.engine_total_seconds,
    )
    model: Generator = VllmGenerator(settings.engine_url, settings.llm, deadlines, weights)
    if admission is not None:
        judgement = JUDGE_TOKENS + ANSWER_TOKENS if settings.judge == JUDGE_BY_LLM else 0
        model = AdmittedGenerator(model, admission, STEPS[settings.on_no_room], judgement)
    model = CircuitBreaker(model)
    quoted = {
        ModelFailed: settings.on_engine_failure == "quoting",
        Overloaded: settings.on_no_room == "quoting",
    }
    failures = tuple(kind for kind, is_quoted in quoted.items() if is_quoted)
    return FallbackGenerator(model, quoting, failures) if failures else model


def open_admission(settings: ServiceSettings, database: Database) -> Admission:
    """For all processes that use this database and this engine, each with one of its own."""
    look = partial(look_at_cache, settings.engine_url, settings.context_window, settings.kv_headroom)
    limits = Limits(
        queue_length=settings.queue_length,
        queue_seconds={"interactive": settings.queue_seconds, "batch": settings.batch_queue_seconds},
        draft_seconds=settings.engine_connect_seconds + settings.engine_total_seconds,
    )
    room = EngineRoom(look, settings.context_window)
    return Admission(database, settings.engine_url, room, limits)


def open_self_test(folder: Path) -> Callable[[CacheSeen], str | None]:
    """What compares the blocks of an engine that serves this model with those that its config.json gives."""
    try:
        return partial(find_drift, next(iter(geometries(folder))))
    except (NotFound, InvalidInput):  # nothing to compare with; what the engine says is taken
        return lambda _seen: None


def open_reranker(settings: ServiceSettings, embedder: Embedder) -> Reranker:
    """The one that the settings name; errors as of `open_judge`."""
    if not settings.reranker:
        return FusedOrder()
    if settings.reranker == LATE_INTERACTION:
        return ScoredOrder(LateInteraction(embedder), SHARE, settings.rerank_seconds)
    scorer = CrossEncoderScorer(_open_cross_encoder(settings.reranker, "reranker", settings))
    return ScoredOrder(scorer, 1.0, settings.rerank_seconds)


def open_judge(settings: ServiceSettings, embedder: Embedder, chat: ChatTokenizer | None = None) -> Judge:
    """The one that the settings name.

    :param chat: the language model's tokenizer, where it is open already.
    :raises Unavailable: if its model is not here or cannot be loaded.
    :raises InvalidInput: if its model has other labels than are needed.
    """
    if not settings.judge:
        return LexicalSemanticJudge(embedder)
    if settings.judge == JUDGE_BY_LLM:
        return BothJudges(LexicalSemanticJudge(embedder), open_asked_judge(settings, chat))
    return EntailmentJudge(_open_cross_encoder(settings.judge, "judge", settings), settings.judge_seconds)


def open_asked_judge(settings: ServiceSettings, chat: ChatTokenizer | None = None) -> AskedJudge:
    """The language model's server as a judge; errors as of `open_language_model`."""
    model = _language_model(settings)
    chooser = VllmChooser(
        settings.engine_url,
        settings.llm,
        seconds=settings.judge_seconds,
        connect_seconds=settings.engine_connect_seconds,
        revision=revision(folder_of(model)),
    )
    return AskedJudge(chooser, chat or TemplateTokenizer(model), key_secret(settings))


def _language_model(settings: ServiceSettings) -> str | Path:
    found = find_model(settings.llm, settings.corpus.home)
    return Path(found) if Path(found).is_dir() else found


def _open_cross_encoder(name: str, role: str, settings: ServiceSettings) -> CrossEncoderModel:
    return CrossEncoderModel(locate_model(name, settings.corpus.models, role, NEXT_STEP))


def open_embedder(settings: ServiceSettings) -> Embedder:
    return SentenceTransformerEmbedder(locate_model(settings.corpus.embedder, settings.corpus.models))


def open_workbench(parts: Parts) -> Workbench:
    return Workbench(parts.database, parts.embedder, parts.settings.corpus)


def open_traces(settings: ServiceSettings) -> Telemetry | None:
    """Where the settings name a collector; errors as of `open_telemetry`."""
    return open_telemetry(settings.otlp_endpoint, code_version()) if settings.otlp_endpoint else None


def config_hash(settings: ServiceSettings) -> str:
    """12 hex digits over every setting that can change an answer."""
    names = {one.name for one in fields(settings)} - NOT_IN_ANSWERS
    values = {name: str(getattr(settings, name)) for name in names}
    values["chunk_tokens"] = str(settings.corpus.chunk_tokens)
    text = "\n".join(f"{name}={value}" for name, value in sorted(values.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
