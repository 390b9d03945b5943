"""Falcon, whose three makes differ in heads and norms by flags of the config."""

from __future__ import annotations

from dataclasses import dataclass

from service.capacity.model.attention import Heads, Layers, heads_of, kept_by
from service.capacity.model.decoder import HIDDEN, Decoder
from service.capacity.model.facts import Facts
from service.capacity.model.feed_forward import Dense
from service.capacity.model.tensors import Tensor

USED = "new_decoder_architecture"


@dataclass(frozen=True, slots=True)
class Falcon:
    """7B shares one key and value head among all; the newer make has groups, and may have two norms."""

    def kept(self, facts: Facts) -> tuple[Layers, ...]:
        layers = facts.depth()
        heads = heads_of(facts, facts.whole(*HIDDEN))
        kv = heads.kv if facts.flag(False, USED) else 1 if facts.flag(True, "multi_query") else heads.query
        return kept_by(facts, {"full": layers}, Heads(heads.query, kv, heads.width))

    def tensors(self, facts: Facts) -> tuple[Tensor, ...]:
        newer = facts.flag(False, USED)
        parallel = facts.flag(True, "parallel_attn")
        stated = facts.whole_or(2 if newer else 1, "the architecture's default", "num_ln_in_parallel_attn")
        return Decoder(
            qkv_bias=("bias", False),
            out_bias=("bias", False),
            feed_forward=Dense(gated=False, bias=("bias", False), times=4),
            norms=stated if parallel else 2,
            norm_bias=True,
            tied=True,
            grouped=newer,
            one_kv_head="" if newer else "multi_query",
        ).tensors(facts)
