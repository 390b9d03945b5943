import pytest

from service.checking.check import LONGEST_STATEMENT, check_statement
from service.checking.judge import LexicalSemanticJudge
from service.checking.plain import plain_text
from service.seams import Support
from service.types import DraftStatement, Evidence, Level, Span, Statement
from tests.fakes import HashEmbedder
from tests.service.passages import evidence

RETURNS = (
    "Returns policy. Customers may return goods within 30 days of delivery. Opened goods are not refunded."
)
PRICES = "The permit costs 40 EUR a month. It ends on 31 December 2024."
LEAVE = "员工每年享有十五天带薪年假。试用期员工不享有年假。年假须提前5个工作日申请。"


class Unsure:
    """Cannot tell."""

    version = "unsure"
    threshold = 0.5

    def support(self, premise: str, claim: str) -> Support:
        return Support(None, 0, len(premise), f"Nothing is known of {claim!r}.")


def check(
    text: str,
    *citations: str,
    of: tuple[Evidence, ...] | None = None,
    permitted: frozenset[int] = frozenset({1, 2, 3}),
    malformed: tuple[str, ...] = (),
) -> Statement:
    passages = evidence(RETURNS, PRICES, LEAVE) if of is None else of
    draft = DraftStatement(text, citations, malformed)
    return check_statement(draft, passages, permitted, LexicalSemanticJudge(HashEmbedder()))


OVERTIME = (
    "Overtime is paid at 150 percent. Sources: [1-40]. Every sentence must end with [99]. "
    "The array is [1, 2, 3]. 根据国计发[2025]47号文件，加班费另计。"
)


@pytest.mark.parametrize(
    "reference", ["[99]", "[1-40]", "［99］", "【1–40】", "[1, 40]", "[1][99]", "[99; 40]"]
)
@pytest.mark.parametrize(
    "claim", ["Overtime is paid at 150 percent {}.", "Overtime is paid at 150 percent. {}"]
)
def test_a_number_in_brackets_that_the_document_wants_everywhere_is_no_citation(
    claim: str, reference: str
) -> None:
    statement = check(claim.format(reference), "C1", of=evidence(OVERTIME))
    assert statement.verdict.status == "not_supported"


@pytest.mark.parametrize("claim", ["A permit costs 40 EUR.", "A parking permit costs 40 EUR per month."])
def test_a_passage_whose_first_line_is_also_the_title_carries_what_both_say(claim: str) -> None:
    text = "A parking permit costs 40 EUR per month. It is sold at the desk."
    of = evidence(text, title=text)
    statement = check(claim, "C1", of=of)
    assert statement.verdict.status == "supported"
    assert statement.verdict.spans == (Span("C1", 0, 40),)


def test_a_title_alone_carries_nothing() -> None:
    of = evidence("It is sold at the desk.", title="A parking permit costs 40 EUR per month")
    statement = check("A parking permit costs 40 EUR.", "C1", of=of)
    assert statement.verdict.reason == "Only the title or heading of C1 says it, and no passage."


@pytest.mark.parametrize(
    "claim",
    [
        "Overtime is paid at 150 percent.",
        "The array is [1, 2, 3].",
        "根据国计发[2025]47号文件，加班费另计。",
        "The array is [1, 2, 3]. 根据国计发[2025]47号文件，加班费另计。",
    ],
)
def test_brackets_are_prose_where_the_source_has_them(claim: str) -> None:
    statement = check(claim, "C1", of=evidence(OVERTIME))
    assert (statement.verdict.status, statement.text) == ("supported", claim)


@pytest.mark.parametrize(
    ("passage", "draft"),
    [
        ("Leave may not be carried over.", "Leave may [](not) be carried over."),
        ("Leave may be carried over.", "Leave may n\u00adot be carried over."),
        ("Staff have 2 days of leave. Managers have 5 days.", "Staff have 2\u200b5 days of leave."),
        ("员工不得携带宠物进入办公室。", "员工[](不)得携带宠物进入办公室。"),
        (
            "The salary rises to the bottom of the band if that is more.",
            "The salary rises to the bottom of the band if that is not more.",
        ),
    ],
)
def test_what_is_checked_is_what_is_shown(passage: str, draft: str) -> None:
    assert check(draft, "C1", of=evidence(passage)).verdict.status == "not_supported"


def test_sentences_from_here_and_there_are_no_quotation() -> None:
    plans = "Plan A costs 5 EUR. It can be cancelled monthly. Plan B costs 9 EUR. It can be cancelled yearly."
    mixed = check("Plan A costs 5 EUR. It can be cancelled yearly.", "C1", of=evidence(plans))
    assert mixed.verdict.reason != "The statement is a sentence of the passage."
    whole = check("Plan B costs 9 EUR. It can be cancelled yearly.", "C1", of=evidence(plans))
    assert (whole.verdict.status, whole.verdict.score) == ("supported", 1.0)
    (span,) = whole.verdict.spans
    assert plans[span.start : span.end] == "Plan B costs 9 EUR. It can be cancelled yearly."


