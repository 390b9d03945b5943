"""What clients of OpenAI's API send: what counts here, what has no effect, and what is refused by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ingest.corpus.errors import InvalidInput
from service.api.schemas import Sent

MOST_MESSAGES = 2000  # of one request; a conversation is heard from its newest on
LONGEST_SHOWN = 60  # characters of a value that is shown back
# A released policy rules how a language model is sampled, and every answer is kept with its record: that
# these changed nothing is told, in `ignored`.
WITHOUT_EFFECT = frozenset(
    {
        *("temperature", "top_p", "frequency_penalty", "presence_penalty", "seed", "reasoning", "verbosity"),
        *("max_tokens", "max_completion_tokens", "max_output_tokens", "reasoning_effort", "instructions"),
        *("store", "metadata", "service_tier"),
    }
)
# These change no answer anywhere, so nobody has to be told.
SAY_NOTHING = frozenset(
    {
        *("user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "parallel_tool_calls"),
        *("truncation", "max_tool_calls"),
    }
)
# They ask for something else than a checked answer. Their values that ask for nothing are taken.
REFUSED: Mapping[str, Sequence[Any]] = {
    "n": [1],
    "stop": [[]],
    "logprobs": [False],
    "top_logprobs": [0],
    "logit_bias": [{}],
    "tools": [[]],
    "tool_choice": ["none", "auto"],
    "functions": [[]],
    "function_call": ["none", "auto"],
    "response_format": [{"type": "text"}],
    "text": [{}, {"format": {"type": "text"}}],
    "modalities": [["text"]],
    "audio": [],
    "prediction": [],
    "web_search_options": [],
    "include": [[]],
    "background": [False],
    "conversation": [],
    "prompt": [],
}


class Part(Sent):
    """A piece of a message: text and nothing else."""

    type: Literal["text", "input_text", "output_text", "refusal"]
    text: str | None = None
    refusal: str | None = None
    annotations: list[Any] | None = None  # of an answer that is sent back; as `logprobs`
    logprobs: list[Any] | None = None

    @property
    def words(self) -> str:
        return self.text or self.refusal or ""


def _as_parts(sent: object) -> object:
    if sent is None:
        return []
    return [{"type": "text", "text": sent}] if isinstance(sent, str) else sent


def _as_messages(sent: object) -> object:
    return [{"role": "user", "content": sent}] if isinstance(sent, str) else sent


class SentMessage(Sent):
    """One message. What an answer of ours carries besides its text may come back with it."""

    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[
        list[Part],
        BeforeValidator(_as_parts, json_schema_input_type=str | list[Part] | None),
        Field(default_factory=list),
    ]
    refusal: str | None = None
    name: str | None = None
    id: str | None = None
    status: str | None = None
    phase: str | None = None
    annotations: list[Any] | None = None
    audio: None = None
    function_call: None = None
    tool_calls: Annotated[list[Any], Field(max_length=0)] | None = None

    @property
    def text(self) -> str:
        return "\n".join(part.words for part in self.content) or self.refusal or ""


class StreamOptions(Sent):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None  # there is none: statements, not tokens, are sent


class Compatible(BaseModel):
    """What both have in common; the fields besides are for `ignored_of`."""

    model_config = ConfigDict(extra="allow", strict=True)

    model: Annotated[str, Field(examples=["citeward", "citeward/handbook"])]
    stream: bool | None = None
    stream_options: StreamOptions | None = None


class ChatRequest(Compatible):
    """Also taken, without effect: what has to do with sampling, length and storing; see docs/openai.md."""

    messages: Annotated[
        list[SentMessage],
        Field(
            min_length=1, max_length=MOST_MESSAGES, examples=[[{"role": "user", "content": "年假有几天？"}]]
        ),
    ]


class ResponseRequest(Compatible):
    """Also taken, without effect: what has to do with sampling, length and storing; see docs/openai.md."""

    input: Annotated[
        list[SentMessage],
        BeforeValidator(_as_messages, json_schema_input_type=str | list[SentMessage]),
        Field(min_length=1, max_length=MOST_MESSAGES, examples=["年假有几天？"]),
    ]
    previous_response_id: Annotated[
        str | None, Field(max_length=64, description="Of an answer that you were given, to ask a follow-up.")
    ] = None


def ignored_of(sent: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The names of fields that would have had an effect elsewhere and have none here.

    :raises InvalidInput: for one that asks for what is not done here, and for one that nobody knows.
    """
    given = sent or {}
    for name, value in given.items():
        if name in WITHOUT_EFFECT or name in SAY_NOTHING or _asks_for_nothing(name, value):
            continue
        raise InvalidInput(
            f"{name[:LONGEST_SHOWN]}: it was {_shortened(repr(value))}.",
            why="This is not done here." if name in REFUSED else "There is no such field.",
            next_step="Leave it out.",
            field=name[:LONGEST_SHOWN],
        )
    return tuple(name for name, value in given.items() if name in WITHOUT_EFFECT and value is not None)


def _asks_for_nothing(name: str, value: object) -> bool:
    """By type too: true is no 1 here."""
    return name in REFUSED and (
        value is None or any(type(value) is type(one) and value == one for one in REFUSED[name])
    )


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
