"""A table of prices: what a model's tokens cost where they are bought, and its machine by the hour.

currency = "EUR"

[models."qwen2.5-coder-1.5b-instruct"]
per_million_input = 0.04
per_million_output = 0.12
per_hour = 1.10  # each of the three may be left out, and is nothing then
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import Any

from ingest.corpus.errors import InvalidInput
from service.evaluation.scoring.figures import PriceTable

PRICES = tuple(one.name for one in fields(PriceTable) if one.name != "currency")


def read_prices(path: Path) -> Mapping[str, PriceTable]:
    """Model -> what it costs.

    :raises InvalidInput: for a file that cannot be read, and for a name or value that is none of the above.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise _unusable(path, f"{type(error).__name__}: {error}.") from error
    for fault in _faults(table):
        raise _unusable(path, fault)
    return {model: PriceTable(table["currency"], **prices) for model, prices in table["models"].items()}


def price_of(prices: Mapping[str, PriceTable], version: str) -> PriceTable | None:
    """Of a model as answers record it, "vllm:NAME@REVISION"; None: the table has neither that nor NAME."""
    name = version.partition(":")[2].partition("@")[0]
    return prices.get(version) or prices.get(name)


def _faults(table: Mapping[str, Any]) -> Iterator[str]:
    unknown = table.keys() - {"currency", "models"}
    if unknown:
        yield f"It has {', '.join(sorted(unknown))}, which is neither currency nor models."
    currency, models = table.get("currency"), table.get("models")
    if not isinstance(currency, str) or not currency.strip():
        yield f"currency must be a word such as EUR, was: {currency!r}."
    if not isinstance(models, dict) or not models:
        yield "It has no [models.NAME]."
        return
    for model, prices in models.items():
        yield from _faults_of(model, prices)


def _faults_of(model: str, prices: object) -> Iterator[str]:
    if not isinstance(prices, dict):
        yield f"{model} must be a table [models.{model}], was: {prices!r}."
        return
    for name, price in prices.items():
        if name not in PRICES:
            yield f"{model} has {name}, which is none of {', '.join(PRICES)}."
        elif not _is_price(price):
            yield f"{name} of {model} must be a number from 0 on, was: {price!r}."


def _is_price(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isfinite(value) and value >= 0


def _unusable(path: Path, why: str) -> InvalidInput:
    return InvalidInput(
        f"The prices in {path} cannot be used.",
        why=why,
        next_step="Correct the file; docs/evaluation.md shows one.",
        field="prices",
    )
