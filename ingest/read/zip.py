"""A ZIP to one document: each file that can be read is a stretch of its text under its own path.

Nothing is unpacked to disk. An archive with a path that would leave its folder, or with a link, was made to
do harm and is refused whole.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from zipfile import ZipFile, ZipInfo

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document
from ingest.read.canonical import display_name, document_of
from ingest.read.encoding import decode
from ingest.read.members import Member, MembersRead, ReadMember, joined, member_name, read_members
from ingest.read.package import open_package

MOST_MEMBERS = 2000
LONGEST_NAME = 240  # bytes of one step of a path; file systems take 255
UTF8_NAME = 0x800  # flag of an entry whose name is not in some old encoding
LEAVES_FOLDER = re.compile(r"^[/\\]|^[A-Za-z]:|(?:^|[/\\])\.\.(?:[/\\]|$)|\x00")
MADE_BY_SYSTEMS = re.compile(r"(?:^|/)(?:__MACOSX/|\.[^/]*$|Thumbs\.db$|desktop\.ini$)")


def read_zip(data: bytes, source_name: str, read_member: ReadMember, most_characters: int) -> Document:
    """:raises Unreadable: unsafe_archive, zip_bomb, too_large, or what its only or first file failed with"""
    with open_package(data, source_name, "ZIP") as package:
        entries = _entries(package.archive, source_name)
        read = read_members(_members(package.archive, entries), read_member, most_characters)
    if not read.stretches:
        raise _nothing_read(source_name, read)
    text, blocks = joined(read.stretches)
    return document_of(
        text,
        blocks,
        titles=[],
        source_name=source_name,
        media_type="application/zip",
        pages=read.pages,
        left_out=read.left_out,
        warnings=read.warnings,
    )


def _entries(archive: ZipFile, source_name: str) -> list[tuple[str, ZipInfo]]:
    """(path, entry) of the files that people put in, in the archive's order."""
    named = [(_name(entry), entry) for entry in archive.infolist()]
    unsafe = [name for name, entry in named if _is_unsafe(name, entry)]
    if unsafe:
        raise Unreadable(
            "unsafe_archive",
            f"{display_name(source_name)} holds {len(unsafe)} entries that lead out of it or are links.",
            why="Such an archive was made to write where it must not.",
            next_step="Pack the files anew, with paths below one folder.",
        )
    files = [
        (name, entry) for name, entry in named if not entry.is_dir() and not MADE_BY_SYSTEMS.search(name)
    ]
    if len(files) > MOST_MEMBERS:
        raise Unreadable(
            "too_large",
            f"{display_name(source_name)} holds {len(files)} files, more than the {MOST_MEMBERS} allowed.",
            next_step="Upload it in parts, or upload the folder instead.",
        )
    return files


def _name(entry: ZipInfo) -> str:
    """The path as its maker saw it: old programs write it in their country's encoding and do not say so."""
    if entry.flag_bits & UTF8_NAME or entry.orig_filename.isascii():
        return entry.orig_filename
    raw = entry.orig_filename.encode("cp437")
    try:
        return decode(raw, entry.orig_filename).text
    except Unreadable:
        return raw.decode("gb18030", "replace")


def _is_unsafe(name: str, entry: ZipInfo) -> bool:
    is_link = stat.S_ISLNK(entry.external_attr >> 16)
    is_long = any(len(step.encode("utf-8", "replace")) > LONGEST_NAME for step in re.split(r"[/\\]", name))
    return is_link or is_long or LEAVES_FOLDER.search(name) is not None


def _members(archive: ZipFile, entries: list[tuple[str, ZipInfo]]) -> Iterator[Member]:
    for name, entry in entries:
        yield Member(member_name(name), archive.read(entry))


def _nothing_read(source_name: str, read: MembersRead) -> Unreadable:
    name = display_name(source_name)
    if not read.failures:
        return Unreadable("empty", f"{name} holds no file.", next_step="Upload a file that holds text.")
    first = read.failures[0]
    return Unreadable(
        first.code,
        f"None of the {len(read.failures)} files in {name} can be read.",
        why=str(first),
        next_step="Upload those that can be read, one by one or in a ZIP.",
    )
