"""Each command does its work on a data folder, prints what people or programs can use, ends with its code."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ingest.corpus.errors import InvalidInput
from ingest.corpus.seams import Embedder
from ingest.corpus.settings import CorpusSettings
from service.cli import app
from service.cli.local import Installation
from service.settings import ServiceSettings, load_settings
from tests.fakes import HashEmbedder

HANDBOOK = "# Handbook\n\nEmployees have 25 days of annual leave.\n\nThe gate code is QX-7731.\n"
LEAVE = "How many days of annual leave do employees have?"
CHINESE = "# 差旅\n\n差旅费须在三十天内报销。\n"


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """`citeward` on one data folder, with an embedder that needs no model."""

    settings: ServiceSettings

    def __call__(self, *arguments: str, typed: str | None = None, embedder: Embedder | None = None) -> Ended:
        here = Installation(self.settings, embedder or HashEmbedder())
        ended = CliRunner().invoke(app, arguments, obj=here, input=typed)
        if ended.exception is not None and not isinstance(ended.exception, SystemExit):
            raise ended.exception
        return Ended(ended.exit_code, ended.stdout, ended.stderr)

    def done(self, *arguments: str) -> Any:
        """What a command that succeeds prints as JSON."""
        ended = self(*arguments, "--json")
        assert ended.code == 0, ended.err
        return ended.json


def command_line(home: Path, judge: str = "") -> CommandLine:
    return CommandLine(ServiceSettings(corpus=CorpusSettings(home=home), judge=judge))


def write_docs(folder: Path) -> Path:
    (folder / "zh").mkdir(parents=True)
    (folder / "handbook.md").write_text(HANDBOOK, "utf-8")
    (folder / "zh" / "travel.md").write_text(CHINESE, "utf-8")
    return folder


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data folders `empty` and `filled`, made once; each test works on a copy."""
    folder = tmp_path_factory.mktemp("templates")
    command_line(folder / "empty").done("init")
    filled, docs = command_line(folder / "filled"), write_docs(folder / "docs")
    filled.done("init")
    filled.done("users", "add", "ana")
    filled.done("ingest", str(docs), "--collection", "rules", "--create", "--allow", "everyone")
    return folder


@pytest.fixture
def fresh(tmp_path: Path) -> CommandLine:
    """Before `init`."""
    return command_line(tmp_path / "home")


@pytest.fixture
def citeward(templates: Path, tmp_path: Path) -> CommandLine:
    """After `init`."""
    return command_line(shutil.copytree(templates / "empty", tmp_path / "home"))


@pytest.fixture
def filled(templates: Path, tmp_path: Path) -> CommandLine:
    """Two documents in `rules`, for everyone; ana, a reader."""
    return command_line(shutil.copytree(templates / "filled", tmp_path / "home"))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_docs(tmp_path / "docs")


# --- init, version, settings -------------------------------------------------------------------


def test_init_prints_the_admins_key_once(fresh: CommandLine) -> None:
    first, second = fresh.done("init"), fresh.done("init")
    assert first["created"]
    assert first["api_key"].startswith("cw_")
    assert (second["created"], second["api_key"]) == (False, None)


def test_init_makes_a_further_key_when_asked(citeward: CommandLine) -> None:
    assert citeward.done("init", "--new-key")["api_key"].startswith("cw_")
    assert len(citeward.done("keys", "list")["rows"]) == 2


def test_init_prints_nothing_but_the_key_on_standard_output(fresh: CommandLine) -> None:
    ended = fresh("init")
    assert ended.out.startswith("cw_")
    assert len(ended.out.split()) == 1


def test_a_second_tenant_has_people_of_its_own(citeward: CommandLine) -> None:
    citeward.done("init", "--tenant", "globex", "--admin", "boss")
    names = [row["id"] for row in citeward.done("users", "list", "--tenant", "globex")["rows"]]
    assert names == ["boss"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("users", "list"),
        ("collections", "list"),
        ("ask", "Anything?"),
        ("reindex",),
    ],
)
def test_before_init_a_command_says_that_init_is_missing(
    fresh: CommandLine, arguments: tuple[str, ...]
) -> None:
    ended = fresh(*arguments)
    assert ended.code == 1
    assert "citeward init" in ended.err
    assert "Traceback" not in ended.err