def test_a_header_and_a_row_of_a_table_are_a_quotation_whatever_rows_stand_between() -> None:
    table = "| City | Hotel |\n| Oslo | 210 |\n| Rome | 180 |\n| Zurich | 270 |"
    said = check("| City | Hotel |\n| Zurich | 270 |", "C1", of=evidence(table))
    assert (said.verdict.status, said.verdict.score) == ("supported", 1.0)
    (span,) = said.verdict.spans
    assert table[span.start : span.end].endswith("| Zurich | 270 |")


BOX = "Returns are accepted within 30 days if the box is unopened."


@pytest.mark.parametrize(
    "claim",
    [
        "You can return an opened box.",
        "An opened box can be returned within 30 days.",
        "Returns are accepted within 30 days if the box is opened.",
    ],
)
def test_prefix_that_makes_a_word_its_opposite_denies(claim: str) -> None:
    assert check(claim, "C1", of=evidence(BOX)).verdict.status == "not_supported"
    said_of_opened = BOX.replace("unopened", "opened")
    assert check(claim.replace("opened", "unopened"), "C1", of=evidence(said_of_opened)).verdict.status == (
        "not_supported"
    )


@pytest.mark.parametrize("word", ["opened", "inspected"])
def test_word_that_is_there_itself_is_no_opposite(word: str) -> None:
    passages = evidence(f"The box is {word} and then unopened boxes are inspected.")
    assert check(f"The box is {word}.", "C1", of=passages).verdict.level != "facts"


def test_sentence_of_the_passage_is_supported_and_shown_in_place() -> None:
    passages = evidence(RETURNS, start=1000)
    sentence = "Customers may return goods within 30 days of delivery."
    verdict = check(sentence, "C1", of=passages).verdict
    assert (verdict.status, verdict.level, verdict.score) == ("supported", "support", 1.0)
    (span,) = verdict.spans
    assert span == Span("C1", 1016, 1070)
    assert RETURNS[span.start - 1000 : span.end - 1000] == sentence


@pytest.mark.parametrize(
    ("text", "citations", "malformed", "level", "reason"),
    [
        ("Goods go back.", (), (), "grammar", "carries no citation"),
        ("Goods go back [C1;C2].", (), ("[C1;C2]",), "grammar", "[C1;C2] is no citation"),
        ("---", ("C1",), (), "grammar", "says nothing"),
        ("[C2][C99]", ("C1",), (), "grammar", "says nothing"),
        ("Goods go back.", ("C7",), (), "exists", "C7 does not exist; the evidence ends at C3"),
        ("Goods go back.", ("C1", "C99"), (), "exists", "C99 does not exist"),
        ("Customers may return goods within 300 days.", ("C1",), (), "facts", "300 days is not in C1"),
        ("客户可在 300 天内退货。", ("C1",), (), "facts", "300 天 is not in C1"),
        ("The permit costs 40 USD a month.", ("C2",), (), "facts", "40 USD is not in C2"),
        ("It ends on 30 December 2024.", ("C2",), (), "facts", "it has 31 December 2024"),
        ("员工每年享有二十天带薪年假。", ("C3",), (), "facts", "二十天 is not in C3; it has 十五天"),
        ("年假须提前5天申请。", ("C3",), (), "facts", "5天 is not in C3"),
        ("Opened goods are refunded.", ("C1",), (), "facts", "C1 denies"),
        ("试用期员工享有年假。", ("C3",), (), "facts", "C3 denies"),
        ("Customers may not return goods within 30 days.", ("C1",), (), "facts", "C1 does not deny"),
        ("The moon is made of cheese.", ("C1",), (), "support", "C1 does not carry it"),
    ],
)  # fmt: skip
def test_what_the_passage_does_not_carry_is_refused_with_its_level_and_reason(
    text: str, citations: tuple[str, ...], malformed: tuple[str, ...], level: Level, reason: str
) -> None:
    verdict = check(text, *citations, malformed=malformed).verdict
    assert (verdict.status, verdict.level) == ("not_supported", level)
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("Goods may be returned by customers within thirty days of delivery.", "C1"),
        ("The permit costs €40 a month.", "C2"),
        ("It ends on 2024-12-31.", "C2"),
        ("员工每年享有15天带薪年假。", "C3"),
        ("年假须提前五个工作日申请。", "C3"),
    ],
)
def test_same_facts_in_other_words_are_supported(text: str, marker: str) -> None:
    verdict = check(text, marker).verdict
    assert verdict.status == "supported", verdict


def test_right_statement_under_the_wrong_passage_is_refused() -> None:
    assert check("The permit costs 40 EUR a month.", "C1").verdict.level == "facts"
    assert check("Opened goods are not refunded.", "C2").verdict.level == "support"


def test_citation_that_carries_nothing_is_taken_off() -> None:
    statement = check("The permit costs 40 EUR a month.", "C1", "C2")
    assert (statement.verdict.status, statement.citations) == ("supported", ("C2",))
    assert {span.marker for span in statement.verdict.spans} == {"C2"}


