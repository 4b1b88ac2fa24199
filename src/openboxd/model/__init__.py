"""The nouns of boxd as plain, frozen data, shared by every layer.

Nothing here does I/O or imports another layer. Words follow ARCHITECTURE.md: a *machine* lives for weeks, a
*run* is one QEMU process of it, a *capture* is the machine at one instant, a *checkpoint* is a capture owned by
its machine, a *snapshot* one owned by an account.
"""

from openboxd.model.captures import MAX_CHECKPOINTS as MAX_CHECKPOINTS
from openboxd.model.captures import Checkpoint as Checkpoint
from openboxd.model.captures import CheckpointStatus as CheckpointStatus
from openboxd.model.captures import CheckpointView as CheckpointView
from openboxd.model.captures import Damage as Damage
from openboxd.model.captures import SaveReport as SaveReport
from openboxd.model.captures import Snapshot as Snapshot
from openboxd.model.captures import SnapshotStatus as SnapshotStatus
from openboxd.model.captures import SnapshotView as SnapshotView
from openboxd.model.captures import Usage as Usage
from openboxd.model.captures import Verification as Verification
from openboxd.model.guests import LIST_LIMIT as LIST_LIMIT
from openboxd.model.guests import DirEntry as DirEntry
from openboxd.model.guests import ExecOutput as ExecOutput
from openboxd.model.guests import ExecRequest as ExecRequest
from openboxd.model.guests import Listing as Listing
from openboxd.model.host import Accelerator as Accelerator
from openboxd.model.host import Finding as Finding
from openboxd.model.host import Space as Space
from openboxd.model.machines import Identity as Identity
from openboxd.model.machines import Image as Image
from openboxd.model.machines import Machine as Machine
from openboxd.model.machines import MachineStatus as MachineStatus
from openboxd.model.machines import Size as Size
from openboxd.model.operations import Event as Event
from openboxd.model.operations import Operation as Operation
from openboxd.model.operations import Outcome as Outcome
from openboxd.model.operations import Progress as Progress
from openboxd.model.people import MEMBER_KEY as MEMBER_KEY
from openboxd.model.people import ORG_KEY as ORG_KEY
from openboxd.model.people import ApiKey as ApiKey
from openboxd.model.people import Caller as Caller
from openboxd.model.people import Invite as Invite
from openboxd.model.people import Membership as Membership
from openboxd.model.people import Org as Org
from openboxd.model.people import OrgRole as OrgRole
from openboxd.model.people import SshKey as SshKey
from openboxd.model.people import Token as Token
from openboxd.model.people import User as User
from openboxd.model.units import GIB as GIB
from openboxd.model.units import KIB as KIB
from openboxd.model.units import MIB as MIB
from openboxd.model.usage import Quota as Quota
from openboxd.model.usage import Rates as Rates
from openboxd.model.usage import Scope as Scope
from openboxd.model.usage import UsageSpan as UsageSpan
from openboxd.model.usage import Used as Used
from openboxd.model.ways import CustomDomain as CustomDomain
from openboxd.model.ways import CustomDomainView as CustomDomainView
from openboxd.model.ways import ExposedPort as ExposedPort
from openboxd.model.ways import Held as Held
from openboxd.model.ways import Route as Route
from openboxd.model.ways import RouteView as RouteView
from openboxd.model.ways import Way as Way
