"""XLSX to a document: each sheet's tables, a line a row, with the values as a reader of the sheet sees them.

Read straight from the XML: the libraries at hand give 0.15 for a cell that shows 15 %, and rows and columns
that nobody sees. Formulas stand as their last result; what is hidden is left out with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from ingest.corpus.types import Document
from ingest.read.canonical import Part, count_signs, document_of, lay_out
from ingest.read.cells import BUILT_IN, shown
from ingest.read.detect import XLSX
from ingest.read.grid import sheet_parts
from ingest.read.package import (
    Package,
    attribute,
    child,
    core_title,
    local_name,
    open_package,
    relation_id,
)

WORKBOOK = re.compile(r"xl/workbook\.xml$")
REFERENCE = re.compile(r"([A-Z]{1,3})(\d+)")
WIDEST = 16_384  # columns that the format allows


@dataclass(frozen=True, slots=True)
class Styles:
    """What a cell's value is shown with."""

    shared: Sequence[str]  # strings that cells refer to
    formats: Sequence[str]  # number format of each style
    from_1904: bool  # days are counted from 1904, as old Macs did


@dataclass(slots=True)
class Sheet:
    """What is gathered while a sheet goes by."""

    rows: dict[int, list[str]] = field(default_factory=dict)  # by number, those that hold something
    hidden: int = 0  # rows and columns
    left_out: int = 0  # characters in them
    without_result: int = 0  # formulas
    hidden_columns: set[int] = field(default_factory=set)
    is_filtered: bool = False  # rows that a filter hides are still the sheet's


def read_xlsx(data: bytes, source_name: str) -> Document:
    """:raises Unreadable: corrupt_document, encrypted_document, zip_bomb, empty or garbled"""
    with open_package(data, source_name, "XLSX") as package:
        return _read(package)


def _read(package: Package) -> Document:
    main = next(filter(WORKBOOK.match, package.names), None)
    if main is None:
        raise package.corrupt("it has no workbook")
    workbook = package.root(main)
    styles = _styles(package, workbook)
    listed = [one for one in workbook.iter() if local_name(one) == "sheet"]
    seen = [one for one in listed if attribute(one, "state") not in ("hidden", "veryHidden")]
    relations = package.relations(main)
    sheets = {
        attribute(one, "name"): _sheet(package, relations[relation_id(one)][1], styles)
        for one in seen
        if relations.get(relation_id(one), ("", ""))[0] == "worksheet"
    }
    text, blocks, removed = lay_out(_parts(sheets))
    return document_of(
        text,
        blocks,
        titles=[core_title(package)],
        source_name=package.source_name,
        media_type=XLSX,
        left_out=removed.visible + sum(sheet.left_out for sheet in sheets.values()),
        warnings=(*removed.warnings, *_warnings(sheets, len(listed) - len(seen))),
    )


def _parts(sheets: dict[str, Sheet]) -> Iterator[Part]:
    for name, sheet in sheets.items():
        parts = list(sheet_parts(_with_gaps(sheet.rows), name))
        if parts and len(sheets) > 1:
            yield Part("heading", name, level=1)
        yield from parts


def _warnings(sheets: dict[str, Sheet], hidden_sheets: int) -> Iterator[str]:
    if hidden_sheets:
        yield f"{hidden_sheets} hidden sheets were left out."
    for name, sheet in sheets.items():
        if sheet.hidden:
            yield f"Hidden rows or columns of sheet {name} were left out: {sheet.hidden}."
        if sheet.without_result:
            yield (
                f"{sheet.without_result} formulas of sheet {name} have no stored result and are missing; "
                "open the file in a spreadsheet program and save it."
            )


# --- the workbook ------------------------------------------------------------------------------


def _styles(package: Package, workbook: Element) -> Styles:
    properties = child(workbook, "workbookPr")
    from_1904 = properties is not None and attribute(properties, "date1904") in ("1", "true")
    shared = (
        [_string(one) for one in package.each("xl/sharedStrings.xml", "si")]
        if ("xl/sharedStrings.xml" in package.names)
        else []
    )
    return Styles(shared, _formats(package), from_1904)


def _formats(package: Package) -> list[str]:
    if "xl/styles.xml" not in package.names:
        return []
    root = package.root("xl/styles.xml")
    own = {
        attribute(one, "numFmtId"): attribute(one, "formatCode")
        for one in root.iter()
        if local_name(one) == "numFmt"
    }
    cells = child(root, "cellXfs")
    ids = [attribute(one, "numFmtId") for one in cells] if cells is not None else []
    return [own.get(number) or BUILT_IN.get(number, "") for number in ids]


