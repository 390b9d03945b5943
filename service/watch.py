"""How a long piece of work tells how far it is, whoever shows it."""

from __future__ import annotations

from collections.abc import Callable

Watch = Callable[[str, int, int], None]  # told what is being done, how many are done, of how many
