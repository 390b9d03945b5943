"""Sentences of Chinese and English come out whole, in order, and nothing visible is lost."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.sentences import sentence_spans

SIGNS = st.sampled_from("ab C1。！？….!?,;：“”\"')(）[] \n\t\r#|-*合同é\u0301👩\u200d👧🇨🇳")


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("第一句。第二句！第三句？", ["第一句。", "第二句！", "第三句？"]),
        ("他说：“可以。”然后走了。", ["他说：“可以。”", "然后走了。"]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("Mr. Smith met Dr. Li at 3.5 km.", ["Mr. Smith met Dr. Li at 3.5 km."]),
        ("See Fig. 3 and No. 12, e.g. Section 2.", ["See Fig. 3 and No. 12, e.g. Section 2."]),
        ("Is it? No. We wait.", ["Is it?", "No.", "We wait."]),
        (
            "Visit https://a.example/x?y=1.2 today. Then call.",
            ["Visit https://a.example/x?y=1.2 today.", "Then call."],
        ),
        ("1. Open the lid. 2. Press the key.", ["1. Open the lid.", "2. Press the key."]),
        ("Wait... what is it? Fine.", ["Wait... what is it?", "Fine."]),
        ("他……走了。真的？！是的。", ["他……走了。", "真的？！", "是的。"]),
        ("J. R. Miller wrote it. It sold.", ["J. R. Miller wrote it.", "It sold."]),
        ("The U.S. Navy won. It left.", ["The U.S. Navy won.", "It left."]),
        ("根据国发[2024]15号文件。金额为3.5万元。", ["根据国发[2024]15号文件。", "金额为3.5万元。"]),
        ("Title\n\nBody one. Body two.", ["Title", "Body one.", "Body two."]),
        ("# Title\nBody.", ["# Title", "Body."]),
        ("- first\n- second\n- third", ["- first", "- second", "- third"]),
        ("| a | b |\n| 1 | 2 |", ["| a | b |", "| 1 | 2 |"]),
        ("Name: Li\nCity: Ulm", ["Name: Li", "City: Ulm"]),
        ("一、总则\n二、附则", ["一、总则", "二、附则"]),
        ("这是对的.Really?真的", ["这是对的.Really?", "真的"]),
        ("", []),
        (" \n\t ", []),
        ("。", ["。"]),
    ],
)
def test_a_text_comes_apart_at_its_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_a_hard_wrapped_sentence_stays_one() -> None:
    wrapped = (
        "The committee that was appointed in the spring of last year met in Vienna\n"
        "and Graz before it reached a decision on the budget."
    )
    assert sentences(wrapped) == [wrapped]


@settings(deadline=None)  # other work on the machine must not fail a property
@given(st.text(alphabet=SIGNS, max_size=80) | st.text(max_size=80))
def test_spans_are_in_order_apart_trimmed_and_hold_all_that_is_visible(text: str) -> None:
    spans = sentence_spans(text)
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    assert edges == sorted(edges)
    assert all(text[start:end] and text[start:end] == text[start:end].strip() for start, end in spans)
    gaps = (text[end:start] for end, start in zip(edges[::2], edges[1::2], strict=True))
    assert not "".join(gaps).strip()


@pytest.mark.parametrize("unit", ["a", " ", ". ", "\n", "。", "a.\n", '"', "(", "- ", "1. ", "\n    ", "."])
def test_time_grows_linearly_with_the_text(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    begin = time.perf_counter()
    sentence_spans(text)
    assert time.perf_counter() - begin < 5  # quadratic work would take minutes
