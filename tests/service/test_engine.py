"""The engine's commands with a small server in vLLM's place: what is started, what is told, and that nothing
stays alive that should not."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ingest.corpus.errors import Conflict, InvalidInput, NotFound, Unavailable
from ingest.corpus.settings import CorpusSettings
from service.cli import app
from service.cli.local import Installation
from service.engine import server
from service.engine.launch import Launch, command, cpu_dtype, find_model, plan
from service.engine.log import last_word, log_lines, start_failed
from service.engine.probe import parse_cache_info
from service.engine.process_group import end, find_process, lives, members
from service.settings import ServiceSettings

# --- what is started ---------------------------------------------------------------------------

ON_CPU = Launch(
    Path("/venv/bin/python"),
    "/models/tiny",
    "tiny",
    "127.0.0.1",
    8001,
    4096,
    kv_gib=3,
    gpu=False,
    dtype="float32",
)
SECRETS = ["-u", "CITEWARD_DATABASE_URL", "-u", "CITEWARD_PDF_PASSWORDS", "-u", "CITEWARD_KEY_SECRET"]


def test_command_line_without_a_gpu() -> None:
    assert command(ON_CPU) == [
        *("env", *SECRETS),
        *("VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1", "HF_HUB_OFFLINE=1", "VLLM_CPU_KVCACHE_SPACE=3"),
        "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=1800",
        *("VLLM_CPU_OMP_THREADS_BIND=nobind", f"OMP_NUM_THREADS={ON_CPU.threads}"),
        *("/venv/bin/python", "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", "/models/tiny", "--served-model-name", "tiny"),
        *("--host", "127.0.0.1", "--port", "8001", "--max-model-len", "4096"),
        *("--generation-config", "vllm", "--dtype", "float32"),
        *("--disable-access-log-for-endpoints", "/health,/metrics,/v1/models"),
        *("--block-size", "32", "--max-num-batched-tokens", "4096"),
        *("--no-enable-log-requests", "--enable-per-request-metrics", "--enable-prompt-tokens-details"),
        *("--no-enable-chunked-prefill", "--enforce-eager"),
    ]


def test_command_line_with_a_gpu_and_a_model_of_a_hub() -> None:
    launch = replace(ON_CPU, model="some/model", name="some/model", gpu=True, dtype="auto")
    assert command(launch) == [
        *("env", *SECRETS, "VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1"),
        *("/venv/bin/python", "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", "some/model", "--served-model-name", "some/model"),
        *("--host", "127.0.0.1", "--port", "8001", "--max-model-len", "4096"),
        *("--generation-config", "vllm", "--dtype", "auto"),
        *("--disable-access-log-for-endpoints", "/health,/metrics,/v1/models"),
        *("--no-enable-log-requests", "--enable-per-request-metrics", "--enable-prompt-tokens-details"),
    ]


def test_settings_say_what_is_started(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    settings = ServiceSettings(
        corpus=CorpusSettings(home=tmp_path),
        llm=str(tmp_path / "model"),
        engine_url="http://localhost:9001",
        engine_python=Path("venv/bin/python"),
        context_window=2048,
        engine_kv_gib=5,
        engine_dtype="bfloat16",
    )
    assert plan(settings, gpu=False) == Launch(
        python=Path.cwd() / "venv/bin/python",
        model=str(tmp_path / "model"),
        name=str(tmp_path / "model"),
        host="localhost",
        port=9001,
        max_model_len=2048,
        kv_gib=5,
        gpu=False,
        dtype="bfloat16",
    )


@pytest.mark.parametrize(
    ("flags", "dtype"),
    [
        ("fma avx avx2 f16c", "float32"),
        ("avx512f avx512_vnni", "float32"),
        ("avx512f avx512_bf16", "bfloat16"),
        ("amx_tile amx_bf16", "bfloat16"),
        ("asimd i8mm bf16", "bfloat16"),
    ],
)
def test_without_a_gpu_it_reckons_as_is_fastest_there(tmp_path: Path, flags: str, dtype: str) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t: none\n")
    assert cpu_dtype(tmp_path / "cpuinfo") == dtype
    assert cpu_dtype(tmp_path / "missing") == "float32"


def test_its_dtype_is_the_processors_where_none_is_set() -> None:
    line = command(replace(ON_CPU, dtype="auto"))
    assert line[line.index("--dtype") + 1] == cpu_dtype()


def test_a_model_is_a_pack_a_folder_or_a_hub_id(tmp_path: Path) -> None:
    pack = tmp_path / "models" / "smollm2-135m-instruct"
    pack.mkdir(parents=True)
    with pytest.raises(Unavailable, match="citeward models pull smollm2-135m-instruct"):
        find_model(pack.name, tmp_path)  # a folder that is no finished pack
    (pack / "pack.json").write_text("{}")
    assert find_model(pack.name, tmp_path) == str(pack)
    assert find_model(str(tmp_path), tmp_path) == str(tmp_path)
    assert find_model("some/model", tmp_path) == "some/model"


def test_the_embedder_s_pack_is_no_language_model(tmp_path: Path) -> None:
    pack = tmp_path / "models" / "multilingual-e5-small"
    pack.mkdir(parents=True)
    (pack / "pack.json").write_text("{}")
    with pytest.raises(NotFound, match="no pack of a language model"):
        find_model(pack.name, tmp_path)


def test_a_model_that_is_none_of_these_is_an_error_that_names_the_packs(tmp_path: Path) -> None:
    for name in ("nothing", "./some/model", "a/b/c", "/no/folder"):
        with pytest.raises(NotFound, match=r"qwen2\.5-coder-1\.5b-instruct"):
            find_model(name, tmp_path)
    with pytest.raises(InvalidInput, match="CITEWARD_LLM is not set"):
        find_model("", tmp_path)


@pytest.mark.parametrize(
    "url",
    [
        *("127.0.0.1:8001", "http://127.0.0.1", "http://h:0", "http://h:70000", "http://h:80/v1"),
        *("ftp://h:80", "https://h:80", "http://::1:80", "http://[h]:80", "http://a:b@h:80"),
    ],
)
def test_an_address_that_is_none_is_refused_at_the_start(url: str) -> None:
    with pytest.raises(InvalidInput, match="CITEWARD_ENGINE_URL"):
        ServiceSettings(engine_url=url)


@pytest.mark.parametrize("url", ["http://localhost:9001", "http://[::1]:9001", "http://192.0.2.1:80"])
def test_the_server_is_asked_where_the_settings_say(tmp_path: Path, url: str) -> None:
    settings = ServiceSettings(corpus=CorpusSettings(home=tmp_path), llm="some/model", engine_url=url)
    assert plan(settings, gpu=False).url == url


# --- a server in vLLM's place ------------------------------------------------------------------

STAND_IN = '''#!{python}
"""Takes vLLM's command line, starts a child as vLLM does, answers what the engine's commands ask."""
import json, os, signal, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

behaviour = {behaviour!r}
option = dict(zip(sys.argv[3::2], sys.argv[4::2]))
print("(APIServer pid=1) INFO 11-30 08:54:25 [core.py:1] loading", flush=True)
print("secrets:", [name for name in os.environ if name.startswith("CITEWARD_")], flush=True)
subprocess.Popen(["sleep", "600"])
if behaviour == "fails":
    print("ValueError: 2.0 GiB KV cache is needed, which is larger than the available", flush=True)
    sys.exit(1)
if behaviour == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if behaviour == "slow":
    time.sleep(600)

METRICS = (
    'vllm:cache_config_info{{block_size="128",kv_cache_size_tokens="46592",num_gpu_blocks="364",'
    'cache_dtype="auto"}} 1.0'
)

class Answers(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        models = {{"data": [{{"id": option["--served-model-name"], "max_model_len": 4096}}]}}
        contents = {{"/health": "", "/v1/models": json.dumps(models), "/metrics": METRICS}}
        self.answer(200 if self.path in contents else 404, contents.get(self.path, ""))

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(200 if behaviour != "mute" and asked["max_tokens"] == 1 else 500, "{{}}")

    def answer(self, status, content):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(content.encode())

HTTPServer(("127.0.0.1", int(option["--port"])), Answers).serve_forever()
'''


def stand_in(tmp_path: Path, behaviour: str = "answers") -> Launch:
    """A launch of the server above."""
    program = tmp_path / f"{behaviour}.py"
    program.write_text(STAND_IN.format(python=sys.executable, behaviour=behaviour), "utf-8")
    program.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    return replace(ON_CPU, python=program, port=port)


def start(launch: Launch, folder: Path) -> server.EngineStatus:
    return server.start(launch, folder, lambda _: None)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where log and state lie; whatever was started there is ended afterwards."""
    monkeypatch.setattr(server, "STOP_SECONDS", 1.0)
    yield tmp_path / "engine"
    server.stop(tmp_path / "engine")


