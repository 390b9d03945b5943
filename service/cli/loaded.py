"""The parts that take seconds to load, for the commands that need them."""

from __future__ import annotations

import typer

from ingest.corpus.seams import Embedder
from service.bootstrap import open_embedder, put_together
from service.cli.local import installation, local_database
from service.cli.show import say
from service.parts import Parts


def local_embedder(context: typer.Context) -> Embedder:
    """:raises Unavailable: if the model is not here."""
    here = installation(context)
    say(f"Loading {here.settings.corpus.embedder} …")
    return here.embedder or open_embedder(here.settings)


def local_parts(context: typer.Context, *, answering: bool = True) -> Parts:
    """All that answering needs, or all that finding does: a language model's tokenizer takes seconds."""
    settings = installation(context).settings
    if not answering:
        settings = settings.without_llm()
    database = local_database(context)  # first, because it is quick to say that `init` is missing
    return put_together(settings, database, local_embedder(context))
