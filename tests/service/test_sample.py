"""The sample collection agrees with itself: manifest, files, readers and questions."""

from __future__ import annotations

import io
from collections import Counter
from importlib.resources import files

import docx
import pypdfium2
import pytest

from ingest.corpus.types import AccessList
from service.sample import Ask, Sample, SampleDocument, SampleQuestion, SampleUser, load_sample

SAMPLE = load_sample()
DOCUMENTS = {document.path: document for document in SAMPLE.documents}
USERS = {user.id: user for user in SAMPLE.users}
ANSWERABLE = [question for question in SAMPLE.questions if question.document]
ASKS = [(question, ask) for question in SAMPLE.questions for ask in question.asks]


def text_of(document: SampleDocument) -> str:
    data = document.read_bytes()
    if document.path.endswith(".docx"):
        word = docx.Document(io.BytesIO(data))
        cells = [cell.text for table in word.tables for row in table.rows for cell in row.cells]
        return "\n".join([paragraph.text for paragraph in word.paragraphs] + cells)
    if document.path.endswith(".pdf"):
        with pypdfium2.PdfDocument(data) as pdf:
            return "\n".join(page.get_textpage().get_text_range() for page in pdf)
    return data.decode("utf-8")


def passes(access: AccessList, user: SampleUser) -> bool:
    entries = {"everyone", f"user:{user.id}", *(f"group:{group}" for group in user.group_ids)}
    return bool(entries & access.allow) and not entries & access.deny


def may_read(sample: Sample, user: SampleUser, document: SampleDocument) -> bool:
    lists = [sample.access, *([document.access] if document.access else [])]
    return user.role == "admin" or all(passes(access, user) for access in lists)


def shipped_paths() -> set[str]:
    root = files("service.sample") / "documents"
    return {f"{folder.name}/{file.name}" for folder in root.iterdir() for file in folder.iterdir()}


def named_principals() -> set[str]:
    lists = [SAMPLE.access, *(document.access for document in SAMPLE.documents if document.access)]
    return {entry for access in lists for entry in access.allow | access.deny}


def test_every_listed_file_is_shipped_and_every_shipped_file_is_listed() -> None:
    assert set(DOCUMENTS) == shipped_paths()


def test_ids_and_paths_are_unique() -> None:
    for names in (
        [document.path for document in SAMPLE.documents],
        [user.id for user in SAMPLE.users],
        [group.id for group in SAMPLE.groups],
        [question.id for question in SAMPLE.questions],
    ):
        assert len(names) == len(set(names))


def test_access_lists_and_users_name_only_known_groups_and_users() -> None:
    groups = {group.id for group in SAMPLE.groups}
    known = {"everyone", *(f"group:{group}" for group in groups), *(f"user:{user}" for user in USERS)}
    assert named_principals() <= known
    assert {group for user in SAMPLE.users for group in user.group_ids} == groups


def test_size_languages_and_formats_are_as_promised() -> None:
    languages = Counter(document.language for document in SAMPLE.documents)
    suffixes = {document.path.rsplit(".", 1)[1] for document in SAMPLE.documents}
    assert len(SAMPLE.documents) >= 28
    assert min(languages["en"], languages["zh"]) >= 12
    assert suffixes == {"md", "txt", "html", "docx", "pdf"}


@pytest.mark.parametrize("document", SAMPLE.documents, ids=lambda document: document.path)
def test_title_stands_in_the_document(document: SampleDocument) -> None:
    assert document.title.casefold() in text_of(document).casefold()


@pytest.mark.parametrize("question", ANSWERABLE, ids=lambda question: question.id)
def test_the_document_holds_what_the_answer_must_contain(question: SampleQuestion) -> None:
    assert question.document is not None
    text = text_of(DOCUMENTS[question.document])
    assert question.must_contain
    assert [part for part in question.must_contain if part not in text] == []


@pytest.mark.parametrize(("question", "ask"), ASKS, ids=lambda value: getattr(value, "id", None))
def test_an_asker_is_answered_exactly_when_a_document_answers_and_may_be_read(
    question: SampleQuestion, ask: Ask
) -> None:
    document = DOCUMENTS[question.document] if question.document else None
    answerable = document is not None and may_read(SAMPLE, USERS[ask.asker], document)
    assert ask.outcome == ("answered" if answerable else "refused")


def test_the_demo_asks_five_questions_of_its_five_kinds() -> None:
    demo = [question for question in SAMPLE.questions if question.demo]
    assert [question.language for question in demo] == ["en", "zh", "zh", "en", "en"]
    assert [question.kind for question in demo[2:]] == ["cross_lingual", "no_evidence", "permission"]


def test_a_reader_without_groups_reads_only_what_is_open_to_everyone() -> None:
    readable = {document.path for document in SAMPLE.documents if may_read(SAMPLE, USERS["noor"], document)}
    assert readable == {document.path for document in SAMPLE.documents if document.access is None}
