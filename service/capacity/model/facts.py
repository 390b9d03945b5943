"""The facts of a config.json, each asked for by its names; what is not there is inferred aloud or refused.

Knows no architecture. A file is read as it lies: nothing is downloaded, no code of a model is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.corpus.errors import InvalidInput

# Configs of models that also see or hear keep the language model in one of these.
LANGUAGE_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")
TOWERS = ("vision_config", "audio_config", "vision_tower_config", "sound_config", "visual")
PUBLISHED = "the published implementation's default"
SERVED = "bfloat16"
DEPTH = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
DEEPEST = 10_000  # layers; a config of more is a mistake
DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "half": 2, "float": 4}


@dataclass(slots=True)
class Facts:
    """A model's config, and what was taken from it. It alone changes: it keeps the account."""

    values: Mapping[str, object]
    quantization: Mapping[str, object] | None = None
    towers: tuple[str, ...] = ()  # parts of the model that are not the language model
    defaults: Mapping[str, object] = field(default_factory=dict)  # of the published implementation
    read: dict[str, object] = field(default_factory=dict)
    inferred: dict[str, str] = field(default_factory=dict)  # name -> what it was taken to be, and why

    def get(self, *names: str) -> object | None:
        """The first of these names that has a value, which may be 0 or false; None if none has."""
        for name in names:
            value = self.values.get(name)
            if value is not None:
                self.read[name] = value
                return value
        for name in names:
            if name in self.defaults:
                self.inferred[name] = f"{self.defaults[name]}: {PUBLISHED}"
                return self.defaults[name]
        return None

    def whole(self, *names: str) -> int:
        """:raises InvalidInput: no such name in the config, or no number above 0; `field` is the name."""
        value = self.get(*names)
        if value is None:
            raise missing(names[0], f"{self.model_type}: {' or '.join(names)} is not in the config.")
        return _whole(names[0], value, least=1)

    def whole_or(self, otherwise: int, why: str, *names: str) -> int:
        """The number that the config states, else `otherwise`, which is written down as inferred."""
        value = self.get(*names)
        if value is None:
            self.inferred[names[0]] = f"{otherwise}: {why}"
            return otherwise
        return _whole(names[0], value, least=0)

    def depth(self) -> int:
        """How many layers there are.

        :raises InvalidInput: that is not stated, or cannot be.
        """
        layers = self.whole(*DEPTH)
        if layers > DEEPEST:
            raise InvalidInput(f"No model has {layers} layers.", field=DEPTH[0])
        return layers

    def flag(self, otherwise: bool, *names: str) -> bool:
        value = self.get(*names)
        if value is None:
            self.inferred[names[0]] = f"{str(otherwise).lower()}: the architecture's default"
            return otherwise
        if not isinstance(value, bool):
            raise InvalidInput(f"{names[0]} must be true or false, was: {value!r}.", field=names[0])
        return value

    @property
    def model_type(self) -> str:
        return str(self.values.get("model_type") or "")

    @property
    def dtype(self) -> str:
        """That in which the engine holds what is not quantised; 32 bits are loaded as 16."""
        found = self.get("torch_dtype", "dtype")
        name = str(found if found is not None else "float32").removeprefix("torch.")
        if name not in DTYPE_BYTES:
            raise missing("torch_dtype", f"torch_dtype is {name!r}, whose size is not known.")
        if name in ("float32", "float"):
            self.inferred["torch_dtype"] = f"{SERVED}: what 32 bits, or no statement, are served in"
            return SERVED
        return "float16" if name == "half" else name


def facts_of(config: Mapping[str, object], quantization: Mapping[str, object] | None = None) -> Facts:
    """`config` as config.json holds it: a language model's own, or one that keeps it in a part.

    `quantization`: used where the config has no quantization_config of its own.
    """
    part = _part(config)
    part = (_part(part) or part) if part is not None else None  # a part may lie within a part
    outer = {name: config[name] for name in ("torch_dtype", "dtype", "tie_word_embeddings") if name in config}
    own = (
        {name: one for name, one in part.items() if one is not None} if isinstance(part, Mapping) else config
    )
    values = {**outer, **own}
    found = config.get("quantization_config") or values.get("quantization_config") or quantization
    if found is not None and not isinstance(found, Mapping):
        raise InvalidInput("quantization_config must be an object.", field="quantization_config")
    towers = tuple(name for name in TOWERS if config.get(name))
    return Facts(values, found, towers)


def _part(config: Mapping[str, object]) -> Mapping[str, object] | None:
    found = (config.get(name) for name in LANGUAGE_PARTS)
    return next((one for one in found if isinstance(one, Mapping)), None)


def missing(name: str, what: str) -> InvalidInput:
    """The refusal of a model of which a fact is not known; `field` is the fact's name."""
    return InvalidInput(
        what,
        why="A figure without it would be a guess.",
        next_step="Give the model's own config.json; for an architecture that is not known, measure instead.",
        field=name,
    )


def _whole(name: str, value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"{name} must be a whole number of at least {least}, was: {value!r}.", field=name)
    return value
