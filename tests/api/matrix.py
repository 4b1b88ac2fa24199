"""Who may call what: a row for every call of the API, whoever offers it first. See test_matrix.py.

A row is a kind of access and, where the call needs more than a machine or an organization to get past its checks, the
other fields of its request. Kinds are the lines of `EXPECTED`, callers its columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Who(Enum):
    """Who calls. It is about the owner's machine `web`, which is shared with an organization, unless told here.

    Machines speak over their own channels; where nothing else is told, with a token that their metadata gave them.
    """

    OWNER = "owner of machine, organization and host"
    MEMBER = "member of the organization"
    OTHER = "other user"
    ITSELF = "private machine about itself"
    NEIGHBOUR = "private machine about a private machine of its owner"
    SHARED_ITSELF = "shared machine about itself"
    SHARED_NEIGHBOUR = "shared machine about a private machine of its owner"
    STRANGER = "machine of another user"
    ORG = "the organization's own key"
    ADMIN = "admin of the organization"
    FENCED = "key of the owner's for the organization, about a private machine of theirs"
    BARE = "private machine about itself, without a token"
    ELSEWHERE = "a machine's own token, but not over the machine's channel"
    ANOTHERS = "private machine with another machine's token"
    LATE = "private machine with a token of its own that has expired"
    FORMER = "a run that its machine does not have any more"
    ISOLATED = "isolated machine about itself"
    EXPIRED = "expired token"
    NOBODY = "no token"


class Is(Enum):
    """What a caller is told."""

    GRANTED = "granted"  # the call was carried out, or refused for another reason than who calls
    DENIED = "PERMISSION_DENIED"
    UNSEEN = "NOT_FOUND"  # exactly as if there were no such machine, organization or thing
    UNKNOWN = "UNAUTHENTICATED"


G, D, U = Is.GRANTED, Is.DENIED, Is.UNSEEN


class Thing(Enum):
    """Something of the owner's that a call may name. The value is how one is told of that it does not exist."""

    SNAPSHOT = "snapshot not found"
    API_KEY = "API key '{}' not found"
    SSH_KEY = "SSH key '{}' is not linked"
    INVITATION = "there is no such invitation: it was used, revoked or has expired; ask for another one"
    DOMAIN = "domain '{}' not found"  # of the machine that the call is about


class Kind(Enum):
    """What a call is about."""

    ANY = "whoever has a credential"
    MAKE = "making a machine"
    USE = "using a machine"
    MANAGE = "changing a machine"
    LIMIT = "changing what a machine reaches"
    REMOVE = "removing a machine"
    SHARE = "sharing a machine"
    SELF = "a machine removing itself"
    KEEP = "taking something of a machine into an account"
    USAGE = "what a machine used"
    ACCOUNT = "things of an account that its private machines may use"
    SNAPSHOT = "a snapshot of the owner's"
    PERSON = "an account"
    KEY = "a key of the owner's"
    INVITE = "an invitation to the organization"
    DOMAIN = "a domain of a machine"
    HOST = "the host"
    ORG = "an organization"
    ORG_ADMIN = "managing an organization"
    ORG_OWNER = "removing an organization"
    LATER = "not offered, and nobody knows yet"


COLUMNS = tuple(Who)[:10]
"""Those whose credential is good."""

AS = {Who.BARE: Who.ITSELF, Who.FENCED: Who.SHARED_NEIGHBOUR}
"""Who is told the same as another one."""

SHUT_OUT = {Who.ISOLATED: Is.DENIED}
"""Who is told the same by every call. Everybody else who has no column is unknown."""