def test_version_and_settings_need_no_data_folder(fresh: CommandLine) -> None:
    assert fresh.done("version")["citeward"]
    rows = fresh.done("settings")["rows"]
    assert {"variable", "value", "origin", "describes"} == set(rows[0])
    assert not fresh.settings.corpus.home.exists()


def test_a_data_folder_that_cannot_be_made_is_said_plainly(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ended = command_line(tmp_path / "file" / "home")("init")
    assert ended.code == 1
    assert "Not a directory" in ended.err


# --- people and keys ---------------------------------------------------------------------------


def test_users_join_and_leave_groups(citeward: CommandLine) -> None:
    citeward.done("users", "add", "ana")
    citeward.done("groups", "add", "hr")
    citeward.done("groups", "join", "hr", "ana")
    assert citeward.done("groups", "list")["rows"][0]["user_ids"] == ["ana"]
    citeward.done("groups", "leave", "hr", "ana")
    assert citeward.done("groups", "list")["rows"][0]["user_ids"] == []
    citeward.done("groups", "remove", "hr")
    citeward.done("users", "remove", "ana")
    assert [row["id"] for row in citeward.done("users", "list")["rows"]] == ["admin"]


def test_a_key_is_made_listed_without_its_secret_and_revoked(citeward: CommandLine) -> None:
    made = citeward.done("keys", "create", "admin", "--name", "laptop")
    secret = made["api_key"].removeprefix(f"cw_{made['prefix']}_")  # it may hold a low line itself
    assert secret not in citeward("keys", "list").out
    citeward.done("keys", "revoke", made["prefix"])
    rows = {row["prefix"]: row for row in citeward.done("keys", "list")["rows"]}
    assert rows[made["prefix"]]["revoked_at"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("users", "add", "Not An Id"), 2),
        (("users", "add", "ana", "--role", "king"), 2),
        (("users", "add", "admin"), 1),
        (("users", "remove", "nobody"), 1),
        (("groups", "join", "nothing", "admin"), 1),
        (("keys", "create", "nobody"), 1),
        (("keys", "revoke", "nothing"), 1),
        (("users", "list", "--tenant", "nowhere", "--wrong"), 2),
        (("nonsense",), 2),
    ],
)
def test_what_cannot_be_done_ends_with_its_code_and_says_why(
    citeward: CommandLine, arguments: tuple[str, ...], code: int
) -> None:
    ended = citeward(*arguments)
    assert ended.code == code
    assert ended.out == ""
    assert ended.err
    assert "Traceback" not in ended.err


# --- collections and documents -----------------------------------------------------------------


def test_access_of_a_collection_is_said_and_shown(citeward: CommandLine) -> None:
    citeward.done("groups", "add", "hr")
    citeward.done("collections", "create", "rules", "--title", "Rules")
    assert citeward.done("collections", "access", "rules") == {"collection": "rules", "allow": [], "deny": []}
    opened = citeward.done(
        "collections", "access", "rules", "--allow", "group:hr", "--allow", "everyone", "--deny", "user:admin"
    )
    assert (opened["allow"], opened["deny"]) == (["everyone", "group:hr"], ["user:admin"])
    assert citeward.done("collections", "access", "rules", "--nobody")["allow"] == []


def test_access_for_somebody_who_does_not_exist_is_refused(citeward: CommandLine) -> None:
    ended = citeward("collections", "create", "rules", "--allow", "group:ghosts")
    assert ended.code == 2
    assert "group:ghosts" in ended.err
    assert citeward.done("collections", "list")["rows"] == []


def test_deleting_asks_first(filled: CommandLine) -> None:
    assert filled("collections", "delete", "rules", typed="n\n").code == 1
    assert len(filled.done("collections", "list")["rows"]) == 1
    assert filled("collections", "delete", "rules", typed="y\n").code == 0
    assert filled.done("collections", "list")["rows"] == []


