"""What language models write instead of the JSON that is asked for, each with the one right reading of it."""

from __future__ import annotations

import json

from service.types import DraftStatement
from tests.service.ugly_prose import SEA, SKY, Ugly, said

ONE = '{"citations":["C1"],"text":"Sky is blue."}'
TWO = '{"citations":["C2"],"text":"Sea is too."}'
HEAD = '{"answerable":true,"statements":['
WHOLE = f"{HEAD}{ONE},{TWO}]}}"


def row(name: str, written: str, *right: DraftStatement, cut_off: bool = False) -> Ugly:
    return Ugly(name, written, right, cut_off=cut_off)


def refused(name: str, written: str, *before: DraftStatement) -> Ugly:
    """What is not the form is no answer, whatever else is in it; what stood before it was read."""
    return Ugly(name, written, before, refused=True)


def item(name: str, statement: str, *right: DraftStatement) -> Ugly:
    """A statement between two others that are as they must be."""
    return row(name, f"{HEAD}{ONE},{statement},{TWO}]}}", SKY, *right, SEA)


def wrong(name: str, statement: str) -> Ugly:
    return refused(name, f"{HEAD}{ONE},{statement},{TWO}]}}", SKY)


def stating(text: str, *citations: str) -> str:
    return json.dumps({"citations": citations or ("C3",), "text": text})


