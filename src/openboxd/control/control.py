"""All use-cases: who may, what is recorded, which worker is given the order.

Everything the API offers goes through here, a class for each concern. Control decides nothing about the machine
itself: that is the worker's admission. A machine belongs to its owner; what others own looks exactly like what does
not exist.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from openboxd.control import sizes
from openboxd.control.checkpoints import Checkpoints
from openboxd.control.forks import Forks
from openboxd.control.guests import Guests
from openboxd.control.inside import Inside
from openboxd.control.machines import Machines
from openboxd.control.orgs import Organizations
from openboxd.control.reach import Reach
from openboxd.control.sleep import Sleep
from openboxd.control.snapshots import Snapshots
from openboxd.control.usage import Accounting
from openboxd.control.users import Users
from openboxd.control.ways import WaysIn
from openboxd.model import Caller, Finding, Image, Machine, Progress, Size


class Control(
    Inside, Users, Organizations, Accounting, Machines, Sleep, WaysIn, Reach, Checkpoints, Snapshots, Forks, Guests
):
    """Implements `api.ports.Service`."""

    async def close(self, limit: float = 30.0) -> None:
        """Stop serving: end builds, wait for operations up to `limit` seconds, let go of the machines."""
        await self._inventory.close()
        await self._images.close()
        await self._warming.close()
        await self.team.close(limit)

    async def metrics(self) -> bytes:
        """What this daemon measured, in Prometheus' text format."""
        return await self._inventory.text()

    def count_error(self, error: BaseException) -> None:
        """Count a call that failed."""
        self._drivers.metrics.failed(error, "call")

    def images(self, caller: Caller) -> Sequence[Image]:
        """All images of this host."""
        return self._images.listed()

    def build_image(self, caller: Caller, name: str) -> AsyncIterator[Progress | Image]:
        """Build or join or reuse; progress, then the image. Everybody's disk: the owner of this host does that."""
        self._access.host_owner(caller, "build images")
        return self._images.build(name)

    def warm_image(self, caller: Caller, name: str, vcpu: int, memory_bytes: int) -> AsyncIterator[Progress | Image]:
        """Keep an image warm for machines of a size; progress, then the image. For the owner of this host as well."""
        self._access.host_owner(caller, "warm images")
        return self._images.warm(name, sizes.choose_size(vcpu, memory_bytes))

    async def remove_image(self, caller: Caller, name: str) -> None:
        """Remove an image that no machine uses."""
        self._access.host_owner(caller, "remove images")
        await self._images.remove(name)

    def warm_sizes(self, image: Image) -> Sequence[Size]:
        """Sizes in which machines of an image need no boot."""
        return self._warming.sizes(image.digest)

    def boots_first(self, machine: Machine) -> bool:
        """Whether a machine just made boots because its size is not kept warm yet; it will be in a quiet moment."""
        return self._warming.is_on and not machine.source and machine.size not in self._warming.sizes(machine.image)

    def default_image(self) -> str:
        """Name of the default image."""
        return self._images.default

    async def doctor(self, caller: Caller) -> Sequence[Finding]:
        """What this host offers and lacks."""
        self._access.person(caller, "examine the host")
        return await self._examine()
