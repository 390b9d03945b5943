"""The layout holds: arrows point one way, libraries stay in their adapter, README's tree is the real one."""

from __future__ import annotations

import ast
import graphlib
import re
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# package -> the only files that may import it. An adapter is where a library can be swapped or faked.
ADAPTERS = {
    "faiss": ["ingest/corpus/vectors.py"],
    "sentence_transformers": ["ingest/corpus/embedder.py", "service/adapters/cross_encoder.py"],
    "torch": [
        *(f"ingest/{name}.py" for name in ("corpus/embedder", "models", "e5_small")),
        "service/adapters/causal_lm.py",
    ],
    "transformers": [
        *(f"ingest/{name}.py" for name in ("corpus/embedder", "models", "e5_small")),
        "service/adapters/causal_lm.py",
        "service/adapters/chat_template.py",
        "service/adapters/cross_encoder.py",
    ],
    "safetensors": ["ingest/corpus/embedder.py", "ingest/models.py", "ingest/e5_small.py"],
    "tokenizers": ["ingest/corpus/tokenizer.py", "service/adapters/chat_template.py"],
    "rank_bm25": ["ingest/corpus/keywords.py"],
    "rjieba": ["ingest/corpus/keywords.py"],
    "pypdfium2": ["ingest/read/*.py"],
    "markdown_it": ["ingest/read/*.py"],
    "opencc": ["ingest/corpus/keywords.py"],
    "pytrec_eval": ["service/evaluation/scoring/measures.py"],
    "charset_normalizer": ["ingest/read/*.py"],
    "alembic": ["service/migrate.py", "service/migrations/*"],
    # Modules named for what they store.
    "sqlalchemy": [
        *(f"ingest/corpus/{name}.py" for name in ("database", "tables", "store", "people")),
        *(f"ingest/corpus/{name}.py" for name in ("access", "changes", "collections", "lookup")),
        "ingest/jobs.py",
        "service/history.py",
        "service/conversations.py",
        "service/capacity/reservations.py",
        "service/audit.py",
        "service/releases/activations.py",
        "service/releases/outcomes.py",
        "service/migrate.py",
        "service/migrations/*",
    ],
    "fastapi": ["service/api/*.py", "service/app.py"],
    "starlette": ["service/api/*.py", "service/app.py"],
    # What comes from outside: requests, stored JSON, files of others.
    "pydantic": [
        "service/api/*.py",
        "service/history.py",
        "service/evaluation/asking/*.py",
        "service/evaluation/scoring/gate_result.py",
        "service/evaluation/sets/released.py",
    ],
    "uvicorn": ["service/app.py"],
    "httpx2": ["service/adapters/vllm.py", "service/adapters/vllm_choice.py"],
    "typer": ["service/cli/*.py"],
    "rich": ["service/cli/*.py"],
    "prometheus_client": ["service/api/*.py", "service/app.py"],
    "opentelemetry": ["service/adapters/telemetry.py"],
}
# Always there, because a library that is declared is made on top of them.
COME_ALONG = {"torch", "transformers", "safetensors", "tokenizers", "starlette", "anyio", "click"}
SETTINGS = ["ingest/corpus/settings.py", "service/settings.py"]


