"""What each layer keeps of a sequence: keys and values, one latent vector, a state, or nothing.

Sizes in values, not bytes: how wide a value is, is the engine's choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from service.capacity.model.facts import Facts, missing

Kind = Literal["full", "sliding", "chunked", "latent", "state", "none"]
ORDER: tuple[Kind, ...] = ("full", "latent", "sliding", "chunked", "state", "none")
# As configs call them.
KINDS: Mapping[str, Kind] = {
    "full_attention": "full",
    "attention": "full",
    "global": "full",
    "sliding_attention": "sliding",
    "local": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "state",
    "mamba": "state",
}


@dataclass(frozen=True, slots=True)
class State:
    """A layer's state of one sequence, whatever its length; on a rank all but `conv_kernel` is divided."""

    conv_width: int
    conv_kernel: int
    recurrent: int  # values
    recurrent_dtype: str = "auto"  # auto: that of the model

    def values(self, tensor_parallel: int = 1, speculative_tokens: int = 0) -> tuple[int, int]:
        """(values of the convolution, recurrent values) on one rank."""
        kept = self.conv_kernel - 1 + speculative_tokens
        return kept * (self.conv_width // tensor_parallel), self.recurrent // tensor_parallel


@dataclass(frozen=True, slots=True)
class Layers:
    """`count` layers that keep the same. A latent layer has one vector a token, on every rank the whole."""

    kind: Kind
    count: int
    kv_heads: int = 0
    key_width: int = 0  # values of one head
    value_width: int = 0
    window: int = 0  # tokens of a sliding window or a chunk
    state: State | None = None

    def token_values(self, tensor_parallel: int = 1) -> int:
        """Values that one token takes in one of these layers on one rank; heads are copied, never split."""
        if self.kind == "latent":
            return self.key_width
        return self.heads_on_a_rank(tensor_parallel) * (self.key_width + self.value_width)

    def heads_on_a_rank(self, tensor_parallel: int) -> int:
        return max(1, self.kv_heads // tensor_parallel)


@dataclass(frozen=True, slots=True)
class Heads:
    query: int
    kv: int
    width: int


def heads_of(facts: Facts, hidden: int) -> Heads:
    """Absent key and value heads are taken for as many as there are queries, the most there can be."""
    query = facts.whole("num_attention_heads", "n_head", "n_heads", "num_heads")
    kv = facts.whole_or(
        query, "one for each query head, the most there can be",
        "num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num",
    )  # fmt: skip
    width = facts.whole_or(hidden // query, "hidden size over heads", "head_dim", "kv_channels")
    if not width:
        raise missing("head_dim", f"{query} heads cannot share a hidden size of {hidden}.")
    return Heads(query, kv or query, width)


def kept_by(
    facts: Facts,
    counts: Mapping[Kind, int],
    heads: Heads,
    *,
    full: Heads | None = None,
    state: State | None = None,
) -> tuple[Layers, ...]:
    """Layers by kind, from how many there are of each; `full`: the heads of full layers where they differ."""
    if counts.get("state") and state is None:
        raise missing("layer_types", f"What a state of a {facts.model_type} holds is not known.")
    found: list[Layers] = []
    for kind in ORDER:
        if not counts.get(kind):
            continue
        at = full if full is not None and kind == "full" else heads
        window = {"sliding": sliding_window, "chunked": chunk}.get(kind, lambda _: 0)(facts)
        found.append(
            Layers(kind, counts[kind], state=state)
            if kind in ("state", "none")
            else Layers(kind, counts[kind], at.kv, at.width, at.width, window)
        )
    return tuple(found)


def sliding_window(facts: Facts) -> int:
    return facts.whole("sliding_window", "sliding_window_size")


def chunk(facts: Facts) -> int:
    return facts.whole("attention_chunk_size")


def all_full(facts: Facts, layers: int) -> Mapping[Kind, int]:
    del facts  # whatever it says of windows, this architecture has none
    return {"full": layers}


def one_window(facts: Facts, layers: int) -> Mapping[Kind, int]:
    """Every layer has the window, if there is one: Mistral, Phi-3, Mixtral, StarCoder2."""
    if facts.values.get("layer_types") is not None:
        return by_type(facts, layers)
    return {"sliding" if facts.get("sliding_window") else "full": layers}


def qwen_windows(facts: Facts, layers: int) -> Mapping[Kind, int]:
    """Only with use_sliding_window; then in the layers from max_window_layers on."""
    if facts.values.get("layer_types") is not None:
        return by_type(facts, layers)
    if not facts.get("use_sliding_window") or not facts.get("sliding_window"):
        return {"full": layers}
    first = min(facts.whole("max_window_layers"), layers)
    return {"full": first, "sliding": layers - first}


@dataclass(frozen=True, slots=True)
class Every:
    """Every n-th layer is full, the others `often`, where layer_types does not say; n may have a name."""

    period: int
    often: Kind
    name: str = "sliding_window_pattern"

    def __call__(self, facts: Facts, layers: int) -> Mapping[Kind, int]:
        if facts.values.get("layer_types") is not None:
            return by_type(facts, layers)
        period = facts.whole_or(self.period, "the architecture's pattern", self.name)
        full = layers // period if period else 0
        return {self.often: layers - full, "full": full}


def by_type(facts: Facts, layers: int) -> Mapping[Kind, int]:
    """Counted from layer_types, a list with one name a layer or an object of counts."""
    given = facts.get("layer_types")
    if isinstance(given, Mapping):
        counts = Counter({str(name): number for name, number in given.items() if isinstance(number, int)})
    elif isinstance(given, Sequence) and not isinstance(given, str):
        counts = Counter(map(str, given[:layers]))
    else:
        raise missing("layer_types", f"{facts.model_type}: layer_types is not in the config.")
    strange = sorted(set(counts) - set(KINDS))
    if strange:
        raise missing("layer_types", f"What a layer of type {strange[0]!r} keeps is not known.")
    if counts.total() != layers:
        raise missing("layer_types", f"layer_types names {counts.total()} layers, the model has {layers}.")
    kinds: Counter[Kind] = Counter()
    for name, number in counts.items():
        kinds[KINDS[name]] += number
    return kinds


def in_order(facts: Facts, counted: Mapping[Kind, int], layers: int, period: int) -> Sequence[Kind]:
    """The kind of each layer in turn; where only counts are given, the pattern must agree with them.

    :raises InvalidInput: the order is not known.
    """
    given = facts.values.get("layer_types")
    if isinstance(given, Sequence) and not isinstance(given, str):
        return [KINDS[str(one)] for one in given[:layers]]
    order: list[Kind] = ["sliding" if (index + 1) % period else "full" for index in range(layers)]
    if Counter(order) != Counter(counted):
        raise missing(
            "layer_types", "Which layers share another's cache depends on their order, which is not given."
        )
    facts.inferred["layer_types"] = f"every {period}th layer is full: the architecture's pattern"
    return order