EXPECTED: dict[Kind, tuple[Is, ...]] = {
    # ............. owner member other itself neighbour shared: itself neighbour stranger org admin
    Kind.ANY: (G, G, G, G, G, G, G, G, G, G),
    Kind.MAKE: (G, G, G, G, G, G, G, G, G, G),
    Kind.USE: (G, G, U, G, G, G, U, U, G, G),
    Kind.MANAGE: (G, D, U, G, G, D, U, U, G, G),
    Kind.LIMIT: (G, D, U, G, G, D, U, U, G, G),
    Kind.REMOVE: (G, D, U, D, G, D, U, U, G, G),
    Kind.SHARE: (G, D, U, D, D, D, U, U, D, D),
    Kind.SELF: (D, D, D, G, G, D, D, G, D, D),
    Kind.KEEP: (G, G, U, G, G, D, D, U, D, G),
    Kind.USAGE: (G, D, U, D, D, D, D, D, D, G),
    Kind.ACCOUNT: (G, G, G, G, G, D, D, G, D, G),
    Kind.SNAPSHOT: (G, U, U, G, G, D, D, U, D, U),
    Kind.PERSON: (G, G, G, D, D, D, D, D, D, G),
    Kind.KEY: (G, U, U, D, D, D, D, D, D, U),
    Kind.INVITE: (G, U, U, D, D, D, D, D, D, G),
    Kind.DOMAIN: (G, D, U, G, G, D, U, U, G, G),
    Kind.HOST: (G, D, D, D, D, D, D, D, D, D),
    Kind.ORG: (G, G, U, D, D, D, D, D, D, G),
    Kind.ORG_ADMIN: (G, D, U, D, D, D, D, D, D, G),
    Kind.ORG_OWNER: (G, D, U, D, D, D, D, D, D, D),
}

MACHINES = COLUMNS[3:8]
"""Those columns that machines are."""

SHUT_IN: dict[Kind | str, tuple[Is, ...]] = {
    # .......... itself neighbour shared: itself neighbour stranger
    Kind.MAKE: (D, D, D, D, D),
    "ForkVm": (D, U, D, U, U),  # which makes a machine
    Kind.KEEP: (D, D, D, D, D),
    Kind.USE: (G, U, G, U, U),
    Kind.MANAGE: (G, U, D, U, U),
    Kind.LIMIT: (D, U, D, U, U),
    Kind.REMOVE: (D, U, D, U, U),
    Kind.SHARE: (D, U, D, U, U),
    Kind.ACCOUNT: (D, D, D, D, D),
    Kind.PERSON: (D, D, D, D, D),
}
"""What machines are told where they reach nothing but themselves (BOXD_MACHINE_REACH=self), by kind or call."""


@dataclass(frozen=True)
class Row:
    """A call: its kind, and further fields of a request; a `Thing` stands for what names one of the owner's."""

    kind: Kind
    fields: dict[str, Any] = field(default_factory=dict)


def _rows(kind: Kind, names: str, **fields: Any) -> dict[str, Row]:
    return {name: Row(kind, fields) for name in names.split()}


OWNERS_SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f owner@desk"
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4hsXZPEkyhUoD9YJXTtBuIQz7N0f2jVvQHSqoWqpCK me@laptop"