def test_a_deleted_document_is_not_listed_and_not_found(filled: CommandLine) -> None:
    rows = filled.done("documents", "list", "rules")["rows"]
    handbook = next(row["id"] for row in rows if row["source_name"] == "handbook.md")
    filled.done("documents", "delete", handbook, "--yes")
    assert [row["source_name"] for row in filled.done("documents", "list", "rules")["rows"]] == [
        "zh/travel.md"
    ]
    hits = filled.done("search", "QX-7731")["hits"]
    assert handbook not in {hit["document_id"] for hit in hits}


# --- ingest ------------------------------------------------------------------------------------


def test_files_are_ingested_then_unchanged_then_replaced(citeward: CommandLine, docs: Path) -> None:
    into = ("ingest", str(docs), "-c", "rules")
    first = citeward.done(*into, "--create")
    assert first["summary"] == {"ready": 2, "unchanged": 0, "failed": 0}
    assert [row["file"] for row in first["rows"]] == ["handbook.md", "zh/travel.md"]
    assert citeward.done(*into)["summary"]["unchanged"] == 2
    (docs / "handbook.md").write_text(HANDBOOK.replace("25", "30"), "utf-8")
    again = citeward.done(*into)
    assert again["summary"] == {"ready": 1, "unchanged": 1, "failed": 0}
    assert again["rows"][0]["version"] == 2


