"""Jobs are done by one worker at a time, survive it, and end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ingest import jobs
from ingest.corpus.database import Database, Session
from ingest.corpus.errors import NotFound
from ingest.corpus.lookup import get_document
from tests.ingest.storing import ADMIN, add, furnish, keep

NOW, LEASE = 1000.0, 60.0


@pytest.fixture(autouse=True)
def furnished(database: Database) -> None:
    furnish(database)


def enqueue(database: Database, name: str = "a.md") -> str:
    with database.writing() as session:
        added = add(session, name, name)
        return jobs.enqueue(session, "acme", "docs", added.document_id, added.version)


def claim(database: Database, now: float = NOW) -> jobs.Job | None:
    with database.writing() as session:
        return jobs.claim(session, now, LEASE)


def claimed(database: Database, now: float = NOW) -> jobs.Job:
    job = claim(database, now)
    assert job is not None
    return job


def stored(database: Database, job_id: str) -> jobs.Job:
    with database.reading() as session:
        return jobs.get_job(session, "acme", job_id)


def test_jobs_are_claimed_in_their_order_and_once(database: Database) -> None:
    first, second = enqueue(database, "a.md"), enqueue(database, "b.md")
    job = claimed(database)
    assert (job.id, job.state, job.attempts, job.lease_until) == (first, "running", 1, NOW + LEASE)
    assert claimed(database).id == second
    assert claim(database) is None


def test_a_done_job_is_never_claimed_again(database: Database) -> None:
    job_id = enqueue(database)
    with database.writing() as session:
        assert jobs.finish(session, claimed_in(session))
    done = stored(database, job_id)
    assert (done.state, done.lease_until) == ("done", None)
    assert done.finished_at is not None
    assert claim(database, NOW + 10 * LEASE) is None


def claimed_in(session: Session) -> jobs.Job:
    job = jobs.claim(session, NOW, LEASE)
    assert job is not None
    return job


def test_a_lease_that_ran_out_frees_the_job(database: Database) -> None:
    job_id = enqueue(database)
    claimed(database)
    assert claim(database, NOW + LEASE) is None
    again = claimed(database, NOW + LEASE + 1)
    assert (again.id, again.attempts) == (job_id, 2)


def test_a_renewed_lease_holds(database: Database) -> None:
    enqueue(database)
    job = claimed(database)
    with database.writing() as session:
        assert jobs.renew(session, job, NOW + 5 * LEASE)
    assert claim(database, NOW + 4 * LEASE) is None


def test_a_worker_that_lost_its_job_is_not_heard(database: Database) -> None:
    job_id = enqueue(database)
    lost = claimed(database)
    current = claimed(database, NOW + LEASE + 1)
    with database.writing() as session:
        assert not jobs.renew(session, lost, NOW + 99 * LEASE)
        assert not jobs.finish(session, lost)
        assert not jobs.fail(session, lost, "late", "Too late.")
    assert stored(database, job_id) == current
    with database.writing() as session:
        assert jobs.finish(session, current)
        assert not jobs.finish(session, current)


def test_a_job_that_takes_its_workers_down_is_failed_with_its_version(database: Database) -> None:
    job_id = enqueue(database)
    behind = enqueue(database, "b.md")
    for attempt in range(1, jobs.MAX_ATTEMPTS + 1):
        job = claimed(database, NOW + attempt * (LEASE + 1))
        assert (job.id, job.attempts) == (job_id, attempt)
    assert claimed(database, NOW + 9 * LEASE).id == behind
    failed = stored(database, job_id)
    assert (failed.state, failed.failure_code, failed.attempts) == ("failed", "worker_lost", 3)
    with database.reading() as session:
        document = get_document(session, ADMIN, failed.document_id)
    assert (document.state, document.failure_code) == ("failed", "worker_lost")


def test_a_failed_job_says_why(database: Database) -> None:
    job_id = enqueue(database)
    with database.writing() as session:
        assert jobs.fail(session, claimed_in(session), "garbled", "No words in it.")
    job = stored(database, job_id)
    assert (job.state, job.failure_code, job.failure_reason) == ("failed", "garbled", "No words in it.")
    with database.reading() as session:
        assert get_document(session, ADMIN, job.document_id).failure_reason == "No words in it."


def test_what_may_pass_is_tried_again_a_few_times(database: Database) -> None:
    job_id = enqueue(database)
    for _ in range(jobs.MAX_ATTEMPTS):
        with database.writing() as session:
            assert jobs.fail(session, claimed_in(session), "unavailable", "Disk full.", may_pass=True)
    assert stored(database, job_id).state == "failed"
    assert claim(database, NOW + 99 * LEASE) is None


def test_a_version_kept_before_its_worker_died_stays_ready(database: Database) -> None:
    job_id = enqueue(database)
    with database.writing() as session:
        job = jobs.get_job(session, "acme", job_id)
        added = add(session, "a.md", "a.md ")
        keep(session, added, "a.md ")
    for attempt in range(jobs.MAX_ATTEMPTS + 1):
        claim(database, NOW + attempt * (LEASE + 1))
    with database.reading() as session:
        assert get_document(session, ADMIN, job.document_id).state == "ready"


def test_a_job_of_another_tenant_is_a_missing_job(database: Database) -> None:
    job_id = enqueue(database)
    texts = set()
    for tenant_id, one_id in (("other", job_id), ("acme", "job_unknown")):
        with database.reading() as session, pytest.raises(NotFound) as caught:
            jobs.get_job(session, tenant_id, one_id)
        texts.add(str(caught.value).replace(one_id, "…"))
    assert len(texts) == 1


def test_jobs_are_listed_newest_first_and_for_their_tenant(database: Database) -> None:
    first, second = enqueue(database, "a.md"), enqueue(database, "b.md")
    with database.reading() as session:
        assert [job.id for job in jobs.list_jobs(session, "acme")] == [second, first]
        assert jobs.list_jobs(session, "other") == ()


def test_workers_that_race_never_get_the_same_job(database: Database) -> None:
    queued = {enqueue(database, f"{n}.md") for n in range(24)}
    barrier = threading.Barrier(4)

    def work() -> list[str]:
        barrier.wait()
        mine = []
        while (job := claim(database)) is not None:
            mine.append(job.id)
        return mine

    with ThreadPoolExecutor(max_workers=4) as pool:
        got = [one for future in [pool.submit(work) for _ in range(4)] for one in future.result()]
    assert len(got) == len(queued)
    assert set(got) == queued
