"""A language model's weights, read here in float32: how likely a text is to them. Needs no engine, no GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ingest.corpus.errors import Unavailable
from service.evaluation.releasing.perplexity import Likelihood


class CausalLanguageModel:
    """Over transformers. Takes 4 bytes of memory a weight, whatever it is stored in."""

    def __init__(self, folder: Path) -> None:
        """:raises Unavailable: if there are no weights and tokenizer that can be loaded without more."""
        # Late, because they take seconds that other commands need not wait.
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            tokenizer: Any = AutoTokenizer.from_pretrained(
                str(folder), trust_remote_code=False, local_files_only=True
            )
            model: Any = AutoModelForCausalLM.from_pretrained(
                str(folder), dtype=torch.float32, trust_remote_code=False, local_files_only=True
            )
            self._encoder = tokenizer.backend_tokenizer
        except Exception as error:  # several libraries, each with its own for what is missing or not for it
            raise _unloadable(folder, error) from error
        self._model = model.eval()
        starts = [one for one in (tokenizer.bos_token_id, tokenizer.eos_token_id) if one is not None]
        if not starts:
            raise _unloadable(folder, ValueError("It names no token that a text begins or ends with."))
        self._start = int(starts[0])  # before the text, so that its first token counts as well
        self._window = int(getattr(model.config, "max_position_embeddings", 0)) or None

    def likelihood(self, text: str, scored_from: int = 0) -> Likelihood:
        """Where a text is longer than the model's window, as much of its beginning is not read.

        :raises ValueError: if nothing follows `scored_from`.
        """
        import torch

        encoding = self._encoder.encode(text, add_special_tokens=False)
        scored = sum(start >= scored_from for start, _ in encoding.offsets)
        if not scored:
            raise ValueError(f"There is no token after {scored_from} of {len(text)} code points.")
        ids = [self._start, *encoding.ids][-(self._window or len(encoding.ids) + 1) :]
        inputs = torch.tensor([ids])
        with torch.inference_mode():
            logits = self._model(inputs, use_cache=False, logits_to_keep=scored + 1).logits[0, :-1]
            nats = torch.nn.functional.cross_entropy(logits.float(), inputs[0, -scored:], reduction="sum")
        return Likelihood(float(nats), scored)


def _unloadable(folder: Path, error: Exception) -> Unavailable:
    return Unavailable(
        f"The language model in {folder} cannot be loaded.",
        why=str(error).strip().partition("\n")[0] or type(error).__name__,
        next_step="Give a folder that transformers loads by itself; for weights in an engine's own format "
        "give finished runs, and --no-perplexity.",
    )
