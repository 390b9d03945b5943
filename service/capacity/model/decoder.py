"""A decoder of the usual make: attention and a feed-forward network in each layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from service.capacity.model.attention import Heads, Kind, Layers, all_full, heads_of, kept_by
from service.capacity.model.facts import Facts
from service.capacity.model.feed_forward import Dense, FeedForward, Flag, settled
from service.capacity.model.tensors import Tensor, joined, linear, norm, outside

Windows = Callable[[Facts, int], Mapping[Kind, int]]
QkNorm = Literal[
    "", "head", "whole", "each"
]  # one for all heads, over all their values, or one for each head

HIDDEN = ("hidden_size", "n_embd", "d_model")


@dataclass(frozen=True, slots=True)
class Decoder:
    """What sets one family of decoders apart from Llama, which is this with no arguments."""

    windows: Windows = all_full
    feed_forward: FeedForward = field(default_factory=Dense)
    qkv_bias: Flag = False
    out_bias: Flag = False
    qk_norm: QkNorm | tuple[str, QkNorm] = ""  # a pair: only where the config says so by that name
    norms: int = 2  # in each layer
    norm_bias: bool = False
    final_norm: bool = True
    tied: bool = False  # where the config does not say
    head_bias: Flag = False
    grouped: bool = True  # False: each query head has its own key and value head, whatever the config says
    one_kv_head: str = ""  # the config's name for "all heads share one key and value head"
    sinks: bool = False  # one number for each head
    positions: tuple[tuple[str, ...], int, int] | None = None  # names, rows if absent, rows on top

    def kept(self, facts: Facts) -> tuple[Layers, ...]:
        """What the layers keep of a sequence."""
        layers = facts.depth()
        return kept_by(facts, self.windows(facts, layers), self._heads(facts))

    def tensors(self, facts: Facts) -> tuple[Tensor, ...]:
        """All that is loaded."""
        hidden, layers = facts.whole(*HIDDEN), facts.depth()
        return joined(
            (
                outside(
                    facts.whole("vocab_size", "padded_vocab_size"),
                    hidden,
                    tied=facts.flag(self.tied, "tie_word_embeddings"),
                    head_bias=settled(facts, self.head_bias),
                ),
                self._positions(facts, hidden),
                self._attention(facts, hidden, layers),
                self.feed_forward(facts, hidden, layers),
                norm("norms", hidden, layers, each=self.norms, bias=self.norm_bias),
                norm("norm", hidden, each=int(self.final_norm), bias=self.norm_bias),
            )
        )

    def _heads(self, facts: Facts) -> Heads:
        heads = heads_of(facts, facts.whole(*HIDDEN))
        if self.one_kv_head and facts.flag(True, self.one_kv_head):
            return Heads(heads.query, 1, heads.width)
        return heads if self.grouped else Heads(heads.query, heads.query, heads.width)

    def _attention(self, facts: Facts, hidden: int, layers: int) -> tuple[Tensor, ...]:
        heads = self._heads(facts)
        return joined(
            (
                projections(
                    heads, hidden, layers,
                    qkv_bias=settled(facts, self.qkv_bias), out_bias=settled(facts, self.out_bias),
                ),
                qk_norms(self._qk_norm(facts), heads, layers),
                norm("self_attn.sinks", heads.query, layers) if self.sinks else (),
            )
        )  # fmt: skip

    def _qk_norm(self, facts: Facts) -> QkNorm:
        if isinstance(self.qk_norm, str):
            return self.qk_norm
        name, kind = self.qk_norm
        return kind if facts.flag(False, name) else ""

    def _positions(self, facts: Facts, hidden: int) -> tuple[Tensor, ...]:
        if self.positions is None:
            return ()
        names, otherwise, more = self.positions
        rows = facts.whole_or(otherwise, "the most that a released checkpoint has", *names) + more
        return (Tensor("embed_positions", "embedding", (rows, hidden), 1),)


def projections(
    heads: Heads, hidden: int, layers: int, *,
    qkv_bias: bool = False, out_bias: bool = False, gated: bool = False, keys_are_values: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Queries (twice as many where they carry a gate), keys, values, output; nothing for 0 layers."""
    if not layers:
        return ()
    query, kv = heads.query * heads.width, heads.kv * heads.width
    sides = ("k_proj",) if keys_are_values else ("k_proj", "v_proj")
    return joined(
        (
            linear("self_attn.q_proj", query * (1 + gated), hidden, layers, part="attention", bias=qkv_bias),
            *(
                linear(
                    f"self_attn.{side}", kv, hidden, layers, part="attention", bias=qkv_bias, ranks=heads.kv
                )
                for side in sides
            ),
            linear("self_attn.o_proj", hidden, query, layers, part="attention", bias=out_bias),
        )
    )


def qk_norms(kind: QkNorm, heads: Heads, layers: int) -> tuple[Tensor, ...]:
    query, key = {
        "": (0, 0),
        "head": (heads.width, heads.width),
        "whole": (heads.query * heads.width, heads.kv * heads.width),
        "each": (heads.query * heads.width, heads.kv * heads.width),
    }[kind]
    return (*norm("self_attn.q_norm", query, layers), *norm("self_attn.k_norm", key, layers)) if kind else ()
