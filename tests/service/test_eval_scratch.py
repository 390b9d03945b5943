"""What an evaluation runs on: an installation of its own, that has the model packs of the real one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ingest.corpus.settings import CorpusSettings
from ingest.models import pack_folder
from service.engine.launch import find_model
from service.evaluation.asking.scratch import scratch_installation
from service.settings import ServiceSettings
from tests.fakes import HashEmbedder

ROOT = Path(__file__).parents[2]
QUESTIONS = 40


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


# Asks slowly enough to be ended amid it, and says when it asks: other texts are embedded as well.
ASK_SLOWLY = """
import re, sys, time
from pathlib import Path
from service.cli import app
from service.cli.local import Installation
from service.settings import ServiceSettings
from ingest.corpus.settings import CorpusSettings
from tests.fakes import HashEmbedder

class Slow(HashEmbedder):
    def embed_query(self, text):
        if re.fullmatch(r"What colour is desk [0-9]+[?]", text):
            print("asked", flush=True)
            time.sleep(0.3)
        return super().embed_query(text)

settings = ServiceSettings(corpus=CorpusSettings(home=Path(sys.argv[1])))
app(sys.argv[2:], obj=Installation(settings, Slow()))
"""


@pytest.mark.parametrize(("number", "command"), [(signal.SIGTERM, "run"), (signal.SIGHUP, "refusal")])
def test_a_run_that_is_told_to_end_leaves_no_documents_and_keeps_what_was_answered(
    tmp_path: Path, number: signal.Signals, command: str
) -> None:
    folder, scratch, home = write_few(tmp_path), tmp_path / "scratch", tmp_path / "home"
    scratch.mkdir()
    asking = subprocess.Popen(
        [sys.executable, "-c", ASK_SLOWLY, str(home), "eval", command, str(folder)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with asking:
        assert asking.stdout is not None
        for _ in range(5):
            assert asking.stdout.readline() == "asked\n"
        assert list(scratch.glob("citeward-eval-*"))
        asking.send_signal(number)
        asking.send_signal(number)  # as `timeout` does
        asking.wait(60)
    assert list(scratch.glob("citeward-eval-*")) == []
    assert asking.returncode == 128 + number
    if command == "run":
        (kept,) = (home / "cache" / "eval").glob("few-*.jsonl")
        assert '"case_id"' in kept.read_text("utf-8")


def test_what_was_said_of_a_signal_before_stays_said(tmp_path: Path) -> None:
    """nohup has a run go on when its terminal is closed, and a program may have its own way to end."""
    settings = ServiceSettings(corpus=CorpusSettings(home=tmp_path / "home"), key_secret="a" * 32)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with scratch_installation(settings, HashEmbedder()):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_thread_that_may_say_nothing_of_signals_works_all_the_same(tmp_path: Path) -> None:
    settings = ServiceSettings(corpus=CorpusSettings(home=tmp_path / "home"), key_secret="a" * 32)

    def work() -> bool:
        with scratch_installation(settings, HashEmbedder()) as parts:
            return parts.settings.corpus.home.is_dir()

    with ThreadPoolExecutor(1) as other:
        assert other.submit(work).result()


def write_few(folder: Path) -> Path:
    """A set of others: two documents and some questions."""
    few = folder / "few"
    few.mkdir()
    documents = [{"_id": f"d{number}", "text": f"Desk {number} is red."} for number in range(2)]
    queries = [
        {"_id": f"q{number}", "text": f"What colour is desk {number}?", "answerable": number % 2 == 0}
        for number in range(QUESTIONS)
    ]
    for name, rows in (("corpus", documents), ("queries", queries)):
        (few / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (few / "qrels.tsv").write_text("".join(f"q{number}\td0\t1\n" for number in range(QUESTIONS)), "utf-8")
    return few


def test_without_packs_there_are_none(tmp_path: Path) -> None:
    settings = ServiceSettings(corpus=CorpusSettings(home=tmp_path / "home"), key_secret="a" * 32)
    with scratch_installation(settings, HashEmbedder()) as parts:
        assert parts.settings.corpus.database_url == ""
