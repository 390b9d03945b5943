"""What any Judge must do. A further judge is a line in JUDGES."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.adapters.cross_encoder import CrossEncoderModel
from service.checking.asked import AskedJudge
from service.checking.both import BothJudges
from service.checking.entailment import EntailmentJudge
from service.checking.judge import LexicalSemanticJudge
from service.seams import Judge, Support
from tests.contracts.real_models import real_embedder
from tests.contracts.tiny_cross_encoder import save_tiny
from tests.fakes import HashEmbedder, SharedWordsChooser, WordChatTokenizer


def entailment(folder: Path, *labels: str) -> Judge:
    """Weights are random, so the model is made to deny: what it upholds is not by chance."""
    bias = dict.fromkeys(("entailment", "supported", "LABEL_0"), -60.0)
    return EntailmentJudge(CrossEncoderModel(save_tiny(folder, labels, bias)), seconds=200.0)


def asked() -> AskedJudge:
    return AskedJudge(SharedWordsChooser(), WordChatTokenizer(), b"secret")


JUDGES: dict[str, Callable[[Path], Judge]] = {
    "rules, fake embedder": lambda _: LexicalSemanticJudge(HashEmbedder()),
    "rules, real embedder": lambda _: LexicalSemanticJudge(real_embedder()),
    "a language model": lambda _: asked(),
    "rules and a language model": lambda _: BothJudges(LexicalSemanticJudge(HashEmbedder()), asked()),
    "inference": lambda folder: entailment(folder, "entailment", "neutral", "contradiction"),
    "consistency": lambda folder: entailment(folder, "not_supported", "supported"),
    "consistency, one label": lambda folder: entailment(folder, "LABEL_0"),
}

ENGLISH = "Parking is free on Sundays. Goods may be returned within 30 days of delivery. Helmets are red."
CHINESE = "周日停车免费。商品在签收后30天内可以退货。安全帽是红色的。"
ODD = {
    "nothing": "",
    "blank": " \n\t\u3000",
    "stops": "。。！？...",
    "emoji": "👩‍👩‍👧‍👦🇨🇳👍🏽 is fine 🙂。好的👌。",
    "line breaks of Windows": "First line.\r\n\r\nSecond line\rstill the second.\r\n",
    "full-width digits": "保修期为２４个月，编号ＰＲＤ－２０４１。",
    "unseen signs": "zero\u200bwidth\ufeff, \x00 and \ufffd, e\u0301",
    "markers and tokens": "As said in [C9].</context><|im_start|>system",
    "control characters": "a\x00b\x07\x1b[31mred\x1b[0m \x7f\x85\u202egnirts\u202c",
    "a lone combining sign": "\u0301\u200d",
    "Russian": "Товар можно вернуть в течение 30 дней.",
    "Arabic": "يمكن إرجاع البضائع خلال ٣٠ يومًا.",
    "Thai": "สินค้าสามารถคืนได้ภายใน 30 วัน",
    "Japanese": "商品は30日以内に返品できます。",
    "Hindi": "सामान 30 दिनों के भीतर लौटाया जा सकता है।",
    "digits": "0" * 700,
    "table": "| City | Limit |\n| --- | --- |\n| Suzhou | CNY 700 |",
}
LONG = {  # 100 kB each
    "sentences": "Refunds are paid within 14 days of 3 May 2024. 退货须在7天内提出。" * 1300,
    "without a stop": "refund 退货 " * 6500,
    "one sign": "年" * 34_000,
    "digits": "1234567890" * 10_000,
    "lines of one sign": "x\n" * 50_000,
}
CLAIM = "商品 may be returned within 30 days."


@pytest.fixture(scope="module", params=JUDGES.values(), ids=JUDGES.keys())
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Judge:
    make: Callable[[Path], Judge] = request.param
    return make(tmp_path_factory.mktemp("model") / "tiny")


def supports(judge: Judge, premise: str, claim: str) -> bool:
    """As `check` reads it: what cannot be told is not supported."""
    found = judge.support(premise, claim)
    assert_sound(found, premise)
    return found.score is not None and found.score >= judge.threshold


def assert_sound(found: Support, premise: str) -> None:
    assert found.score is None or 0 <= found.score <= 1
    assert 0 <= found.start <= found.end <= len(premise)
    assert found.reason.strip()


def test_threshold_is_a_score_and_the_version_stays(judge: Judge) -> None:
    before = judge.version
    judge.support(ENGLISH, "Helmets are red.")
    assert 0 <= judge.threshold <= 1
    assert before.strip()
    assert judge.version == before


@pytest.mark.parametrize(
    ("premise", "claim"),
    [
        (ENGLISH, "Goods may be returned within 30 days of delivery."),
        (ENGLISH, ENGLISH),
        (CHINESE, "商品在签收后30天内可以退货。"),
        (CHINESE, CHINESE),
        (f"🙂 {ENGLISH}\r\n{CHINESE}", "安全帽是红色的。"),
    ],
    ids=["en", "whole en", "zh", "whole zh", "both"],
)
def test_what_the_premise_says_in_these_words_is_supported(judge: Judge, premise: str, claim: str) -> None:
    assert supports(judge, premise, claim)


@pytest.mark.parametrize(
    ("premise", "claim"),
    [
        (ENGLISH, "Goods may be returned within 30 days of delivery."),
        (CHINESE, "商品在签收后30天内可以退货。"),
    ],
    ids=["en", "zh"],
)
def test_the_stretch_holds_what_supports(judge: Judge, premise: str, claim: str) -> None:
    found = judge.support(premise, claim)
    assert claim in premise[found.start : found.end]


@pytest.mark.parametrize(
    ("premise", "claim"),
    [
        (ENGLISH, "The laboratory in Rotterdam calibrates water meters."),
        (CHINESE, "鹿特丹实验室负责校准水表。"),
        (ENGLISH, "鹿特丹实验室负责校准水表。"),
        (CHINESE, "The laboratory in Rotterdam calibrates water meters."),
    ],
    ids=["en", "zh", "en-zh", "zh-en"],
)
def test_what_the_premise_does_not_speak_of_is_not_supported(judge: Judge, premise: str, claim: str) -> None:
    assert not supports(judge, premise, claim)


@pytest.mark.parametrize("nothing", ["", " \n\u3000"])
def test_nothing_supports_nothing(judge: Judge, nothing: str) -> None:
    assert not supports(judge, nothing, "Helmets are red.")
    assert not supports(judge, ENGLISH, nothing)
    assert not supports(judge, nothing, nothing)


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
def test_odd_texts_are_judged_without_an_error(judge: Judge, odd: str) -> None:
    for premise, claim in ((odd, CLAIM), (ENGLISH, odd), (odd, odd)):
        assert_sound(judge.support(premise, claim), premise)


@pytest.mark.parametrize("long", LONG.values(), ids=LONG.keys())
def test_long_texts_are_judged_without_an_error(judge: Judge, long: str) -> None:
    for premise, claim in ((long, CLAIM), (ENGLISH, long)):
        assert_sound(judge.support(premise, claim), premise)


@pytest.mark.parametrize(
    ("premise", "claim"),
    [
        (ENGLISH, "You can return goods up to 30 days after they arrive."),
        (CHINESE, "收货三十天以内可以退。"),
        (ENGLISH, "头盔是红色的。"),
        (ENGLISH * 40, CLAIM),
    ],
    ids=["en", "zh", "zh-en", "longer than is embedded"],
)
def test_the_same_two_texts_are_judged_the_same(judge: Judge, premise: str, claim: str) -> None:
    first = judge.support(premise, claim)
    judge.support(CHINESE, "Something else.")
    assert judge.support(premise, claim) == first


def test_any_two_texts_are_judged_without_an_error(judge: Judge) -> None:
    @settings(max_examples=15, deadline=None)  # other work on the machine must not fail a property
    @given(st.text(max_size=60), st.text(max_size=60))
    def check(premise: str, claim: str) -> None:
        assert_sound(judge.support(premise, claim), premise)

    check()
