"""Two texts read together by a sentence-transformers cross-encoder: a local folder or a hub id."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ingest.corpus.arrays import FloatMatrix
from ingest.corpus.errors import OverBudget, Unavailable
from ingest.corpus.tokenizer import FastTokenizer
from service.engine.weights import DIGITS, revision

NEXT_STEP = "Name a folder or a hub id of a sequence classifier that needs no code of its own."
LONGEST = 8192  # tokens; a model that names no limit has one all the same, and memory has


class CrossEncoderModel:
    """Meets `PairModel`. Computes in float32; threads may share it."""

    def __init__(self, model: str | Path) -> None:
        """:raises Unavailable: if it cannot be loaded, or is no sequence classifier."""
        self._model = _load(model)
        inner: Any = self._model.model
        if inner is None or not type(inner).__name__.endswith("ForSequenceClassification"):
            raise _unloadable(model, f"It is a {type(inner).__name__}, no sequence classifier.")
        config, tokenizer = inner.config, self._model.tokenizer
        tokenizer.split_special_tokens = True  # what a text spells is text
        self.tokenizer = FastTokenizer(tokenizer.backend_tokenizer.to_str())
        self.special_tokens = int(tokenizer.num_special_tokens_to_add(pair=True))
        self.max_tokens = _limit(config, tokenizer)
        self.labels = tuple(str(config.id2label[number]) for number in range(int(config.num_labels)))
        self.version = _version(model, config)

    def logits(self, pairs: Sequence[tuple[str, str]]) -> FloatMatrix:
        if not pairs:
            return np.zeros((0, len(self.labels)), dtype=np.float32)
        self._require_fitting(pairs)
        found: Any = self._model.predict(
            list(pairs), batch_size=len(pairs), activation_fn=_as_it_is, show_progress_bar=False
        )
        return np.asarray(found, dtype=np.float32).reshape(len(pairs), len(self.labels))

    def _require_fitting(self, pairs: Sequence[tuple[str, str]]) -> None:
        """The library would cut without a word."""
        counts = self.tokenizer.counts([text for pair in pairs for text in pair])
        longest = max(np.add(counts[::2], counts[1::2])) + self.special_tokens
        if longest > self.max_tokens:
            raise OverBudget(
                f"A pair of {longest} tokens cannot be read.",
                why=f"The cross-encoder takes {self.max_tokens} tokens, special tokens included.",
                next_step="Cut one of the two texts to windows.",
            )


def _load(model: str | Path) -> Any:
    # Late, because it brings torch along: seconds that commands without a model need not wait.
    from sentence_transformers import CrossEncoder
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        loaded = CrossEncoder(str(model), trust_remote_code=False, local_files_only=isinstance(model, Path))
        return loaded.float().eval()
    except Exception as error:  # three libraries, each with its own for a missing, damaged or unfit model
        raise _unloadable(model, str(error).strip().partition("\n")[0] or type(error).__name__) from error


def _as_it_is(logits: Any) -> Any:
    return logits


def _limit(config: Any, tokenizer: Any) -> int:
    """Tokens of one sequence. Where positions are counted from the padding's on, those before are no room."""
    positions = getattr(config, "max_position_embeddings", None) or LONGEST
    if "roberta" in config.model_type:
        positions -= config.pad_token_id + 1
    return int(min(positions if positions > 0 else LONGEST, tokenizer.model_max_length, LONGEST))


def _version(model: str | Path, config: Any) -> str:
    if isinstance(model, Path):
        return f"cross-encoder:{model.name}@{revision(model)}"
    return f"cross-encoder:{model}@{str(getattr(config, '_commit_hash', None))[:DIGITS]}"


def _unloadable(model: str | Path, why: str) -> Unavailable:
    return Unavailable(f"The cross-encoder {str(model)!r} cannot be loaded.", why=why, next_step=NEXT_STEP)
