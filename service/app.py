"""The service put together: parts, one worker for uploads, the routes, and the server that runs them."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import uvicorn
from anyio import to_thread
from fastapi import FastAPI

from ingest.corpus.settings import variable
from ingest.pipeline import BETWEEN_BATCHES, Workbench, WorkerStops, work_off_next
from service.adapters.telemetry import Telemetry
from service.api import (
    answers,
    audit,
    capacity,
    collections,
    conversations,
    documents,
    health,
    jobs,
    people,
    prompts,
    questions,
    tokens,
)
from service.api.edge import Edge
from service.api.errors import handle_errors
from service.api.metrics import Metrics
from service.api.openai import routes as openai
from service.api.state import Service
from service.bootstrap import open_parts, open_traces, open_workbench
from service.engine.probe import counting_faults, warm_up
from service.listening import require_free
from service.parts import Parts
from service.secret import key_secret
from service.settings import ServiceSettings

LOG = logging.getLogger("citeward.service")
LOOK_EVERY_SECONDS = 5.0  # for jobs whose worker died, and those that another process took in
DRAIN_SECONDS = 30  # that running requests get when the service stops
ROUTERS = (
    questions.routes,
    openai.routes,
    answers.routes,
    conversations.routes,
    collections.routes,
    collections.admin,
    documents.routes,
    documents.admin,
    documents.uploads,
    jobs.routes,
    people.routes,
    prompts.admin,
    tokens.routes,
    capacity.admin,
    audit.admin,
    health.routes,
)


@dataclass(slots=True)
class IngestionWorker:
    """One thread that works uploads off; jobs that an earlier process left are taken up as well.

    A long document, minutes of embedding, lets one other job pass before each further batch of its own: more
    threads would not help, as embedding has all processors already.
    """

    bench: Workbench
    wanted: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._work, name="ingestion")
        thread.start()
        try:
            yield
        finally:
            self.stopping.set()
            self.wanted.set()
            thread.join()

    def wake(self) -> None:
        self.wanted.set()

    def _work(self) -> None:
        while not self.stopping.is_set():
            self.wanted.clear()
            try:
                while not self.stopping.is_set() and work_off_next(self.bench, self.let_one_pass):
                    pass
            except Exception as error:  # the thread must outlive one job; its lease runs out
                LOG.error(json.dumps({"event": "ingestion_failed", "error": type(error).__name__}))
            self.wanted.wait(LOOK_EVERY_SECONDS)

    def let_one_pass(self, step: str) -> None:
        """Within a job: its lease was renewed just now; if it runs out meanwhile and another worker takes the
        job, the next step notices."""
        if step != BETWEEN_BATCHES:
            return
        if self.stopping.is_set():
            raise WorkerStops
        work_off_next(self.bench)


def create_app(source: Parts | ServiceSettings, telemetry: Telemetry | None = None) -> FastAPI:
    """The service over parts that are there already, or over those that the settings name.

    :param telemetry: closed with the service; None: the one that the settings name.
    """
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[dict[str, Service]]:
        parts = source if isinstance(source, Parts) else await to_thread.run_sync(open_parts, source)
        await to_thread.run_sync(parts.embedder.embed_query, "ready")  # else the first question waits
        if parts.prompting is not None:
            engine, chat = parts.settings, parts.prompting.chat
            metrics.count_engine_faults(
                await to_thread.run_sync(counting_faults, engine.engine_url, engine.llm, chat)
            )
        traces = telemetry or open_traces(parts.settings)
        worker = IngestionWorker(open_workbench(parts))
        with ExitStack() as running:
            if traces is not None:
                metrics.follow_spans(traces)
                running.callback(traces.close)
            running.enter_context(worker.running())
            if parts.admission is not None:
                running.enter_context(parts.admission.running())
                metrics.follow(parts.admission)
            yield {"service": Service(parts, key_secret(parts.settings), metrics, worker.wake, traces)}
        await to_thread.run_sync(parts.corpus.save_all)

    app = FastAPI(
        title="Citeward",
        summary="Answers from a company's own documents, every citation checked.",
        version="1",
        openapi_url=None,  # served by health.py, to operators
        lifespan=lifespan,
        # Its own, which variables of the environment turn on, quotes what was sent where it is refused.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        redirect_slashes=False,  # it would answer before the door, and tell which routes there are
    )
    for routes in ROUTERS:
        app.include_router(routes)
    app.add_middleware(Edge, metrics=metrics)
    handle_errors(app)
    return app


def serve(settings: ServiceSettings) -> None:
    """Run until SIGINT or SIGTERM: running requests get `DRAIN_SECONDS`, and the indexes are saved.

    :raises Conflict: if something listens there already; told before the model is loaded.
    :raises CitewardError: what `open_traces` and `open_parts` raise, before the server, which would print it
        as a crash.
    """
    require_free(
        settings.host,
        settings.port,
        "The service",
        f"Stop what listens there, or set {variable('host')} or {variable('port')} to another.",
    )
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)  # else each look at the schema is two lines
    telemetry = open_traces(settings)  # before the model, which takes a while
    parts = open_parts(settings)
    if settings.llm:
        warm_up(settings.engine_url, settings.llm, settings.context_window)
    uvicorn.run(
        create_app(parts, telemetry),
        host=settings.host,
        port=settings.port,
        access_log=False,  # it would keep addresses with their queries
        server_header=False,
        proxy_headers=False,  # anybody may send them; who calls from this machine is told by the connection
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