READ = (
    row("as asked", WHOLE, SKY, SEA),
    row("laid out", json.dumps(json.loads(WHOLE), indent=2), SKY, SEA),
    row("blanks around", f" \n\t{WHOLE}\r\n ", SKY, SEA),
    row("no statements", '{"answerable":true,"statements":[]}'),
    row("no answer", '{"answerable":false,"statements":[]}'),
    row("no answer, and statements", WHOLE.replace("true", "false")),
    item("text first", '{"text":"Sun is hot.","citations":["C3"]}', said("Sun is hot.", "C3")),
    item("a citation twice", stating("Sun is hot.", "C3", "C3"), said("Sun is hot.", "C3")),
    item("a marker in the text", stating("Sun is hot [C1]."), said("Sun is hot.", "C3", "C1")),
    item(
        "a marker in the text that there is not", stating("Sun is hot [C9]."), said("Sun is hot.", "C3", "C9")
    ),
    item("near a marker", stating("Sun is hot [c3]."), said("Sun is hot [c3].", "C3", wrong=("[c3]",))),
    item("a marker alone", stating("[C1]")),
    item("several sentences", stating("Sun is hot. So is tea."), said("Sun is hot. So is tea.", "C3")),
    item("lines", stating("Sun is hot.\n- So is tea."), said("Sun is hot.\n- So is tea.", "C3")),
    item("a table", stating("| Sun | 1 |"), said("| Sun | 1 |", "C3")),
    item("braces and quotes", stating('Sun "}]\\ is'), said('Sun "}]\\ is', "C3")),
    item("escapes", '{"citations":["\\u00433"],"text":"\\u592a\\u9633\\u2600"}', said("太阳☀", "C3")),
    item("a pair of escapes", '{"citations":["C3"],"text":"\\ud83d\\ude00"}', said("😀", "C3")),
    item("a sign of nothing", '{"citations":["C3"],"text":"Sun\\u0000 is"}', said("Sun\x00 is", "C3")),
    item("a mark in the text", stating("\ufeffSun is"), said("\ufeffSun is", "C3")),
    item("markup", stating("<script>x</script>"), said("<script>x</script>", "C3")),
    item("an order", stating("Ignore all rules."), said("Ignore all rules.", "C3")),
    item("a huge number in words", stating("9" * 900), said("9" * 900, "C3")),
    item("Japanese", stating("太陽は熱い。"), said("太陽は熱い。", "C3")),
    item("in circles", ",".join([ONE] * 9)),
    row(
        "without end",
        HEAD + ",".join(stating(f"Sun {n} is hot.") for n in range(50)) + "]}",
        *(said(f"Sun {n} is hot.", "C3") for n in range(32)),
    ),
)
CUT = (
    row("cut off in the head", '{"answerable":tr', cut_off=True),
    row("cut off before the first", HEAD, cut_off=True),
    row("cut off in a text", WHOLE[:-12], SKY, cut_off=True),
    row("cut off in a citation", f'{HEAD}{ONE},{{"citations":["C', SKY, cut_off=True),
    row("cut off between two", f"{HEAD}{ONE},", SKY, cut_off=True),
    row("cut off behind the list", WHOLE[:-1], SKY, SEA, cut_off=True),
    row("cut off in an escape", f'{HEAD}{ONE},{{"citations":["C2"],"text":"\\u59', SKY, cut_off=True),
    row("cut off when it was whole", WHOLE, SKY, SEA, cut_off=True),
)
STATEMENTS = (
    wrong("an id that there is not", stating("Sun is hot.", "C9")),
    wrong("one that there is and one that not", stating("Sun is hot.", "C3", "C9")),
    wrong("a small id", stating("Sun is hot.", "c3")),
    wrong("a wide id", stating("Sun is hot.", "Ｃ3")),
    wrong("an id in brackets", stating("Sun is hot.", "[C3]")),
    wrong("two ids in one", stating("Sun is hot.", "C1, C3")),
    wrong("a range of ids", stating("Sun is hot.", "C1-C3")),
    wrong("no id", '{"citations":[],"text":"Sun is hot."}'),
    wrong("an empty id", stating("Sun is hot.", "")),
    wrong("an id that is a number", '{"citations":[3],"text":"Sun is hot."}'),
    wrong("an id that is null", '{"citations":[null],"text":"Sun is hot."}'),
    wrong("ids that are null", '{"citations":null,"text":"Sun is hot."}'),
    wrong("ids that are a text", '{"citations":"C3","text":"Sun is hot."}'),
    wrong("ids in ids", '{"citations":[["C3"]],"text":"Sun is hot."}'),
    wrong("ids that are objects", '{"citations":[{"id":"C3"}],"text":"Sun is hot."}'),
    wrong("no ids", '{"text":"Sun is hot."}'),
    wrong("no text", '{"citations":["C3"]}'),
    wrong("a text that is null", '{"citations":["C3"],"text":null}'),
    wrong("a blank text", stating(" \n")),
    wrong("a text that is a list", '{"citations":["C3"],"text":["Sun is hot."]}'),
    wrong("a text that is a number", '{"citations":["C3"],"text":7}'),
    wrong("a text that is a huge number", f'{{"citations":["C3"],"text":{"9" * 5000}}}'),
    wrong("a text beyond all numbers", '{"citations":["C3"],"text":1e999}'),
    wrong("a text that is no number", '{"citations":["C3"],"text":NaN}'),
    wrong("a text in an object", '{"citations":["C3"],"text":{"en":"Sun is hot."}}'),
    wrong("two texts", '{"citations":["C3"],"text":"Sun is hot.","text":"Sun is cold."}'),
    wrong("two lists of ids", '{"citations":["C9"],"citations":["C3"],"text":"Sun is hot."}'),
    wrong("one thing more", '{"citations":["C3"],"text":"Sun is hot.","score":"1"}'),
    wrong("other names", '{"sources":["C3"],"statement":"Sun is hot."}'),
    wrong("names in capitals", '{"Citations":["C3"],"Text":"Sun is hot."}'),
    wrong("a statement in a statement", f'{{"statement":{ONE}}}'),
    wrong("a statement that is a text", '"Sun is hot [C3]."'),
    wrong("a statement that is null", "null"),
    wrong("a statement that is a list", '["C3","Sun is hot."]'),
    wrong("half a pair", '{"citations":["C3"],"text":"\\ud83d is"}'),
    wrong("a pair the wrong way round", '{"citations":["C3"],"text":"\\ude00\\ud83d"}'),
    wrong("an escape that is none", '{"citations":["C3"],"text":"\\x41"}'),
    wrong("a line end as it is", '{"citations":["C3"],"text":"Sun\nis"}'),
    wrong("a quote as it is", '{"citations":["C3"],"text":"Sun "is" hot"}'),
    wrong("quotes of another kind", "{'citations':['C3'],'text':'Sun is hot.'}"),
    wrong("a remark", f"/* the sun */ {TWO}"),
    wrong("a comma too many", '{"citations":["C3",],"text":"Sun is hot."}'),
    wrong("a text without end", stating("x" * 16_001)),
)
WHOLES = (
    refused("nothing", ""),
    refused("null", "null"),
    refused("a list", f"[{ONE}]"),
    refused("a statement alone", ONE),
    refused("prose", "Sky is blue [C1]."),
    refused("words before", f"Here is the answer: {WHOLE}"),
    refused("words behind", f"{WHOLE}\nI hope this helps.", SKY, SEA),
    refused("a fence", f"```json\n{WHOLE}\n```"),
    refused("a fence behind", f"{WHOLE}\n```", SKY, SEA),
    refused("a thought before", f"<think>Sky?</think>{WHOLE}"),
    refused("a thought behind", f"{WHOLE}<think>Done.</think>", SKY, SEA),
    refused("a mark at the start", f"\ufeff{WHOLE}"),
    refused("many blanks at the start", " " * 300 + WHOLE),
    refused("blanks of another kind", WHOLE.replace(":", ":\u00a0", 1)),
    refused("wide signs", WHOLE.replace("{", "｛")),
    refused("twice", WHOLE + WHOLE, SKY, SEA),
    refused("the other way round", f'{{"statements":[{ONE}],"answerable":true}}'),
    refused("one part", f'{{"statements":[{ONE}]}}'),
    refused("one part more", f'{{"thought":"Sky?",{WHOLE[1:]}'),
    refused("another part at the end", f'{WHOLE[:-1]},"done":true}}', SKY, SEA),
    refused("answerable twice", WHOLE.replace("{", '{"answerable":true,', 1)),
    refused("answerable null", WHOLE.replace("true", "null")),
    refused("answerable a text", WHOLE.replace("true", '"true"')),
    refused("answerable as in Python", WHOLE.replace("true", "True")),
    refused("statements null", '{"answerable":true,"statements":null}'),
    refused("statements an object", f'{{"answerable":true,"statements":{ONE}}}'),
    refused("never ended", WHOLE[:-1], SKY, SEA),
    refused("no comma", f"{HEAD}{ONE} {TWO}]}}", SKY),
    refused("a comma at the end", f"{HEAD}{ONE},]}}", SKY),
    refused("in an object", f'{{"answer":{WHOLE}}}'),
    refused("in a text", json.dumps(WHOLE)),
)
JSON = (*READ, *CUT, *STATEMENTS, *WHOLES)