def _string(item: Element) -> str:
    """Its runs together, without the readings that stand above Chinese and Japanese words."""
    if len(item) == 1 and local_name(item[0]) == "t":
        return item[0].text or ""
    runs = [item, *(one for one in item if local_name(one) == "r")]
    return "".join(one.text or "" for run in runs for one in run if local_name(one) == "t")


# --- a sheet -----------------------------------------------------------------------------------


def _sheet(package: Package, part: str, styles: Styles) -> Sheet:
    sheet = Sheet()
    merged: list[str] = []
    for element in package.each(part, "sheetPr", "col", "row", "mergeCell"):
        kind = local_name(element)
        if kind == "sheetPr":
            sheet.is_filtered = attribute(element, "filterMode") in ("1", "true")
        elif kind == "col" and _is_hidden(element):
            least, most = int(attribute(element, "min")), int(attribute(element, "max"))
            sheet.hidden_columns |= set(range(least - 1, min(most, WIDEST)))
        elif kind == "row":
            _take_row(sheet, element, styles)
        elif kind == "mergeCell":
            merged.append(attribute(element, "ref"))
    _fill_down(sheet.rows, merged)
    _drop_columns(sheet)
    return sheet


def _take_row(sheet: Sheet, row: Element, styles: Styles) -> None:
    number = int(attribute(row, "r") or max(sheet.rows, default=0) + 1)
    cells: list[str] = []
    for cell in row:
        found = REFERENCE.match(cell.get("r", ""))  # plain: attributes of cells have no namespace
        place = _column(found.group(1)) if found else len(cells)
        cells += [""] * (min(place, WIDEST) - len(cells))
        cells.append(_cell(sheet, cell, styles))
    if _is_hidden(row) and not sheet.is_filtered:
        sheet.hidden += any(cells)
        sheet.left_out += sum(count_signs(cell)[0] for cell in cells)
    elif any(cells):
        sheet.rows[number] = cells


def _fill_down(rows: dict[int, list[str]], merged: Sequence[str]) -> None:
    """A cell merged over several rows says the same of each; rows are read one by one."""
    for reference in merged:
        found = [REFERENCE.match(end) for end in reference.split(":")]
        if len(found) != 2 or found[0] is None or found[1] is None or found[0].group(1) != found[1].group(1):
            continue  # over several columns: a title
        place, first = _column(found[0].group(1)), int(found[0].group(2))
        value = rows[first][place] if place < len(rows.get(first, [])) else ""
        for number in range(first + 1, int(found[1].group(2)) + 1):
            if value and place < len(rows.get(number, [])):
                rows[number][place] = value


def _drop_columns(sheet: Sheet) -> None:
    used = max(map(len, sheet.rows.values()), default=0)
    hidden = {column for column in sheet.hidden_columns if column < used}
    for cells in sheet.rows.values() if hidden else ():
        sheet.left_out += sum(count_signs(cell)[0] for place, cell in enumerate(cells) if place in hidden)
        cells[:] = [cell for place, cell in enumerate(cells) if place not in hidden]
    sheet.hidden += len(hidden)


def _with_gaps(rows: dict[int, list[str]]) -> Iterator[list[str]]:
    """In order; one blank row for any number of them that the sheet leaves empty."""
    before = 0
    for number in sorted(rows):
        if number > before + 1:
            yield []
        yield rows[number]
        before = number


def _cell(sheet: Sheet, cell: Element, styles: Styles) -> str:
    kind, held = cell.get("t", ""), {local_name(one): one for one in cell}
    if kind == "inlineStr":
        return _string(held["is"]) if "is" in held else ""
    value = (held["v"].text or "") if "v" in held else ""
    if not value:
        sheet.without_result += "f" in held
        return ""
    if kind == "s":
        return styles.shared[int(value)]
    if kind == "b":
        return "TRUE" if value == "1" else "FALSE"
    if kind in ("str", "e", "d"):
        return value
    style = int(cell.get("s", 0))
    return shown(value, styles.formats[style] if style < len(styles.formats) else "", styles.from_1904)


def _is_hidden(element: Element) -> bool:
    return attribute(element, "hidden") in ("1", "true")


def _column(letters: str) -> int:
    place = 0
    for letter in letters:
        place = place * 26 + ord(letter) - ord("A") + 1
    return place - 1
