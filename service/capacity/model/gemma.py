"""Gemma 3n and 4: two sizes of heads, layers that use another layer's cache, inputs for each layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from service.capacity.model.attention import Every, Heads, Kind, Layers, heads_of, in_order, kept_by
from service.capacity.model.decoder import HIDDEN, projections
from service.capacity.model.facts import Facts, missing
from service.capacity.model.tensors import Tensor, experts, joined, linear, mlp, norm, outside

PERIOD = 6
PATTERN = Every(PERIOD, "sliding")
SHARED = "num_kv_shared_layers"


@dataclass(frozen=True, slots=True)
class Gemma4:
    """Full layers have heads of their own (global_head_dim), and may use keys for values."""

    def kept(self, facts: Facts) -> tuple[Layers, ...]:
        layers = facts.depth()
        own, shared = _own_and_shared(facts, PATTERN(facts, layers), layers, PERIOD)
        sliding, full = _heads(facts)
        return (*kept_by(facts, own, sliding, full=full), *_without(shared))

    def tensors(self, facts: Facts) -> tuple[Tensor, ...]:
        hidden, layers = facts.whole(*HIDDEN), facts.depth()
        own, shared = _own_and_shared(facts, PATTERN(facts, layers), layers, PERIOD)
        return joined(
            (
                outside(facts.whole("vocab_size"), hidden, tied=facts.flag(True, "tie_word_embeddings")),
                _attention(facts, hidden, own, shared),
                _feed_forward(facts, hidden, layers, shared.total()),
                norm("norms", hidden, layers, each=4),
                norm("norm", hidden),
                _inputs_for_each_layer(facts, hidden, layers, shared.total()),
            )
        )


@dataclass(frozen=True, slots=True)
class Gemma3n:
    """What its layers keep; how many parameters it has is not known here."""

    def kept(self, facts: Facts) -> tuple[Layers, ...]:
        layers = facts.depth()
        own, shared = _own_and_shared(facts, Every(5, "sliding")(facts, layers), layers, 5)
        return (*kept_by(facts, own, heads_of(facts, facts.whole(*HIDDEN))), *_without(shared))

    def tensors(self, facts: Facts) -> tuple[Tensor, ...]:
        raise missing("parameters", f"How many parameters a {facts.model_type} has is not known.")


def _heads(facts: Facts) -> tuple[Heads, Heads]:
    """(those of sliding layers, those of full layers)."""
    heads = heads_of(facts, facts.whole(*HIDDEN))
    stated = facts.get("per_layer_config")
    if isinstance(stated, Mapping):
        return heads, _of_each_layer(heads, stated)
    fewer = facts.get("num_global_key_value_heads") if _keys_are_values(facts) else None
    kv = fewer if isinstance(fewer, int) else heads.kv
    return heads, Heads(heads.query, kv, facts.whole("global_head_dim"))


def _of_each_layer(heads: Heads, stated: Mapping[str, object]) -> Heads:
    """The newer form: what full layers have of their own is said layer by layer, the same for all."""
    known = {"head_dim", "num_key_value_heads"}
    said = [one for one in stated.values() if isinstance(one, Mapping)]
    if any(one != said[0] or set(one) - known for one in said) or len(said) != len(stated):
        raise missing("per_layer_config", "Layers that differ in more than head_dim and heads are not known.")
    own = said[0] if said else {}
    if any(not isinstance(one, int) or one < 1 for one in own.values()):
        raise missing("per_layer_config", f"per_layer_config says no sizes of heads, but {own}.")
    return Heads(heads.query, own.get("num_key_value_heads", heads.kv), own.get("head_dim", heads.width))


def _keys_are_values(facts: Facts) -> bool:
    return facts.flag(False, "attention_k_eq_v")


def _own_and_shared(
    facts: Facts, counts: Mapping[Kind, int], layers: int, period: int
) -> tuple[Counter[Kind], Counter[Kind]]:
    """Layers by kind with a cache of their own, and those (the last) that use an earlier layer's."""
    all_of = Counter(counts)
    number = facts.whole_or(0, "no layer uses another's cache", SHARED)
    if not number:
        return all_of, Counter()
    order = in_order(facts, all_of, layers, period)
    shared: Counter[Kind] = Counter(order[max(0, layers - number) :])
    return all_of - shared, shared


def _without(shared: Counter[Kind]) -> tuple[Layers, ...]:
    return (Layers("none", shared.total()),) if shared else ()


def _attention(facts: Facts, hidden: int, own: Counter[Kind], shared: Counter[Kind]) -> tuple[Tensor, ...]:
    sliding, full = _heads(facts)
    parts: list[tuple[Tensor, ...]] = []
    for kind, heads in (("sliding", sliding), ("full", full)):
        alike = kind == "full" and _keys_are_values(facts)
        keeps, uses = own[kind], shared[kind]  # type: ignore[index]
        parts += [
            projections(heads, hidden, keeps, keys_are_values=alike),
            tuple(
                one
                for one in projections(heads, hidden, uses)
                if "q_proj" in one.name or "o_proj" in one.name
            ),
            norm("self_attn.q_norm", heads.width, keeps + uses),
            norm("self_attn.k_norm", heads.width, keeps),
        ]
    return joined(parts)


def _feed_forward(facts: Facts, hidden: int, layers: int, shared: int) -> tuple[Tensor, ...]:
    width = facts.whole("intermediate_size")
    wide = facts.flag(False, "use_double_wide_mlp") and shared
    ordinary = (
        mlp(hidden, width, layers - shared if wide else layers),
        mlp(hidden, 2 * width, shared) if wide else (),
    )
    number = facts.get("num_experts")
    if not isinstance(number, int) or not facts.flag(True, "enable_moe_block"):
        return joined(ordinary)
    return joined(
        (
            *ordinary,
            experts(hidden, facts.whole("moe_intermediate_size"), number, layers),
            norm("router.scale", hidden, layers),
            norm("router.per_expert_scale", number, layers),
            norm("norms", hidden, layers, each=3),  # around the experts
        )
    )


def _inputs_for_each_layer(facts: Facts, hidden: int, layers: int, shared: int) -> tuple[Tensor, ...]:
    name = "hidden_size_per_layer_input"
    if shared and facts.get(name) is None:
        raise missing(
            name, "A model whose layers share caches has inputs for each layer, of a size not given."
        )
    width = facts.whole_or(0, "no layer has an input of its own", name)
    if not width:
        return ()
    rows = facts.whole("vocab_size_per_layer_input")
    return joined(
        (
            (Tensor("embed_tokens_per_layer", "embedding", (rows, layers * width), 1, rows),),
            linear("per_layer_model_projection", layers * width, hidden, 1, part="router"),
            norm("per_layer_projection_norm", width),
            linear("per_layer_input_gate", width, hidden, layers, part="mlp"),
            linear("per_layer_projection", hidden, width, layers, part="mlp"),
            norm("post_per_layer_input_norm", hidden, layers),
        )
    )
