"""Texts to unit vectors by a sentence-transformers model: a pulled pack, a local folder or a hub id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ingest.corpus.arrays import FloatMatrix, FloatVector
from ingest.corpus.errors import OverBudget, Unavailable
from ingest.corpus.hashes import file_sha256
from ingest.corpus.seams import TokenVectors
from ingest.corpus.tokenizer import FastTokenizer
from ingest.corpus.types import EmbedderFingerprint

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BATCH_TEXTS = 16  # enough to fill two cores with short texts; 16 of 512 tokens stay under 200 MB
NEXT_STEP = "Run `citeward models pull multilingual-e5-small`, or set CITEWARD_EMBEDDER to a model folder."
WEIGHTS_AND_TOKENIZER = ("*.safetensors", "*.bin", "tokenizer.json")


def embedding_text(title: str, context: str, text: str) -> str:
    """What is embedded for a chunk: its title, its context and itself, a line each, empty ones left out."""
    return "\n".join(part for part in (title, context, text) if part)


def locate_model(name: str, packs: Path, role: str = "embedder", next_step: str = NEXT_STEP) -> str | Path:
    """The folder of the pack or the local folder of that name, or a hub id as it is.

    :param packs: the folder that model packs are pulled into.
    :param role: what the model is for, in the words of the error.
    :raises Unavailable: if it is none of these, naming the next step.
    """
    for folder in (packs / name, Path(name)):
        if folder.is_dir():
            return folder
    if name.count("/") == 1 and not name.startswith(("/", ".", "~")):
        return name
    raise Unavailable(
        f"The {role} {name!r} is not here.",
        why=f"There is no folder {packs / name} and no folder {name}.",
        next_step=next_step,
    )


class SentenceTransformerEmbedder:
    """Computes in float32, with the prompts "query" and "passage" (or "document") that the model brings."""

    def __init__(self, model: str | Path) -> None:
        """:raises Unavailable: if the model cannot be loaded, or is not what its pack says it is."""
        hashes = _checked_hashes(model) if isinstance(model, Path) else None  # before anything of it is used
        self._model = _load(model)
        prompts = cast("Mapping[str, str | None]", self._model.prompts)
        self._query_prefix = prompts.get("query") or ""
        self._passage_prefix = prompts.get("passage") or prompts.get("document") or ""
        self.tokenizer = FastTokenizer(self._model.tokenizer.backend_tokenizer.to_str())
        self.max_tokens = int(self._model.max_seq_length or self._model.tokenizer.model_max_length)
        self.fingerprint = EmbedderFingerprint(
            name=Path(model).name if isinstance(model, Path) else model,
            dimension=len(self.embed_query("")),
            digest=self._digest(_hub_revision(self._model) if hashes is None else hashes),
        )

    def count_query(self, text: str) -> int:
        return self.tokenizer.counts([self._query_prefix + text], special_tokens=True)[0]

    def embed_passages(self, texts: Sequence[str]) -> FloatMatrix:
        if not texts:
            return np.zeros((0, self.fingerprint.dimension), dtype=np.float32)
        return self._embed([self._passage_prefix + text for text in texts])

    def embed_query(self, text: str) -> FloatVector:
        return cast(FloatVector, self._embed([self._query_prefix + text])[0])

    def embed_tokens(self, texts: Sequence[str]) -> Sequence[TokenVectors]:
        prefixed = [self._passage_prefix + text for text in texts]
        self._checked_lengths(prefixed)
        found = self._model.encode(
            prefixed,
            prompt="",
            batch_size=BATCH_TEXTS,
            output_value="token_embeddings",
            show_progress_bar=False,
        )
        return [self._of_text(text, np.asarray(one)) for text, one in zip(prefixed, found, strict=True)]

    def _of_text(self, prefixed: str, rows: FloatMatrix) -> TokenVectors:
        """:param rows: of every token, prefix and special tokens included, shape (tokens, D)."""
        before = len(self._passage_prefix)
        spans = self.tokenizer.spans(prefixed, special_tokens=True)
        kept = [row for row, (_, end) in enumerate(spans) if end > before]
        vectors = rows[kept] / np.linalg.norm(rows[kept], axis=1, keepdims=True)
        within = [(max(start - before, 0), end - before) for start, end in (spans[row] for row in kept)]
        return TokenVectors(within, vectors.astype(np.float32))

    def _embed(self, texts: Sequence[str]) -> FloatMatrix:
        lengths = self._checked_lengths(texts)
        order = sorted(
            range(len(texts)), key=lambda row: lengths[row]
        )  # like lengths together: little padding
        vectors = [self._encode([texts[row] for row in batch]) for batch in _batches(order)]
        result = np.empty((len(texts), vectors[0].shape[1]), dtype=np.float32)
        result[order] = np.concatenate(vectors)
        return result

    def _checked_lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as the model gets it; a longer one is refused, as the library would cut it."""
        lengths = self.tokenizer.counts(texts, special_tokens=True)
        longest = max(lengths, default=0)
        if longest > self.max_tokens:
            raise OverBudget(
                f"A text of {longest} tokens cannot be embedded.",
                why=f"The embedder takes {self.max_tokens} tokens, its prefix and special tokens included.",
                next_step="Ask in fewer words, or split the text into smaller chunks.",
            )
        return lengths

    def _encode(self, batch: list[str]) -> FloatMatrix:
        vectors = self._model.encode(
            batch, prompt="", batch_size=len(batch), normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)

    def _digest(self, source: dict[str, str] | str) -> str:
        """Of all that decides what a vector means; the same on every machine and for every path."""
        parts = {
            "source": source,
            "prefixes": [self._query_prefix, self._passage_prefix],
            "modules": [type(module).__name__ for module in self._model],
            "pooling": [
                str(module.pooling_mode) for module in self._model if hasattr(module, "pooling_mode")
            ],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _load(model: str | Path) -> SentenceTransformer:
    # Late, because it brings torch along: seconds that commands without an embedder need not wait.
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        loaded = SentenceTransformer(str(model))
    except (
        Exception
    ) as error:  # three libraries, each with its own for a missing, damaged or unreachable model
        raise _unloadable(model, error) from error
    loaded.tokenizer.split_special_tokens = True  # as `FastTokenizer` counts them
    return loaded.float().eval()


def _unloadable(model: str | Path, error: Exception) -> Unavailable:
    return Unavailable(
        f"The embedder {str(model)!r} cannot be loaded.",
        why=str(error).strip().split("\n")[0],
        next_step=NEXT_STEP,
    )


def _batches(order: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(order), BATCH_TEXTS):
        yield order[start : start + BATCH_TEXTS]


def _checked_hashes(folder: Path) -> dict[str, str]:
    """As `_file_hashes`. :raises Unavailable: if a file of a pack is gone or is not what was pulled."""
    hashes = _file_hashes(folder)
    _require_as_pulled(folder, hashes)
    return hashes


def _file_hashes(folder: Path) -> dict[str, str]:
    """sha256 of the weights and the tokenizer as they are now, by path.

    A pack's files are all read at every load, 0.6 s for its 490 MB: what its manifest says is no proof.
    """
    files = sorted(path for pattern in WEIGHTS_AND_TOKENIZER for path in folder.rglob(pattern))
    return {path.relative_to(folder).as_posix(): file_sha256(path) for path in files}


def _require_as_pulled(folder: Path, hashes: Mapping[str, str]) -> None:
    for name, expected in _listed_hashes(folder).items():
        path = folder / name
        if not path.is_file():
            raise _altered(folder, f"{name} is gone.")
        if (found := hashes.get(name) or file_sha256(path)) != expected:
            raise _altered(folder, f"The sha256 of {name} is {found}, not {expected}.")


def _listed_hashes(folder: Path) -> dict[str, str]:
    """What the pack's manifest lists; empty for a folder that is no pack."""
    manifest = folder / "pack.json"
    if not manifest.is_file():
        return {}
    try:
        return dict(json.loads(manifest.read_text(encoding="utf-8"))["sha256"])
    except (ValueError, KeyError, TypeError) as error:
        raise _altered(folder, f"{manifest.name} cannot be read: {error}.") from error


def _altered(folder: Path, why: str) -> Unavailable:
    return Unavailable(
        f"The model pack {folder.name!r} is not what was pulled.",
        why=why,
        next_step=f"Move {folder} away, then run `citeward models pull {folder.name}`.",
    )


def _hub_revision(model: SentenceTransformer) -> str:
    """The commit that the hub served: it fixes weights and tokenizer alike."""
    transformer = cast("Any", model[0])
    return str(transformer.auto_model.config._commit_hash)
