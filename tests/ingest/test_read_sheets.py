"""XLSX and CSV give rows under their header, with the values that a reader of the sheet sees."""

from __future__ import annotations

from datetime import date, datetime
from io import BytesIO

import pytest
from openpyxl import Workbook

from ingest.corpus.errors import Unreadable
from ingest.corpus.types import Document
from ingest.read.cells import shown
from ingest.read.csv import read_csv, read_tsv
from ingest.read.xlsx import read_xlsx
from tests.ingest.packed import zipped

SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def saved(book: Workbook) -> bytes:
    buffer = BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def tables(document: Document) -> list[str]:
    return [document.text[one.start : one.end] for one in document.blocks if one.kind == "table"]


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        ("0.15", "0%", "15%"),
        ("0.125", "0.0%", "12.5%"),
        ("0.1", "General", "0.1"),
        ("0.30000000000000004", "", "0.3"),
        ("1234567", "#,##0", "1234567"),
        ("12", '0"天"', "12天"),
        ("4850", "[$¥-804]#,##0.00", "¥4850"),
        ("30", '0\\ "EUR";[Red]-0', "30 EUR"),
        ("45000", "yyyy-mm-dd", "2023-03-15"),
        ("45000.5", "m/d/yyyy h:mm", "2023-03-15 12:00"),
        ("0.75", "h:mm", "18:00"),
        ("1.5", "[h]:mm", "36:00"),
        ("0.00001", "", "0.00001"),
        ("442233445566778", "0", "442233445566778"),
        ("12345678901234567890", "", "12345678901234567890"),
        ("text", "0%", "text"),
        ("5", '"days" 0', "days 5"),
        ("5", "[Red]0", "5"),
        ("1e300", "yyyy", "1e+300"),
    ],
)
def test_a_number_is_what_its_cell_shows(value: str, code: str, text: str) -> None:
    assert shown(value, code) == text


def test_days_may_be_counted_from_1904() -> None:
    assert shown("43538", "yyyy-mm-dd", from_1904=True) == "2023-03-15"


def test_a_sheet_gives_title_table_and_name() -> None:
    book = Workbook()
    rates = book.active
    rates.title = "费率"
    for row in (
        ["2026 年费率表"],
        [],
        ["档位", "折扣", "生效"],
        ["A", 0.15, date(2026, 1, 31)],
        ["B", 0.2, None],
    ):
        rates.append(row)
    rates["B4"].number_format = rates["B5"].number_format = "0%"
    people = book.create_sheet("People")
    people.append(["Name", "Since"])
    people.append(["Mila", datetime(2024, 5, 6, 9, 30)])
    document = read_xlsx(saved(book), "a.xlsx")
    assert document.text == (
        "费率\n\n2026 年费率表\n\n档位 | 折扣 | 生效\nA | 15% | 2026-01-31\nB | 20% |"
        "\n\nPeople\n\nName | Since\nMila | 2024-05-06 09:30"
    )
    assert [block.section for block in document.blocks] == ["费率"] * 3 + ["People"] * 2


def test_what_is_hidden_is_left_out_with_a_warning() -> None:
    book = Workbook()
    sheet = book.active
    sheet.title = "Open"
    for row in (["Name", "Salary", "Room"], ["Mila", "9000", "12"], ["Noor", "8000", "14"]):
        sheet.append(row)
    sheet.column_dimensions["B"].hidden = True
    sheet.row_dimensions[3].hidden = True
    secret = book.create_sheet("Secret")
    secret.append(["nobody sees this"])
    secret.sheet_state = "hidden"
    document = read_xlsx(saved(book), "a.xlsx")
    assert document.text == "Name | Room\nMila | 12"
    assert document.warnings[:2] == (
        "1 hidden sheets were left out.",
        "Hidden rows or columns of sheet Open were left out: 2.",
    )
    assert document.left_out == len("SalaryNoor8000149000")


