"""Messages to the very tokens that the engine makes of them: the model's own tokenizer and chat template."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.corpus.errors import CitewardError, Unavailable
from ingest.corpus.settings import variable
from service.types import Message

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

BRACKETS = frozenset("<>[]{}|｜")
PROBE = (Message("system", "s"), Message("user", "u"))


def folder_of(model: str | Path) -> Path:
    """Where a model's files lie: the folder itself, or a hub id's snapshot in the local cache.

    :raises Unavailable: if they are not here.
    """
    if isinstance(model, Path):
        return model
    from transformers.utils.hub import cached_file  # late, as in `_load`

    try:
        return Path(str(cached_file(model, "config.json"))).parent
    except OSError as error:
        raise _unloadable(model, str(error)) from error


class TemplateTokenizer:
    """Over transformers, as vLLM is. It never changes once made, so threads may share it."""

    def __init__(self, model: str | Path) -> None:
        """:param model: a model folder, or a hub id.

        :raises Unavailable: if there is no tokenizer, or none with a chat template that takes a system text.
        """
        self._tokenizer = _load(model)
        # Encoding goes past transformers, which sets these two at each call, and so is not for many threads.
        self._encoder: Tokenizer = self._tokenizer.backend_tokenizer
        self._encoder.no_truncation()
        self._encoder.no_padding()
        added = self._tokenizer.get_added_vocab()
        special = set(self._tokenizer.all_special_tokens) | _marked_special(self._tokenizer)
        # A tag that is not marked special, as <tool_call>, is structure to the model too; a run of blanks or
        # a word that was added to the vocabulary is text.
        self.control_tokens = {
            text: int(number)
            for text, number in added.items()
            if text.strip() and (text in special or BRACKETS & set(text))
        }
        try:
            self.ids(PROBE)
        except Exception as error:  # a template is a program of its own, and may raise whatever it likes
            raise _no_template(model, str(error)) from error
        self.version = f"{Path(model).name}@{self._digest()}"

    def count(self, text: str) -> int:
        return len(self._encode(text))

    def ids(self, messages: Sequence[Message]) -> Sequence[int]:
        turns = [{"role": one.role, "content": one.content} for one in messages]
        # In two steps, as the engine does it: what the template writes is encoded as it stands.
        text = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return self._encode(str(text))

    def _encode(self, text: str) -> list[int]:
        return list(self._encoder.encode(text, add_special_tokens=False).ids)

    def _digest(self) -> str:
        """12 hex digits over what decides the tokens of a prompt."""
        parts = f"{self._encoder.to_str()}\0{self._tokenizer.chat_template}"
        return hashlib.sha256(parts.encode()).hexdigest()[:12]


def _load(model: str | Path) -> PreTrainedTokenizerBase:
    # Late, because it takes seconds that a service without a language model need not wait.
    from transformers import AutoTokenizer

    try:
        # None of a model's own code is run.
        loaded: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            str(model), trust_remote_code=False, local_files_only=isinstance(model, Path)
        )
    except Exception as error:  # two libraries, each with its own for what is missing, damaged or unreachable
        raise _unloadable(model, str(error)) from error
    if not loaded.is_fast:
        raise _unloadable(model, "It has no tokenizer.json.")
    if not loaded.chat_template:
        raise _no_template(model, "It has none.")
    return loaded


def _marked_special(tokenizer: PreTrainedTokenizerBase) -> set[str]:
    return {str(one.content) for one in tokenizer.added_tokens_decoder.values() if one.special}


def _unloadable(model: str | Path, why: str) -> CitewardError:
    return Unavailable(
        f"The tokenizer of the language model {str(model)!r} cannot be loaded.",
        why=f"{_first_line(why)} Tokens are counted by the model's own tokenizer, never guessed.",
        next_step=f"Run `citeward models pull NAME`, or set {variable('llm')} to a folder that has one.",
    )


def _no_template(model: str | Path, why: str) -> CitewardError:
    return Unavailable(
        f"The language model {str(model)!r} has no chat template that can be used.",
        why=_first_line(why),
        next_step=f"Set {variable('llm')} to an instruction-tuned model whose template takes a system text.",
    )


def _first_line(said: str) -> str:
    return said.strip().partition("\n")[0] or "No reason was given."
