"""A caller of the service over HTTP, with a key: JSON there and back, files there."""

from __future__ import annotations

import json
import secrets
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from ingest.corpus.errors import CitewardError, InvalidInput, Unavailable
from ingest.corpus.types import AccessList

PATIENCE_SECONDS = 150.0  # for an upload that is waited for, or an answer
LONGEST_SHOWN = 300  # characters of a body that is no problem document


class Problem(CitewardError):
    """What the service answered instead of doing what was asked, with its status and code."""

    def __init__(self, status: int, asked: str, body: bytes) -> None:
        try:
            problem = json.loads(body)
            said, why, next_step = (problem.get(one) or "" for one in ("detail", "why", "next_step"))
        except (ValueError, AttributeError):
            problem, why, next_step = {}, "", ""
            said = body.decode("utf-8", "replace")[:LONGEST_SHOWN]
        super().__init__(f"{asked}: {said} ({status})", why=why, next_step=next_step)
        self.status = status
        self.code = problem.get("code") or f"http_{status}"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A key is for one address: wherever else a response points, it is not sent."""

    def redirect_request(self, *_: object) -> None:
        return None


OPENER = urllib.request.build_opener(_NoRedirects)


@dataclass(frozen=True, slots=True)
class Client:
    """:raises InvalidInput: for an address that is not one of a web server."""

    url: str
    key: str
    patience: float = PATIENCE_SECONDS

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise InvalidInput(
                f"{self.url!r} is no address of a service.",
                next_step="Give it as http://127.0.0.1:8080.",
                field="url",
            )

    def send(self, method: str, path: str, body: object = None) -> Any:
        """The JSON that came back; None for none.

        :raises Problem: for any status from 300 on.
        :raises Unavailable: if nothing answers, or not in time.
        """
        data = None if body is None else json.dumps(body).encode()
        return self._json(self._exchange(method, path, data, "application/json"))

    def text(self, path: str) -> str:
        """What is no JSON there, as the metrics. Errors as of `send`."""
        return self._exchange("GET", path, None, "application/json").decode("utf-8", "replace")

    def upload(self, collection_id: str, name: str, content: bytes, access: AccessList | None) -> Any:
        """As `send`; the document has its own access list, where it has one, from its first moment on."""
        boundary = secrets.token_hex(16)
        path = f"/v1/collections/{collection_id}/documents?wait=true"
        form = multipart(boundary, name, content, access)
        return self._json(self._exchange("POST", path, form, f"multipart/form-data; boundary={boundary}"))

    def _json(self, body: bytes) -> Any:
        try:
            return json.loads(body or b"null")
        except ValueError as error:
            raise self._silent(error) from error

    def _exchange(self, method: str, path: str, data: bytes | None, content_type: str) -> bytes:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": content_type}
        request = urllib.request.Request(self.url.rstrip("/") + path, data, headers, method=method)
        try:
            with OPENER.open(request, timeout=self.patience) as response:
                body: bytes = response.read()
                return body
        except urllib.error.HTTPError as error:
            with error:
                raise Problem(error.code, f"{method} {path}", error.read()) from error
        except (OSError, HTTPException, ValueError) as error:  # the last: an address that is none
            raise self._silent(error) from error

    def _silent(self, error: Exception) -> Unavailable:
        return Unavailable(
            f"{self.url} does not answer as the service would: {getattr(error, 'reason', error)}.",
            next_step="Start the service, or correct its address.",
        )


def multipart(boundary: str, name: str, content: bytes, access: AccessList | None) -> bytes:
    """The form of one upload: the file, its name, and its own access list where it has one."""
    fields = {"name": name}
    if access is not None:
        fields["access"] = json.dumps(entries(access))
    parts = [f'name="{field}"\r\n\r\n{value}'.encode() for field, value in fields.items()]
    parts.append(b'name="file"; filename="document"\r\n\r\n' + content)
    lines = [f"--{boundary}\r\nContent-Disposition: form-data; ".encode() + part + b"\r\n" for part in parts]
    return b"".join(lines) + f"--{boundary}--\r\n".encode()


def entries(access: AccessList) -> dict[str, list[str]]:
    return {"allow": sorted(access.allow), "deny": sorted(access.deny)}
