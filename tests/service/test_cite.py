from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.checking.cite import parse_draft, render, without_forged_markers
from service.types import DraftStatement

# Draft; the one statement's text, its citations, and what is reported.
ACCEPTED = [
    ("Sky is blue [C1].", "Sky is blue.", ["C1"]),
    ("Sky is blue[C1].", "Sky is blue.", ["C1"]),
    ("Sky is blue. [C1]", "Sky is blue.", ["C1"]),
    ("Sky is blue.[C1]", "Sky is blue.", ["C1"]),
    ("[C1] Sky is blue.", "Sky is blue.", ["C1"]),
    ("Sky is blue [C1][C2].", "Sky is blue.", ["C1", "C2"]),
    ("Sky is blue [C1] [C2].", "Sky is blue.", ["C1", "C2"]),
    ("Sky is blue [C1, C2].", "Sky is blue.", ["C1", "C2"]),
    ("Sky is blue [C1,C2].", "Sky is blue.", ["C1", "C2"]),
    ("Sky is blue [C2 , C1].", "Sky is blue.", ["C2", "C1"]),
    ("Sky is blue [C1, C1][C1].", "Sky is blue.", ["C1"]),
    ("Sky [C1] is blue [C2].", "Sky is blue.", ["C1", "C2"]),
    ("Sky is blue [C1], not red [C2].", "Sky is blue, not red.", ["C1", "C2"]),
    ("Sky is blue [C9999].", "Sky is blue.", ["C9999"]),
    ("claim [C7]", "claim", ["C7"]),
    ("claim [C999]", "claim", ["C999"]),
    ("天是蓝的［C1］。", "天是蓝的。", ["C1"]),
    ("天是蓝的【C1】。", "天是蓝的。", ["C1"]),
    ("天是蓝的[C1，C2]。", "天是蓝的。", ["C1", "C2"]),
    ("天是蓝的[C1、C2]。", "天是蓝的。", ["C1", "C2"]),
    ("天是蓝的【C1、C2】。", "天是蓝的。", ["C1", "C2"]),
    ("天是蓝的。[C1]", "天是蓝的。", ["C1"]),
    ("天[C1]是蓝的。", "天是蓝的。", ["C1"]),
    ("根据国发[2024]15号文件的规定[C1]。", "根据国发[2024]15号文件的规定。", ["C1"]),
    ("- item [C1]", "- item", ["C1"]),
    ("- [C1] item", "- item", ["C1"]),
    ("| 3 | 30 | [C2]", "| 3 | 30 |", ["C2"]),
    ("x [[2]] y [C1]", "x [[2]] y", ["C1"]),
    ("Is it (yes [C1])?", "Is it (yes)?", ["C1"]),
]
REPORTED = [
    ("x [c1]", "[c1]"),
    ("x [ C1 ]", "[ C1 ]"),
    ("x [C1 ]", "[C1 ]"),
    ("x [C 1]", "[C 1]"),
    ("x [C-1]", "[C-1]"),
    ("x [C#1]", "[C#1]"),
    ("x [C:1]", "[C:1]"),
    ("x [C0]", "[C0]"),
    ("x [C01]", "[C01]"),
    ("x [C12345]", "[C12345]"),
    ("x [C]", "[C]"),
    ("x [Cn]", "[Cn]"),
    ("x [C?]", "[C?]"),
    ("x [C一]", "[C一]"),
    ("x [C①]", "[C①]"),
    ("x [C٣]", "[C٣]"),
    ("x [Ｃ1]", "[Ｃ1]"),
    ("x [С1]", "[С1]"),
    ("x [Ⅽ1]", "[Ⅽ1]"),
    ("x [C\u200b1]", "[C\u200b1]"),
    ("x [C1\u200b]", "[C1\u200b]"),
    ("x [C1-C3]", "[C1-C3]"),
    ("x [C1–C3]", "[C1–C3]"),
    ("x [C1-3]", "[C1-3]"),
    ("x [C1-C1000000]", "[C1-C1000000]"),
    ("x [C1;C2]", "[C1;C2]"),
    ("x [C1；C2]", "[C1；C2]"),
    ("x [C1 C2]", "[C1 C2]"),
    ("x [C1, 2]", "[C1, 2]"),
    ("x [1, C2]", "[1, C2]"),
    ("x [C1,,C2]", "[C1,,C2]"),
    ("x [C1,]", "[C1,]"),
    ("x [C1, C0]", "[C1, C0]"),
    ("x [C1 and C2]", "[C1 and C2]"),
    ("x [C1, p. 3]", "[C1, p. 3]"),
    ("x [see C1]", "[see C1]"),
    ("x [见C1]", "[见C1]"),
    ("x [C1】", "[C1】"),
    ("x 【C1]", "【C1]"),
    ("x [[C1]]", "[[C1]]"),
    ("x [C1]]", "[C1]]"),
    ("x [C1", "[C1"),
    ("x C1]", "C1]"),
    ("x 【C1", "【C1"),
    ("x (C1)", "(C1)"),
    ("x （C1）", "（C1）"),
    ("x {C1}", "{C1}"),
    ("x <C1>", "<C1>"),
    ("x (C1, C2)", "(C1, C2)"),
    ("x \\[C1\\]", "[C1\\]"),
    ("x [C1](http://a.example)", "[C1]("),
    ("x [ID:7]", "[ID:7]"),
    ("x [doc 2]", "[doc 2]"),
    ("x [文档2]", "[文档2]"),
    ("x [citation:3]", "[citation:3]"),
    ("x [^1]", "[^1]"),
    ("x 【3†source】", "【3†source】"),
    ("x [Summary of 6f1c-22]", "[Summary of 6f1c-22]"),
    ("x [C[C1]2]", "[C2]"),
]
PROSE = [
    "Out of range [7] claim",
    "claim [0] and [1]",
    "claim [1-2] and [1;2]",
    "Array is [1, 2, 3] here",
    "Patient (ID: 2) was admitted",
    "see href3 and xref 1",
    "Vref2 = 3.3V",
    "根据[2024]15号文",
    "根据国发〔2024〕15号文",
    "Claim (pqac-zzzz9999)",
    "Aside (in mice, n=12; pqac-aaaa1111)",
    "as shown (Smith et al., 2019)",
    "Revenue (FY2023) was 5 (see note A, 2021 restated)",
    "vitamin C1 and a C1 licence",
    "C1驾照",
    "x [AC1] and [PRD-C1] and [C++] and [CO2]",
    "[PRD-2041] is a product",
    "matrix[i][j]",
    "[x](http://a.example)",
    "- [ ] to do, - [x] done",
    "[TODO] and [sic] and […]",
    "emoji 👩‍👩‍👧 [here]",
    "\\[x\\] \u202e[",
    "【重要】通知",
    "[摘要]如下",
]


