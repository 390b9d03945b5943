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
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from ingest.corpus.arrays import FloatMatrix, FloatVector, Scores
from ingest.corpus.keywords import Numbers
from ingest.corpus.script import HAN, OTHER, SCRIPTS
from ingest.corpus.seams import Embedder

LANGUAGE_OF = {OTHER: "en", HAN: "zh"}


@dataclass(frozen=True, slots=True)
class Probe:
    """A question made ready: nearness is then one inner product, less what the passage's script takes off."""

    vector: FloatVector  # shape (D,)
    common: Scores  # shape (scripts,)

    def nearness(self, products: Scores, scripts: Numbers) -> Scores:
        """Of texts with these inner products with `vector`, in these scripts; shape (texts,)."""
        return products - self.common[scripts]


@dataclass(frozen=True, slots=True)
class Background:
    means: FloatMatrix  # shape (scripts, D): the mean vector of the unrelated sentences of each script

    def probe(self, question: FloatVector, script: int) -> Probe:
        mean = self.means[script]
        common = self.means.astype(np.float64) @ question + float(mean @ mean) / 2
        return Probe(2 * question - mean / 2, common)


def open_background(embedder: Embedder) -> Background:
    """From the sentences that are part of this package, one a line."""
    return Background(np.stack([_mean(embedder, LANGUAGE_OF[script]) for script in range(SCRIPTS)]))


def _mean(embedder: Embedder, language: str) -> FloatVector:
    sentences = files("service").joinpath("unrelated", f"{language}.txt").read_text("utf-8").splitlines()
    mean: FloatVector = embedder.embed_passages(sentences).mean(axis=0)
    return mean
