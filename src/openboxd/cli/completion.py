"""`boxd completion`: the shell's side of tab completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from openboxd.cli.base import Command


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands, machines and checkpoints.

    \b
      bash: eval "$(boxd completion bash)"        in ~/.bashrc
      zsh:  eval "$(boxd completion zsh)"         in ~/.zshrc
      fish: boxd completion fish | source         in ~/.config/fish/config.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    print(kind(context.find_root().command, {}, "boxd", "_BOXD_COMPLETE").source())
