"""A mail to a document: who wrote to whom and when, the words, and each attached file under its name."""

from __future__ import annotations

from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage, Message
from email.policy import default
from typing import cast

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document
from ingest.read.canonical import Part, clean, display_name, document_of, lay_out
from ingest.read.encoding import decode
from ingest.read.html import HtmlRead, html_parts
from ingest.read.members import Member, ReadMember, Stretch, joined, member_name, read_members

HEADERS = ("From", "To", "Cc", "Date")
MOST_CHARACTERS = 20_000_000  # of all attachments together
PARAGRAPH_END = "\n\n"


def read_eml(data: bytes, source_name: str, read_member: ReadMember | None) -> Document:
    """Attachments are left out with a warning where `read_member` is None, and where they cannot be read.

    :raises Unreadable: corrupt_document where it is no mail, empty or garbled
    """
    message = message_from_bytes(data, policy=default)
    if not any(name in message for name in ("From", "Date", "Subject", "MIME-Version", "Received")):
        raise Unreadable(
            "corrupt_document",
            f"{display_name(source_name)} is no mail: it has no headers.",
            next_step="Export it again from the mail program, or upload it as .txt.",
        )
    subject = _header(message, "Subject")
    body, warnings = _body(message, source_name)
    head = [Part("heading", subject, level=1), Part("paragraph", "\n".join(_lines(message)))]
    text, blocks, removed = lay_out([*head, *body.parts])
    attached = list(_attachments(message))
    read = read_members(attached if read_member else (), read_member or _unread, MOST_CHARACTERS)
    if attached and not read_member:
        warnings = (*warnings, f"{len(attached)} attachments were not read: they lie too deep.")
    whole, all_blocks = joined([Stretch("", text, blocks), *read.stretches])
    return document_of(
        whole,
        all_blocks,
        titles=[subject, *body.titles],
        source_name=source_name,
        media_type="message/rfc822",
        pages=read.pages,
        left_out=removed.visible + body.left_out + read.left_out,
        warnings=(*warnings, *removed.warnings, *read.warnings),
    )


def _unread(_data: bytes, _name: str) -> Document:
    raise AssertionError("nothing is handed to it")


def _lines(message: EmailMessage) -> Iterator[str]:
    for name in HEADERS:
        if value := _header(message, name):
            yield f"{name}: {value}"


def _header(message: EmailMessage, name: str) -> str:
    """Its value on one line; what a broken mail puts there stands as it is."""
    return " ".join(str(message.get(name, "")).split())


def _body(message: EmailMessage, source_name: str) -> tuple[HtmlRead, tuple[str, ...]]:
    """The words: plain text where the mail has it, else its HTML."""
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return HtmlRead((), (), 0, ()), ()
    data = cast(bytes, part.get_payload(decode=True) or b"")
    if not data.strip():
        return HtmlRead((), (), 0, ()), ()
    charset = part.get_content_charset()
    if part.get_content_subtype() == "html":
        read = html_parts(data, source_name, charset)
        return read, read.warnings
    decoded = decode(data, source_name, charset)
    text = clean(decoded.text)[0]
    paragraphs = tuple(Part("paragraph", one) for one in text.split(PARAGRAPH_END))
    return HtmlRead(paragraphs, (), 0, ()), decoded.warnings


def _attachments(message: EmailMessage) -> Iterator[Member]:
    """Files, and mails within the mail; pictures that the HTML shows are none."""
    for number, part in enumerate(message.iter_attachments(), 1):
        if part.get_content_maintype() == "image" and part.get("Content-ID"):
            continue
        name = member_name(display_name(part.get_filename() or "")) if part.get_filename() else ""
        if part.get_content_type() == "message/rfc822":
            inner = cast(list[Message], part.get_payload())
            yield Member(name or f"attached {number}.eml", inner[0].as_bytes() if inner else b"")
        else:
            suffix = {"text/plain": ".txt", "text/html": ".html", "text/calendar": ".txt"}
            data = cast(bytes, part.get_payload(decode=True) or b"")
            yield Member(name or f"attached {number}{suffix.get(part.get_content_type(), '')}", data)
