"""Files within a file: each becomes a stretch of the one text under its name, which citations show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Block, Document
from ingest.read.canonical import BETWEEN_BLOCKS, clean

ReadMember = Callable[[bytes, str], Document]  # raises Unreadable, or whatever its library does
MOST_TOLD = 20  # members that warnings name one by one


@dataclass(frozen=True, slots=True)
class Member:
    """A file within another."""

    name: str  # its path there, already safe to show
    data: bytes


@dataclass(frozen=True, slots=True)
class Stretch:
    """A text with its blocks, to be put behind others."""

    name: str  # heads it; empty for the outer file's own text
    text: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class MembersRead:
    stretches: tuple[Stretch, ...]
    pages: int | None
    left_out: int  # characters
    warnings: tuple[str, ...]
    failures: tuple[Unreadable, ...]


def read_members(members: Iterable[Member], read: ReadMember, most_characters: int) -> MembersRead:
    """Each member read, and what became of those that cannot be.

    :raises Unreadable: too_large, as soon as the texts together are longer than `most_characters`
    """
    documents: list[tuple[str, Document]] = []
    failures: list[tuple[str, Unreadable]] = []
    characters = 0
    for member in members:
        try:
            documents.append((member.name, read(member.data, member.name)))
        except Unreadable as error:
            failures.append((member.name, error))
        except MemoryError:
            raise
        except Exception as error:  # whatever a broken member makes its library raise is that member's fault
            failures.append((member.name, _broken(member.name, error)))
        else:
            characters += len(documents[-1][1].text)
            _require_room(characters, most_characters)
    pages = [document.pages for _, document in documents if document.pages]
    told = [*(f"{name} was not read: {error.what}" for name, error in failures), *_warnings(documents)]
    more = [f"{len(told) - MOST_TOLD} more such notes."] if len(told) > MOST_TOLD else []
    return MembersRead(
        tuple(Stretch(name, document.text, document.blocks) for name, document in documents),
        sum(pages) if pages else None,
        sum(document.left_out for _, document in documents),
        (*told[:MOST_TOLD], *more),
        tuple(error for _, error in failures),
    )


def joined(stretches: Iterable[Stretch]) -> tuple[str, tuple[Block, ...]]:
    """One text with all blocks; the name heads each stretch and is the first step of its sections."""
    texts: list[str] = []
    blocks: list[Block] = []
    position = 0
    for stretch in stretches:
        if stretch.name:
            texts.append(stretch.name)
            blocks.append(Block("heading", position, position + len(stretch.name), section=stretch.name))
            position += len(stretch.name) + len(BETWEEN_BLOCKS)
        texts.append(stretch.text)
        blocks += (_moved(block, position, stretch.name) for block in stretch.blocks)
        position += len(stretch.text) + len(BETWEEN_BLOCKS)
    return BETWEEN_BLOCKS.join(texts), tuple(blocks)


def member_name(name: str) -> str:
    """Cleaned and on one line."""
    return " ".join(clean(name)[0].split())


def _moved(block: Block, by: int, name: str) -> Block:
    section = " > ".join(filter(None, (name, block.section)))
    header = block.header and (block.header[0] + by, block.header[1] + by)
    return replace(block, start=block.start + by, end=block.end + by, section=section, header=header)


def _warnings(documents: Iterable[tuple[str, Document]]) -> Iterator[str]:
    for name, document in documents:
        yield from (f"{name}: {warning}" for warning in document.warnings)


def _broken(name: str, error: Exception) -> Unreadable:
    return Unreadable(
        "corrupt_document",
        f"{name} breaks the rules of its format ({type(error).__name__}).",
        next_step="Open it in its own program and save it again.",
    )


def _require_room(characters: int, most: int) -> None:
    if characters > most:
        raise Unreadable(
            "too_large",
            f"The files within have more than {most} characters together.",
            next_step="Upload them in parts, or raise the limit.",
        )
