"""What the settings name is what is put together."""

from pathlib import Path
from typing import Any

import pytest

from ingest.corpus.database import open_database
from ingest.corpus.errors import InvalidInput, Unavailable
from ingest.corpus.settings import CorpusSettings
from service.adapters.vllm import VllmGenerator
from service.adapters.vllm_choice import VllmChooser
from service.bootstrap import (
    config_hash,
    open_admission,
    open_generator,
    open_judge,
    open_language_model,
    open_reranker,
)
from service.breaker import CircuitBreaker
from service.checking.asked import ANSWER_TOKENS, JUDGE_TOKENS
from service.checking.both import BothJudges
from service.engine.chat import Deadlines
from service.engine.weights import revision
from service.fallback import FallbackGenerator
from service.settings import ServiceSettings
from tests.contracts.real_models import chat_tokenizer, llm_folder
from tests.contracts.tiny_cross_encoder import save_tiny
from tests.fakes import HashEmbedder, ScriptedGenerator, WordChatTokenizer

SMALL, BILINGUAL = "smollm2-135m-instruct", "qwen2.5-coder-1.5b-instruct"


def test_a_model_folder_brings_its_tokenizer_the_templates_and_the_policy(tmp_path: Path) -> None:
    folder = llm_folder(SMALL)
    corpus = CorpusSettings(home=tmp_path)
    settings = ServiceSettings(corpus=corpus, llm=str(folder), reserved_output=77)
    generator, prompting = open_language_model(settings, ScriptedGenerator())
    assert generator.version == f"vllm:{folder}@{revision(folder)}"
    assert prompting.chat.version == chat_tokenizer(SMALL).version
    assert prompting.templates.keys() == {"en", "zh"}
    assert prompting.policy.max_new_tokens == 77
    assert prompting.key_secret == (tmp_path / "key_secret").read_bytes()


def test_a_model_that_is_not_pulled_is_named_with_the_command_that_pulls_it(tmp_path: Path) -> None:
    settings = ServiceSettings(corpus=CorpusSettings(home=tmp_path), llm=BILINGUAL)
    with pytest.raises(Unavailable, match=f"citeward models pull {BILINGUAL}"):
        open_language_model(settings, ScriptedGenerator())


def test_where_the_model_fails_answers_are_quoted() -> None:
    quoting = ScriptedGenerator()
    chosen = open_generator(
        ServiceSettings(
            llm="tiny",
            engine_url="http://127.0.0.1:9001",
            engine_connect_seconds=1,
            engine_first_token_seconds=2,
            engine_total_seconds=3,
        ),
        quoting,
    )
    assert isinstance(chosen, FallbackGenerator)
    assert isinstance(chosen.first, CircuitBreaker)
    model = chosen.first.model
    assert isinstance(model, VllmGenerator)
    assert (model.url, model.model) == ("http://127.0.0.1:9001", "tiny")
    assert model.deadlines == Deadlines(connect=1, first_token=2, total=3)
    assert chosen.second is quoting


def test_where_its_failure_is_to_be_an_error_nothing_stands_behind_the_model() -> None:
    settings = ServiceSettings(llm="tiny", on_engine_failure="error")
    alone = open_generator(settings, ScriptedGenerator())
    assert isinstance(alone, CircuitBreaker)
    assert isinstance(alone.model, VllmGenerator)


@pytest.mark.parametrize(
    "wrong",
    [
        {"on_engine_failure": "retry"},
        {"engine_connect_seconds": 0.0},
        {"engine_first_token_seconds": float("nan")},
        {"engine_total_seconds": float("inf")},
        {"rerank_seconds": 0.0},
        {"judge_seconds": float("nan")},
    ],
)
def test_a_way_to_fail_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=f"CITEWARD_{next(iter(wrong)).upper()}"):
        ServiceSettings(**wrong)


@pytest.mark.parametrize(
    "changed",
    [
        {"llm": "some/model"},
        {"on_engine_failure": "error"},
        {"context_window": 4096},
        {"max_evidence": 4},
        {"max_evidence_tokens": 500},
        {"reranker": "some/model"},
        {"judge": "some/model"},
        {"corpus": CorpusSettings(chunk_tokens=200)},
    ],
    ids=str,
)
def test_what_can_change_an_answer_is_another_configuration(changed: dict[str, Any]) -> None:
    assert config_hash(ServiceSettings(**changed)) != config_hash(ServiceSettings())


