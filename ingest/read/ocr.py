"""Pictures to words by tesseract, a program of its own that runs within the limits of the child."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from statistics import mean

from ingest.corpus.errors import Unreadable
from ingest.read.canonical import display_name
from ingest.read.paragraphs import joined_lines

PROGRAMS = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"
ENVIRONMENT = {"OMP_THREAD_LIMIT": "1", "LANG": "C.UTF-8"}
PAGE_MODE = "1"  # finds columns, and turns a page that lies on its side
WORD_LEVEL = "5"
LEAST_CONFIDENCE = 30.0  # of 100; below it a word is a stain
INSTALL = "Install tesseract and its languages (Debian: apt-get install tesseract-ocr tesseract-ocr-chi-sim)."
ENABLE = (
    "Enable OCR (CITEWARD_OCR_LANGUAGES, see docs/ingestion.md) and upload it again, or upload a copy with a "
    "text layer."
)


@dataclass(frozen=True, slots=True)
class Ocr:
    """That pictures are to be read, and in which languages."""

    languages: str  # as tesseract names them, joined by "+"


@dataclass(frozen=True, slots=True)
class Recognised:
    paragraphs: tuple[str, ...]
    confidence: float  # mean of the words, 0 to 100; 0 without any


@dataclass(frozen=True, slots=True)
class _Word:
    paragraph: tuple[str, ...]
    confidence: float
    text: str


def recognise(picture: bytes, source_name: str, ocr: Ocr) -> Recognised:
    """Paragraphs of a picture in any format that tesseract reads, in reading order.

    :raises Unreadable: no_text_layer without tesseract or its languages, corrupt_document where it fails
    """
    program = shutil.which("tesseract", path=PROGRAMS)
    if program is None:
        raise _failed("no_text_layer", source_name, "OCR is enabled, but tesseract is not installed", INSTALL)
    done = subprocess.run(
        [program, "stdin", "stdout", "-l", ocr.languages, "--psm", PAGE_MODE, "tsv"],
        input=picture,
        capture_output=True,
        env=ENVIRONMENT,
        check=False,
    )
    if b"Failed loading language" in done.stderr:
        raise _failed("no_text_layer", source_name, f"tesseract has no {ocr.languages}", INSTALL)
    if done.returncode != 0:
        raise _failed(
            "corrupt_document",
            source_name,
            "tesseract cannot read the picture",
            "Save it as PNG with fewer pixels and upload that.",
        )
    words = list(_words(done.stdout.decode("utf-8", "replace")))
    paragraphs = (
        joined_lines([word.text for word in run]) for _, run in groupby(words, lambda word: word.paragraph)
    )
    return Recognised(tuple(paragraphs), mean([word.confidence for word in words] or [0.0]))


def _words(table: str) -> Iterator[_Word]:
    """Of the program's TSV: level, page, block, paragraph, line, word, four of the box, confidence, text."""
    for line in table.splitlines()[1:]:
        fields = line.split("\t")
        is_word = len(fields) == 12 and fields[0] == WORD_LEVEL and fields[11].strip()
        if is_word and float(fields[10]) >= LEAST_CONFIDENCE:
            yield _Word(tuple(fields[1:4]), float(fields[10]), fields[11])


def ocr_warning(what: str, confidence: float) -> str:
    return f"{what} read by OCR, which may mistake signs; mean confidence {confidence:.0f} of 100."


def _failed(code: str, source_name: str, why: str, next_step: str) -> Unreadable:
    return Unreadable(
        code, f"The words of {display_name(source_name)} cannot be told: {why}.", next_step=next_step
    )
