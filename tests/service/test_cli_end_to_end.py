"""The command as it is installed: quick to start, and with the real embedder from `init` to cited answers."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ingest.corpus.settings import CorpusSettings
from service.cli import app
from service.cli.local import Installation
from service.sample import load_sample
from service.settings import ServiceSettings
from tests.contracts.real_models import real_embedder

SLOW_TO_IMPORT = ("torch", "transformers", "fastapi", "sqlalchemy", "alembic", "numpy", "faiss")
HANDBOOK = "handbook/"
QUESTIONS = (
    ("陪产假有多少天？", "zh", "陪产假为15天"),
    ("How many days a week may I work from home?", "en", "3 days a week"),
)


def modules_after(code: str) -> set[str]:
    """What a process of its own has imported once it ran `code`."""
    code = f"import sys; {code}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_a_command_that_needs_no_library_waits_for_none() -> None:
    loaded = modules_after("from service.cli import app; app(['version'], standalone_mode=False)")
    assert "service.cli.about" in loaded
    assert not loaded.intersection(SLOW_TO_IMPORT)


def test_commands_that_embed_nothing_do_not_load_torch() -> None:
    loaded = modules_after("import service.cli.people, service.cli.collections, service.cli.ingest")
    assert not loaded & {"torch", "transformers", "fastapi"}


def test_the_installed_command_runs() -> None:
    command = Path(sys.executable).with_name("citeward")
    if not command.exists():
        pytest.skip("the package is not installed in this environment")
    ran = subprocess.run([command, "nonsense"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "No such command" in ran.stderr


def test_results_go_to_standard_output_even_while_a_bar_is_shown() -> None:
    code = "from service.cli.show import progress, show\nwith progress() as w: w('x', 1, 2); show('result')"
    terminal, its_end = pty.openpty()
    ran = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=its_end, check=True)
    os.close(its_end)
    os.close(terminal)
    assert ran.stdout == b"result\n"


def write_handbook(folder: Path) -> Path:
    """The sample's handbook, in both languages."""
    folder.mkdir()
    for document in load_sample().documents:
        if document.path.startswith(HANDBOOK):
            (folder / document.path.removeprefix(HANDBOOK)).write_bytes(document.read_bytes())
    return folder


@pytest.mark.slow  # `make demo` goes the same way
def test_from_nothing_to_answers_in_both_languages(tmp_path: Path) -> None:
    embedder = real_embedder()
    settings = ServiceSettings(corpus=CorpusSettings(home=tmp_path / "home"))

    def citeward(*arguments: str) -> Any:
        here = Installation(settings, embedder)
        ended = CliRunner().invoke(app, [*arguments, "--json"], obj=here)
        assert ended.exit_code == 0, ended.stderr
        return json.loads(ended.stdout)

    assert citeward("init")["api_key"]
    handbook = write_handbook(tmp_path / "handbook")
    taken = citeward("ingest", str(handbook), "-c", "handbook", "--create", "--allow", "everyone")
    assert taken["summary"]["ready"] == len(list(handbook.iterdir()))
    for question, language, wanted in QUESTIONS:
        answer = citeward("ask", question)
        assert (answer["outcome"], answer["language"]) == ("answered", language)
        assert wanted in answer["answer"]
        assert answer["citations"][0]["quote"]
    before = citeward("search", QUESTIONS[0][0])["hits"]
    citeward("reindex")
    assert citeward("search", QUESTIONS[0][0])["hits"] == before