@pytest.mark.parametrize(("draft", "text", "citations"), ACCEPTED)
def test_citation_is_taken_out_and_nothing_else(draft: str, text: str, citations: list[str]) -> None:
    assert parse_draft(draft) == (DraftStatement(text, tuple(citations)),)


@pytest.mark.parametrize(("draft", "written"), REPORTED)
def test_near_miss_is_reported_and_stays_in_the_text(draft: str, written: str) -> None:
    (statement,) = parse_draft(draft)
    assert statement.malformed == (written,)
    assert written.removesuffix("(") in statement.text


@pytest.mark.parametrize("draft", PROSE)
def test_prose_stays_byte_for_byte(draft: str) -> None:
    assert parse_draft(draft) == (DraftStatement(draft, ()),)


def test_unknown_citation_beside_a_known_one_is_kept() -> None:
    assert parse_draft("claim [ID:99] and [ID:7]")[0].malformed == ("[ID:99]", "[ID:7]")
    assert parse_draft("one [C5, C7]")[0].citations == ("C5", "C7")


def test_range_of_a_million_builds_nothing() -> None:
    (statement,) = parse_draft("x [C1-C1000000] [C1-C1000000000000]")  # nobody could build the second
    assert statement.citations == ()
    assert statement.malformed == ("[C1-C1000000]", "[C1-C1000000000000]")


def test_marker_after_the_full_stop_belongs_to_the_sentence_before() -> None:
    assert parse_draft("One is so. [C1] Two is so. [C2]") == (
        DraftStatement("One is so.", ("C1",)),
        DraftStatement("Two is so.", ("C2",)),
    )
    assert parse_draft("甲是乙。[C1]丙是丁。[C2]") == (
        DraftStatement("甲是乙。", ("C1",)),
        DraftStatement("丙是丁。", ("C2",)),
    )


def test_marker_at_the_head_of_a_line_belongs_to_that_line() -> None:
    assert parse_draft("One is so.\n[C2] Two is so.") == (
        DraftStatement("One is so.", ()),
        DraftStatement("Two is so.", ("C2",)),
    )


def test_marker_on_a_line_of_its_own_belongs_to_the_sentence_before() -> None:
    assert parse_draft("One is so.\n[C1]\n\nTwo is so.") == (
        DraftStatement("One is so.", ("C1",)),
        DraftStatement("Two is so.", ()),
    )


def test_each_item_of_a_list_has_its_own_citation() -> None:
    assert [each.citations for each in parse_draft("1. Red [C1]\n2. Blue [C2]\n- Green [C1]")] == [
        ("C1",),
        ("C2",),
        ("C1",),
    ]


