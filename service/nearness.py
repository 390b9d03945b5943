"""How near a text is to a question, beyond what any two texts are.

An inner product says little by itself. With the default embedder "Hello" comes to .83 with most things, any
Chinese text is nearer to a Chinese question than the English one that answers it, and some short texts are
near to everything. So what unrelated texts have in common is taken off, as cross-domain similarity local
scaling does (Conneau et al. 2018, arXiv:1710.04087), here against a fixed set of unrelated sentences:

    nearness(q, p) = 2 q·p - q·m(script of p) - (p·m(script of q) + |m(script of q)|²) / 2

where m(s) is the mean vector of the unrelated sentences of script s. Texts that have nothing to do with a
question come to about 0; a sentence that answers it has .1 to .3 with the default embedder. What the
passage has in common with everything counts half: on xquad the whole of it costs .005 of MRR@10 where
passages of both scripts compete, none of it .05 across scripts. The sentences are the same in both
languages, so that the scripts differ in nothing else, and they are of no collection, so that no figure
tells anything of texts that a reader may not read.

A translation is as good an answer, and not as near: with the default embedder a sentence has .34 with itself,
.21 with its translation into Chinese. Where passages of both scripts compete, `compared` makes up for that by
the ratio of the two means over the same sentences. Whether a text answers at all is told by nearness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

import numpy as np

from ingest.corpus.arrays import FloatMatrix, FloatVector, Scores
from ingest.corpus.keywords import Numbers
from ingest.corpus.script import HAN, OTHER, SCRIPTS
from ingest.corpus.seams import Embedder

LANGUAGE_OF = {OTHER: "en", HAN: "zh"}
# To an embedder that reads both languages, a translation is at least half as near as the sentence itself.
READS_BOTH = 0.5


@dataclass(frozen=True, slots=True)
class Probe:
    """A question made ready: nearness is then one inner product, less what the passage's script takes off."""

    vector: FloatVector  # shape (D,)
    common: Scores  # shape (scripts,)
    scale: Scores  # shape (scripts,): 1 for the question's own

    def nearness(self, products: Scores, scripts: Numbers) -> Scores:
        """Of texts with these inner products with `vector`, in these scripts; shape (texts,)."""
        return products - self.common[scripts]

    def compared(self, products: Scores, scripts: Numbers) -> Scores:
        """Nearness by which texts in several scripts can be put into one order; shape (texts,)."""
        return self.nearness(products, scripts) * self.scale[scripts]


@dataclass(frozen=True, slots=True)
class Background:
    means: FloatMatrix  # shape (scripts, D): the mean vector of the unrelated sentences of each script
    scales: Scores  # shape (scripts, scripts): what `compared` multiplies by, asked in the first

    def probe(self, question: FloatVector, script: int) -> Probe:
        mean = self.means[script]
        common = self.means.astype(np.float64) @ question + float(mean @ mean) / 2
        return Probe(2 * question - mean / 2, common, self.scales[script])


def open_background(embedder: Embedder) -> Background:
    """From the sentences that are part of this package, one a line, each the translation of the other's."""
    sentences = [_sentences(LANGUAGE_OF[script]) for script in range(SCRIPTS)]
    passages = [embedder.embed_passages(each) for each in sentences]
    plain = Background(np.stack([each.mean(axis=0) for each in passages]), np.ones((SCRIPTS, SCRIPTS)))
    asked = [
        [plain.probe(embedder.embed_query(one), at) for one in each] for at, each in enumerate(sentences)
    ]
    return replace(plain, scales=_scales(asked, passages))


def _scales(asked: Sequence[Sequence[Probe]], passages: Sequence[FloatMatrix]) -> Scores:
    """By the script of the question and of the passage; both of the same sentences in the same order."""
    near = np.array([[_mean_nearness(of, to, at) for at, to in enumerate(passages)] for of in asked])
    own = near.diagonal()[:, np.newaxis]
    scales: Scores = np.divide(own, near, out=np.ones_like(near), where=near > READS_BOTH * own)
    return scales


def _mean_nearness(asked: Sequence[Probe], passages: FloatMatrix, script: int) -> float:
    products = [text.astype(np.float64) @ probe.vector for probe, text in zip(asked, passages, strict=True)]
    return float(np.mean(products) - np.mean([probe.common[script] for probe in asked]))


def _sentences(language: str) -> list[str]:
    return files("service").joinpath("unrelated", f"{language}.txt").read_text("utf-8").splitlines()
