"""A picture to a document: what OCR reads on it, where OCR is enabled."""

from __future__ import annotations

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document
from ingest.read.canonical import Part, display_name, document_of, lay_out
from ingest.read.detect import MediaType
from ingest.read.ocr import ENABLE, Ocr, ocr_warning, recognise


def read_image(data: bytes, source_name: str, media_type: MediaType, ocr: Ocr | None) -> Document:
    """:raises Unreadable: no_text_layer, corrupt_document or garbled"""
    if ocr is None:
        raise _no_text(source_name, "It is a picture, and OCR is off.", ENABLE)
    read = recognise(data, source_name, ocr)
    text, blocks, removed = lay_out(Part("paragraph", paragraph, page=1) for paragraph in read.paragraphs)
    if not blocks:
        raise _no_text(source_name, "OCR found no word on it.", "Upload a sharper picture.")
    return document_of(
        text,
        blocks,
        titles=[],
        source_name=source_name,
        media_type=media_type,
        pages=1,
        warnings=(ocr_warning("It was", read.confidence), *removed.warnings),
    )


def _no_text(source_name: str, why: str, next_step: str) -> Unreadable:
    return Unreadable(
        "no_text_layer", f"{display_name(source_name)} has no text.", why=why, next_step=next_step
    )
