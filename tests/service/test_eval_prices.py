"""A table of prices is read whole or refused in words; what it costs is worked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.corpus.errors import InvalidInput
from service.evaluation.asking.attempts import Attempt
from service.evaluation.scoring.figures import PriceTable, totals
from service.evaluation.scoring.prices import price_of, read_prices

TABLE = """
currency = "EUR"

[models."small-model"]
per_million_input = 2
per_million_output = 0.5

[models."Org/large@v2"]
per_hour = 3.6
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "prices.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_model_is_found_by_its_name_or_as_answers_record_it(tmp_path: Path) -> None:
    prices = read_prices(written(tmp_path, TABLE))
    assert price_of(prices, "vllm:small-model@abc") == PriceTable("EUR", 2, 0.5)
    assert price_of(prices, "small-model") == PriceTable("EUR", 2, 0.5)
    assert price_of(prices, "Org/large@v2") == PriceTable("EUR", per_hour=3.6)
    assert price_of(prices, "vllm:another@abc") is None
    assert price_of(prices, "quoting-1") is None


def test_the_cost_is_that_of_the_tokens_and_of_the_hours(tmp_path: Path) -> None:
    prices = read_prices(written(tmp_path, TABLE))
    attempts = [Attempt("a", "answered", input_tokens=1_500_000, output_tokens=200_000)]
    told = {one.name: one for one in totals(attempts, 10.0, prices["small-model"])}
    assert (told["cost"].value, told["cost"].unit) == (pytest.approx(3.1), "EUR")  # 1.5 x 2 + 0.2 x 0.5
    hired = {one.name: one.value for one in totals(attempts, 10.0, prices["Org/large@v2"])}
    assert hired["cost"] == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("currency = ", "TOMLDecodeError"),
        ("[models.a]\nper_hour = 1", "currency must be a word such as EUR, was: None"),
        ('currency = " "\n[models.a]\nper_hour = 1', "currency must be a word"),
        ('currency = "EUR"', r"no \[models.NAME\]"),
        ('currency = "EUR"\n[models]\na = 3', "a must be a table"),
        (
            'currency = "EUR"\n[models.a]\nper_token = 1',
            "a has per_token, which is none of per_million_input",
        ),
        ('currency = "EUR"\n[models.a]\nper_hour = -1', "per_hour of a must be a number from 0 on, was: -1"),
        ('currency = "EUR"\n[models.a]\nper_hour = nan', "from 0 on, was: nan"),
        ('currency = "EUR"\n[models.a]\nper_hour = inf', "from 0 on, was: inf"),
        ('currency = "EUR"\n[models.a]\nper_hour = true', "from 0 on, was: True"),
        ('currency = "EUR"\n[models.a]\nper_hour = "1"', "from 0 on, was: '1'"),
        ('currency = "EUR"\nprice = 2\n[models.a]\nper_hour = 1', "It has price"),
    ],
)
def test_a_table_that_cannot_be_right_is_refused_in_words(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be used") as refused:
        read_prices(written(tmp_path, text))
    assert refused.match(why)


def test_no_table_at_all_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="FileNotFoundError"):
        read_prices(tmp_path / "none.toml")
