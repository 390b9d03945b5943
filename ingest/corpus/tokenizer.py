"""Text to the tokens of a model, by that model's own `tokenizer.json`.

Special tokens that stand in a text ("<|endoftext|>", "<s>") are tokenized as the text they are, as far as the
vocabulary can spell them; none of them is ever an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import tokenizers

from ingest.corpus.errors import Unavailable


class FastTokenizer:
    """Counts and spans over the `tokenizers` library. It never changes once made, so threads may share it."""

    def __init__(self, definition: str) -> None:
        """:param definition: the text of a tokenizer.json; padding and truncation in it are left aside."""
        self._tokenizer = tokenizers.Tokenizer.from_str(definition)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True

    def count(self, text: str) -> int:
        return self.counts([text])[0]

    def counts(self, texts: Sequence[str], *, special_tokens: bool = False) -> list[int]:
        """Tokens of each text, in order; with those that the model puts around a text if `special_tokens`."""
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=special_tokens)
        return [len(encoding) for encoding in encodings]

    def spans(self, text: str, *, special_tokens: bool = False) -> Sequence[tuple[int, int]]:
        """(start, end) in code points; if `special_tokens`, (0, 0) for those around a text.

        Starts and ends never go back, but tokens may share code points: one character can be two tokens, and
        the mark of a word's beginning lies within its first character.
        """
        return self._tokenizer.encode(text, add_special_tokens=special_tokens).offsets


def load_tokenizer(path: Path) -> FastTokenizer:
    """:raises Unavailable: if there is no such file."""
    if not path.is_file():
        raise Unavailable(
            f"There is no tokenizer at {path}.",
            why="Tokens are counted by the model's own tokenizer, never guessed.",
            next_step="Put the model's tokenizer.json there, or run `citeward models pull NAME`.",
        )
    return FastTokenizer(path.read_text(encoding="utf-8"))