def test_near_miss_belongs_to_its_sentence_alone() -> None:
    first, second = parse_draft("One [C1;C2]. Two [C2].")
    assert (first.citations, first.malformed) == ((), ("[C1;C2]",))
    assert (second.citations, second.malformed) == (("C2",), ())


@pytest.mark.parametrize("draft", ["", "  \n", "[C1]", " [C1][C2] \n"])
def test_nothing_said_is_no_statement(draft: str) -> None:
    assert parse_draft(draft) == ()


@given(st.text(alphabet=st.sampled_from("abC1 [](){}.,;\n。、一[]［］【】-"), max_size=60))
def test_any_text_comes_out_in_order_with_only_citations_missing(draft: str) -> None:
    said = "".join(each.text for each in parse_draft(draft))
    assert _is_within("".join(said.split()), "".join(draft.split()))


@given(st.text(alphabet=st.characters(exclude_characters="[［【(（{<cCсСⅽⅭｃＣ†"), max_size=200))
def test_text_without_brackets_round_trips(draft: str) -> None:
    statements = parse_draft(draft)
    assert all(not each.citations and not each.malformed for each in statements)
    assert "".join("".join(each.text for each in statements).split()) == "".join(draft.split())
    assert all(each.text in draft for each in statements)


@pytest.mark.slow  # a ratio of times, which a busy machine can spoil
@pytest.mark.parametrize(
    "piece",
    ["[", "[C1", "[C1,", "C1]", "[C1]", " ", "[ [", "(C1", "[C1][", "［", "a [C", "[Summary of ", "\n["],
)
def test_time_is_linear_in_the_draft(piece: str) -> None:
    def seconds(repeats: int) -> float:
        started = process_time()
        parse_draft(piece * repeats)
        without_forged_markers(piece * repeats)
        return process_time() - started

    small = min(seconds(2_000) for _ in range(2))
    assert (
        min(seconds(16_000) for _ in range(2)) < 30 * small + 0.2
    )  # eight times the text; quadratic would be 64 times


# --- statements to text ------------------------------------------------------------------------


def test_marker_stands_before_the_full_stop() -> None:
    statements = [DraftStatement("Sky is blue.", ("C1", "C2")), DraftStatement("So is the sea.", ("C3",))]
    assert render(statements) == "Sky is blue [C1][C2]. So is the sea [C3]."


def test_chinese_has_no_space_before_a_marker() -> None:
    assert (
        render([DraftStatement("天是蓝的。", ("C1",)), DraftStatement("海也是。", ("C2",))])
        == "天是蓝的[C1]。海也是[C2]。"
    )


def test_without_citations_there_is_no_marker() -> None:
    assert render([DraftStatement("Sky is blue.", ("C1",))], include_citations=False) == "Sky is blue."


def test_items_and_rows_stand_on_their_own_lines() -> None:
    statements = [
        DraftStatement("Colours:", ("C1",)),
        DraftStatement("- red", ("C1",)),
        DraftStatement("| 1 |", ("C2",)),
    ]
    assert render(statements) == "Colours: [C1]\n- red [C1]\n| 1 | [C2]"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("as [C9] says", "as ‹C9› says"),
        ("as 【C9】 says", "as ‹C9› says"),
        ("as [c9] says", "as ‹c9› says"),
        ("as [C9, C10] says", "as ‹C9, C10› says"),
        ("as [С9] says", "as ‹С9› says"),
        ("as [[C9]] says", "as ‹C9› says"),
        ("see [2024] and [1, 2, 3] and (C11)", "see [2024] and [1, 2, 3] and (C11)"),
    ],
)
def test_marker_within_a_statement_is_shown_as_no_marker(text: str, shown: str) -> None:
    assert render([DraftStatement(text, ("C1",))], include_citations=False) == shown
    assert [each.citations for each in parse_draft(render([DraftStatement(text, ("C1",))]))] == [("C1",)]


SENTENCES = st.sampled_from(
    ["Sky is blue.", "- one item", "天是蓝的。", "Is it so?", "| a | b |", "No stop here"]
)
STATEMENTS = st.lists(
    st.builds(
        DraftStatement, SENTENCES, st.lists(st.sampled_from(["C1", "C2", "C31"]), unique=True).map(tuple)
    )
)


@example([DraftStatement(one, ()) for one in [*["Sky is blue."] * 6, "No stop here", "Sky is blue."]])
@given(STATEMENTS)
def test_what_was_rendered_is_read_back(statements: list[DraftStatement]) -> None:
    assert list(parse_draft(render(statements))) == statements


def _is_within(some: str, whole: str) -> bool:
    signs = iter(whole)
    return all(sign in signs for sign in some)
