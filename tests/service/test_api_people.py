from __future__ import annotations

from ingest.corpus.tables import ApiKeyRow
from tests.world import World


def test_a_new_user_with_a_key_can_ask(world: World) -> None:
    assert world.root.send("POST", "/v1/users", json={"id": "cleo"}).status_code == 201
    made = world.root.send("POST", "/v1/users/cleo/keys", json={"name": "laptop"})
    assert made.status_code == 201
    headers = {"Authorization": f"Bearer {made.json()['key']}"}
    assert world.client.get("/v1/collections", headers=headers).json()[0]["id"] == "handbook"


def test_a_key_is_shown_once_and_not_stored(world: World) -> None:
    made = world.root.send("POST", "/v1/users/bob/keys", json={}).json()
    secret = made["key"].split("_", 2)[2]
    shown = world.root.get("/v1/users/bob/keys")
    assert made["prefix"] in shown.text
    assert secret not in shown.text
    with world.parts.database.reading() as session:
        assert all(secret not in str(vars(row)) for row in session.query(ApiKeyRow))


def test_a_deleted_user_is_gone_with_his_keys(world: World) -> None:
    assert world.root.send("DELETE", "/v1/users/bob").status_code == 204
    assert world.bob.get("/v1/collections").status_code == 401
    assert "bob" not in [one["id"] for one in world.root.get("/v1/users").json()]


def test_members_come_and_go(world: World) -> None:
    path = "/v1/groups/hr/members/bob"
    assert world.root.send("PUT", path).status_code == 204
    assert world.root.send("PUT", path).status_code == 204
    [group] = world.root.get("/v1/groups").json()
    assert sorted(group["user_ids"]) == ["ana", "bob"]
    assert world.root.send("DELETE", path).status_code == 204
    assert world.root.send("DELETE", path).status_code == 404


def test_what_exists_cannot_be_made_again(world: World) -> None:
    for path, body in (
        ("/v1/users", {"id": "bob"}),
        ("/v1/groups", {"id": "hr"}),
        ("/v1/collections", {"id": "handbook", "title": "Again"}),
    ):
        response = world.root.send("POST", path, json=body)
        assert (response.status_code, response.json()["code"]) == (409, "conflict")


def test_ids_that_look_alike_cannot_be_made(world: World) -> None:
    for one in ("Bob", "bob ", " bob", "bоb", "ｂob", "", "a" * 65, "a/b", "everyone\n"):
        for path in ("/v1/users", "/v1/groups"):
            assert world.root.send("POST", path, json={"id": one}).status_code == 422, one


def test_unknown_fields_and_roles_are_refused(world: World) -> None:
    for body in ({"id": "x", "role": "owner"}, {"id": "x", "tenant_id": "globex"}, {"id": 5}, {}):
        assert world.root.send("POST", "/v1/users", json=body).status_code == 422


def test_a_collection_lives_from_its_making_to_its_deletion(world: World) -> None:
    made = world.root.send("POST", "/v1/collections", json={"id": "new", "title": "New"})
    assert made.status_code == 201
    assert world.bob.get("/v1/collections/new").status_code == 404
    world.root.send("PUT", "/v1/collections/new/acl", json={"allow": ["everyone"]})
    assert world.bob.get("/v1/collections/new").json() == made.json()
    assert world.root.send("DELETE", "/v1/collections/new").status_code == 204
    assert world.root.get("/v1/collections/new").status_code == 404


def test_one_tenant_sees_nothing_of_another(world: World) -> None:
    world.root.send("POST", "/v1/users", json={"id": "cleo"})
    for path in ("/v1/users", "/v1/groups", "/v1/jobs", "/v1/collections", "/v1/answers"):
        assert "acme" not in world.boss.get(path).text
    assert "cleo" not in world.boss.get("/v1/users").text
