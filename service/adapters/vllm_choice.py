"""The language model behind vLLM's HTTP, asked to choose a word: one request that waits, never sent again."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx2

from ingest.corpus.errors import ModelTimeout
from service.adapters.vllm import model_version
from service.engine.chat import bad_stream, turned_away, unavailable
from service.engine.choice import choice_body, read_choice
from service.types import Message

MOST_BYTES = 256 * 1024  # of a response; one with twenty tokens is some kB


@dataclass(frozen=True, slots=True)
class VllmChooser:
    """Meets `Chooser`. A connection of its own for each question, as in `VllmGenerator`."""

    url: str
    model: str  # the name that it is served under
    seconds: float  # for the whole answer, looked at between two pieces of it
    connect_seconds: float
    revision: str = ""  # of the weights; empty: not known
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context)  # making one takes a while

    @property
    def version(self) -> str:
        return model_version(self.model, self.revision)

    def choose(
        self, messages: Sequence[Message], answers: Sequence[str], salt: str = ""
    ) -> Mapping[str, float]:
        body = self._answer(choice_body(self.model, messages, answers, salt))
        return read_choice(body, self.model, answers)

    def _answer(self, asked: Mapping[str, object]) -> bytes:
        ends = time.monotonic() + self.seconds
        timeout = httpx2.Timeout(self.seconds, connect=min(self.connect_seconds, self.seconds))
        with (
            self._failures_named(),
            httpx2.Client(verify=self.tls, trust_env=False, timeout=timeout) as client,
            client.stream(
                "POST",
                f"{self.url}/v1/chat/completions",
                json=asked,
                headers={"Accept-Encoding": "identity"},
            ) as response,
        ):
            body = self._whole(response, ends)
            if response.status_code != httpx2.codes.OK:
                raise turned_away(response.status_code, body)
            return body

    def _whole(self, response: httpx2.Response, ends: float) -> bytes:
        body = b""
        for piece in response.iter_raw():
            body += piece
            if len(body) > MOST_BYTES:
                raise bad_stream("It is far longer than an answer.")
            if time.monotonic() > ends:
                raise self._too_slow()
        return body

    @contextmanager
    def _failures_named(self) -> Iterator[None]:
        """What the library raises, as our errors."""
        try:
            yield
        except httpx2.ConnectTimeout as error:
            raise unavailable("Its server takes no connection.") from error
        except httpx2.TimeoutException as error:
            raise self._too_slow() from error
        except httpx2.DecodingError as error:
            raise bad_stream("It cannot be decoded.") from error
        except httpx2.TransportError as error:
            raise unavailable(f"The connection to its server failed: {type(error).__name__}.") from error

    def _too_slow(self) -> ModelTimeout:
        return ModelTimeout(
            "The language model was too slow.",
            why=f"To choose an answer it may take {self.seconds:g} s.",
            next_step="Ask again later.",
        )
