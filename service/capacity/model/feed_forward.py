"""The feed-forward half of a decoder's layers: one network each, or experts with a router."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ingest.corpus.errors import InvalidInput
from service.capacity.model.facts import Facts, missing
from service.capacity.model.tensors import Tensor, experts, joined, linear, mlp, norm

FeedForward = Callable[[Facts, int, int], tuple[Tensor, ...]]  # facts, hidden size, layers
Flag = bool | tuple[str, bool]  # always or never; or the config's name for it, and what it is if absent

WIDTH = ("ffn_hidden_size", "n_inner", "ffn_dim", "intermediate_size")
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


def settled(facts: Facts, flag: Flag) -> bool:
    return flag if isinstance(flag, bool) else facts.flag(flag[1], flag[0])


@dataclass(frozen=True, slots=True)
class Dense:
    """The same network in every layer. `times`: its width in hidden sizes where the config says none."""

    gated: bool = True
    bias: Flag = False
    times: int = 0

    def __call__(self, facts: Facts, hidden: int, layers: int) -> tuple[Tensor, ...]:
        width = (
            facts.whole_or(self.times * hidden, f"{self.times} hidden sizes", *WIDTH)
            if self.times
            else facts.whole(*WIDTH)
        )
        return mlp(
            hidden, width or self.times * hidden, layers, gated=self.gated, bias=settled(facts, self.bias)
        )


@dataclass(frozen=True, slots=True)
class Mixture:
    """Experts in some layers or all, an ordinary network in the others.

    `width`: the config's names for an expert's width. `shared`: the name for the width of the network that
    all tokens pass beside the experts, or of the number of such experts (`n_shared…`).
    """

    width: tuple[str, ...] = ("moe_intermediate_size",)
    dense_width: tuple[str, ...] = WIDTH
    dense: Callable[[Facts, int], int] | None = None  # how many layers have no experts; None: all have
    shared: str = ""
    shared_gate: bool = False
    bias: bool = False
    corrected: bool = False  # one number for each expert, which is a parameter of the router

    def __call__(self, facts: Facts, hidden: int, layers: int) -> tuple[Tensor, ...]:
        ordinary = self.dense(facts, layers) if self.dense else 0
        number, width = facts.whole(*EXPERTS), facts.whole(*self.width)
        return joined(
            (
                mlp(hidden, facts.whole(*self.dense_width), ordinary) if ordinary else (),
                experts(hidden, width, number, layers - ordinary, bias=self.bias),
                norm("mlp.moe_statics", number, layers - ordinary) if self.corrected else (),
                self._shared(facts, hidden, width, layers - ordinary),
            )
        )

    def _shared(self, facts: Facts, hidden: int, width: int, layers: int) -> tuple[Tensor, ...]:
        if not self.shared:
            return ()
        stated = facts.whole_or(0, "no network is shared", self.shared)
        wide = stated * width if self.shared.startswith(("n_", "num_", "moe_num")) else stated
        if not wide:
            return ()
        gate = linear("mlp.shared_expert_gate", 1, hidden, layers, part="router") if self.shared_gate else ()
        return (*mlp(hidden, wide, layers, name="mlp.shared_expert"), *gate)


def first_dense(facts: Facts, layers: int) -> int:
    """DeepSeek, Kimi, GLM: the first layers have no experts."""
    if facts.whole_or(1, "experts in every layer after the first dense ones", "moe_layer_freq") != 1:
        raise missing("moe_layer_freq", "Which layers have experts is known only for a moe_layer_freq of 1.")
    return min(layers, facts.whole_or(0, "every layer has experts", "first_k_dense_replace"))


def sparse_step(facts: Facts, layers: int) -> int:
    """Qwen: experts in every decoder_sparse_step-th layer but those of mlp_only_layers."""
    step = facts.whole_or(1, "experts in every layer", "decoder_sparse_step") or layers + 1
    only = facts.get("mlp_only_layers") or ()
    if not isinstance(only, Sequence) or isinstance(only, str):
        raise InvalidInput("mlp_only_layers must be a list of layers.", field="mlp_only_layers")
    return sum(index in only or (index + 1) % step != 0 for index in range(layers))


def interleaved(facts: Facts, layers: int) -> int:
    """Llama 4: experts in every interleave_moe_layer_step-th layer, or in those of moe_layers."""
    listed = facts.get("moe_layers")
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        return max(0, layers - len(listed))
    return layers - layers // facts.whole("interleave_moe_layer_step")


def after_start(facts: Facts, layers: int) -> int:
    """ERNIE 4.5: experts from moe_layer_start_index to moe_layer_end_index, in each moe_layer_interval-th."""
    start = facts.whole_or(0, "from the first layer", "moe_layer_start_index")
    last = facts.get("moe_layer_end_index")
    end = last if isinstance(last, int) and last >= 0 else layers - 1
    interval = facts.whole_or(1, "every layer", "moe_layer_interval") or 1
    return sum(not (start <= index <= end and (index + 1) % interval == 0) for index in range(layers))
