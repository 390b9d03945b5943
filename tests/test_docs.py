"""The documents tell the truth: settings, commands, targets, codes and links are those of the code."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from ingest.corpus.settings import CorpusSettings, variable
from service.cli.root import MODULES
from service.settings import ServiceSettings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def setting_rows() -> list[str]:
    """docs/settings.md has exactly these lines, in this order."""
    settings = [*fields(CorpusSettings), *(one for one in fields(ServiceSettings) if one.name != "corpus")]
    rows = [(variable(one.name), str(one.default), one.metadata["describes"]) for one in settings]
    return [f"| `{name}` | {f'`{default}`' if default else '–'} | {says} |" for name, default, says in rows]


def test_every_setting_is_described_with_its_default() -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    written = [line for line in page.splitlines() if line.startswith("| `CITEWARD_")]
    assert written == setting_rows(), "docs/settings.md should hold:\n" + "\n".join(setting_rows())


@pytest.mark.parametrize("command", MODULES)
def test_every_command_is_in_readme(command: str) -> None:
    assert f"`citeward {command}" in README


def test_every_target_that_is_named_exists() -> None:
    """Only what stands as code counts: prose may say "make sure"."""
    texts = [path.read_text("utf-8") for path in DOCUMENTS]
    code = "\n".join(piece for text in texts for piece in re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))
    named = set(re.findall(r"\bmake ([a-z-]+)", code))
    assert named <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


def test_every_failure_code_of_a_document_is_explained() -> None:
    """The first argument of each `Unreadable(…)` is a code that clients may rely on."""
    codes = {
        node.args[0].value
        for path in (ROOT / "ingest").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Unreadable"
        if node.args and isinstance(node.args[0], ast.Constant)
    }
    explained = set(re.findall(r"^\| `([a-z_]+)` \|", README, re.MULTILINE))
    assert codes == explained


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files_that_exist(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", path.read_text("utf-8")):
        assert target.startswith("https://") or (path.parent / target).exists(), target


def test_changelog_tells_of_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert re.search(rf"^## {re.escape(version)}\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)


def tracked_text_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no git checkout")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:4096]]


# A path of one machine, or the address of a machine that others cannot reach, says nothing to a reader.
OF_ONE_MACHINE = re.compile(r"(?<![\w.~])/(?:work|root|home)/\w|\b(?:10|192\.168)\.\d+\.\d+\.\d+\b")


def test_no_file_names_a_path_of_one_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked_text_files()
        for match in OF_ONE_MACHINE.finditer(path.read_text("utf-8", "replace"))
    ]
    assert not found