def test_a_file_that_fails_does_not_stop_the_others(citeward: CommandLine, docs: Path) -> None:
    (docs / "a-empty.txt").write_bytes(b"")
    (docs / "b-blank.txt").write_bytes(b"  \n")
    (docs / "c-old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(64))
    ended = citeward("ingest", str(docs), "-c", "rules", "--create", "--json")
    assert ended.code == 1
    failed = {row["file"]: row["code"] for row in ended.json["rows"] if row["state"] == "failed"}
    assert failed == {
        "a-empty.txt": "invalid_input",
        "b-blank.txt": "empty",
        "c-old.xls": "unsupported_type",
    }
    assert ended.json["summary"]["ready"] == 2


def test_a_file_name_that_is_no_text_fails_alone(citeward: CommandLine, docs: Path) -> None:
    Path(os.fsdecode(bytes(docs) + b"/b\xff.md")).write_text("The name is not UTF-8.", "utf-8")
    ended = citeward("ingest", str(docs), "-c", "rules", "--create")
    assert ended.code == 1
    assert "2 ready, 0 unchanged, 1 failed." in ended.err


def test_a_person_sees_a_line_for_each_file(citeward: CommandLine, docs: Path) -> None:
    ended = citeward("ingest", str(docs), "-c", "rules", "--create")
    assert [line.split()[:2] for line in ended.out.splitlines()] == [
        ["ready", "handbook.md"],
        ["ready", "zh/travel.md"],
    ]


def test_a_collection_that_is_missing_is_made_only_when_asked(citeward: CommandLine, docs: Path) -> None:
    ended = citeward("ingest", str(docs), "-c", "rules")
    assert ended.code == 1
    assert "--create" in ended.err


def test_two_files_of_one_name_are_refused_before_anything_is_taken_in(
    citeward: CommandLine, docs: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "handbook.md").write_text("Another.", "utf-8")
    ended = citeward("ingest", str(docs), str(other), "-c", "rules", "--create")
    assert ended.code == 2
    assert citeward.done("collections", "list")["rows"] == []


def test_access_given_while_ingesting_narrows_the_documents(filled: CommandLine, docs: Path) -> None:
    filled.done("groups", "add", "hr")
    filled.done("ingest", str(docs / "handbook.md"), "-c", "rules", "--allow", "group:hr")
    assert {
        row["source_name"] for row in filled.done("documents", "list", "rules", "--user", "ana")["rows"]
    } == {"zh/travel.md"}


# --- asking ------------------------------------------------------------------------------------


def test_an_answer_cites_what_it_says(filled: CommandLine) -> None:
    answer = filled.done("ask", LEAVE, "--user", "ana")
    assert answer["outcome"] == "answered"
    assert "25 days" in answer["answer"]
    assert answer["citations"][0]["marker"] in answer["answer"]


def test_a_person_sees_answer_and_quote(filled: CommandLine) -> None:
    ended = filled("ask", LEAVE)
    assert ended.code == 0
    assert "“" in ended.out
    assert "Handbook" in ended.out


def test_a_refusal_is_an_answer(filled: CommandLine) -> None:
    filled.done("collections", "create", "nothing")
    ended = filled("ask", LEAVE, "--collection", "nothing", "--json")
    assert ended.code == 0
    assert ended.json["refusal"]["code"]


def test_a_reader_finds_only_what_he_may_read(filled: CommandLine) -> None:
    filled.done("collections", "access", "rules", "--nobody")
    assert filled.done("search", "QX-7731", "--user", "ana")["hits"] == []
    assert filled.done("search", "QX-7731")["hits"]


def test_a_forbidden_collection_looks_like_a_missing_one(filled: CommandLine) -> None:
    filled.done("collections", "access", "rules", "--nobody")
    ask = ("search", "QX-7731", "--user", "ana", "--collection")
    forbidden, missing = filled(*ask, "rules"), filled(*ask, "rulez")
    assert forbidden.code == missing.code == 1
    assert forbidden.err.replace("rules", "rulez") == missing.err


def test_scores_are_for_admins(filled: CommandLine) -> None:
    assert filled.done("search", "QX-7731")["hits"][0]["scores"]
    assert filled.done("search", "QX-7731", "--user", "ana")["hits"][0]["scores"] is None


@pytest.mark.parametrize("text", ["", "  \u200b ", "a\x07b", "x" * 5000])
def test_a_question_that_says_nothing_or_too_much_is_refused(filled: CommandLine, text: str) -> None:
    assert filled("ask", text).code == 2
    assert filled("search", text).code == 2


def test_top_k_bounds_the_passages(filled: CommandLine) -> None:
    assert len(filled.done("search", "leave", "--top-k", "1")["hits"]) == 1
    assert filled("search", "leave", "--top-k", "0").code == 2


def test_reindex_changes_nothing_that_is_found(filled: CommandLine) -> None:
    before = filled.done("search", "QX-7731")
    assert filled.done("reindex")["rows"] == [{"collection": "rules"}]
    assert filled.done("search", "QX-7731") == before
    assert filled("reindex", "-c", "nothing").code == 1


# --- serve, settings ---------------------------------------------------------------------------


def test_serve_on_an_empty_folder_says_what_to_run(tmp_path: Path) -> None:
    ended = command_line(tmp_path / "none")("serve")
    assert ended.code == 1
    assert "citeward init" in ended.err


def test_a_short_secret_is_refused_before_it_is_used() -> None:
    with pytest.raises(InvalidInput, match="CITEWARD_KEY_SECRET"):
        load_settings({"CITEWARD_KEY_SECRET": "short"})


@pytest.mark.parametrize(
    ("name", "value"),
    [("PORT", "0"), ("PORT", "65536"), ("SAFETY_MARGIN", "-1"), ("SAFETY_MARGIN", "9000")],
)
def test_a_setting_out_of_its_bounds_is_refused_at_the_start(name: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=f"CITEWARD_{name} is {value}. It must be from"):
        load_settings({f"CITEWARD_{name}": value})


@pytest.mark.parametrize(
    "values",
    [{"SAFETY_MARGIN": "7168"}, {"RESERVED_OUTPUT": "7936"}, {"CONTEXT_WINDOW": "1280"}],
    ids=["margin", "output", "window"],
)
def test_a_window_that_leaves_nothing_for_a_question_is_refused_at_the_start(values: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="CITEWARD_CONTEXT_WINDOW is"):
        load_settings({f"CITEWARD_{name}": value for name, value in values.items()})


def test_a_window_with_room_for_one_token_is_a_window() -> None:
    assert load_settings({"CITEWARD_CONTEXT_WINDOW": "1281"}).context_window == 1281


def test_chunks_longer_than_the_embedder_takes_are_refused_at_the_start(
    filled: CommandLine, docs: Path
) -> None:
    corpus = replace(filled.settings.corpus, chunk_tokens=497)
    long = CommandLine(replace(filled.settings, corpus=corpus))
    for call in (("ask", "Why?"), ("ingest", str(docs), "-c", "new", "--create")):
        ended = long(*call)
        assert ended.code == 2, call
        assert "CITEWARD_CHUNK_TOKENS is 497" in ended.err
        assert "496 or less" in ended.err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_a_limit_without_end_is_no_limit(seconds: str) -> None:
    with pytest.raises(InvalidInput, match="CITEWARD_READ_TIMEOUT_SECONDS"):
        load_settings({"CITEWARD_READ_TIMEOUT_SECONDS": seconds})


# --- read, eval, models ------------------------------------------------------------------------


def test_read_shows_text_chunks_and_cost(citeward: CommandLine, docs: Path) -> None:
    (row,) = citeward.done("read", str(docs / "handbook.md"))["rows"]
    assert set(row) == {
        "file", "state", "code", "reason", "pages", "text", "chunks", "warnings", "seconds", "peak_mib",
        "characters_in", "characters_out",
    }  # fmt: skip
    assert row["characters_out"] == len("".join(row["text"].split())) <= row["characters_in"]
    assert set(row["chunks"][0]) == {"start", "end", "page", "section"}
    whole = "".join(row["text"][chunk["start"] : chunk["end"]] for chunk in row["chunks"])
    assert "".join(whole.split()) == "".join(row["text"].split())


def test_read_ends_with_1_if_a_file_fails_and_still_shows_the_others(
    citeward: CommandLine, docs: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"")
    ended = citeward("read", str(empty), str(docs / "handbook.md"), "--json")
    assert ended.code == 1
    assert [row["state"] for row in ended.json["rows"]] == ["failed", "ready"]
    assert citeward("read", str(tmp_path / "missing.txt")).code == 2


def test_eval_prints_a_row_for_each_slice(citeward: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "d", "title": "", "text": "Gate code QX-7731."}\n', "utf-8")
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "QX-7731"}\n', "utf-8")
    (folder / "qrels.tsv").write_text("query\tdocument\trelevance\nq\td\t1\n", "utf-8")
    found = citeward.done("eval", "retrieval", str(folder))
    (row,) = found["rows"]
    assert set(found) == {"rows", "versions"}
    assert set(row) == {
        "set", "slice", "documents", "queries", "without_qrels", "words", "meaning", "hybrid",
        "reranked", "rerank_ms",
    }  # fmt: skip
    assert (row["reranked"], row["rerank_ms"]) == (None, None)  # no reranker is set
    assert row["hybrid"] == {"mrr@10": 1.0, "ndcg@10": 1.0, "recall@5": 1.0, "recall@10": 1.0}
    assert citeward("eval", "retrieval", str(tmp_path)).code == 2


def test_models_are_listed_and_an_unknown_one_is_refused(citeward: CommandLine) -> None:
    installed = {row["name"]: row["installed"] for row in citeward.done("models", "list")["rows"]}
    assert {"multilingual-e5-small", "smollm2-135m-instruct"} <= installed.keys()
    assert not any(installed.values())
    assert citeward("models", "pull", "nothing").code == 1


def test_what_moves_a_terminals_cursor_is_not_printed(citeward: CommandLine, tmp_path: Path) -> None:
    nasty = tmp_path / "nasty.txt"
    nasty.write_text("Gate code QX-7731 [bold]is\u202e here[/bold] \x1b[2J", "utf-8")
    citeward.done("ingest", str(nasty), "-c", "rules", "--create")
    printed = citeward("search", "QX-7731").out
    assert "[bold]is" in printed
    assert not {"\x1b", "\u202e"} & set(printed)
