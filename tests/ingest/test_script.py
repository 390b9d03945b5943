"""Which script a text counts as."""

from __future__ import annotations

import pytest

from ingest.corpus.script import HAN, OTHER, script_of


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
def test_a_text_has_the_script_that_it_is_mostly_written_in(text: str, script: int) -> None:
    assert script_of(text) == script
