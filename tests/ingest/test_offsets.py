"""Whatever the format: a chunk is a stretch of the text, its place has a name, and no word is cut off."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from ingest.corpus.types import Document
from ingest.pipeline import split_to_embed
from ingest.read.child import read_file
from ingest.read.parse import parse
from ingest.split import split
from tests.fakes import HashEmbedder, WordTokenizer
from tests.ingest.packed import zipped
from tests.ingest.test_read_containers import BOOK, CHAPTERS, CONTAINER
from tests.ingest.test_tables import FORMATS, HAN, HAN_ROWS, HEADER, ROWS


def mail() -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"] = "Two 表", "mila@example.com"
    message.set_content("Both are attached.\n\n谢谢 👩‍👧")
    message.add_attachment(
        FORMATS["a.csv"]([HAN, *HAN_ROWS]), maintype="text", subtype="csv", filename="表.csv"
    )
    return bytes(message)


FILES: dict[str, bytes] = {
    **{name: make([HEADER, *ROWS]) for name, make in FORMATS.items()},
    "words.txt": ("每位员工有十天年假。The café 👩‍👧 opens at nine.\n\n" * 40).encode(),
    "records.json": b'{"staff": [{"name": "Mila", "note": "caf\\u00e9"}, {"name": "\\u5f20"}]}',
    "records.jsonl": '{"name": "张晓岚"}\n{"name": "Noor"}\n'.encode(),
    "book.epub": zipped({"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": BOOK} | CHAPTERS),
    "mail.eml": mail(),
    "all.zip": zipped({"a.pdf": FORMATS["a.pdf"]([HEADER, *ROWS]), "leave.md": "# Leave\n\nTen days."}),
}
PLACELESS = {".txt", ".csv", ".md", ".html", ".docx"}  # these files hold neither headings nor pages


@pytest.mark.parametrize("name", FILES)
def test_a_chunk_is_a_stretch_of_the_text_and_its_place_has_a_name(name: str) -> None:
    document = parse(FILES[name], name)
    chunks = split(document, WordTokenizer(), 60)
    assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    held = "".join("".join(chunk.text.split()) for chunk in chunks)
    assert held == "".join(document.text.split())
    if not name.endswith(tuple(PLACELESS)):
        assert all(chunk.page or chunk.section for chunk in chunks)


@pytest.mark.parametrize("name", ["bare.pdf", "all.zip", "mail.eml"])
def test_headers_pages_and_counts_pass_through_the_child(name: str) -> None:
    assert read_file(FILES[name], name) == parse(FILES[name], name)


FACT = "The vault code is changed by Quillon on Thursdays."
LONG_TEXTS = {
    "sentences": "Nothing of note stands in this sentence here. " * 120 + FACT,
    "one sentence": "word " * 700 + FACT,
    "rows": "\n".join(
        ["| day | guest |", "|---|---|", *["| Monday | nobody |"] * 200, f"| Thursday | {FACT} |"]
    ),
    "没有标点": "无" * 700 + FACT,
}


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_a_fact_behind_the_embedders_last_token_is_found(name: str) -> None:
    """The fake embedder takes 512 tokens and refuses, rather than cuts, what is longer."""
    embedder = HashEmbedder(dimension=256)
    document = parse(LONG_TEXTS[name].encode(), "a.md")
    before = document.text[: document.text.index("Quillon")]
    assert embedder.tokenizer.count(before) > embedder.max_tokens
    chunks, texts = split_to_embed(document, embedder, chunk_tokens=400)
    vectors = embedder.embed_passages(texts)
    best = int((vectors @ embedder.embed_query("Who changes the vault code on Thursdays? Quillon")).argmax())
    assert "Quillon" in chunks[best].text


def test_a_header_of_an_earlier_page_is_no_row_of_the_next_one() -> None:
    document: Document = parse(FILES["bare.pdf"], "a.pdf")
    for chunk in split(document, WordTokenizer(), 60):
        assert chunk.text.count("Price in EUR") + chunk.context.count("Price in EUR") == 1
