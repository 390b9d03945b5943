"""Decoders that keep one latent vector a token instead of keys and values: DeepSeek, Kimi (MLA)."""

from __future__ import annotations

from dataclasses import dataclass, field

from service.capacity.model.attention import Layers
from service.capacity.model.decoder import HIDDEN
from service.capacity.model.facts import Facts, missing
from service.capacity.model.feed_forward import Dense, FeedForward
from service.capacity.model.tensors import Tensor, joined, linear, norm, outside


@dataclass(frozen=True, slots=True)
class LatentDecoder:
    """Queries may come from a latent too (q_lora_rank), or straight from the hidden state."""

    feed_forward: FeedForward = field(default_factory=Dense)

    def kept(self, facts: Facts) -> tuple[Layers, ...]:
        if facts.get("index_topk", "index_head_dim") is not None:
            raise missing("index_head_dim", "What the indexer of sparse attention keeps is not known.")
        width = facts.whole("kv_lora_rank") + facts.whole("qk_rope_head_dim")
        return (Layers("latent", facts.depth(), key_width=width),)

    def tensors(self, facts: Facts) -> tuple[Tensor, ...]:
        hidden, layers = facts.whole(*HIDDEN), facts.depth()
        return joined(
            (
                outside(facts.whole("vocab_size"), hidden, tied=facts.flag(False, "tie_word_embeddings")),
                self._attention(facts, hidden, layers),
                self.feed_forward(facts, hidden, layers),
                norm("norms", hidden, layers, each=2),
                norm("norm", hidden),
            )
        )

    def _attention(self, facts: Facts, hidden: int, layers: int) -> tuple[Tensor, ...]:
        heads, bias = facts.whole("num_attention_heads"), facts.flag(False, "attention_bias")
        latent, rope = facts.whole("kv_lora_rank"), facts.whole("qk_rope_head_dim")
        plain, value = facts.whole("qk_nope_head_dim"), facts.whole("v_head_dim")
        query = heads * (plain + rope)
        return joined(
            (
                self._queries(facts, hidden, query, layers, bias),
                linear(
                    "self_attn.kv_a_proj_with_mqa", latent + rope, hidden, layers,
                    part="attention", bias=bias, ranks=1,
                ),
                norm("self_attn.kv_a_layernorm", latent, layers),
                linear("self_attn.kv_b_proj", heads * (plain + value), latent, layers, part="attention"),
                linear("self_attn.o_proj", hidden, heads * value, layers, part="attention", bias=bias),
            )
        )  # fmt: skip

    def _queries(self, facts: Facts, hidden: int, query: int, layers: int, bias: bool) -> tuple[Tensor, ...]:
        rank = facts.whole_or(0, "queries come straight from the hidden state", "q_lora_rank")
        if not rank:
            return linear("self_attn.q_proj", query, hidden, layers, part="attention")
        return (
            *linear("self_attn.q_a_proj", rank, hidden, layers, part="attention", bias=bias, ranks=1),
            *norm("self_attn.q_a_layernorm", rank, layers),
            *linear("self_attn.q_b_proj", query, rank, layers, part="attention"),
        )
