"""Whatever a file does to its parser, the caller gets a document or a code, and nothing of it stays."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from ingest.corpus.errors import Unreadable
from ingest.read.child import measure_read, read_file
from ingest.read.nursery import CHILD_ENVIRONMENT, PACKAGE_ROOT, close, nursery
from ingest.read.parse import ReadLimits, parse
from tests.serving import wait_until

SOURCE = "# 合同\n\nThe café 👩\u200d👧 opens at 9.\n".encode()


def code_of(data: bytes, limits: ReadLimits, source_name: str = "a.md") -> str:
    with pytest.raises(Unreadable) as error:
        read_file(data, source_name, limits)
    return error.value.code


SLOW = b"a\n\n" * 3_000_000  # takes seconds
INTERRUPTED = """
import os, signal, sys, threading
from ingest.read.child import ReadLimits, read_file
from ingest.read.nursery import nursery

print(nursery().process.pid, flush=True)
threading.Timer(0.5, os.kill, (os.getpid(), getattr(signal, sys.argv[1]))).start()
read_file(b"a\\n\\n" * 3_000_000, "a.txt", ReadLimits(seconds=250))
"""


@pytest.mark.parametrize("by", ["SIGINT", "SIGKILL"])
def test_whoever_is_interrupted_takes_the_readers_along_and_waits_for_no_timer(by: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, by]
    ended = subprocess.run(command, cwd=PACKAGE_ROOT, check=False, timeout=60, capture_output=True, text=True)
    assert ended.returncode == -signal.Signals[by] or "KeyboardInterrupt" in ended.stderr
    wait_until(lambda: not session(int(ended.stdout)), 10.0)


def session(leader: int) -> list[str]:
    """Processes of the session that this one began, the dead that nobody waited for left out."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = place.read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(place.parent.name)
    return found


def test_a_nursery_that_died_is_followed_by_another() -> None:
    read_file(SOURCE, "a.md")
    first = nursery().process
    first.kill()
    assert read_file(SOURCE, "a.md") == parse(SOURCE, "a.md")
    assert nursery().process.pid != first.pid


def test_a_nursery_that_dies_while_it_has_children_is_followed_by_another() -> None:
    pids = []
    with ThreadPoolExecutor(1) as pool:
        report = pool.submit(measure_read, SLOW[: len(SLOW) // 20], "a.txt", ReadLimits(characters=10))
        while not report.done():
            if (now := nursery().process).pid not in pids and len(pids) < 1:
                pids.append(now.pid)
                now.kill()
        assert report.result().code == "too_large"


def test_a_nursery_that_cannot_start_is_no_fault_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    close()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert code_of(SOURCE, ReadLimits()) == "parse_crashed"
    close()


def test_many_are_read_at_once_and_none_gets_the_answer_of_another() -> None:
    files = [f"# Title {number}\n\nText of {number}.\n".encode() for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        titles = [document.title for document in pool.map(lambda data: read_file(data, "a.md"), files)]
    assert titles == [f"Title {number}" for number in range(40)]


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


def test_a_child_without_room_is_a_crash_and_no_error_of_ours() -> None:
    assert code_of(SLOW, ReadLimits(memory_bytes=2**20)) in {"parse_memory", "parse_crashed"}


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
    read_file(SOURCE, "a.md")  # the nursery stays
    before = children()
    for seconds in (0.001, 0.02, 5):
        measure_read(SOURCE, "a.md", ReadLimits(seconds=seconds))
    assert children() <= before
    wait_until(lambda: session(nursery().process.pid) == [str(nursery().process.pid)], 10.0)


def children() -> set[str]:
    """Ids of this process's children: those of other tests, and the dead that nobody waited for."""
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread that ended meanwhile
            found.update((task / "children").read_text().split())
    return found


def test_nothing_of_this_environment_reaches_the_child() -> None:
    environment = Path(f"/proc/{nursery().process.pid}/environ").read_bytes().split(b"\0")
    names = {one.split(b"=")[0].decode() for one in environment if one}
    assert names <= {"PYTHONPATH", "OPENBLAS_NUM_THREADS", "LANG", "LC_CTYPE"}


def test_a_child_holds_nothing_but_its_file_and_its_answer() -> None:
    """Neither the way to its nursery nor anything of other children: looked at from within."""
    listing = (
        "import json, os, socket, sys; from ingest.read import nursery;"
        "nursery.main(socket.socket(fileno=int(sys.argv[1])), lambda order, answer:"
        " (order.read(), answer.write(json.dumps(sorted(os.listdir('/proc/self/fd'))))))"
    )
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    reading, writing = os.pipe()
    said, saying = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with (
        subprocess.Popen(
            [sys.executable, "-P", "-s", "-c", listing, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env=CHILD_ENVIRONMENT,
        ) as process,
        tempfile.TemporaryFile() as handed,
    ):
        theirs.close()
        socket.send_fds(ours, [b"read"], [handed.fileno(), writing, saying.fileno()])
        os.close(writing)
        saying.close()
        with os.fdopen(reading) as answer:
            assert json.loads(answer.read()) == ["0", "1", "2", "3"]  # the last: the folder that is listed
        assert said.recv(64).startswith(b"0 ")
        ours.close()
        assert process.wait(10) == 0
    said.close()


def test_a_child_starts_without_what_only_the_service_needs() -> None:
    """Each is a copy of what the nursery has imported."""
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
