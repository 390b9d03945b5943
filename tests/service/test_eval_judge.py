"""Claims are read, a judge is fitted on one half and measured on the other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ingest.corpus.errors import InvalidInput
from service.checking.compare import FEATURES
from service.checking.fitted import read_fitted, shipped_judgement
from service.checking.judge import LexicalSemanticJudge
from service.evaluation.fitting import best_threshold, fit_judge, fit_logistic, fit_signed, written
from service.evaluation.judging import evaluate_judge
from service.evaluation.report.judge_page import judge_page
from service.evaluation.sets.claims import Claim, ClaimSet, fitting_half, other_half, read_claims
from service.seams import Support
from tests.contracts.tiny_cross_encoder import save_tiny
from tests.fakes import HashEmbedder
from tests.service.test_cli_commands import command_line

COMPANY = Path(__file__).parents[2] / "eval_sets" / "claims_company"
ROW = {"id": "a", "claim": "It is red [4].", "evidence": "It is red.", "label": "supported", "lang": "en"}


def unwatched(doing: str, done: int, of: int) -> None:
    """Nobody watches."""


def written_set(folder: Path, *rows: object) -> Path:
    (folder / "claims.jsonl").write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return folder


class Lengths:
    """Scores a claim by a number in it; cannot tell where there is none."""

    version, threshold = "lengths", 0.5

    def support(self, premise: str, claim: str) -> Support:
        score = float(claim) if claim else None
        return Support(score, 0, len(premise), "by number")


# --- reading -----------------------------------------------------------------------------------


def test_a_claim_is_read_without_its_own_citation_marks(tmp_path: Path) -> None:
    found = read_claims(written_set(tmp_path, ROW, {**ROW, "id": "b", "claim": "国发[2024]15号有效[12]。"}))
    assert found.name == tmp_path.name
    assert found.claims[0] == Claim("a", "It is red.", "It is red.", True, "en")
    assert found.claims[1].text == "国发[2024]15号有效。"


@pytest.mark.parametrize(
    ("label", "supported"),
    [("supported", True), ("partially_supported", False), ("not_supported", False), ("contradicted", False)],
)
def test_only_what_is_supported_whole_is_supported(tmp_path: Path, label: str, supported: bool) -> None:
    (claim,) = read_claims(written_set(tmp_path, {**ROW, "label": label})).claims
    assert claim.supported is supported


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({**ROW, "label": "maybe"}, "'maybe'"),
        ({**ROW, "claim": 3}, "are texts"),
        ({"id": "a"}, "KeyError"),
        ([1], "TypeError"),
        ({**ROW, "evidence": "It is \ud800."}, "half a character"),
    ],
)
def test_a_line_that_is_no_claim_is_named(tmp_path: Path, row: object, why: str) -> None:
    with pytest.raises(InvalidInput, match=r"Line 2 of .*claims\.jsonl") as caught:
        read_claims(written_set(tmp_path, ROW, row))
    assert why in str(caught.value.why)


def test_a_folder_without_claims_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no claims\.jsonl"):
        read_claims(tmp_path)


def test_halves_are_disjoint_and_claims_about_one_text_stay_together() -> None:
    claims = read_claims(COMPANY).claims
    fitting, other = fitting_half(claims), other_half(claims)
    assert len(fitting) + len(other) == len(claims)
    topics = [{claim.id.partition("/")[0] for claim in half} for half in (fitting, other)]
    assert topics[0]
    assert topics[1]
    assert topics[0].isdisjoint(topics[1])


def test_the_company_set_has_traps_in_both_languages_and_across() -> None:
    claims = read_claims(COMPANY).claims
    assert {claim.language for claim in claims} == {"en", "zh", "en-zh", "zh-en"}
    assert len({claim.id for claim in claims}) == len(claims)
    for language in ("en", "zh", "en-zh", "zh-en"):
        supported = [claim.supported for claim in claims if claim.language == language]
        assert 0.35 < sum(supported) / len(supported) < 0.65


# --- measuring ---------------------------------------------------------------------------------


def claims(*said: tuple[str, bool], language: str = "en") -> ClaimSet:
    return ClaimSet(
        "some", tuple(Claim(str(n), text, "It.", yes, language) for n, (text, yes) in enumerate(said))
    )


def test_figures_are_those_of_the_scores_and_what_cannot_be_told_is_not_supported() -> None:
    some = claims(("0.9", True), ("0.6", True), ("0.7", False), ("0.2", False), ("", False))
    (row,) = evaluate_judge([some], "rules", Lengths(), "nothing", (), unwatched)
    assert (row.set, row.lang, row.judge, row.items, row.part) == ("some", "en", "rules", 5, "all")
    assert row.auroc == pytest.approx(5 / 6)
    assert row.balanced_accuracy == pytest.approx((1 + 2 / 3) / 2)
    assert row.f1 == pytest.approx(4 / 5)
    assert row.accuracy == pytest.approx(4 / 5)
    assert row.auroc_ci is not None
    assert row.auroc_ci[0] <= row.auroc <= row.auroc_ci[1]
    assert row.fitted_on == "nothing"


def test_a_fitted_set_is_measured_on_the_half_that_was_not_fitted_on() -> None:
    some = claims(*(("0.5", n % 3 == 0) for n in range(40)))
    (row,) = evaluate_judge([some], "rules", Lengths(), "half of some", ("some",), unwatched)
    assert row.items == len(other_half(some.claims)) < 40
    assert "half" in row.part


def test_languages_are_rows_of_their_own_and_one_class_has_no_auroc() -> None:
    some = ClaimSet("some", (*claims(("0.9", True)).claims, *claims(("0.1", False), language="zh").claims))
    rows = evaluate_judge([some], "rules", Lengths(), "", (), unwatched)
    assert [(row.lang, row.items, row.auroc, row.auroc_ci) for row in rows] == [
        ("en", 1, None, None),
        ("zh", 1, None, None),
    ]
    page = judge_page(rows)
    assert page.count("<svg") == 2
    assert "<script" not in page


def test_a_hostile_name_does_nothing_in_the_page() -> None:
    some = ClaimSet("<img src=x>", claims(("0.9", True), ("0.3", False)).claims)
    page = judge_page(evaluate_judge([some], "rules", Lengths(), "<b>", (), unwatched))
    assert "<img" not in page
    assert "<b>" not in page


# --- fitting -----------------------------------------------------------------------------------


def test_logistic_regression_finds_the_weights_that_made_the_data() -> None:
    draws = np.random.default_rng(7)
    features = draws.normal(size=(4000, 3)) * [1.0, 5.0, 1.0] + [0.0, 2.0, 0.0]
    chance = 1 / (1 + np.exp(-(0.5 + features @ [1.5, -0.4, 0.0])))
    intercept, weights = fit_logistic(features, draws.random(4000) < chance)
    np.testing.assert_allclose([intercept, *weights], [0.5, 1.5, -0.4, 0.0], atol=0.15)


def test_a_feature_that_never_changes_has_no_weight_and_one_that_tells_all_stays_finite() -> None:
    truth = np.array([True, False] * 20)
    _, weights = fit_logistic(np.column_stack([np.ones(40), truth]).astype(float), truth)
    assert weights[0] == 0
    assert 0 < weights[1] < 50


def test_a_feature_that_points_against_reason_is_left_out() -> None:
    draws = np.random.default_rng(7)
    features = draws.normal(size=(2000, 2))
    truth = draws.random(2000) < 1 / (1 + np.exp(-(features @ [1.5, -1.0])))
    _, free = fit_signed(features, truth, (0, 0))
    assert free[1] < -0.5
    _, signed = fit_signed(features, truth, (1, 1))
    assert signed[0] > 1
    assert signed[1] == 0
    assert fit_signed(features, truth, (-1, 1))[1].tolist() == [0, 0]


def test_the_threshold_is_the_highest_of_the_best() -> None:
    truth, probabilities = np.array([False, False, True, True]), np.array([0.1, 0.2, 0.6, 0.9])
    assert best_threshold(truth, probabilities) == 0.6


def test_a_fit_on_the_company_set_is_written_read_and_better_than_chance() -> None:
    judge = LexicalSemanticJudge(HashEmbedder())
    whole = read_claims(COMPANY)
    english = ClaimSet(whole.name, tuple(claim for claim in whole.claims if claim.language == "en"))
    fitted = fit_judge(
        [english], judge, {"words_near": 1, "facts_missing": -1, "denies_alone": -1}, "try", unwatched
    )
    assert read_fitted(written(fitted)) == fitted
    assert (fitted.version, fitted.sets) == ("try", ("claims_company",))
    assert fitted.weights["facts_missing"] < 0


# --- the command -------------------------------------------------------------------------------


def test_the_command_prints_rows_writes_plots_and_fits(tmp_path: Path) -> None:
    citeward = command_line(tmp_path / "home")
    page, weights = tmp_path / "judge.html", tmp_path / "mine-1.json"
    found = citeward.done("eval", "judge", str(COMPANY), "--out", str(page))
    assert [(row["set"], row["lang"], row["judge"]) for row in found["rows"]] == [
        ("claims_company", language, "rules") for language in ("en", "en-zh", "zh", "zh-en")
    ]
    assert found["versions"]["judge"] == shipped_judgement().version
    assert page.read_text("utf-8").count("<svg") == 4
    assert citeward("eval", "judge", str(COMPANY), "--fit", str(weights)).code == 0
    fitted = read_fitted(weights.read_text("utf-8"))
    assert (fitted.version, fitted.sets) == ("mine-1", ("claims_company",))
    assert all(weight * FEATURES[name] > 0 for name, weight in fitted.weights.items())


def test_a_folder_without_claims_is_refused_by_the_command(tmp_path: Path) -> None:
    assert command_line(tmp_path / "home")("eval", "judge", str(tmp_path)).code != 0


def test_a_judge_that_a_setting_names_is_measured_in_place_of_the_built_in_one(tmp_path: Path) -> None:
    model = save_tiny(tmp_path / "inference", ("entailment", "neutral", "contradiction"))
    citeward = command_line(tmp_path / "home", judge=str(model))
    found = citeward.done("eval", "judge", str(COMPANY))
    assert {row["judge"] for row in found["rows"]} == {"nli"}
    assert sum(row["items"] for row in found["rows"]) == len(read_claims(COMPANY).claims)
    assert found["versions"]["judge"].startswith("cross-encoder:inference@")
