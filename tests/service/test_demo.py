"""The demonstration makes itself keys, and leaves of them one a reader and none of the admin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from service.demo import KEY_NAME, make_readers, renew_key, revoked_afterwards
from service.sample import load_sample
from tests.world import Caller, World

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@dataclass(frozen=True, slots=True)
class InProcess:
    """The demonstration's client, over the service in this process."""

    caller: Caller
    url: str = "http://test"
    patience: float = 60

    @property
    def key(self) -> str:
        return self.caller.key

    def send(self, method: str, path: str, body: object = None) -> Any:
        response = self.caller.send(method, path, json=body)
        assert response.is_success, response.text
        return response.json() if response.content else None


def in_force(world: World, user_id: str) -> list[str]:
    """Names of the user's keys that open something."""
    keys = world.root.get(f"/v1/users/{user_id}/keys").json()
    return [one["name"] for one in keys if one["revoked_at"] is None]


def test_a_further_demonstration_revokes_the_keys_of_the_one_before_and_no_other(world: World) -> None:
    admin = InProcess(world.root)
    admin.send("POST", "/v1/users/bob/keys", {"name": "laptop"})
    first, second = renew_key(admin, "bob"), renew_key(admin, "bob")
    assert sorted(in_force(world, "bob")) == ["", KEY_NAME, "laptop"]
    statuses = [
        world.client.get("/v1/answers", headers={"X-API-Key": key}).status_code for key in (first, second)
    ]
    assert statuses == [401, 200]


def test_each_asker_has_one_key(world: World) -> None:
    sample, admin = load_sample(), InProcess(world.root)
    for user in sample.users:
        admin.send("POST", "/v1/users", {"id": user.id, "role": user.role})
    for _ in range(2):
        readers = make_readers(admin, sample)  # type: ignore[arg-type]
    assert readers
    assert {tuple(in_force(world, one)) for one in readers} == {(KEY_NAME,)}


@pytest.mark.parametrize("fails", [False, True])
def test_the_admins_key_opens_nothing_afterwards(world: World, fails: bool) -> None:
    admin_id = "root"
    made = world.root.send("POST", f"/v1/users/{admin_id}/keys", json={"name": "init"}).json()["key"]
    admin = InProcess(Caller(world.client, made, world.root.principal))
    try:
        with revoked_afterwards(admin):  # type: ignore[arg-type]
            assert admin.caller.get("/v1/users").status_code == 200
            if fails:
                raise RuntimeError
    except RuntimeError:
        assert fails
    assert admin.caller.get("/v1/users").status_code == 401
    assert world.root.get("/v1/users").status_code == 200
