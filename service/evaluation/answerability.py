"""Fits the probability that evidence answers a question, with its thresholds, on halves of sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ingest.corpus.script import script_of
from ingest.corpus.seams import Embedder
from service.answerable import FEATURES, WRITTEN, Answerability, Way, features_of
from service.checking.fitted import Fitted
from service.evaluation.asking.cached import CACHE, CachedEmbedder
from service.evaluation.asking.indexed import counter, index_documents
from service.evaluation.asking.scratch import ASKER, scratch_installation
from service.evaluation.fitting import fit_signed
from service.evaluation.refusals import FITTED_HALF, as_question, is_fitting
from service.evaluation.sets.answerable import AnswerableSet, Asked
from service.fit import pack_evidence
from service.follow_up import understood
from service.look_up import look_up
from service.parts import Parts
from service.retrieve import retrieve
from service.settings import ServiceSettings
from service.types import Packed
from service.watch import Watch

# Of the answerable questions that a way is fitted on, so many fall below its threshold: what is likely to be
# refused wrongly for the rest. In another script there is less to go by.
REFUSED_WRONGLY: dict[Way, float] = {"own": 0.05, "abroad": 0.15}
Example = tuple[dict[str, float], bool, str]  # features, whether the documents answer, name of the set


def fit_answerability(
    sets: Sequence[AnswerableSet], settings: ServiceSettings, embedder: Embedder, version: str, watch: Watch
) -> Answerability:
    """A regression and a threshold for each way to an answer and each script of questions."""
    cached = CachedEmbedder(embedder, settings.corpus.home / CACHE)
    examples: dict[str, list[Example]] = defaultdict(list)
    with scratch_installation(settings.without_llm(), cached) as parts:
        for number, one in enumerate(sets):
            _gather(f"{one.name} {number}", one, parts, cached, examples, watch)
    return Answerability(version, {key: _fit(key, examples[key], version) for key in sorted(examples)})


def _gather(
    label: str,
    one: AnswerableSet,
    parts: Parts,
    cached: CachedEmbedder,
    examples: dict[str, list[Example]],
    watch: Watch,
) -> None:
    indexed = index_documents(label, one.documents, parts, cached, watch)
    questions = [asked for asked in one.questions if is_fitting(asked)]
    advance = counter(watch, f"{label}: questions weighed", len(questions))
    for asked in questions:
        packed = _evidence(asked, indexed.collection_id, parts)
        weighed = parts.sufficiency.weigher.weigh(asked.text, packed.evidence)
        across = "-" in asked.language  # then only the passages in the other script can answer
        for way, features in features_of(weighed):
            if across == (way == "abroad"):
                key = f"{way}-{WRITTEN[script_of(asked.text)]}"
                examples[key].append((features, asked.unanswerable is None, one.name))
        advance(1)


def _evidence(asked: Asked, collection_id: str, parts: Parts) -> Packed:
    question = understood(as_question(asked, collection_id))
    fused, _ = retrieve(question, ASKER, parts)
    ranked = look_up(fused, ASKER, parts)
    return pack_evidence(question, ranked, "", parts)[0]


def _fit(key: str, examples: Sequence[Example], version: str) -> Fitted:
    way: Way = "abroad" if key.startswith("abroad") else "own"
    signs = FEATURES[way]
    rows = np.array([[told[name] for name in signs] for told, _, _ in examples])
    truth = np.array([answers for _, answers, _ in examples])
    intercept, weights = fit_signed(rows, truth, tuple(signs.values()))
    probabilities = 1 / (1 + np.exp(-(intercept + rows @ weights)))
    threshold = float(np.quantile(probabilities[truth], REFUSED_WRONGLY[way]))
    return Fitted(
        version=version,
        fitted_on=f"{len(examples):,} questions, {int(truth.sum()):,} of them answerable: {FITTED_HALF}",
        sets=tuple(sorted({name for _, _, name in examples})),
        threshold=round(threshold, 4),
        intercept=round(intercept, 4),
        weights={name: round(float(one), 4) for name, one in zip(signs, weights, strict=True)},
    )
