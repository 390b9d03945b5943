"""What an operator may set about the service; holds the corpus's settings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path

from ingest.corpus.errors import InvalidInput
from ingest.corpus.settings import (
    CorpusSettings,
    read_settings,
    refuse_unknown,
    require_long_secret,
    require_positive,
    require_within,
    setting,
    variable,
)
from service.capacity.budget import SAFETY_MARGIN_TOKENS

# Read by tests and benchmarks, never by the service.
ELSEWHERE = frozenset({"CITEWARD_EVAL_DATA"})
HIGHEST_PORT = 65535
JUDGE_BY_LLM = "llm"  # names the language model as a judge, behind the built-in one
WAYS = {
    "on_engine_failure": ("quoting", "error"),
    "engine_dtype": ("auto", "float32", "bfloat16", "float16"),
    "on_no_room": ("no", "fewer_evidence", "shorter_output", "quoting"),  # each with those before it
}


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    host: str = setting("127.0.0.1", "address that the service listens on")
    port: int = setting(8080, "port that the service listens on")
    key_secret: str = setting("", "secret that API keys are hashed with; empty: a file", secret=True)
    context_window: int = setting(8192, "tokens that one sequence of the answering model may hold")
    reserved_output: int = setting(1024, "tokens kept free for the answer: the policy's max_new_tokens")
    safety_margin: int = setting(SAFETY_MARGIN_TOKENS, "tokens kept free beyond an exact count")
    history_tokens: int = setting(512, "most tokens of a conversation that the model is told; 0: nothing")
    max_question_chars: int = setting(4000, "longest question accepted")
    search_depth: int = setting(50, "chunks taken from each of the two searches")
    max_evidence: int = setting(8, "most chunks that an answer may be built on")
    max_evidence_tokens: int = setting(0, "most tokens that they may have; 0: what the window leaves")
    reranker: str = setting(
        "", "reranker: late-interaction, or a cross-encoder (folder, hub id); empty: none"
    )
    rerank_seconds: float = setting(10.0, "longest wait for a reranker; after it the fused order stands")
    judge: str = setting(
        "", "judge of statements: llm, or a cross-encoder (folder, hub id); empty: the built-in alone"
    )
    judge_seconds: float = setting(30.0, "longest wait for it about one statement; after it, not supported")
    max_body_bytes: int = setting(1024 * 1024, "largest JSON body accepted")
    llm: str = setting("", "language model: a model pack, a local folder or a hub id; empty: none")
    engine_url: str = setting("http://127.0.0.1:8001", "address of the language model's server (vLLM)")
    engine_python: Path = setting(Path(".venv-vllm/bin/python"), "interpreter of the environment with vLLM")
    engine_kv_gib: int = setting(2, "GiB of the KV cache where there is no GPU")
    engine_dtype: str = setting("auto", "what it reckons in: float32, bfloat16, float16; auto: the fastest")
    engine_connect_seconds: float = setting(2.0, "longest wait for the engine to take a connection")
    engine_first_token_seconds: float = setting(60.0, "longest wait for the first token of an answer")
    engine_total_seconds: float = setting(300.0, "longest time that one answer may take to be generated")
    on_engine_failure: str = setting("quoting", "without the engine: quoting, or error")
    repair: bool = setting(True, "one more try of the language model where statements failed their checks")
    kv_headroom: float = setting(0.05, "share of the engine's KV cache that is never reserved")
    queue_length: int = setting(64, "most questions that wait for room in the engine's KV cache")
    queue_seconds: float = setting(30.0, "longest wait for room in the engine's KV cache")
    batch_queue_seconds: float = setting(300.0, "the same, of a question whose priority is batch")
    on_no_room: str = setting("shorter_output", "without room: no, fewer_evidence, shorter_output or quoting")
    otlp_endpoint: str = setting("", "collector of traces over HTTP, as http://127.0.0.1:4318; empty: none")

    def __post_init__(self) -> None:
        for name in (
            "context_window",
            "reserved_output",
            "max_question_chars",
            "search_depth",
            "max_evidence",
            "rerank_seconds",
            "judge_seconds",
            "max_body_bytes",
            "engine_kv_gib",
            "engine_connect_seconds",
            "engine_first_token_seconds",
            "engine_total_seconds",
            "queue_length",
            "queue_seconds",
            "batch_queue_seconds",
        ):
            require_positive(self, name)
        require_within(self, "port", 1, HIGHEST_PORT)
        require_within(self, "safety_margin", 0, self.context_window)
        require_within(self, "max_evidence_tokens", 0, self.context_window)
        require_within(self, "history_tokens", 0, self.context_window)
        self._require_room()
        self._require_address()
        self._require_collector()
        for name, ways in WAYS.items():
            _require_one_of(self, name, ways)
        self._require_share()
        self._require_judge()
        if self.key_secret:  # empty: a file's, which is long
            require_long_secret(self.key_secret.encode())

    def _require_address(self) -> None:
        """:raises InvalidInput: if the engine's URL is more or less than scheme, host and port."""
        given = re.fullmatch(r"http://(?:[\w.-]+|\[[\da-fA-F:.]+\]):(\d{1,5})", self.engine_url)
        if not given or not 1 <= int(given.group(1)) <= HIGHEST_PORT:
            raise InvalidInput(
                f"{variable('engine_url')} is {self.engine_url!r}.",
                why="It must be http://HOST:PORT, with nothing after it.",
                next_step="Correct or unset it.",
                field="engine_url",
            )

    def _require_collector(self) -> None:
        """:raises InvalidInput: if the collector's address is none; not repeated, it may hold a password."""
        address = r"https?://(?:[\w.-]+|\[[\da-fA-F:.]+\])(?::(\d{1,5}))?(?:/[\w./~-]*)?"
        given = re.fullmatch(address, self.otlp_endpoint, re.ASCII)
        if self.otlp_endpoint and not (given and 1 <= int(given.group(1) or 1) <= HIGHEST_PORT):
            raise InvalidInput(
                f"{variable('otlp_endpoint')} is no address of a collector.",
                why="It must be http(s)://HOST:PORT, maybe with a path; no name or password, and no query.",
                next_step="Correct or unset it; a key for it belongs into OTEL_EXPORTER_OTLP_HEADERS.",
                field="otlp_endpoint",
            )

    def _require_share(self) -> None:
        """:raises InvalidInput: if the head-room is no share, or all there is."""
        if not 0 <= self.kv_headroom < 1:
            raise InvalidInput(
                f"{variable('kv_headroom')} is {self.kv_headroom}.",
                why="It must be at least 0 and below 1.",
                next_step="Correct or unset it.",
                field="kv_headroom",
            )

    def _require_judge(self) -> None:
        """:raises InvalidInput: if a language model is to judge and there is none."""
        if self.judge == JUDGE_BY_LLM and not self.llm:
            raise InvalidInput(
                f"{variable('judge')} is {self.judge}, and {variable('llm')} is not set.",
                why="There is no language model that could be asked.",
                next_step=f"Set {variable('llm')}, or unset {variable('judge')} for the built-in judge.",
                field="judge",
            )

    def without_llm(self) -> ServiceSettings:
        """For what needs none: then none has to be loaded."""
        return replace(self, llm="", judge="" if self.judge == JUDGE_BY_LLM else self.judge)

    def _require_room(self) -> None:
        """:raises InvalidInput: if nothing of the window is left to ask with."""
        taken = self.reserved_output + self.safety_margin
        if taken >= self.context_window:
            raise InvalidInput(
                f"{variable('reserved_output')} and {variable('safety_margin')} are {taken} tokens together.",
                why=f"{variable('context_window')} is {self.context_window}: nothing is left for a question.",
                next_step="Lower one of the two, or raise the window if the model holds more.",
                field="context_window",
            )


