"""Other weights have another revision, and to tell it no large file is read."""

from __future__ import annotations

from pathlib import Path

from service.engine.weights import DIGITS, SAMPLED_BYTES, revision


def model(folder: Path, weights: bytes = b"weights", config: bytes = b"{}") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(weights)
    (folder / "config.json").write_bytes(config)
    return folder


def test_a_folder_is_told_by_its_config_and_both_ends_of_its_weights(tmp_path: Path) -> None:
    long = b"a" * SAMPLED_BYTES
    found = [
        revision(model(tmp_path / "same")),
        revision(model(tmp_path / "config", config=b'{"a": 1}')),
        revision(model(tmp_path / "weights", b"Weights")),
        revision(model(tmp_path / "head", b"x" + long + b"b" + long)),
        revision(model(tmp_path / "tail", b"a" + long + b"b" + long[1:] + b"x")),
    ]
    assert len(set(found)) == len(found)
    assert {len(one) for one in found} == {DIGITS}
    assert revision(model(tmp_path / "elsewhere")) == found[0]


def test_a_pack_is_told_by_the_hashes_that_it_came_with(tmp_path: Path) -> None:
    pack = model(tmp_path / "pack")
    (pack / "pack.json").write_text('{"sha256": {"model.safetensors": "0123"}}')
    before = revision(pack)
    (pack / "pack.json").write_text('{"sha256": {"model.safetensors": "4567"}}')
    assert revision(pack) != before


def test_a_snapshot_of_a_hub_is_told_by_its_commit(tmp_path: Path) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    assert revision(model(tmp_path / "snapshots" / commit)) == commit[:DIGITS]
