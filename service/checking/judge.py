"""Does a passage carry a statement? A judge by words and meaning, explainable and without a model of its own.

Whole sentences of the passage are supported outright. Else what `compare` tells of the two is weighed to a
probability by weights that were fitted once (docs/checking.md). It knows no logic beyond cues: numbers and
negation are checked before it is asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from ingest.corpus.script import script_of
from ingest.corpus.seams import Embedder, TokenVectors
from ingest.sentences import sentence_spans
from service.checking.compare import Comparison, compare, shared_form
from service.checking.fitted import Fitted, shipped_judgement
from service.checking.likeness import open_scales
from service.checking.passage import (
    Passage,
    Span,
    excerpt,
    fitting_head,
    read_passage,
    room_of,
    tokens_at,
)
from service.checking.plain import plain_text
from service.seams import Support

REMEMBERED = 16  # texts: an answer's statements cite the same few passages; 0.5 MB each
SIGNS_AROUND = re.compile(r"^[\s>*+•·\-–—#]+|[\s。！？｡!?….;；,，:：*]+$")


class LexicalSemanticJudge:
    """Threads may share it."""

    def __init__(self, embedder: Embedder, fitted: Fitted | None = None) -> None:
        """:param fitted: other weights than those that ship."""
        self._embedder = embedder
        self._fitted = fitted or shipped_judgement()
        self._scales = open_scales(embedder)
        self._read = lru_cache(REMEMBERED)(read_passage)
        self._vectors = lru_cache(REMEMBERED)(self._embedded)
        self.version = self._fitted.version
        self.threshold = self._fitted.threshold

    def support(self, premise: str, claim: str) -> Support:
        if (told := told_at_once(premise, claim)) is not None:
            return told
        found = self.compare(premise, claim)
        return Support(self._fitted.probability(found.features), *found.nearest, _reason(found))

    def compare(self, premise: str, claim: str) -> Comparison:
        """What is weighed. The premise has a sentence, and the claim is not blank."""
        passage = self._read(premise)
        head, kept = fitting_head(claim, self._embedder), self._kept(passage, claim)
        said = tokens_at([(0, len(head))], head, self._vectors(head))
        read = tokens_at(kept, premise, self._vectors(self._joined(premise, kept)))
        scales = self._scales[script_of(claim), script_of(premise)]
        return compare(claim, said, passage, read, scales)

    def embedded_texts(self, premise: str, claim: str) -> tuple[str, str]:
        """What is embedded for `compare`, token by token: whoever has many pairs may do it at once."""
        passage = self._read(premise)
        return fitting_head(claim, self._embedder), self._joined(premise, self._kept(passage, claim))

    def _kept(self, passage: Passage, claim: str) -> tuple[Span, ...]:
        room = room_of(self._embedder)
        return excerpt(passage, shared_form(claim, passage), self._embedder.tokenizer, room)

    def _joined(self, premise: str, kept: Sequence[Span]) -> str:
        return fitting_head("\n".join(premise[start:end] for start, end in kept), self._embedder)

    def _embedded(self, text: str) -> TokenVectors:
        return self._embedder.embed_tokens([text])[0]


def _reason(found: Comparison) -> str:
    told = found.features
    return (
        f"The nearest sentences hold {told['words_near']:.0%} of its words"
        f" and {told['aligned_near']:.0%} of its meaning."
    )


def told_at_once(premise: str, claim: str) -> Support | None:
    """What no judge has to weigh: that there is nothing to compare, or that the claim is a quotation."""
    spans = sentence_spans(premise)
    if not spans or not claim.strip():
        return Support(None, 0, 0, "There is nothing to compare.")
    quoted = quoted_span(premise, claim, spans)
    if quoted is None:
        return None
    return Support(1.0, *quoted, "The statement is a sentence of the passage.")


def quoted_span(premise: str, claim: str, spans: Sequence[Span]) -> Span | None:
    """Where the claim's sentences stand one after the other, each whole, in the premise: the last such place.

    Picked from here and there they would say together what the premise does not. Only rows of a table may
    be passed over: its header and one row say what they say without the rows between.
    """
    texts = [premise[start:end] for start, end in spans]
    there = [_bare(text) for text in texts]
    claimed = [_bare(claim[start:end]) for start, end in sentence_spans(claim)]
    for first in range(len(there) - len(claimed), -1, -1):
        last = _end_of_quote(claimed, there, texts, first)
        if last is not None:
            return spans[first][0], spans[last][1]
    return None


def _end_of_quote(
    claimed: Sequence[str], there: Sequence[str], texts: Sequence[str], first: int
) -> int | None:
    """The place of the last of the claimed sentences, if they stand from `first` on."""
    found = 0
    for place in range(first, len(there)):
        if found < len(claimed) and there[place] == claimed[found]:
            found += 1
            if found == len(claimed):
                return place
        elif not found or "|" not in texts[place]:
            return None
    return None


def _bare(sentence: str) -> str:
    """The sentence without white space, list marks and final stops: what two typesettings of it share.

    Inert (`plain_text`): whoever quotes a passage as it is shown quotes ‹C9› where the document has [C9].
    """
    return "".join(SIGNS_AROUND.sub("", plain_text(sentence)).split())
