"""A cross-encoder made on the fly: two layers, random weights, a vocabulary of some hundred word pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

MAX_TOKENS = 96
WORDS = (
    "goods may be returned within days helmets are red parking is free on sundays of delivery how long can"
)
CHINESE = "商品在签收后天内可以退货安全帽是红色的周日停车免费年鹿特丹实验室负责校准水表期限"


def save_tiny(
    folder: Path, labels: Sequence[str] = ("LABEL_0",), bias: Mapping[str, float] | None = None, seed: int = 7
) -> Path:
    """A folder that the adapter loads; the same one for the same arguments.

    :param bias: of the last layer, by label; those that are not named have 0.
    """
    folder.mkdir(parents=True)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split(), *dict.fromkeys(CHINESE)]
    pieces += [
        *"abcdefghijklmnopqrstuvwxyz0123456789.。",
        *(f"##{sign}" for sign in "abcdefghijklmnopqrstuvwxyz"),
    ]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    BertTokenizerFast(vocab=vocabulary, do_lower_case=True).save_pretrained(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=MAX_TOKENS,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
        initializer_range=0.5,  # far enough apart that no two texts score the same
    )
    model = BertForSequenceClassification(config)
    with torch.no_grad():
        model.classifier.bias += torch.tensor([(bias or {}).get(label, 0.0) for label in labels])
    model.save_pretrained(folder)
    return folder