ROWS: dict[str, Row] = {
    **_rows(Kind.ANY, "ListVms GetConfig Whoami SuggestVmName ListOrgs ListNetworks ListDisks ListCustomDomains"),
    **_rows(Kind.ANY, "Host.ListImages Host.RootCertificate"),
    **_rows(Kind.MAKE, "CreateVm"),
    # -- machines
    **_rows(Kind.USE, "GetVm StartVm StopVm RebootVm SuspendVm ResumeVm HibernateVm WakeVm StreamLogs"),
    **_rows(Kind.USE, "SetAutoSuspendTimeout SetAutoHibernateTimeout SetIdleIgnoreOutbound SetBotProtection"),
    **_rows(Kind.USE, "UpdateVmLabels ListCheckpoints Host.ListEvents Host.WatchMachine UpdateMachineSpec"),
    **_rows(Kind.USE, "CreateCheckpoint RestoreCheckpoint DeleteCheckpoint", name="none"),
    **_rows(Kind.USE, "Host.WaitCheckpoint Host.VerifyCheckpoint", name="none"),
    **_rows(Kind.USE, "Exec", command="get v"),
    **_rows(
        Kind.USE, "UploadFile UploadFileStream DownloadFile DownloadFileStream ListDir Mkdir DeletePath", path="x"
    ),
    **_rows(Kind.USE, "RenamePath CopyPath", old_path="x", new_path="y"),
    **_rows(Kind.USE, "ListProxies ListExposedPorts"),
    **_rows(Kind.USE, "CreateProxy DeleteProxy", name="docs", port=9000),
    **_rows(Kind.USE, "SetProxyPort", port="9000"),
    **_rows(Kind.MANAGE, "AddCustomDomain", domain="www.example.org"),
    **_rows(Kind.DOMAIN, "RemoveCustomDomain", domain=Thing.DOMAIN),
    **_rows(Kind.USE, "ForkVm AttachDisk DetachDisk DesktopTunnel"),
    **_rows(Kind.USE, "SetBackupSchedule ClearBackupSchedule GetBackupSchedule ListBackups TriggerBackup"),
    **_rows(Kind.USE, "DeleteBackup RestoreBackup"),
    **_rows(Kind.MANAGE, "RenameVm", new_name="renamed"),
    **_rows(Kind.MANAGE, "ResizeVm SetDeleteAfter"),
    **_rows(Kind.LIMIT, "SetVmNetworks SetVmEgressAllow"),
    **_rows(Kind.MANAGE, "ExposePort UnexposePort", vm_port=5432),
    **_rows(Kind.SHARE, "ShareVm UnshareVm"),
    **_rows(Kind.REMOVE, "DestroyVm"),
    **_rows(Kind.SELF, "Host.DestroySelf", confirm_name="none"),
    **_rows(Kind.USAGE, "GetVmUsage"),
    # -- accounts
    **_rows(Kind.KEEP, "CreateSnapshot", name="kept"),
    **_rows(Kind.ACCOUNT, "ListSnapshots"),
    **_rows(Kind.SNAPSHOT, "GetSnapshot DeleteSnapshot Host.WaitSnapshot Host.VerifySnapshot", name=Thing.SNAPSHOT),
    **_rows(Kind.SNAPSHOT, "CreateVmFromSnapshot", snapshot=Thing.SNAPSHOT),
    **_rows(Kind.PERSON, "ListApiKeys Host.ListSshKeys Host.GetAccount Host.Doctor"),
    **_rows(Kind.PERSON, "CreateApiKey", name="ci"),
    **_rows(Kind.KEY, "DeleteApiKey", id=Thing.API_KEY),
    **_rows(Kind.PERSON, "LinkSshKey", pubkey=SSH_KEY),
    **_rows(Kind.KEY, "Host.UnlinkSshKey", fingerprint=Thing.SSH_KEY),
    **_rows(Kind.PERSON, "CreateOrg", name="another"),
    **_rows(Kind.PERSON, "Host.AcceptOrgInvite", token=Thing.INVITATION),
    **_rows(Kind.INVITE, "RevokeOrgInvite", token=Thing.INVITATION),
    **_rows(Kind.PERSON, "ListTokens CreateToken RevokeToken ListPlans GetBilling CreateCheckoutSession"),
    **_rows(Kind.PERSON, "CreateBillingPortalSession SetVar ListVars RemoveVar SetSecretScope"),
    **_rows(Kind.HOST, "Host.ListUsers"),
    **_rows(Kind.HOST, "Host.AddUser", name="carol"),
    **_rows(Kind.HOST, "Host.RemoveUser Host.SetQuota Host.AddUserKey", user="nobody"),
    **_rows(Kind.HOST, "Host.BuildImage Host.WarmImage"),
    **_rows(Kind.HOST, "Host.RemoveImage", name="none"),
    # -- organizations
    **_rows(Kind.ORG, "GetOrgMembers"),
    **_rows(Kind.ORG, "RemoveOrgMember", user_id="u_bob"),
    **_rows(Kind.ORG_ADMIN, "RenameOrg", name="team"),
    **_rows(Kind.ORG_ADMIN, "InviteOrgMember", email="dan@example.org"),
    **_rows(Kind.ORG_ADMIN, "SetOrgMemberRole", user_id="u_bob", role="member"),
    **_rows(Kind.ORG_ADMIN, "GetOrgUsage ListBillingActivity GetOrgBilling"),
    **_rows(Kind.ORG_OWNER, "Host.RemoveOrg"),
    **_rows(Kind.ORG, "GetOrgDomain GetOrgBackupsDefault GetOrgMachineDefaults GetOrgIdleIgnoreOutboundDefault"),
    **_rows(Kind.ORG, "GetOrgBotProtectionDefault ListTeams CreateTeam"),
    **_rows(Kind.ORG_ADMIN, "SetOrgDomain ClearOrgDomain SetOrgBackupsDefault SetOrgMachineDefaults"),
    **_rows(Kind.ORG_ADMIN, "SetOrgIdleIgnoreOutboundDefault SetOrgBotProtectionDefault"),
    # -- nobody knows yet
    **_rows(Kind.LATER, "CreateNetwork ListProxyNodes CreateDisk DestroyDisk GetTeam RenameTeam DestroyTeam"),
    **_rows(Kind.LATER, "AddTeamMember RemoveTeamMember SetTeamMemberRole SetTeamDefaultSnapshot"),
}
