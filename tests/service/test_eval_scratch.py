"""What an evaluation runs on: an installation of its own, that has the model packs of the real one."""

from __future__ import annotations

from pathlib import Path

from ingest.corpus.settings import CorpusSettings
from ingest.models import pack_folder
from service.engine.launch import find_model
from service.evaluation.asking.scratch import scratch_installation
from service.settings import ServiceSettings
from tests.fakes import HashEmbedder


def test_model_packs_are_found_there_and_are_left_where_they_are(tmp_path: Path) -> None:
    pack = pack_folder(tmp_path, "smollm2-135m-instruct")
    pack.mkdir(parents=True)
    (pack / "pack.json").write_text("{}", "utf-8")
    settings = ServiceSettings(corpus=CorpusSettings(home=tmp_path), key_secret="a" * 32)
    with scratch_installation(settings, HashEmbedder()) as parts:
        home = parts.settings.corpus.home
        assert home != tmp_path
        assert Path(find_model(pack.name, home)).resolve() == pack.resolve()
    assert not home.exists()
    assert (pack / "pack.json").exists()


def test_without_packs_there_are_none(tmp_path: Path) -> None:
    settings = ServiceSettings(corpus=CorpusSettings(home=tmp_path / "home"), key_secret="a" * 32)
    with scratch_installation(settings, HashEmbedder()) as parts:
        assert parts.settings.corpus.database_url == ""
