import math
from dataclasses import fields
from typing import Any

import pytest

from ingest.corpus.errors import InvalidInput
from service.policy import POLICY, load_policy, parse_policy
from service.releases.ledger import ledger
from service.types import GenerationPolicy


def policy(**values: Any) -> GenerationPolicy:
    return GenerationPolicy(version="test", **({"max_new_tokens": 64} | values))


def test_the_released_policy_is_greedy_and_reserves_what_it_is_told() -> None:
    loaded = load_policy(1024)
    assert loaded.version == f"{POLICY}@{ledger()[f'policies/{POLICY}.toml'][:12]}"
    assert loaded.temperature > 0  # what is sent is another thing
    assert loaded.sampling() == {
        "max_tokens": 1024, "temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0,
        "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "seed": 0, "stop": [],
    }  # fmt: skip


def test_every_value_of_a_policy_is_sent() -> None:
    silent = {"version", "do_sample", "max_new_tokens"}  # sent as max_tokens, and as a temperature of 0
    assert {one.name for one in fields(GenerationPolicy)} - silent == policy().sampling().keys() - {
        "max_tokens"
    }


def test_a_policy_that_samples_sends_its_own_values() -> None:
    sent = policy(do_sample=True, temperature=0.7, top_k=20, seed=None, stop=("\n\n",)).sampling()
    assert (sent["temperature"], sent["top_k"], sent["seed"], sent["stop"]) == (0.7, 20, None, ["\n\n"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("temperature", value) for value in (0, -0.1, math.nan, math.inf, True, "1", None)),
        *(("top_p", value) for value in (0, 1.01, -1, math.nan, True)),
        *(("max_new_tokens", value) for value in (0, -1, 1.0, True, "64", math.nan)),
        *(("top_k", value) for value in (0, -1, 2.0, False)),
        *(("seed", value) for value in (1.5, True, "0", math.inf)),
        *(("min_p", value) for value in (-0.1, 1.1)),
        ("repetition_penalty", 0),
        *(
            (f"{kind}_penalty", value)
            for kind in ("presence", "frequency")
            for value in (-2.1, 2.1, -math.inf)
        ),
        *(("do_sample", value) for value in (0, "false", None)),
    ],
)
def test_a_value_out_of_range_is_an_error_that_names_the_field_and_the_value(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        policy(**{name: value})
    assert caught.value.field == name
    assert f"was: {value!r}" in str(caught.value)


@pytest.mark.parametrize("text", ["temperatur = 1.0", "do_sample = maybe", "max_new_tokens = 5", "stop = 1"])
def test_a_file_with_what_no_policy_has_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"generation policy mine\.v1 cannot be read"):
        parse_policy(text, "mine.v1", 64)
