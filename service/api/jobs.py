"""Jobs: how far the work on an upload has come."""

from __future__ import annotations

from ingest import jobs
from service.api.door import Asker, admin_routes
from service.api.schemas import JobShown
from service.api.state import Serving

routes = admin_routes("jobs")


@routes.get("/v1/jobs", summary="List the newest jobs")
def list_jobs(asker: Asker, service: Serving) -> list[JobShown]:
    with service.parts.database.reading() as session:
        return [_shown(job) for job in jobs.list_jobs(session, asker.tenant_id)]


@routes.get("/v1/jobs/{job_id}", summary="Show a job")
def get_job(job_id: str, asker: Asker, service: Serving) -> JobShown:
    with service.parts.database.reading() as session:
        return _shown(jobs.get_job(session, asker.tenant_id, job_id))


def _shown(job: jobs.Job) -> JobShown:
    return JobShown(
        id=job.id,
        collection_id=job.collection_id,
        document_id=job.document_id,
        version=job.version,
        state=job.state,
        attempts=job.attempts,
        failure_code=job.failure_code,
        failure_reason=job.failure_reason,
        created_at=job.created_at,
        finished_at=job.finished_at,
    )
