"""A script that the embedder holds back is lifted by a share of how far it is behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from ingest.corpus.script import HAN, OTHER, script_of
from service.level import SHARE, script_lift


@dataclass(frozen=True)
class Sums:
    """What levelling asks of an index: living rows of each script and the sum of their vectors."""

    script_rows: np.ndarray
    script_sums: np.ndarray


QUERY = np.array([1.0, 0.0], dtype=np.float32)


def sums(other: list[float], han: list[float]) -> Sums:
    """An index whose passages have these inner products with `QUERY`."""
    total = np.array([[sum(other), 0.0], [sum(han), 0.0]], dtype=np.float32)
    return Sums(np.array([len(other), len(han)]), total)


def test_the_script_behind_is_lifted_by_a_share_of_the_difference_of_means():
    lift = script_lift([sums(other=[0.7, 0.8], han=[0.85, 0.95])], QUERY)
    assert lift == pytest.approx([SHARE * 0.15, 0.0])


def test_means_are_taken_over_all_collections_searched():
    lift = script_lift([sums(other=[0.7], han=[]), sums(other=[0.8], han=[0.9])], QUERY)
    assert lift == pytest.approx([SHARE * 0.15, 0.0])


@pytest.mark.parametrize(
    "indexes", [[], [sums([], [])], [sums([0.7], [])], [sums([], [0.7]), sums([], [0.9])]]
)
def test_nothing_is_lifted_where_there_are_no_two_scripts(indexes: list[Sums]):
    assert script_lift(indexes, QUERY).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("The return window is 30 days.", OTHER),
        ("退货期限为30天。", HAN),
        ("退貨期限為30天。", HAN),
        ("BW-40 水表支持 LoRaWAN 通信", HAN),
        ("The character 表 means meter, table or watch.", OTHER),
        ("12 345", OTHER),
        ("", OTHER),
    ],
)
def test_a_text_has_the_script_that_it_is_mostly_written_in(text: str, script: int):
    assert script_of(text) == script
