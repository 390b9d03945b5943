"""The command `citeward`: one file a noun, each loaded only when it is called."""

from service.cli.root import app, main

__all__ = ["app", "main"]
