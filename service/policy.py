"""The generation policy: a released file of values, with the version that answers record."""

from __future__ import annotations

import hashlib
import tomllib

from ingest.corpus.errors import InvalidInput
from service.releases.ledger import released_text
from service.types import GenerationPolicy

POLICY = "default.v1"


def load_policy(max_new_tokens: int, name: str = POLICY) -> GenerationPolicy:
    """The released policy of that name. Errors as of `released_text`, and `parse_policy`.

    :param max_new_tokens: what the window is kept free for, `reserved_output`: never a second number.
    """
    return parse_policy(released_text(f"policies/{name}.toml"), name, max_new_tokens)


def parse_policy(text: str, name: str, max_new_tokens: int) -> GenerationPolicy:
    """The policy of a file's text; its version is the name and 12 hex digits over the text.

    :raises InvalidInput: if it is no TOML, names a value that there is none of, or one is out of its range.
    """
    version = f"{name}@{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    try:
        values = tomllib.loads(text)
        values["stop"] = tuple(values.get("stop", ()))
        return GenerationPolicy(version=version, max_new_tokens=max_new_tokens, **values)
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise InvalidInput(f"The generation policy {name} cannot be read.", why=f"{error}.") from error
