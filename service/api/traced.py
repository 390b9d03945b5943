"""The trace of a question, sent when it has ended."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import Request

from service.api.edge import REQUEST_ID, log_crash
from service.api.state import Service
from service.assemble import AnswerInProgress
from service.spans import question_span


def sends_trace(request: Request, service: Service) -> Callable[[AnswerInProgress], None] | None:
    """What is to be told of a question that has ended; None where no collector is named."""
    telemetry = service.telemetry
    if telemetry is None:
        return None
    request_id: str = request.scope[REQUEST_ID]
    parents = request.headers.getlist("traceparent")
    parent = parents[0] if len(parents) == 1 else ""  # of two none can be believed

    def send(making: AnswerInProgress) -> None:
        try:
            telemetry.send(question_span(making, request_id), parent)
        except Exception as error:  # the answer stands, whatever became of its trace
            log_crash(error, request_id)

    return send
