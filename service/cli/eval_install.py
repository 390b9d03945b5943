"""`citeward eval install`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ingest.corpus.errors import InvalidInput
from service.cli.eval_set import Collection, SetFolder
from service.cli.show import Json, progress, show_done
from service.cli.writable import writable
from service.client import Client
from service.evaluation.asking.install_live import install_live
from service.evaluation.asking.keys import fresh_file, read_keys, write_keys
from service.evaluation.asking.live import collection_of
from service.evaluation.sets.external import read_cases


def install(
    folder: SetFolder,
    url: Annotated[str, typer.Option("--url", help="Of the service, as http://127.0.0.1:8080.")],
    key_file: Annotated[Path, typer.Option("--key-file", help="A file with an admin's key.")],
    keys: Annotated[Path, typer.Option("--keys", help="File to be written: a key for each asker.")],
    collection: Collection = None,
    as_json: Json = False,
) -> None:
    """Put a set's people, permissions and documents onto a running service, for `eval run --url`.

    In a tenant with nobody else in it but admins: `citeward init --tenant evaluation` makes one. An evaluator
    is added who may read all of the set. Run it again after it was stopped; keys are made anew each time.
    """
    case_set, admin = read_cases(folder), Client(url, read_keys(key_file).evaluator)
    if keys.exists():
        read_keys(keys)  # else it is something that nobody wants to lose
    if not keys.absolute().parent.is_dir():
        raise InvalidInput(f"There is no folder {keys.absolute().parent}.", next_step="Make it first.")
    writable(fresh_file(keys))
    place = collection or collection_of(case_set)
    with progress() as watch:
        made = install_live(case_set, admin, place, watch)
    write_keys(keys, made)
    done = {"set": case_set.label, "collection": place, "documents": len(case_set.documents), "keys": keys}
    show_done(done, f"{case_set.label} is in {place}; the keys of its {len(made)} people: {keys}", as_json)
