"""The two kinds of network behind a machine's card, and the SSH keys of machines.

`bridge` (root): a bridge, a tap for each run, rules of our own, NAT out.
`user` (anybody): QEMU's user network, in a network namespace of its own where the host can make one.
"""

from openboxd.network.bridge import BridgeNetwork
from openboxd.network.choose import choose
from openboxd.network.user import UserNetwork

__all__ = ["BridgeNetwork", "UserNetwork", "choose"]
