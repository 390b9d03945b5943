"""What was released is as it was released, and what was changed since is not loaded."""

from __future__ import annotations

import hashlib
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from ingest.corpus.errors import Conflict, InvalidInput, NotFound
from ingest.corpus.types import Principal
from service.releases import ledger as ledgers
from service.releases.ledger import ledger, released_names, released_text
from service.releases.release import SHIPPED, is_among, load_release, load_releases

SERVICE = Path(ledgers.__file__).parents[1]
FOLDERS = sorted({path.partition("/")[0] for path in ledger()})


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The released files, where a test may change them."""
    for folder in FOLDERS:
        shutil.copytree(SERVICE / folder, tmp_path / folder)
    shutil.copy(SERVICE / "released.txt", tmp_path)
    monkeypatch.setattr(ledgers, "ROOT", tmp_path)
    return tmp_path


def test_released_files_are_as_they_were_released_and_there_are_no_others() -> None:
    """A change is a new file with the next number, and a line of its own in the ledger."""
    paths = [path for folder in FOLDERS for path in (SERVICE / folder).iterdir()]
    found = {
        path.relative_to(SERVICE).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths
    }
    assert found == ledger()


def test_every_prompt_is_released_with_every_policy_and_the_first_are_shipped() -> None:
    releases = load_releases(512)
    assert list(releases) == ["answer.v1+default.v1", "answer.v2+default.v1"]
    assert SHIPPED == "answer.v1+default.v1"
    assert {one.policy.max_new_tokens for one in releases.values()} == {512}
    assert {name: one.templates["zh"].version.split("@")[0] for name, one in releases.items()} == {
        "answer.v1+default.v1": "answer.v1.zh",
        "answer.v2+default.v1": "answer.v2.zh",
    }


def test_a_version_tells_files_apart_and_not_the_room_for_an_answer() -> None:
    first, second = load_releases(512).values()
    assert first.version.startswith("answer.v1+default.v1@")
    assert first.version.partition("@")[2] != second.version.partition("@")[2]
    assert load_release(SHIPPED, 64).version == first.version


@pytest.mark.parametrize("path", ["prompts/answer.v1.zh.toml", "policies/default.v1.toml"])
def test_a_released_file_that_was_edited_or_is_gone_is_not_loaded(copied: Path, path: str) -> None:
    assert load_release(SHIPPED, 64)
    (copied / path).write_bytes((copied / path).read_bytes() + b"\n")
    with pytest.raises(Conflict, match=rf"{path} is not what was released.*the next number"):
        load_releases(64)
    (copied / path).unlink()
    with pytest.raises(Conflict, match=rf"{path} is not what was released. It is gone"):
        load_release(SHIPPED, 64)


def test_a_file_that_the_ledger_does_not_name_is_not_released(copied: Path) -> None:
    shutil.copy(copied / "policies" / "default.v1.toml", copied / "policies" / "default.v2.toml")
    assert released_names("policies") == ("default.v1",)
    for path in ("policies/default.v2.toml", "policies/../prompts/answer.v1.en.toml", "released.txt"):
        with pytest.raises(NotFound, match="no released file"):
            released_text(path)


def test_a_ledger_that_cannot_be_read_is_refused_by_its_line(copied: Path) -> None:
    lines = len(ledger())
    with (copied / "released.txt").open("a") as file:
        file.write("0123  prompts/answer.v3.en.toml\n")
    with pytest.raises(Conflict, match=f"Line {lines + 1} of the ledger"):
        ledger()


@pytest.mark.parametrize("name", ["", "answer.v1", "+", "answer.v1+", "+default.v1"])
def test_a_name_of_one_half_is_no_release(name: str) -> None:
    with pytest.raises(InvalidInput, match="names no release"):
        load_release(name, 64)


@pytest.mark.parametrize("name", ["answer.v9+default.v1", "answer.v1+default.v9", "../x+default.v1"])
def test_a_release_that_there_is_not_is_missing(name: str) -> None:
    with pytest.raises(NotFound, match="no released file"):
        load_release(name, 64)


# --- a share of the users ----------------------------------------------------------------------

USERS = [Principal("acme", f"user-{number}") for number in range(2000)]


def share_of(release: str, share: int) -> set[str]:
    return {one.user_id for one in USERS if is_among(one, release, share)}


@pytest.mark.parametrize("share", [1, 10, 50, 90])
def test_a_share_is_about_that_share_of_the_users(share: int) -> None:
    expected = len(USERS) * share / 100
    spread = (expected * (1 - share / 100)) ** 0.5
    assert abs(len(share_of("answer.v2", share)) - expected) <= 3 * spread


def test_who_is_in_a_share_is_in_every_larger_one_and_all_is_everybody() -> None:
    shares = [share_of("answer.v2", share) for share in (1, 10, 50, 100)]
    assert all(small < large for small, large in pairwise(shares))
    assert len(shares[-1]) == len(USERS)


def test_another_release_is_tried_on_other_users_and_another_tenants_user_is_another() -> None:
    tried = share_of("answer.v2", 10)
    assert len(tried & share_of("answer.v3", 10)) < len(tried) / 2
    there = {one.user_id for one in USERS if is_among(Principal("globex", one.user_id), "answer.v2", 10)}
    assert there != tried
