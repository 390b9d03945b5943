"""The Grafana dashboard asks for nothing that the service does not count, and leaves out nothing of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ingest.corpus.database import Database
from service.adapters.telemetry import telemetry_over
from tests.service.test_api_capacity import ANSWERS, admitting

DASHBOARD = json.loads((Path(__file__).parents[2] / "docs" / "grafana.json").read_text("utf-8"))
SERIES = re.compile(r"\b(?:citeward|vllm:)[a-z_]+")


def expressions() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_it_shows_what_is_counted(database: Database, tmp_path: Path) -> None:
    with admitting(database, tmp_path, ANSWERS, telemetry=telemetry_over(InMemorySpanExporter(), "")) as here:
        assert here.ask().status_code == 200
        lines = here.world.root.get("/metrics").text.splitlines()
    counted = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    shown = {name for one in expressions() for name in SERIES.findall(one) if name.startswith("citeward")}
    families = {re.sub(r"_(?:bucket|total)$", "", name) for name in shown}
    assert families == {re.sub(r"_total$", "", name) for name in counted}


def test_panels_lie_side_by_side_and_none_on_another() -> None:
    places = [tuple(panel["gridPos"][side] for side in "xy") for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)
    assert {panel["gridPos"]["w"] for panel in DASHBOARD["panels"]} == {12}


def test_every_query_is_whole() -> None:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            assert_balanced(target)


def assert_balanced(target: dict[str, Any]) -> None:
    expression = target["expr"]
    assert all(expression.count(left) == expression.count(right) for left, right in ("()", "{}", "[]"))
    assert "_bucket" in expression or "quantile" not in expression
