"""The tensors that a decoder is made of: matrices, vectors, and how many alike there are. Knows no config."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, prod
from typing import Literal

Part = Literal["embedding", "head", "norm", "bias", "router", "attention", "state", "mlp", "experts"]
LINEAR: frozenset[Part] = frozenset({"attention", "state", "mlp", "experts"})  # what a quantiser touches
WHOLE = 1  # every rank holds all of it


@dataclass(frozen=True, slots=True)
class Tensor:
    """`count` tensors of one shape, as (out, in) for a matrix. `ranks`: beyond so many, ranks hold copies."""

    name: str
    part: Part
    shape: tuple[int, ...]
    count: int
    ranks: int = WHOLE
    layers: int = 1  # `count` is spread evenly over so many layers

    @property
    def elements(self) -> int:
        return self.count * prod(self.shape)

    def on_a_rank(self, tensor_parallel: int) -> int:
        """Elements on the fullest of so many ranks."""
        return ceil(self.elements / max(1, min(tensor_parallel, self.ranks)))


def linear(
    name: str, out: int, into: int, layers: int, *, part: Part, bias: bool = False, ranks: int = 0
) -> tuple[Tensor, ...]:
    """One matrix a layer, with its bias. `ranks` 0: as many ranks as there may be share it."""
    split = ranks or out * into
    weight = Tensor(name, part, (out, into), layers, split, layers)
    return (weight, Tensor(f"{name}.bias", "bias", (out,), layers, layers=layers)) if bias else (weight,)


def norm(name: str, width: int, layers: int = 1, *, each: int = 1, bias: bool = False) -> tuple[Tensor, ...]:
    """`each` norms a layer: a weight, and a bias where it is a LayerNorm with one."""
    if not each or not layers:
        return ()
    return (Tensor(name, "norm", (width,), layers * each * (2 if bias else 1), layers=layers),)


def mlp(
    hidden: int, width: int, layers: int, *, gated: bool = True, bias: bool = False, name: str = "mlp"
) -> tuple[Tensor, ...]:
    """One feed-forward network a layer: up (and gate), down."""
    ups = ("gate_proj", "up_proj") if gated else ("up_proj",)
    into = (linear(f"{name}.{one}", width, hidden, layers, part="mlp", bias=bias) for one in ups)
    return (*joined(into), *linear(f"{name}.down_proj", hidden, width, layers, part="mlp", bias=bias))


def experts(hidden: int, width: int, number: int, layers: int, *, bias: bool = False) -> tuple[Tensor, ...]:
    """`number` gated experts a layer, and the router's matrix, which is never quantised."""
    count = number * layers
    found = (
        Tensor("mlp.gate", "router", (number, hidden), layers, layers=layers),
        Tensor("mlp.experts.gate_up_proj", "experts", (2 * width, hidden), count, count * width, layers),
        Tensor("mlp.experts.down_proj", "experts", (hidden, width), count, count * width, layers),
    )
    if not bias:
        return found
    biases = (number, 2 * number * width, number * hidden)  # router, up and gate, down
    return (*found, *(Tensor("mlp.bias", "bias", (one,), layers, layers=layers) for one in biases))


def outside(vocabulary: int, hidden: int, *, tied: bool, head_bias: bool = False) -> tuple[Tensor, ...]:
    """The embedding, and the head unless it is the embedding again."""
    embedding = Tensor("embed_tokens", "embedding", (vocabulary, hidden), 1, vocabulary)
    head = () if tied else (Tensor("lm_head", "head", (vocabulary, hidden), 1, vocabulary),)
    return (embedding, *head, *((Tensor("lm_head.bias", "bias", (vocabulary,), 1),) if head_bias else ()))


def joined(parts: Iterable[Iterable[Tensor]]) -> tuple[Tensor, ...]:
    return tuple(one for part in parts for one in part)


def total(tensors: Iterable[Tensor]) -> int:
    return sum(one.elements for one in tensors)
