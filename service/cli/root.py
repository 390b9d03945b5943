"""Finds the command that was called, and ends every failure in plain words and an exit code.

A command's module is loaded when it is called: `citeward version` need not wait for a database library, nor
`citeward users` for a web server.
"""

from __future__ import annotations

import sys
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from ingest.corpus.errors import CitewardError, InvalidInput
from service.cli.exits import FAILED, WRONG_USE
from service.cli.show import show_error

if TYPE_CHECKING:
    Command = Any  # typer keeps the class of commands to itself

# Command -> the module of this package whose `app` holds it, in the order of use.
MODULES = {
    "init": "init",
    "serve": "serve",
    "models": "models",
    "prompts": "prompts",
    "engine": "engine",
    "collections": "collections",
    "ingest": "ingest",
    "documents": "documents",
    "ask": "ask",
    "search": "ask",
    "users": "people",
    "groups": "people",
    "keys": "people",
    "reindex": "ingest",
    "read": "read",
    "audit": "audit",
    "eval": "evaluate",
    "capacity": "capacity",
    "settings": "about",
    "version": "about",
}


class Commands(TyperGroup):
    """The commands above."""

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx  # the same everywhere
        return list(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Command | None:
        if cmd_name not in MODULES:
            return None
        holder = import_module(f"service.cli.{MODULES[cmd_name]}")
        return get_group(holder.app).get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CitewardError as error:
            show_error(error)
            raise typer.Exit(WRONG_USE if isinstance(error, InvalidInput) else FAILED) from None
        except UnicodeDecodeError as error:
            told = InvalidInput(
                "A file that was given is no UTF-8 text.", why=f"{error}.", next_step="Save it as UTF-8."
            )
            show_error(told)
            raise typer.Exit(WRONG_USE) from None
        except BrokenPipeError:
            raise  # whoever read the output has enough
        except OSError as error:  # the machine's no (permission, full disk) is no fault of the program
            show_error(CitewardError(f"{error.strerror or error}: {error.filename or 'the data folder'}."))
            raise typer.Exit(FAILED) from None


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # they may hold documents and keys
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def citeward() -> None:
    """Answers over a company's own documents, in Chinese and English, every citation checked.

    Commands work on the data folder CITEWARD_HOME of this machine, whether the service runs or not. They end
    with 0, with 1 if something failed, or with 2 if the call or its input cannot be right. `eval gate` and
    `eval release` give verdicts, and end with 3 for what may not ship and 4 where nobody can tell.
    """


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a file name or an encoding must not end a command
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="citeward")
