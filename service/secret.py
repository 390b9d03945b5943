"""The secret that API keys are hashed with, and what else it makes; apart from the parts, which take long."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from service.settings import ServiceSettings


def key_secret(settings: ServiceSettings) -> bytes:
    """What API keys are hashed with: the setting, else a file in the data folder, made at first use."""
    if settings.key_secret:
        return settings.key_secret.encode()
    return _secret_file(settings.corpus.home / "key_secret")


def tenant_salt(key_secret: bytes, tenant_id: str) -> str:
    """What keeps a tenant's prompts apart in an engine's cache: 32 hex digits, which tell nobody his name."""
    return hmac.new(key_secret, f"prompts of {tenant_id}".encode(), hashlib.sha256).hexdigest()[:32]


def _secret_file(path: Path) -> bytes:
    """Two processes that start together get the same one: the name is taken in one step, with its content."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent) as file:  # readable by its owner alone
            file.write(secrets.token_bytes(32))
            file.flush()
            with suppress(FileExistsError):
                path.hardlink_to(file.name)
    return path.read_bytes()