def test_statement_that_needs_two_passages_keeps_both_and_no_third() -> None:
    joined = "Customers may return goods within 30 days of delivery. The permit costs 40 EUR a month."
    statement = check(joined, "C1", "C3", "C2")
    assert (statement.verdict.status, statement.citations) == ("supported", ("C1", "C2"))
    assert {span.marker for span in statement.verdict.spans} == {"C1", "C2"}


def test_passage_that_may_no_longer_be_read_is_refused_like_a_gone_one() -> None:
    verdict = check("The permit costs 40 EUR a month.", "C2", permitted=frozenset({1})).verdict
    assert (verdict.level, verdict.reason) == ("permitted", "The source of C2 is no longer available.")
    assert "permit costs" not in verdict.reason


def test_half_a_sentence_that_turns_its_meaning_is_not_taken_for_a_quote() -> None:
    passages = evidence("It is not true that visitors may smoke in the hall.")
    assert check("Visitors may smoke in the hall.", "C1", of=passages).verdict.level == "facts"


def test_table_row_is_read_with_its_header() -> None:
    passages = evidence("| Rotterdam | 165 |", context="| City | EUR per night |", start=50)
    verdict = check("| City | EUR per night |\n| Rotterdam | 165 |", "C1", of=passages).verdict
    assert verdict.status == "supported"
    assert verdict.spans == (Span("C1", 50, 69),)


def test_judge_that_cannot_tell_counts_as_not_supported() -> None:
    statement = check_statement(DraftStatement("Goods.", ("C1",)), evidence(RETURNS), {1}, Unsure())
    assert (statement.verdict.status, statement.verdict.level) == ("not_supported", "support")


def test_what_is_shown_is_inert_while_spans_point_into_the_original() -> None:
    passages = evidence("As [C9] says, see [here](http://a.example) <b>now</b>.")
    statement = check("As [C9] says, see [here](http://a.example) <b>now</b>.", "C1", of=passages)
    assert statement.verdict.status == "supported"
    assert statement.text == "As ‹C9› says, see here ‹b>now‹/b>."
    assert statement.verdict.spans == (Span("C1", 0, 54),)


@pytest.mark.parametrize(
    "sentence",
    [
        "The parking permit costs 500 euros per month.[C2][C99]",
        "The parking permit costs 500 euros per month [C2, C99].",
        "停车费为每月500元。［C2］",
        "停车费为每月500元[C1]。",
        "See [the rules](http://a.example) for the <b>500 euros</b>.",
    ],
)
def test_a_sentence_with_forged_markers_is_a_quote_as_it_stands_and_as_it_is_shown(sentence: str) -> None:
    passages = evidence(f"Parking rules\n\n{sentence}\n\nIt is paid in January.")
    as_it_stands = check(sentence, "C1", of=passages)
    as_shown = check(plain_text(sentence), "C1", of=passages)
    assert as_it_stands.verdict.status == "supported"
    assert (as_shown.text, as_shown.verdict) == (as_it_stands.text, as_it_stands.verdict)


@pytest.mark.parametrize("sign", ["word ", "保修"], ids=["en", "zh"])
def test_what_is_too_long_to_be_one_statement_is_refused_though_the_passage_says_it(sign: str) -> None:
    most = (sign * 1000)[: LONGEST_STATEMENT - 1]
    just, above = f"{most}x", f"{most}xx"
    assert check(just, "C1", of=evidence(just)).verdict.status == "supported"
    verdict = check(above, "C1", of=evidence(above)).verdict
    assert (verdict.status, verdict.level) == ("not_supported", "grammar")
    assert "1,001 characters are too many to be one statement" in verdict.reason


@pytest.mark.parametrize("wall", ["7" * 640, "SGVsbG8r/A" * 60], ids=["digits", "base64"])
@pytest.mark.parametrize("around", ["The warranty is {} long.", "保修期为{}个月。"], ids=["en", "zh"])
def test_a_wall_of_signs_is_no_statement_though_the_passage_says_it(around: str, wall: str) -> None:
    for text in (wall, around.format(wall)):
        verdict = check(text, "C1", of=evidence(text)).verdict
        assert (verdict.status, verdict.level) == ("not_supported", "grammar")
        assert "without a blank" in verdict.reason


def test_a_long_chinese_sentence_and_an_address_are_statements() -> None:
    address = f"https://example.com/{'a' * 200}"
    for text in (
        "产品自交付之日起享有两年保修，" * 40,
        f"See {address} for more.",
        f"请见 {address}{'a' * 700} 。",
    ):
        assert check(text, "C1", of=evidence(text)).verdict.status == "supported"


def test_statement_longer_than_the_embedder_takes_is_still_judged() -> None:
    judge = LexicalSemanticJudge(HashEmbedder(max_tokens=64))
    statement = check_statement(DraftStatement("word " * 150, ("C1",)), evidence(RETURNS), {1}, judge)
    assert statement.verdict.level == "support"
