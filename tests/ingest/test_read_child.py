"""Whatever a file does to its parser, the caller gets a document or a code, and nothing of it stays."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.corpus.errors import Unreadable
from ingest.read import child
from ingest.read.child import PACKAGE_ROOT, measure_read, read_file
from ingest.read.parse import ReadLimits, parse

SOURCE = "# 合同\n\nThe café 👩\u200d👧 opens at 9.\n".encode()


def code_of(data: bytes, limits: ReadLimits, source_name: str = "a.md") -> str:
    with pytest.raises(Unreadable) as error:
        read_file(data, source_name, limits)
    return error.value.code


INTERRUPTED = """
import os, signal, sys, threading, time
from ingest.read import child
from ingest.read.child import ReadLimits, read_file

def started(*arguments, **named):
    process = given(*arguments, **named)
    print(process.pid, flush=True)
    os.kill(process.pid, signal.SIGSTOP)  # it would take long
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    return process

given, child.subprocess.Popen = child.subprocess.Popen, started
read_file(b"text", "a.txt", ReadLimits(seconds=250))
"""


def test_a_reader_that_is_interrupted_takes_its_child_with_it_and_waits_for_no_timer() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    ended = subprocess.run(command, cwd=PACKAGE_ROOT, check=False, timeout=60, capture_output=True, text=True)
    assert "KeyboardInterrupt" in ended.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(ended.stdout), 0)


def test_a_child_gives_the_same_document_as_this_process() -> None:
    assert read_file(SOURCE, "a.md") == parse(SOURCE, "a.md")


def test_a_report_tells_what_reading_cost() -> None:
    report = measure_read(SOURCE, "a.md")
    assert report.state == "ready"
    assert report.document is not None
    assert report.document.title == "合同"
    assert 0 < report.seconds < 60
    assert 5 < report.peak_mib < 500


def test_a_failure_is_told_and_not_raised_by_the_report() -> None:
    report = measure_read(b"", "a.md")
    assert (report.state, report.document, report.code) == ("failed", None, "empty")
    assert report.reason is not None
    assert "0 bytes" in report.reason


def test_a_content_that_belies_its_name_gives_a_warning() -> None:
    document = read_file(b"<!doctype html><p>Words", "a.md")
    assert document.media_type == "text/html"
    assert document.warnings == ("The name says text/markdown, the content is text/html.",)


def test_too_many_bytes_are_refused_before_a_child_starts() -> None:
    report = measure_read(b"12345", "a.txt", ReadLimits(file_bytes=4))
    assert (report.code, report.peak_mib) == ("too_large", 0.0)


def test_too_much_text_is_refused() -> None:
    assert code_of(b"word " * 100, ReadLimits(characters=100), "a.txt") == "too_large"


def test_a_parser_that_takes_too_long_is_killed() -> None:
    assert (
        code_of(b"a\n\n" * 1_000_000, ReadLimits(seconds=0.02), "a.txt") == "parse_timeout"
    )  # takes seconds


def test_a_parser_that_needs_too_much_memory_is_stopped() -> None:
    report = measure_read(b"a\n\n" * 3_000_000, "a.txt", ReadLimits(memory_bytes=200 * 2**20))
    assert report.code == "parse_memory"
    assert report.peak_mib < 200


def test_a_child_without_room_to_start_is_a_crash_and_no_error_of_ours() -> None:
    assert code_of(SOURCE, ReadLimits(memory_bytes=2**20)) in {"parse_memory", "parse_crashed"}


def test_no_message_holds_a_path_or_a_stack() -> None:
    report = measure_read(b"PK\x03\x04 word/document.xml", "/secret/place/a.docx")
    assert report.code == "corrupt_document"
    assert report.reason is not None
    assert not re.search(r"/secret|Traceback|\.py", report.reason)


def test_a_child_can_write_no_file_and_dump_no_memory() -> None:
    script = (
        "import resource; from ingest.read import child; from ingest.read.parse import ReadLimits;"
        "child._limit_self(ReadLimits());"
        "print(resource.getrlimit(resource.RLIMIT_FSIZE), resource.getrlimit(resource.RLIMIT_CORE))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env={"PYTHONPATH": str(PACKAGE_ROOT)},
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"(0, 0) (0, 0)\n"


def test_no_child_is_left_behind() -> None:
    before = children()
    for _ in range(3):
        measure_read(SOURCE, "a.md", ReadLimits(seconds=0.02))
    assert children() <= before


def children() -> set[str]:
    """Ids of this process's children: those of other tests, and the dead that nobody waited for."""
    return {
        number
        for task in Path("/proc/self/task").iterdir()
        for number in (task / "children").read_text().split()
    }


def test_nothing_of_this_environment_reaches_the_child() -> None:
    assert set(child.CHILD_ENVIRONMENT) == {"PYTHONPATH", "OPENBLAS_NUM_THREADS", "LANG"}


def test_a_child_starts_without_what_only_the_service_needs() -> None:
    """One is started for every file."""
    program = (
        "import sys, ingest.read.child; print(sorted({'numpy', 'sqlalchemy', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-s", "-c", program],
        capture_output=True,
        text=True,
        cwd=PACKAGE_ROOT,
        check=True,
    )
    assert done.stdout == "[]\n"