@pytest.mark.parametrize(
    "changed",
    [
        {"port": 9000},
        {"key_secret": "s" * 40},
        {"engine_url": "http://192.0.2.1:8001"},
        {"engine_python": Path("/venv/bin/python")},
        {"engine_kv_gib": 8},
        {"rerank_seconds": 1.0, "judge_seconds": 1.0},
        {"engine_connect_seconds": 9.0, "engine_first_token_seconds": 9.0, "engine_total_seconds": 9.0},
    ],
    ids=str,
)
def test_what_cannot_is_the_same(changed: dict[str, Any]) -> None:
    assert config_hash(ServiceSettings(**changed)) == config_hash(ServiceSettings())


def test_the_reranker_and_the_judge_are_those_that_the_settings_name(tmp_path: Path) -> None:
    reranker = save_tiny(tmp_path / "order")
    judge = save_tiny(tmp_path / "inference", ("entailment", "neutral", "contradiction"))
    settings = ServiceSettings(reranker=str(reranker), judge=str(judge))
    assert open_reranker(settings, HashEmbedder()).version == f"cross-encoder:order@{revision(reranker)}"
    assert open_judge(settings, HashEmbedder()).version == f"cross-encoder:inference@{revision(judge)}"
    late = ServiceSettings(reranker="late-interaction")
    assert open_reranker(late, HashEmbedder()).version == "late-interaction-1"
    none = ServiceSettings(reranker="")
    assert open_reranker(none, HashEmbedder()).version == "fused-order"
    assert open_judge(none, HashEmbedder()).version.startswith("words-and-meaning-")


def test_the_language_model_judges_behind_the_built_in_judge(tmp_path: Path) -> None:
    folder = llm_folder(SMALL)
    settings = ServiceSettings(
        corpus=CorpusSettings(home=tmp_path),
        llm=str(folder),
        judge="llm",
        judge_seconds=7,
        engine_connect_seconds=3,
        engine_url="http://127.0.0.1:9001",
    )
    judge = open_judge(settings, HashEmbedder(), WordChatTokenizer())
    assert isinstance(judge, BothJudges)
    assert judge.rules.version.startswith("words-and-meaning-")
    chooser = judge.asked.chooser
    assert isinstance(chooser, VllmChooser)
    assert (chooser.url, chooser.model) == ("http://127.0.0.1:9001", str(folder))
    assert (chooser.seconds, chooser.connect_seconds) == (7, 3)
    assert chooser.version == f"vllm:{folder}@{revision(folder)}"
    assert judge.asked.secret == (tmp_path / "key_secret").read_bytes()
    database = open_database(f"sqlite:///{tmp_path}/citeward.sqlite3")
    admitted = [
        open_generator(one, ScriptedGenerator(), admission=open_admission(one, database))
        for one in (settings, ServiceSettings(llm="tiny"))
    ]
    database.close()
    models = [one.first.model for one in admitted if isinstance(one, FallbackGenerator)]  # type: ignore[attr-defined]
    assert [one.judgement for one in models] == [JUDGE_TOKENS + ANSWER_TOKENS, 0]
    assert open_judge(settings.without_llm(), HashEmbedder()).version == judge.rules.version


def test_a_language_model_that_judges_must_be_set() -> None:
    with pytest.raises(InvalidInput, match=r"CITEWARD_JUDGE is llm, and CITEWARD_LLM is not set"):
        ServiceSettings(judge="llm")
    cross_encoder = ServiceSettings(llm="some/model", judge="other/model").without_llm()
    assert (cross_encoder.llm, cross_encoder.judge) == ("", "other/model")


def test_a_cross_encoder_that_is_not_here_or_is_none_is_refused_with_its_role(tmp_path: Path) -> None:
    corpus = CorpusSettings(home=tmp_path)
    with pytest.raises(Unavailable, match="The reranker 'nowhere' is not here"):
        open_reranker(ServiceSettings(corpus=corpus, reranker="nowhere"), HashEmbedder())
    with pytest.raises(Unavailable, match="The judge 'nowhere' is not here"):
        open_judge(ServiceSettings(corpus=corpus, judge="nowhere"), HashEmbedder())
    with pytest.raises(Unavailable, match="cannot be loaded"):
        open_judge(ServiceSettings(corpus=corpus, judge=str(tmp_path)), HashEmbedder())
