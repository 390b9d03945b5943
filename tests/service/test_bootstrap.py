"""Which settings make another configuration of an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ingest.corpus.settings import CorpusSettings
from service.bootstrap import config_hash
from service.settings import ServiceSettings


@pytest.mark.parametrize(
    "changed",
    [
        {"llm": "some/model"},
        {"on_engine_failure": "error"},
        {"context_window": 4096},
        {"max_evidence": 4},
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
        {"engine_url": "http://10.0.0.1:8001"},
        {"engine_python": Path("/venv/bin/python")},
        {"engine_kv_gib": 8},
        {"engine_connect_seconds": 9.0, "engine_first_token_seconds": 9.0, "engine_total_seconds": 9.0},
    ],
    ids=str,
)
def test_what_cannot_is_the_same(changed: dict[str, Any]) -> None:
    assert config_hash(ServiceSettings(**changed)) == config_hash(ServiceSettings())