def test_a_cell_merged_over_rows_is_said_of_each() -> None:
    book = Workbook()
    for row in (["Team", "Name"], ["Sales", "Mila"], [None, "Noor"]):
        book.active.append(row)
    book.active.merge_cells("A2:A3")
    assert tables(read_xlsx(saved(book), "a.xlsx")) == ["Team | Name\nSales | Mila\nSales | Noor"]


def test_two_tables_of_one_sheet_stay_two_and_one_with_a_blank_row_stays_one() -> None:
    book = Workbook()
    for row in (["Part", "EUR"], ["Lid", 3], [], ["Cup", 4], [], ["City", "Code"], ["Oslo", "OSL"]):
        book.active.append(row)
    assert tables(read_xlsx(saved(book), "a.xlsx")) == [
        "Part | EUR\nLid | 3\nCup | 4",
        "City | Code\nOslo | OSL",
    ]


def test_formulas_without_a_result_are_told() -> None:
    book = Workbook()
    book.active.append(["Sum", "=1+1"])
    document = read_xlsx(saved(book), "a.xlsx")
    assert document.text == "Sum"
    assert "1 formulas of sheet Sheet have no stored result" in document.warnings[0]


def test_cells_without_references_and_readings_above_words_are_read() -> None:
    row = '<row><c t="inlineStr"><is><t>one</t></is></c><c t="s"><v>0</v></c><c t="b"><v>1</v></c></row>'
    data = zipped(
        {
            "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets>'
            '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships><Relationship Id="r1" Type="{OFFICE}/worksheet" '
            'Target="/xl/worksheets/one.xml"/></Relationships>',
            "xl/sharedStrings.xml": f'<sst xmlns="{SHEET}"><si><r><t>東京</t></r>'
            "<rPh><t>とうきょう</t></rPh></si></sst>",
            "xl/worksheets/one.xml": f'<worksheet xmlns="{SHEET}"><sheetData>{row}</sheetData></worksheet>',
        }
    )
    assert read_xlsx(data, "a.xlsx").text == "one | 東京 | TRUE"


def test_a_document_type_in_a_sheet_is_refused() -> None:
    with pytest.raises(Unreadable) as error:
        read_xlsx(
            zipped({"xl/workbook.xml": '<!DOCTYPE a [<!ENTITY b "c">]><workbook>&b;</workbook>'}), "a.xlsx"
        )
    assert error.value.code == "corrupt_document"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_whatever_parts_the_cells_rows_stand_under_their_header(separator: str) -> None:
    rows = [["name", "note"], ["Mila", '"likes, tea; and|more\tthan that\nand ""this"""'], ["张晓岚", "=1+1"]]
    data = "\n".join(separator.join(row) for row in rows).encode()
    text = read_csv(data, "a.csv").text
    assert text == 'name | note\nMila | likes, tea; and|more than that and "this"\n张晓岚 | =1+1'


def test_a_tsv_is_parted_by_tabs_alone() -> None:
    assert read_tsv(b"a\tb\n1,5\t2,5\n", "a.tsv").text == "a | b\n1,5 | 2,5"


def test_lines_before_the_table_are_no_header() -> None:
    document = read_csv(b"Report of May,,\n\nCity,Guests,Rooms\nOslo,5,\nBern,,7\n", "a.csv")
    assert [block.kind for block in document.blocks] == ["paragraph", "table"]
    assert tables(document) == ["City | Guests | Rooms\nOslo | 5 |\nBern |  | 7"]


def test_cells_beyond_the_header_are_kept_and_told() -> None:
    document = read_csv(b"1,2\na,b,c\n", "a.csv")
    assert document.text == "1 | 2 |\na | b | c"
    assert "1 rows have more cells" in document.warnings[0]


def test_an_old_encoding_is_guessed_and_named() -> None:
    data = "姓名,部门,说明\n张晓岚,财务部,负责报销审核和发票管理工作\n".encode("gb18030")
    document = read_csv(data, "a.csv")
    assert "张晓岚 | 财务部" in document.text
    assert "gb18030 was guessed" in document.warnings[0]
