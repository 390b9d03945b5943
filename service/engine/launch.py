"""How the server is started: the model that the settings name, and the whole command line.

vLLM has an environment of its own, because its pins must not rule the service's; nothing of it is imported.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from urllib.parse import urlsplit

from ingest.corpus.errors import InvalidInput, NotFound, Unavailable
from ingest.corpus.settings import CorpusSettings, variable
from ingest.models import installed, pack_folder
from ingest.packs import PACKS
from service.settings import ServiceSettings

SERVER = "vllm.entrypoints.openai.api_server"
LEAST_BATCHED_TOKENS = 2048  # of one step
CPU_BLOCK = 32  # tokens: the least that its kernels take at full speed
BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})  # as Linux names them, on x86 and Arm


@dataclass(frozen=True, slots=True)
class Launch:
    """One way to start the server."""

    python: Path  # of the engine's environment
    model: str  # a folder or a hub id
    name: str  # that it is served under
    host: str
    port: int
    max_model_len: int  # tokens of one sequence, prompt and answer
    kv_gib: int  # for the KV cache; on a GPU vLLM takes what the weights leave
    gpu: bool
    dtype: str = "auto"  # of weights and KV cache; auto: as the model says on a GPU, else `cpu_dtype`
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)  # where there is no GPU

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host  # IPv6
        return f"http://{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether the model lies on this machine."""
        return Path(self.model).is_absolute()


def plan(settings: ServiceSettings, gpu: bool) -> Launch:
    """What the settings ask for. Errors as of `find_model`."""
    address = urlsplit(settings.engine_url)
    assert address.hostname is not None  # the settings want both
    assert address.port is not None
    return Launch(
        # Not resolved: an environment's interpreter is a link, and finds the environment by where that lies.
        python=settings.engine_python.absolute(),
        model=find_model(settings.llm, settings.corpus.home),
        name=settings.llm,
        host=address.hostname,
        port=address.port,
        max_model_len=settings.context_window,
        kv_gib=settings.engine_kv_gib,
        gpu=gpu,
        dtype=settings.engine_dtype,
    )


def find_model(llm: str, home: Path) -> str:
    """The folder of the pack or the local folder of that name, absolute, or a hub id as it is.

    :raises InvalidInput: if there is no name.
    :raises Unavailable: if the pack is not pulled.
    :raises NotFound: if it is none of these.
    """
    packs = [pack.name for pack in PACKS if pack.use == "llm"]
    if not llm:
        raise InvalidInput(
            "No language model is chosen.",
            why=f"{variable('llm')} is not set.",
            next_step=f"Set it to a model pack ({', '.join(packs)}), a model folder or a hub id.",
            field="llm",
        )
    if llm in packs:
        folder = pack_folder(home, llm)
        if llm not in installed(home):
            raise Unavailable(
                f"The model pack {llm} is not here.",
                why=f"There is no {folder}, or it is not whole.",
                next_step=f"Run `citeward models pull {llm}`.",
            )
        return str(folder.absolute())
    if Path(llm).is_dir():
        return str(Path(llm).absolute())
    if llm.count("/") == 1 and not llm.startswith(("/", ".", "~")):
        return llm
    raise NotFound(
        f"There is no language model {llm!r}.",
        why="It is no pack of a language model, no folder here, and has not the form of a hub id.",
        next_step=f"Set {variable('llm')} to one of {', '.join(packs)}, to a model folder or to a hub id.",
    )


def command(launch: Launch) -> list[str]:
    """The whole command line, the variables that it sets among it, so that it can be shown and repeated."""
    variables = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    arguments = {
        "--model": launch.model,
        "--served-model-name": launch.name,
        "--host": launch.host,
        "--port": str(launch.port),
        "--max-model-len": str(launch.max_model_len),
        # The model's own defaults of sampling would fill in whatever a request leaves open.
        "--generation-config": "vllm",
        "--dtype": cpu_dtype() if launch.dtype == "auto" and not launch.gpu else launch.dtype,
        # Asked every few seconds, they would be all that the log holds.
        "--disable-access-log-for-endpoints": "/health,/metrics,/v1/models",
    }
    switches = [
        "--no-enable-log-requests",  # a request holds a question and passages of documents
        "--enable-per-request-metrics",  # how long a request was queued and prefilled
        "--enable-prompt-tokens-details",  # how much of its prompt was in the cache
    ]
    if launch.is_local:
        variables["HF_HUB_OFFLINE"] = "1"
    if not launch.gpu:
        variables["VLLM_CPU_KVCACHE_SPACE"] = str(launch.kv_gib)
        # A step that takes longer kills the engine, and two busy cores read a long prompt for minutes.
        variables["VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS"] = "1800"
        # Left to itself it binds all its work to the cores but one, which of two leaves one.
        variables["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"
        variables["OMP_NUM_THREADS"] = str(launch.threads)
        # A prompt that is read in parts kills vLLM 0.32 there, if it is sampled with a seed.
        switches.append("--no-enable-chunked-prefill")
        # Of 128 tokens by default; less of a cache is lost to rounding, and more of a prompt is found in it.
        arguments["--block-size"] = str(CPU_BLOCK)
        arguments["--max-num-batched-tokens"] = str(max(launch.max_model_len, LEAST_BATCHED_TOKENS))
        switches.append("--enforce-eager")  # compiling takes minutes, and wants a compiler
    return [
        "env",
        *(word for name in _secret_variables() for word in ("-u", name)),
        *(f"{name}={value}" for name, value in variables.items()),
        *(str(launch.python), "-m", SERVER),
        *(word for pair in arguments.items() for word in pair),
        *switches,
    ]


def cpu_dtype(processor: Path = Path("/proc/cpuinfo")) -> str:
    """What this processor multiplies fastest: bfloat16 if it can, else float32.

    One that cannot takes bfloat16 apart first. Measured with Qwen2.5 1.5B on AVX2: a prompt is read 5.8 times
    as fast in float32, an answer is written at .6 of the speed, and the weights take twice the memory.
    """
    try:
        flags = set(processor.read_text("utf-8").split())
    except OSError:  # no Linux, where vLLM has no build for CPUs either
        flags = set()
    return "bfloat16" if flags & BFLOAT16_FLAGS else "float32"


def has_gpu() -> bool:
    """Whether there is an NVIDIA GPU, asked as the Makefile asks."""
    program = shutil.which("nvidia-smi")
    return program is not None and not subprocess.run([program], capture_output=True, check=False).returncode


def _secret_variables() -> Iterator[str]:
    """The service's secrets are no business of the engine's."""
    for one in (*fields(CorpusSettings), *fields(ServiceSettings)):
        if one.metadata.get("secret"):
            yield variable(one.name)
