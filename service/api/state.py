"""What every endpoint works with: made once when the service starts, handed out by request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from service.adapters.telemetry import Telemetry
from service.api.metrics import Metrics
from service.parts import Parts


@dataclass(frozen=True, slots=True)
class Service:
    parts: Parts
    key_secret: bytes
    metrics: Metrics
    wake_worker: Callable[[], None]
    telemetry: Telemetry | None = None  # None: no collector is named


def service_of(request: Request) -> Service:
    service = request.state.service
    assert isinstance(service, Service)
    return service


Serving = Annotated[Service, Depends(service_of)]
