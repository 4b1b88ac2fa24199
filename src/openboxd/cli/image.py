"""`boxd image`: the systems that machines are made from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import click

from openboxd.cli.base import Group
from openboxd.cli.confirm import ask, need_terminal, yes_option
from openboxd.cli.interrupt import going_on
from openboxd.cli.output import age, answer, iso, size, table
from openboxd.cli.progress import bar
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import GIVEN, SizeType, complete_image
from openboxd.errors import OutcomeUnknown

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.openboxd_host_pb2 import BuildImageResponse, ImageInfo


@click.group(cls=Group)
def image() -> None:
    """Build, list and remove the systems that machines are made from."""


@image.command("build")
@click.argument("name", type=GIVEN, required=False, default=None)
@pass_state
def build(state: State, name: str | None) -> None:
    """Build image NAME, or the default one. An image that exists already is left as it is."""

    async def work(client: Client) -> ImageInfo:
        with going_on("the build goes on; 'boxd image build' joins it"):
            answers = client.build_image(name or "")
            if built := await _followed(state, answers, f"building {name or 'the default image'}"):
                return built
        raise OutcomeUnknown("the build ended without an image; look at 'boxd image list'")

    built = state.run(work)
    answer(state, as_json(built), f"image {built.name} is ready ({built.digest})")


@image.command("warm")
@click.argument("name", type=GIVEN, required=False, default=None, shell_complete=complete_image)
@click.option("--vcpu", type=click.IntRange(1, 64), help="Number of virtual CPUs (default: 2).")
@click.option("--memory", type=SizeType(), help="RAM, such as 1G (default: 8G).")
@pass_state
def warm(state: State, name: str | None, vcpu: int | None, memory: int | None) -> None:
    """Boot image NAME, or the default one, and keep it: new machines of this size go on from there, without a boot.

    A build does this for the default size, unless the daemon runs with BOXD_WARM=wanted or off. Other sizes follow by
    themselves after a machine had to boot, as soon as the host is not busy, unless it is off. Harmless if it was done
    before.
    """

    async def work(client: Client) -> ImageInfo:
        with going_on("nothing of it is kept; 'boxd image warm' begins anew"):
            answers = client.warm_image(name or "", vcpu or 0, memory or 0)
            if warmed := await _followed(state, answers, f"warming {name or 'the default image'}"):
                return warmed
        raise OutcomeUnknown("the warming ended without an image; look at the daemon's log")

    warmed = state.run(work)
    answer(state, as_json(warmed), f"image {warmed.name} is warm for this size")


async def _followed(state: State, answers: AsyncIterator[BuildImageResponse], title: str) -> ImageInfo | None:
    """Show progress until the image is there; None if it never comes."""
    async with bar(title, lines=not state.json) as show:
        async for item in answers:
            if item.HasField("image"):
                return item.image
            show(item.progress)
    return None


@image.command("list")
@pass_state
def list_images(state: State) -> None:
    """List the images of this host (short: ls). The default one is marked with *.

    WARM are the sizes in which new machines go on from a booted guest; in others they boot. After the first boot a
    size becomes warm by itself, but not while the host is busy or the pool full: until then it waits, and machines
    boot. 'boxd image warm' does not wait.
    """
    images = state.run(lambda client: client.images())
    head = ("", "NAME", "SIZE", "KERNEL", "AGE", "WARM", "DIGEST")
    rows = [
        (
            "*" if i.is_default else " ",
            i.name,
            size(i.disk_bytes),
            i.kernel_version,
            age(i.created_at),
            ",".join(f"{each.vcpu}x{size(each.memory_bytes)}" for each in i.warm),
            i.digest,
        )
        for i in images
    ]
    answer(state, [as_json(found) for found in images], table(head, rows))


@image.command("remove")
@click.argument("name", shell_complete=complete_image)
@yes_option
@pass_state
def remove(state: State, name: str, yes: bool) -> None:
    """Remove image NAME (short: rm). Refused while a machine still uses it; it can be built again.

    Asks for confirmation unless -y is given.
    """
    need_terminal("removing an image", yes)
    ask(f"Remove image '{name}'? Building it again takes minutes.", yes)
    state.run(lambda client: client.remove_image(name))
    answer(state, {"image": name, "removed": True}, f"image {name} was removed")


def as_json(found: ImageInfo) -> dict[str, Any]:
    """An image as scripts see it."""
    return {
        "name": found.name,
        "digest": found.digest,
        "disk_bytes": found.disk_bytes,
        "kernel_version": found.kernel_version,
        "created_at": iso(found.created_at),
        "is_default": found.is_default,
        "warm": [{"vcpu": each.vcpu, "memory_bytes": each.memory_bytes} for each in found.warm],
    }
