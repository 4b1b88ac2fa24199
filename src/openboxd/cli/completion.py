"""`boxd completion`: the shell's side of tab completion."""

from __future__ import annotations

import os

import click
from click.shell_completion import BashComplete, add_completion_class, get_completion_class, split_arg_string

from openboxd.cli.base import BareCommand

BASH = r"""\
%(complete_func)s() {
    local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT} response type value before=
    local word=${line##*[[:space:]]}
    # bash takes what follows a colon for a word of its own, so the part before it must not come again
    [[ $word == *:* && $COMP_WORDBREAKS == *:* ]] && before=${word%%"${word##*:}"}
    response=$(env COMP_WORDS="$line" COMP_CWORD=-1 %(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    for response in $response; do
        IFS=, read -r type value <<<"$response"
        if [[ $type == file || $type == dir ]]; then
            for value in $(compgen -f -- "$word"); do
                [[ -d $value ]] && value=$value/
                COMPREPLY+=("$(printf %%q "$value")")
            done
        elif [[ $type == plain ]]; then
            value=$(printf %%q "${value#"$before"}")
            COMPREPLY+=("${value/#\\~/\~}")
        fi
    done
    # a directory and a machine's side of a copy go on
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[/:] ]] && compopt -o nospace
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class LineComplete(BashComplete):
    """Completes the line up to the cursor, because bash's own words end at colons and NAME:PATH is one word."""

    source_template = BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        if not words or line[-1:].isspace():
            return words, ""
        return words[:-1], words[-1]


add_completion_class(LineComplete, "bash")


@click.command("completion", cls=BareCommand)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands, machines, checkpoints, images, and paths in machines.

    \b
      bash: eval "$(boxd completion bash)"        in ~/.bashrc
      zsh:  eval "$(boxd completion zsh)"         in ~/.zshrc
      fish: boxd completion fish | source         in ~/.config/fish/config.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    print(kind(context.find_root().command, {}, "boxd", "_BOXD_COMPLETE").source())
