"""Each nasty file of the evaluation data, uploaded to one running service, ends as its manifest says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.corpus.database import Database
from service.parts import Parts
from tests.ingest.test_badfiles import ALLOWED, DATA, FLAGS, FOLDER, assert_holds, cases
from tests.world import World, running_world

pytestmark = pytest.mark.skipif(not DATA, reason="CITEWARD_EVAL_DATA names no folder of evaluation data")
UPLOADS = "/v1/collections/handbook/documents"


@pytest.fixture
def roomy(database: Database, tmp_path: Path) -> Iterator[World]:
    def with_large_uploads(parts: Parts) -> Parts:
        corpus = replace(parts.settings.corpus, max_upload_bytes=10_000_000)
        return replace(parts, settings=replace(parts.settings, corpus=corpus))

    with running_world(database, tmp_path, with_large_uploads) as world:
        yield world


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_nasty_file_ends_as_its_manifest_says_and_the_next_one_still_works(roomy: World) -> None:
    wrong = {}
    for case in cases():
        try:
            assert_ends_well(roomy, case)
        except AssertionError as error:
            wrong[case["file"]] = str(error)
    assert wrong == {}
    assert roomy.client.get("/healthz").status_code == 200


def assert_ends_well(world: World, case: dict[str, Any]) -> None:
    data = (FOLDER / case["file"]).read_bytes()
    response = world.root.send("POST", UPLOADS, params={"wait": "true"}, files={"file": (case["file"], data)})
    said = response.json()
    if response.status_code in (413, 415, 422):
        assert "reject" in ALLOWED[case["accept"]], said
        assert said["code"]
        return
    assert response.status_code == 200, said
    shown = world.root.get(f"/v1/documents/{said['document_id']}").json()
    if shown["state"] == "failed":
        assert ("flag" if shown["failure_code"] in FLAGS else "reject") in ALLOWED[case["accept"]], shown
        assert (shown["chunks"], bool(shown["failure_reason"])) == (0, True)
        return
    outcomes = {"ready", "ready with a warning"} if shown["warnings"] else {"ready"}
    assert outcomes & ALLOWED[case["accept"]], shown
    assert shown["chunks"] > 0
    text = world.root.get(f"/v1/documents/{said['document_id']}/versions/{said['version']}").json()[
        "document"
    ]["text"]
    assert_holds(case, text)
