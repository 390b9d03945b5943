"""A page of figures under one title: what surrounds its sections."""

from __future__ import annotations

from importlib.resources import files

from service.evaluation.report.markup import Markup, element


def figures_page(title: str, *sections: Markup) -> str:
    """The whole file, to be written as UTF-8; it needs nothing else."""
    style = Markup(files("service.evaluation.report").joinpath("report.css").read_text("utf-8"))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", style),
    )
    body = element("body", element("header", element("h1", title)), element("main", *sections))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"
