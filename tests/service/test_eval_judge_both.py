"""Three judges over the same claims: figures, paired gains, a combination fitted, and runs that go on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from pathlib import Path

import pytest

from ingest.corpus.errors import ModelBadOutput, ModelUnavailable
from ingest.corpus.settings import CorpusSettings
from service.checking.asked import AskedJudge
from service.checking.both import BothJudges
from service.checking.fitted import read_fitted, shipped_combination, shipped_judgement
from service.evaluation.asking.remembered import RememberedChooser
from service.evaluation.fitting import fit_combination, written
from service.evaluation.judging import Kind, evaluate_judge
from service.evaluation.judging_both import MeasuredJudge, evaluate_both
from service.evaluation.scoring.classification import auroc
from service.evaluation.sets.claims import Claim, ClaimSet, fitting_half, other_half
from service.seams import Support
from service.settings import ServiceSettings
from service.types import Message
from tests.contracts.real_models import llm_folder
from tests.fakes import WordChatTokenizer
from tests.scripted_engine import Reply, scripted_engine
from tests.service.test_cli_commands import CommandLine
from tests.service.test_eval_judge import COMPANY, unwatched
from tests.service.test_vllm_choice import answer

FITTED_ON: dict[Kind, str] = {"rules": "some", "llm": "none", "both": "others"}


class First:
    """A judge by rules: a claim is "0.9 0.2", and this score the first of the two."""

    version, threshold = "first", 0.5

    def support(self, premise: str, claim: str) -> Support:
        return Support(float(claim.split()[0]), 0, len(premise), "by number")


@dataclass
class Second:
    """A language model for which the second number is the probability; a claim with none has no answer."""

    version: str = "second"
    asked: list[str] = field(default_factory=list)
    gone: bool = False

    def choose(
        self, messages: Sequence[Message], answers: Sequence[str], salt: str = ""
    ) -> Mapping[str, float]:
        assert tuple(answers) == ("yes", "no")
        assert not salt
        if self.gone:
            raise ModelUnavailable("It is gone.")
        claim = messages[-1].content.partition("<statement")[2].partition(">\n")[2].partition("\n")[0]
        self.asked.append(claim)
        if len(claim.split()) < 2:
            raise ModelBadOutput("It babbles.")
        yes = float(claim.split()[1])
        return {"yes": log(yes), "no": log(1 - yes)}


def judges(chooser: Second | RememberedChooser) -> BothJudges:
    return BothJudges(First(), AskedJudge(chooser, WordChatTokenizer(), b"secret"))


def claim_set(*said: tuple[str, bool], language: str = "en", name: str = "some") -> ClaimSet:
    return ClaimSet(
        name, tuple(Claim(str(n), text, "It.", yes, language) for n, (text, yes) in enumerate(said))
    )


SAID = (
    ("0.9 0.9", True),
    ("0.8 0.7", True),
    ("0.6 0.95", True),
    ("0.55 0.4", True),
    ("0.2 0.99", True),
    ("0.7 0.1", False),
    ("0.85 0.05", False),
    ("0.3 0.8", False),
    ("0.1 0.2", False),
    ("0.75", False),
)


# --- measuring ---------------------------------------------------------------------------------


def test_rows_of_each_alone_and_of_both_are_over_the_same_claims_with_what_both_gain() -> None:
    chooser = Second()
    rules, llm, both = evaluate_both([claim_set(*SAID)], judges(chooser), FITTED_ON, (), unwatched)
    assert [row.judge for row in (rules, llm, both)] == ["rules", "llm", "both"]
    assert {row.items for row in (rules, llm, both)} == {len(SAID)} == {len(chooser.asked)}
    assert [row.fitted_on for row in (rules, llm, both)] == ["some", "none", "others"]
    assert [row.unknown for row in (rules, llm, both)] == [0, 1, 1]
    truth = [yes for _, yes in SAID]
    assert rules.auroc == auroc(truth, [float(text.split()[0]) for text, _ in SAID])
    assert llm.auroc == pytest.approx(auroc(truth, [0.9, 0.7, 0.95, 0.4, 0.99, 0.1, 0.05, 0.8, 0.2, 0]))
    assert both.auroc is not None
    assert both.auroc > max(rules.auroc or 1, llm.auroc or 1)
    assert both.gain_over_rules == pytest.approx(both.auroc - (rules.auroc or 0))
    assert both.gain_over_llm == pytest.approx(both.auroc - (llm.auroc or 0))
    for gain, within in (
        (both.gain_over_rules, both.gain_over_rules_ci),
        (both.gain_over_llm, both.gain_over_llm_ci),
    ):
        assert within is not None
        assert -1 <= within[0] <= (gain or 0) <= within[1] <= 1
    assert rules.gain_over_llm is llm.gain_over_rules_ci is None


def test_gains_are_of_the_same_claims_and_so_of_two_that_agree_exactly_nothing() -> None:
    some = claim_set(*((f"{n / 20} {n / 20}", n % 3 > 0) for n in range(10, 20)))
    *_, both = evaluate_both([some], judges(Second()), FITTED_ON, (), unwatched)
    assert (both.gain_over_rules, both.gain_over_rules_ci) == (0, (0, 0))
    assert (both.gain_over_llm, both.gain_over_llm_ci) == (0, (0, 0))


def test_languages_are_apart_and_one_without_both_classes_has_no_gain() -> None:
    some = ClaimSet("some", (*claim_set(*SAID).claims, *claim_set(("0.9 0.9", True), language="zh").claims))
    rows = evaluate_both([some], judges(Second()), FITTED_ON, (), unwatched)
    assert [(row.lang, row.judge, row.items) for row in rows] == [
        *(("en", kind, 10) for kind in ("rules", "llm", "both")),
        *(("zh", kind, 1) for kind in ("rules", "llm", "both")),
    ]
    assert rows[-1].gain_over_rules is rows[-1].gain_over_rules_ci is None


def test_the_first_claims_are_those_of_the_half_that_is_reported_whatever_their_order() -> None:
    said = [(f"0.5 0.{n}1", n % 2 == 0) for n in range(1, 40)]
    some = claim_set(*said)
    reported = {claim.text for claim in other_half(some.claims)}
    asked = []
    for claims in (some.claims, some.claims[::-1]):
        chooser = Second()
        rows = evaluate_both(
            [ClaimSet("some", claims)], judges(chooser), FITTED_ON, ("some",), unwatched, most=7
        )
        assert {row.items for row in rows} == {7}
        assert rows[0].part == "the half that nothing was fitted on, the first 7 by sha256 of the id"
        asked.append(chooser.asked)
    assert asked[0] == asked[1]
    assert set(asked[0]) < reported
    more = Second()
    evaluate_judge([some], "llm", MeasuredJudge(judges(more).asked), "", ("some",), unwatched, most=9)
    assert more.asked[:7] == asked[0]
    (row,) = evaluate_judge([some], "rules", First(), "", (), unwatched, most=10_000)
    assert (row.items, row.part) == (len(said), "all")


def test_an_engine_that_is_gone_is_an_error_and_no_figure() -> None:
    with pytest.raises(ModelUnavailable):
        evaluate_both([claim_set(*SAID)], judges(Second(gone=True)), FITTED_ON, (), unwatched)


# --- fitting -----------------------------------------------------------------------------------


def hard_set(count: int = 400) -> ClaimSet:
    """Both tell something; what neither may lift is among it."""
    scores = [((n * 37 % 97 + 1) / 99, (n * 61 % 89 + 1) / 91) for n in range(count)]
    return claim_set(*((f"{one} {other}", one + 2 * other > 1.6) for one, other in scores))


def test_a_combination_is_fitted_on_one_half_and_weighs_more_who_tells_more() -> None:
    chooser = Second()
    some = hard_set()
    fitted = fit_combination([some], judges(chooser), "both-9", unwatched)
    assert set(chooser.asked) == {claim.text for claim in fitting_half(some.claims)}
    assert read_fitted(written(fitted)) == fitted
    assert (fitted.version, fitted.sets) == ("both-9", ("some",))
    assert fitted.fitted_on.startswith(f"{len(fitting_half(some.claims))} claims: the even half")
    assert fitted.weights["asked"] > fitted.weights["rules"] > 0
    few = Second()
    shorter = fit_combination([some], judges(few), "both-9", unwatched, most=50)
    assert len(few.asked) == 50
    assert "the first 50 by it" in shorter.fitted_on


def test_a_claim_that_one_of_them_could_not_tell_is_not_fitted_on() -> None:
    some = hard_set(100)
    unknown = tuple(Claim(f"u{n}", "0.9", "It.", False, "en") for n in range(40))
    with_unknown = ClaimSet("some", (*some.claims, *unknown))
    with_them, without = (
        fit_combination([one], judges(Second()), "both-9", unwatched) for one in (with_unknown, some)
    )
    assert with_them == without


def test_the_combination_that_ships_lets_each_count_the_same() -> None:
    shipped = shipped_combination()
    assert shipped.weights == {"rules": 0.5, "asked": 0.5}
    assert (shipped.intercept, shipped.threshold, shipped.sets) == (0.0, 0.5, ())


# --- runs that go on ---------------------------------------------------------------------------


def test_what_was_answered_is_not_asked_again_and_a_failure_is(tmp_path: Path) -> None:
    chooser = Second()
    first = evaluate_both(
        [claim_set(*SAID[5:])], judges(RememberedChooser(chooser, tmp_path)), FITTED_ON, (), unwatched
    )
    assert len(chooser.asked) == 5
    again = evaluate_both(
        [claim_set(*SAID)], judges(RememberedChooser(chooser, tmp_path)), FITTED_ON, (), unwatched
    )
    assert sorted(chooser.asked[5:]) == sorted([*(text for text, _ in SAID[:5]), "0.75"])
    assert again == evaluate_both([claim_set(*SAID)], judges(Second()), FITTED_ON, (), unwatched)
    assert len(first) == 3


def test_another_model_another_prompt_and_other_words_are_asked_anew(tmp_path: Path) -> None:
    asked = (Message("system", "Judge."), Message("user", "<statement>\n0 0.5\n</statement>"))
    other = (Message("system", "Judge well."), asked[1])
    chooser, newer = Second(), Second(version="newer")
    for inner, messages in ((chooser, asked), (chooser, asked), (chooser, other), (newer, asked)):
        found = RememberedChooser(inner, tmp_path).choose(messages, ("yes", "no"))
        assert found == {"yes": log(0.5), "no": log(0.5)}
    assert (len(chooser.asked), len(newer.asked)) == (2, 1)


# --- the command -------------------------------------------------------------------------------


def test_the_command_measures_all_three_and_a_stopped_run_goes_on(tmp_path: Path) -> None:
    model = str(llm_folder("smollm2-135m-instruct"))
    reply = Reply([json.dumps(answer(model=model)).encode()])
    command = ("eval", "judge", str(COMPANY), "--judge", "both", "--most", "3")
    with scripted_engine(reply) as engine:
        settings = ServiceSettings(
            corpus=CorpusSettings(home=tmp_path / "home"), llm=model, engine_url=engine.url
        )
        citeward = CommandLine(settings)
        found = citeward.done(*command)
        asked = len(engine.asked)
    rows = found["rows"]
    assert 0 < asked <= 3
    assert [row["judge"] for row in rows[:3]] == ["rules", "llm", "both"]
    assert sum(row["items"] for row in rows if row["judge"] == "both") == 3
    assert {"gain_over_rules", "gain_over_rules_ci", "gain_over_llm", "gain_over_llm_ci"} <= rows[0].keys()
    assert all(
        name in found["versions"]["judge"] for name in ("both-", shipped_judgement().version, "judge.v1")
    )
    assert citeward.done(*command) == found  # the engine is gone, and not needed
    table, page = citeward(*command, "--out", str(tmp_path / "judge.html")), tmp_path / "judge.html"
    assert "AUROC over rules" in table.out
    assert page.read_text("utf-8").count("<svg") == len(rows)
    more = citeward(*command[:-1], "200")
    assert more.code == 1
    assert "cannot be asked" in more.err
    (llm, *_) = citeward.done(*command[:4], "llm", "--most", "3")["rows"]
    assert llm["judge"] == "llm"


def test_the_command_says_what_is_missing_and_what_cannot_be_fitted(tmp_path: Path) -> None:
    plain = CommandLine(ServiceSettings(corpus=CorpusSettings(home=tmp_path / "home")))
    no_model = plain("eval", "judge", str(COMPANY), "--judge", "both")
    assert no_model.code == 2
    assert "CITEWARD_LLM" in no_model.err
    nothing = plain("eval", "judge", str(COMPANY), "--judge", "llm", "--fit", str(tmp_path / "x.json"))
    assert nothing.code == 2
    assert "nothing to fit" in nothing.err
    assert not (tmp_path / "x.json").exists()
