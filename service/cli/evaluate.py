"""`citeward eval`: figures over evaluation sets, a file a command."""

from __future__ import annotations

import typer

from service.cli.eval_compare import compare
from service.cli.eval_gate import gate
from service.cli.eval_injection import injection
from service.cli.eval_install import install
from service.cli.eval_judge import judge
from service.cli.eval_refusal import refusal
from service.cli.eval_release import release
from service.cli.eval_retrieval import retrieval
from service.cli.eval_run import run
from service.cli.eval_sweep import sweep

app = typer.Typer()
evaluate = typer.Typer(help="Figures over evaluation sets.", no_args_is_help=True)
app.add_typer(evaluate, name="eval")

evaluate.command()(retrieval)
evaluate.command()(refusal)
evaluate.command()(judge)
evaluate.command()(injection)
evaluate.command()(install)
evaluate.command()(run)
evaluate.command()(compare)
evaluate.command()(gate)
evaluate.command()(release)
evaluate.command()(sweep)
