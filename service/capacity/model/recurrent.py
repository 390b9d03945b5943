"""Decoders whose layers keep a state of fixed size: gated delta nets beside attention, and Mamba alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

from service.capacity.model.attention import Every, Layers, State, heads_of, kept_by
from service.capacity.model.decoder import HIDDEN, projections, qk_norms
from service.capacity.model.facts import Facts
from service.capacity.model.feed_forward import Dense, FeedForward
from service.capacity.model.tensors import Tensor, joined, linear, norm, outside

PATTERN = Every(4, "state", "full_attention_interval")


@dataclass(frozen=True, slots=True)
class DeltaNetDecoder:
    """Qwen3-Next and Qwen3.5: every fourth layer has attention, with a gate, the others a delta net."""

    feed_forward: FeedForward = field(default_factory=Dense)

    def kept(self, facts: Facts) -> tuple[Layers, ...]:
        layers = facts.depth()
        return kept_by(
            facts, PATTERN(facts, layers), heads_of(facts, facts.whole(*HIDDEN)), state=_delta_state(facts)
        )

    def tensors(self, facts: Facts) -> tuple[Tensor, ...]:
        hidden, layers = facts.whole(*HIDDEN), facts.depth()
        counts, heads = PATTERN(facts, layers), heads_of(facts, hidden)
        full = counts.get("full", 0)
        bias = facts.flag(False, "attention_bias")
        return joined(
            (
                outside(facts.whole("vocab_size"), hidden, tied=facts.flag(False, "tie_word_embeddings")),
                projections(heads, hidden, full, qkv_bias=bias, out_bias=bias, gated=True),
                qk_norms("head", heads, full),
                _delta_net(facts, hidden, counts.get("state", 0)),
                self.feed_forward(facts, hidden, layers),
                norm("norms", hidden, layers, each=2),
                norm("norm", hidden),
            )
        )


def _delta_state(facts: Facts) -> State:
    keys, values = facts.whole("linear_num_key_heads"), facts.whole("linear_num_value_heads")
    key_width, value_width = facts.whole("linear_key_head_dim"), facts.whole("linear_value_head_dim")
    return State(
        2 * keys * key_width + values * value_width,
        facts.whole("linear_conv_kernel_dim"),
        values * value_width * key_width,
        str(facts.get("mamba_ssm_dtype", "mamba_ssm_cache_dtype") or "auto"),
    )


def _delta_net(facts: Facts, hidden: int, layers: int) -> tuple[Tensor, ...]:
    keys = facts.whole("linear_num_key_heads") * facts.whole("linear_key_head_dim")
    heads, width = facts.whole("linear_num_value_heads"), facts.whole("linear_value_head_dim")
    values, kernel = heads * width, facts.whole("linear_conv_kernel_dim")
    return joined(
        (
            linear("linear_attn.in_proj_qkvz", 2 * keys + 2 * values, hidden, layers, part="state"),
            linear("linear_attn.in_proj_ba", 2 * heads, hidden, layers, part="router"),  # never quantised
            linear("linear_attn.conv1d", 2 * keys + values, kernel, layers, part="router"),
            norm("linear_attn.dt_bias", heads, layers),
            norm("linear_attn.A_log", heads, layers),
            norm("linear_attn.norm", width, layers),
            linear("linear_attn.out_proj", hidden, values, layers, part="state"),
        )
    )


@dataclass(frozen=True, slots=True)
class Mamba:
    """Mamba of the first make: no attention, no feed-forward network."""

    def kept(self, facts: Facts) -> tuple[Layers, ...]:
        inner = _inner(facts)
        state = State(
            inner, facts.whole("conv_kernel", "d_conv"), inner * facts.whole("state_size", "d_state")
        )
        return (Layers("state", facts.depth(), state=state),)

    def tensors(self, facts: Facts) -> tuple[Tensor, ...]:
        hidden, layers, inner = facts.whole(*HIDDEN), facts.depth(), _inner(facts)
        kernel, wide = facts.whole("conv_kernel", "d_conv"), facts.whole("state_size", "d_state")
        bias = facts.flag(False, "use_bias")
        stated = facts.get("time_step_rank")
        rank = stated if isinstance(stated, int) else ceil(hidden / 16)  # "auto"
        return joined(
            (
                outside(facts.whole("vocab_size"), hidden, tied=facts.flag(True, "tie_word_embeddings")),
                linear("mixer.in_proj", 2 * inner, hidden, layers, part="state", bias=bias),
                linear(
                    "mixer.conv1d",
                    inner,
                    kernel,
                    layers,
                    part="router",
                    bias=facts.flag(True, "use_conv_bias"),
                ),
                linear("mixer.x_proj", rank + 2 * wide, inner, layers, part="state"),
                linear("mixer.dt_proj", inner, rank, layers, part="state", bias=True),
                linear("mixer.A_log", inner, wide, layers, part="router"),
                norm("mixer.D", inner, layers),
                linear("mixer.out_proj", hidden, inner, layers, part="state", bias=bias),
                norm("norms", hidden, layers),
                norm("norm", hidden),
            )
        )


@dataclass(frozen=True, slots=True)
class Mamba2:
    """Mamba of the second make, with heads."""

    def kept(self, facts: Facts) -> tuple[Layers, ...]:
        heads, width, groups, wide = self._shape(facts)
        state = State(
            heads * width + 2 * groups * wide, facts.whole("conv_kernel", "d_conv"), heads * width * wide
        )
        return (Layers("state", facts.depth(), state=state),)

    def tensors(self, facts: Facts) -> tuple[Tensor, ...]:
        hidden, layers = facts.whole(*HIDDEN), facts.depth()
        heads, width, groups, wide = self._shape(facts)
        inner, bias = heads * width, facts.flag(False, "use_bias")
        through = inner + 2 * groups * wide
        return joined(
            (
                outside(facts.whole("vocab_size"), hidden, tied=facts.flag(False, "tie_word_embeddings")),
                linear("mixer.in_proj", inner + through + heads, hidden, layers, part="state", bias=bias),
                linear(
                    "mixer.conv1d", through, facts.whole("conv_kernel", "d_conv"), layers,
                    part="router", bias=facts.flag(True, "use_conv_bias"),
                ),
                norm("mixer.heads", heads, layers, each=3),  # dt_bias, A_log, D
                norm("mixer.norm", inner, layers),
                linear("mixer.out_proj", hidden, inner, layers, part="state", bias=bias),
                norm("norms", hidden, layers),
                norm("norm", hidden),
            )
        )  # fmt: skip

    def _shape(self, facts: Facts) -> tuple[int, int, int, int]:
        """Heads, values of a head, groups, values of a state."""
        names = ("num_heads", "head_dim", "n_groups", "state_size")
        heads, width, groups, wide = (facts.whole(name) for name in names)
        return heads, width, groups, wide


def _inner(facts: Facts) -> int:
    times = facts.whole_or(2, "the architecture's factor", "expand")
    return facts.whole_or(
        times * facts.whole(*HIDDEN), "factor times hidden size", "intermediate_size", "d_inner"
    )