def _require_one_of(settings: ServiceSettings, name: str, ways: Sequence[str]) -> None:
    """:raises InvalidInput: if it is none of them."""
    value = getattr(settings, name)
    if value not in ways:
        raise InvalidInput(
            f"{variable(name)} is {value!r}.",
            why=f"It must be {', '.join(ways[:-1])} or {ways[-1]}.",
            next_step="Correct or unset it.",
            field=name,
        )


@dataclass(frozen=True, slots=True)
class SettingShown:
    """One line of `citeward settings`."""

    variable: str
    value: str  # "(set)" for a secret that is set
    origin: str  # "environment" or "default"
    describes: str


def load_settings(environ: Mapping[str, str] | None = None) -> ServiceSettings:
    """Read and check everything once, at the start.

    :raises InvalidInput: for a value that cannot be right.
    :raises UnknownSetting: for a `CITEWARD_` variable that nothing reads.
    """
    environ = os.environ if environ is None else environ
    names = {variable(one.name) for kind in (CorpusSettings, ServiceSettings) for one in fields(kind)}
    refuse_unknown(environ, frozenset(names - {variable("corpus")}) | ELSEWHERE)
    service = read_settings(ServiceSettings, {k: v for k, v in environ.items() if k != variable("corpus")})
    return _with_corpus(service, read_settings(CorpusSettings, environ))


def _with_corpus(service: ServiceSettings, corpus: CorpusSettings) -> ServiceSettings:
    values = {one.name: getattr(service, one.name) for one in fields(service)}
    return ServiceSettings(**(values | {"corpus": corpus}))


def show_settings(
    settings: ServiceSettings, environ: Mapping[str, str] | None = None
) -> Iterator[SettingShown]:
    environ = os.environ if environ is None else environ
    for part in (settings.corpus, settings):
        for one in fields(part):
            value = getattr(part, one.name)
            if is_dataclass(value):
                continue
            shown = "(set)" if one.metadata["secret"] and value else str(value)
            origin = "environment" if variable(one.name) in environ else "default"
            yield SettingShown(variable(one.name), shown, origin, one.metadata["describes"])