def sources() -> list[Path]:
    return sorted(path for part in ("ingest", "service") for path in (ROOT / part).rglob("*.py"))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(tree: ast.AST, of_module: str) -> Iterator[tuple[str, ast.stmt]]:
    """Every name that an import could mean, wherever it stands: `from a import b` may be the module a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*of_module.split(".")[: -node.level or None], node.module or ""]).strip(".")
            base = base if node.level else node.module or ""
            for alias in node.names:
                yield f"{base}.{alias.name}", node


def project_imports(path: Path, modules: frozenset[str]) -> Iterator[tuple[str, ast.stmt]]:
    """(module of ours, the import statement), also for imports inside functions and type-checking blocks."""
    for name, node in imported_names(ast.parse(path.read_text("utf-8")), module_name(path)):
        if name in modules:
            yield name, node
        elif name.rpartition(".")[0] in modules:
            yield name.rpartition(".")[0], node


MODULES = frozenset(module_name(path) for path in sources())
SOURCES = pytest.mark.parametrize("path", sources(), ids=relative)


@SOURCES
def test_imports_follow_the_arrow_from_service_to_ingest_to_corpus(path: Path) -> None:
    reachable = {"service": ("service", "ingest"), "ingest": ("ingest",), "corpus": ("ingest.corpus",)}
    layer = "corpus" if relative(path).startswith("ingest/corpus/") else path.relative_to(ROOT).parts[0]
    against = [
        name
        for name, _ in project_imports(path, MODULES)
        if not any(name == root or name.startswith(root + ".") for root in reachable[layer])
    ]
    assert not against, f"{relative(path)} may import only {reachable[layer]}, not {against}"


def test_no_import_cycle_not_even_a_deferred_one() -> None:
    graph = {module_name(path): {name for name, _ in project_imports(path, MODULES)} for path in sources()}
    graphlib.TopologicalSorter({name: needs - {name} for name, needs in graph.items()}).prepare()


@SOURCES
def test_project_imports_stand_at_the_head_of_the_module(path: Path) -> None:
    head = set(ast.parse(path.read_text("utf-8")).body)
    lines_at_head = {node.lineno for node in head if isinstance(node, ast.Import | ast.ImportFrom)}
    deferred = [name for name, node in project_imports(path, MODULES) if node.lineno not in lines_at_head]
    assert not deferred, f"{relative(path)} imports {deferred} inside a function or block"


@SOURCES
def test_heavy_libraries_stay_in_their_adapter(path: Path) -> None:
    for name, _ in imported_names(ast.parse(path.read_text("utf-8")), module_name(path)):
        allowed = ADAPTERS.get(name.partition(".")[0])
        at_home = allowed is None or any(fnmatch(relative(path), pattern) for pattern in allowed)
        assert at_home, f"{relative(path)} imports {name}; only {allowed} may"


def test_every_library_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [one for extra in project["optional-dependencies"].values() for one in extra]
    requirements = [*project["dependencies"], *extras]
    declared = {re.match(r"[\w-]+", one).group().lower() for one in requirements}  # type: ignore[union-attr]
    providers = packages_distributions()
    for path in sources():
        for name, _ in imported_names(ast.parse(path.read_text("utf-8")), module_name(path)):
            package = name.partition(".")[0]
            if package in sys.stdlib_module_names or package in ("ingest", "service"):
                continue
            providing = {one.lower().replace("_", "-") for one in providers.get(package, [])}
            assert providing & (declared | COME_ALONG), (
                f"{relative(path)} imports {package}, which nothing declares"
            )


@SOURCES
def test_environment_is_read_only_in_settings(path: Path) -> None:
    if relative(path) in SETTINGS:
        return
    tree = ast.parse(path.read_text("utf-8"))
    names = {"environ", "environb", "getenv"}
    reads = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in names]
    reads += [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module == "os"
        and names & {one.name for one in node.names}
    ]
    assert not reads, f"{relative(path)} reads the environment in lines {reads}; that belongs in {SETTINGS}"


@SOURCES
def test_every_module_says_what_it_does(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), f"{relative(path)} has no docstring"


@SOURCES
def test_no_module_is_a_drawer_for_everything(path: Path) -> None:
    assert path.stem not in ("utils", "util", "helpers", "common", "misc"), relative(path)


def test_top_level_holds_what_was_agreed() -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()} - ignored_folders()
    assert folders == {".ci", "docs", "eval_sets", "ingest", "requirements", "service", "tests"}


# --- README's tree -----------------------------------------------------------------------------


def ignored_folders() -> set[str]:
    rules = [line.strip("/") for line in (ROOT / ".gitignore").read_text("utf-8").split()]
    return {path.name for path in ROOT.iterdir() if any(fnmatch(path.name, rule) for rule in rules)} | {
        ".git"
    }


def readme_tree() -> dict[str, str]:
    """Path -> purpose, from the first fenced block of README that starts with `pyproject.toml`."""
    readme = (ROOT / "README.md").read_text("utf-8")
    block = re.search(r"```\n(pyproject\.toml .*?)```", readme, re.DOTALL)
    assert block, "README has no fenced tree that starts with pyproject.toml"
    listed: dict[str, str] = {}
    folders: list[str] = []
    for line in block.group(1).splitlines():
        indent, name, purpose = re.fullmatch(r"( *)(\S+) *(.*)", line).groups()  # type: ignore[union-attr]
        del folders[len(indent) // 2 :]
        listed["".join([*folders, name])] = purpose
        if name.endswith("/"):
            folders.append(name)
    return listed


def entries_of(folder: Path) -> set[str]:
    """What README must list of a folder; not package markers, empty folders, and what git ignores."""
    unlisted = {"__init__.py", "__pycache__"} | (ignored_folders() if folder == ROOT else set())
    return {
        path.relative_to(ROOT).as_posix() + ("/" if path.is_dir() else "")
        for path in folder.iterdir()
        if path.name not in unlisted
        and not (path.is_dir() and not any(child.name != "__pycache__" for child in path.iterdir()))
    }


def test_readme_tree_lists_only_what_exists_and_says_what_it_is_for() -> None:
    for name, purpose in readme_tree().items():
        assert (ROOT / name).exists(), f"README lists {name}, which does not exist"
        assert purpose, f"README does not say what {name} is for"


def test_readme_tree_misses_nothing_of_the_folders_it_opens() -> None:
    listed = set(readme_tree())
    opened = {f"{folder.as_posix()}/" for name in listed for folder in Path(name).parents if folder != Path()}
    for folder in opened | {"", "ingest/", "ingest/corpus/", "ingest/read/", "service/", "service/api/"}:
        missing = entries_of(ROOT / folder) - listed
        assert not missing, f"README's tree lacks {sorted(missing)}"
