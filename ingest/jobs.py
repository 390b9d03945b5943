"""Work that waits for a worker: one job a document version, claimed under a lease, tried a few times.

A worker that dies lets its lease run out. One that lives on after that has lost its job: what it says of the
job is not heard, because the attempt that it speaks of is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Select, and_, insert, or_, select, update
from sqlalchemy.orm import Session

from ingest.corpus.clock import now_utc
from ingest.corpus.errors import NotFound
from ingest.corpus.ids import new_id
from ingest.corpus.store import fail_version
from ingest.corpus.tables import JobRow

MAX_ATTEMPTS = 3  # a file that takes its worker down must not do so for ever
LONGEST_LIST = 1000  # newest jobs shown

JobState = Literal["queued", "running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Job:
    id: str
    tenant_id: str
    collection_id: str
    document_id: str
    version: int
    state: JobState
    attempts: int  # begun so far
    lease_until: float | None  # seconds since the epoch, while running
    failure_code: str | None
    failure_reason: str | None
    created_at: str
    finished_at: str | None


def enqueue(session: Session, tenant_id: str, collection_id: str, document_id: str, version: int) -> str:
    """The id of a new job."""
    job_id = new_id("job")
    session.execute(
        insert(JobRow).values(
            id=job_id,
            tenant_id=tenant_id,
            collection_id=collection_id,
            document_id=document_id,
            version=version,
            state="queued",
            created_at=now_utc(),
        )
    )
    return job_id


def claim(session: Session, now: float, lease_seconds: float) -> Job | None:
    """The oldest job that nobody works on, the caller's until `now + lease_seconds`; None if there is none.

    A job whose last attempt ran out is failed on the way, its version with it.
    """
    while (job := _oldest_free(session, now)) is not None:
        if job.attempts < MAX_ATTEMPTS:
            return _begin(session, job, now + lease_seconds)
        reason = f"The worker stopped without a word, {job.attempts} times."
        _give_up(session, job, "worker_lost", reason)
    return None


def renew(session: Session, job: Job, lease_until: float) -> bool:
    """Keep the job longer; False if it is no longer the caller's."""
    return _change(session, job, {"lease_until": lease_until})


def finish(session: Session, job: Job) -> bool:
    """The job is done; False if it is no longer the caller's."""
    return _change(session, job, {"state": "done", "lease_until": None, "finished_at": now_utc()})


def fail(session: Session, job: Job, code: str, reason: str, *, may_pass: bool = False) -> bool:
    """Give the job up, and its version with it; False if it is no longer the caller's.

    :param may_pass: the cause may go away by itself: put the job back while attempts are left.
    """
    if may_pass and job.attempts < MAX_ATTEMPTS:
        return _change(session, job, {"state": "queued", "lease_until": None})
    return _give_up(session, job, code, reason)


def put_back(session: Session, job: Job) -> bool:
    """For the next who asks; this attempt counts for none. False if it is no longer the caller's."""
    return _change(session, job, {"state": "queued", "lease_until": None, "attempts": job.attempts - 1})


def get_job(session: Session, tenant_id: str, job_id: str) -> Job:
    """:raises NotFound: if the tenant has no such job."""
    row = session.execute(_jobs().where(JobRow.tenant_id == tenant_id, JobRow.id == job_id)).one_or_none()
    if row is None:
        raise NotFound(f"There is no job {job_id!r}.", next_step="Check the id.")
    return Job(**row._asdict())


def list_jobs(session: Session, tenant_id: str) -> tuple[Job, ...]:
    """The tenant's newest jobs, newest first."""
    newest = _jobs().where(JobRow.tenant_id == tenant_id).order_by(JobRow.created_at.desc(), JobRow.id.desc())
    return tuple(Job(**row._asdict()) for row in session.execute(newest.limit(LONGEST_LIST)))


def _oldest_free(session: Session, now: float) -> Job | None:
    is_free = or_(JobRow.state == "queued", and_(JobRow.state == "running", JobRow.lease_until < now))
    row = session.execute(
        _jobs()
        .where(is_free)
        .order_by(JobRow.created_at, JobRow.id)
        .limit(1)
        .with_for_update(skip_locked=True)  # PostgreSQL; on SQLite the whole transaction is the only writer
    ).one_or_none()
    return None if row is None else Job(**row._asdict())


def _begin(session: Session, job: Job, lease_until: float) -> Job:
    session.execute(
        update(JobRow)
        .where(JobRow.id == job.id)
        .values(state="running", attempts=job.attempts + 1, lease_until=lease_until)
    )
    return get_job(session, job.tenant_id, job.id)


def _give_up(session: Session, job: Job, code: str, reason: str) -> bool:
    failed: dict[str, Any] = {"state": "failed", "failure_code": code, "failure_reason": reason}
    if not _change(session, job, failed | {"lease_until": None, "finished_at": now_utc()}):
        return False
    fail_version(session, job.document_id, job.version, code, reason)
    return True


def _change(session: Session, job: Job, values: dict[str, Any]) -> bool:
    """Change a running job, if this attempt is still the one that runs."""
    changed = session.scalar(
        update(JobRow)
        .where(JobRow.id == job.id, JobRow.state == "running", JobRow.attempts == job.attempts)
        .values(**values)
        .returning(JobRow.id)
    )
    return changed is not None


def _jobs() -> Select[*tuple[Any, ...]]:
    return select(
        JobRow.id,
        JobRow.tenant_id,
        JobRow.collection_id,
        JobRow.document_id,
        JobRow.version,
        JobRow.state,
        JobRow.attempts,
        JobRow.lease_until,
        JobRow.failure_code,
        JobRow.failure_reason,
        JobRow.created_at,
        JobRow.finished_at,
    )