def alive(pid: int) -> list[int]:
    """Who lives of the process group."""
    listed = [find_process(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [one.pid for one in listed if one is not None and one.group == pid and one.state != "Z"]


def test_a_started_server_is_ready_and_tells_of_itself(tmp_path: Path, folder: Path) -> None:
    told: list[str] = []
    launch = stand_in(tmp_path)
    found = server.start(launch, folder, told.append)
    assert (found.running, found.ready, found.model, found.max_model_len) == (True, True, "tiny", 4096)
    assert (found.kv_tokens, found.kv_blocks, found.block_size) == (46592, 364, 128)
    assert found == replace(server.status(launch.url, folder), uptime_seconds=found.uptime_seconds)
    assert [line.split()[0] for line in told] == ["Starting", "It", "The"]
    assert found.pid is not None
    assert len(alive(found.pid)) == 2  # it and its child


def test_it_is_stopped_with_its_child(tmp_path: Path, folder: Path) -> None:
    found = start(stand_in(tmp_path), folder)
    assert server.stop(folder)
    assert found.pid is not None
    assert alive(found.pid) == []
    assert not server.stop(folder)
    after = server.status(found.url, folder)
    assert (after.running, after.ready, after.pid) == (False, False, None)


def test_one_that_does_not_listen_is_killed(tmp_path: Path, folder: Path) -> None:
    found = start(stand_in(tmp_path, "stubborn"), folder)
    assert server.stop(folder)
    assert found.pid is not None
    assert alive(found.pid) == []


def test_a_child_that_outlives_it_is_seen_and_stopped(tmp_path: Path, folder: Path) -> None:
    found = start(stand_in(tmp_path), folder)
    assert found.pid is not None
    head = find_process(found.pid)
    assert head is not None
    os.kill(head.pid, signal.SIGKILL)
    while lives(head.pid, head.born):
        time.sleep(0.01)
    orphaned = server.status(found.url, folder)
    assert (orphaned.running, orphaned.ready) == (True, False)
    assert server.stop(folder)
    assert alive(found.pid) == []


def test_a_second_start_keeps_what_runs(tmp_path: Path, folder: Path) -> None:
    launch = stand_in(tmp_path)
    first, second = start(launch, folder), start(launch, folder)
    assert first.pid == second.pid
    with pytest.raises(Conflict, match="citeward engine stop"):
        start(replace(launch, name="other"), folder)
    assert server.status(launch.url, folder).ready


def test_a_server_that_ends_says_why_and_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    launch = stand_in(tmp_path, "fails")
    with pytest.raises(Unavailable) as failed:
        start(launch, folder)
    assert "KV cache cannot hold" in failed.value.why
    assert "2.0 GiB KV cache is needed" in failed.value.why  # the line of its log
    assert "CITEWARD_ENGINE_KV_GIB" in failed.value.next_step
    assert not server.status(launch.url, folder).running
    assert not (folder / server.STATE).exists()


def test_a_first_request_that_fails_is_no_start(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(Unavailable, match="first request failed"):
        start(stand_in(tmp_path, "mute"), folder)
    assert not (folder / server.STATE).exists()


def test_an_interrupt_while_waiting_stops_it(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "TELL_SECONDS", 0.0)
    pids: list[int] = []

    def interrupt(line: str) -> None:
        if "loading" in line or "secrets" in line:
            pids.append(json.loads((folder / server.STATE).read_text())["pid"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        server.start(stand_in(tmp_path, "slow"), folder, interrupt)
    assert alive(pids[0]) == []


def test_a_start_that_is_stopped_meanwhile_says_so(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "TELL_SECONDS", 0.0)
    stops: list[threading.Thread] = []

    def stop_once(line: str) -> None:
        if "secrets" in line and not stops:
            stops.append(threading.Thread(target=server.stop, args=[folder]))
            stops[0].start()

    with pytest.raises(Conflict, match=r"stopped before it was ready.*citeward engine stop"):
        server.start(stand_in(tmp_path, "slow"), folder, stop_once)
    stops[0].join()
    assert not server.status("http://127.0.0.1:9", folder).running


def test_one_that_is_never_ready_is_stopped(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "START_SECONDS", 1.0)
    with pytest.raises(Unavailable, match="not ready within 1 s"):
        start(stand_in(tmp_path, "slow"), folder)
    assert not (folder / server.STATE).exists()


def test_the_services_secrets_do_not_reach_it(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("CITEWARD_")]:
        monkeypatch.delenv(name)
    for name in ("CITEWARD_KEY_SECRET", "CITEWARD_DATABASE_URL", "CITEWARD_HOME"):
        monkeypatch.setenv(name, "x" * 20)
    start(stand_in(tmp_path), folder)
    assert "secrets: ['CITEWARD_HOME']" in log_lines(folder / server.LOG)


def test_a_taken_port_is_said_before_anything_is_started(tmp_path: Path, folder: Path) -> None:
    launch = stand_in(tmp_path)
    with socket.create_server(("127.0.0.1", launch.port)), pytest.raises(Conflict, match="already in use"):
        start(launch, folder)
    assert not (folder / server.LOG).exists()


def test_an_address_of_another_machine_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(Conflict, match=r"cannot listen on 192\.0\.2\.1 port .* CITEWARD_ENGINE_URL"):
        start(replace(stand_in(tmp_path), host="192.0.2.1"), folder)


def test_without_an_environment_the_next_step_is_to_make_it(folder: Path) -> None:
    with pytest.raises(Unavailable, match="make install-engine"):
        start(replace(ON_CPU, python=Path("/no/such/python")), folder)


def test_two_starts_at_once_are_one(tmp_path: Path, folder: Path) -> None:
    folder.mkdir()
    with (folder / server.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Conflict, match="under way"):
            start(stand_in(tmp_path), folder)


@pytest.mark.parametrize("left", ["", "{", '{"pid": 1}', "[]"])
def test_a_state_that_is_not_whole_is_no_server(folder: Path, left: str) -> None:
    folder.mkdir()
    (folder / server.STATE).write_text(left)
    assert not server.status("http://127.0.0.1:9", folder).running


def test_a_pid_that_came_again_for_somebody_else_is_left_alone() -> None:
    other = subprocess.Popen(["sleep", "600"], start_new_session=True)
    process = find_process(other.pid)
    assert process is not None
    assert [one.pid for one in members(other.pid, process.born)] == [other.pid]
    assert members(other.pid, process.born - 1) == ()
    assert not end(other.pid, process.born - 1, 1.0)
    assert other.poll() is None
    assert end(other.pid, process.born, 1.0)
    other.wait()


# --- what its log and its metrics say ----------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "next_step"),
    [
        ("ValueError: the model's max seq len (2.0 GiB KV cache is needed, which is larger", "ENGINE_KV_GIB"),
        ("max_model_len (9000) is greater than the derived max_model_len", "CITEWARD_CONTEXT_WINDOW"),
        ("torch.OutOfMemoryError: CUDA out of memory.", "smaller model"),
        ("RuntimeError: Failed core proc(s): {'EngineCore_0': -9}", "smaller model"),
        ("ImportError: libnuma.so.1: cannot open shared object file", "apt-get install libnuma1"),
        ("python: No module named 'vllm'", "make install-engine"),
    ],
)
def test_a_failed_start_says_why_and_what_to_do(line: str, next_step: str) -> None:
    failed = start_failed(["loading", line, "goodbye"])
    assert next_step in failed.next_step
    assert failed.why.endswith(line)


def test_a_failure_that_is_not_known_shows_the_end_of_the_log() -> None:
    failed = start_failed([*map(str, range(99)), "SomethingError: never seen before", "goodbye"])
    assert failed.why.startswith("Its log ends so:")
    assert failed.why.endswith("98\nSomethingError: never seen before\ngoodbye")
    assert len(failed.why.splitlines()) < 20


def test_a_server_that_ended_without_a_word_was_killed_it_seems() -> None:
    assert "memory" in start_failed(["loading"]).why


def test_the_last_word_is_without_its_origin_and_short(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(
        b"(Worker pid=12) INFO 11-30 08:54:25 [core.py:402] init took 3 s\n"
        b"Loading:   0%|\r\x1b[ALoading: 100% done\r\n\n"
    )
    first, second = log_lines(log)
    assert last_word([first]) == "init took 3 s"
    assert second.endswith("Loading: 100% done")
    assert len(last_word(["x" * 500])) < 200
    assert last_word([]) == "nothing yet"


def test_cache_numbers_are_read_from_the_metrics() -> None:
    metrics = (
        "# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig\n"
        'vllm:cache_config_info{block_size="16",cache_dtype="auto",engine="0",num_gpu_blocks="7"} 1.0\n'
        'vllm:cache_config_info{block_size="32",engine="1"} 1.0\n'
    )
    assert parse_cache_info(metrics) == {"block_size": 16, "engine": 0, "num_gpu_blocks": 7}
    assert parse_cache_info("") == {}


# --- the commands ------------------------------------------------------------------------------


def run_command(settings: ServiceSettings, *words: str) -> tuple[int, str, str]:
    ended = CliRunner().invoke(app, ["engine", *words], obj=Installation(settings))
    return ended.exit_code, ended.stdout, ended.stderr


def test_the_commands_start_show_and_stop_it(tmp_path: Path, folder: Path) -> None:
    launch = stand_in(tmp_path)
    (tmp_path / "model").mkdir()
    settings = ServiceSettings(
        corpus=CorpusSettings(home=tmp_path),
        llm=str(tmp_path / "model"),
        engine_url=launch.url,
        engine_python=launch.python,
    )
    code, out, err = run_command(settings, "start", "--json")
    assert code == 0, err
    assert json.loads(out)["kv_tokens"] == 46592
    assert "Starting vLLM" in err
    code, out, _ = run_command(settings, "status")
    assert "46,592 tokens (364 blocks of 128)" in out
    assert json.loads(run_command(settings, "status", "--json")[1])["ready"] is True
    assert json.loads(run_command(settings, "stop", "--json")[1]) == {"stopped": True}
    assert run_command(settings, "stop")[:2] == (0, "The engine was not running.\n")
    assert json.loads(run_command(settings, "status", "--json")[1])["ready"] is False
    assert not (folder / server.STATE).exists()


def test_without_a_model_the_call_cannot_be_right(tmp_path: Path) -> None:
    code, out, err = run_command(ServiceSettings(corpus=CorpusSettings(home=tmp_path)), "start")
    assert (code, out) == (2, "")
    assert "CITEWARD_LLM" in err
