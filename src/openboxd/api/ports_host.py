"""What the API needs from control about images and the host."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from openboxd.model import Caller, Finding, Image, Machine, Progress, Size


class Host(Protocol):
    """What makes machines, and what keeps them."""

    def images(self, caller: Caller) -> Sequence[Image]: ...

    def warm_sizes(self, image: Image) -> Sequence[Size]:
        """Sizes in which machines of an image need no boot."""
        ...

    def boots_first(self, machine: Machine) -> bool:
        """Whether a machine just made boots because its size was not kept warm, as it will be from now on."""
        ...

    def build_image(self, caller: Caller, name: str) -> AsyncIterator[Progress | Image]:
        """Progress, then the image as the last item. A build under way is joined; a cached one answers at once."""
        ...

    def warm_image(self, caller: Caller, name: str, vcpu: int, memory_bytes: int) -> AsyncIterator[Progress | Image]:
        """Capture a booted guest of this size, so that new machines need not boot; answers at once if it is there."""
        ...

    async def remove_image(self, caller: Caller, name: str) -> None:
        """Raises WrongState naming the machines that still use it."""
        ...

    def default_image(self) -> str: ...

    async def doctor(self, caller: Caller) -> Sequence[Finding]: ...
