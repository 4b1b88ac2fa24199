from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class VmConfig(_message.Message):
    __slots__ = ("vcpu", "memory_bytes", "disk_bytes", "srf", "network", "volumes", "idle_ignore_outbound")
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    SRF_FIELD_NUMBER: _ClassVar[int]
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    VOLUMES_FIELD_NUMBER: _ClassVar[int]
    IDLE_IGNORE_OUTBOUND_FIELD_NUMBER: _ClassVar[int]
    vcpu: int
    memory_bytes: int
    disk_bytes: int
    srf: SrfConfig
    network: NetworkConfig
    volumes: _containers.RepeatedCompositeFieldContainer[VolumeMount]
    idle_ignore_outbound: bool
    def __init__(self, vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., disk_bytes: _Optional[int] = ..., srf: _Optional[_Union[SrfConfig, _Mapping]] = ..., network: _Optional[_Union[NetworkConfig, _Mapping]] = ..., volumes: _Optional[_Iterable[_Union[VolumeMount, _Mapping]]] = ..., idle_ignore_outbound: _Optional[bool] = ...) -> None: ...

class SrfConfig(_message.Message):
    __slots__ = ("auto_suspend_timeout_secs", "auto_destroy_timeout_secs", "auto_hibernate_timeout_secs")
    AUTO_SUSPEND_TIMEOUT_SECS_FIELD_NUMBER: _ClassVar[int]
    AUTO_DESTROY_TIMEOUT_SECS_FIELD_NUMBER: _ClassVar[int]
    AUTO_HIBERNATE_TIMEOUT_SECS_FIELD_NUMBER: _ClassVar[int]
    auto_suspend_timeout_secs: int
    auto_destroy_timeout_secs: int
    auto_hibernate_timeout_secs: int
    def __init__(self, auto_suspend_timeout_secs: _Optional[int] = ..., auto_destroy_timeout_secs: _Optional[int] = ..., auto_hibernate_timeout_secs: _Optional[int] = ...) -> None: ...

class NetworkConfig(_message.Message):
    __slots__ = ("ssh", "proxies")
    SSH_FIELD_NUMBER: _ClassVar[int]
    PROXIES_FIELD_NUMBER: _ClassVar[int]
    ssh: bool
    proxies: _containers.RepeatedCompositeFieldContainer[ProxyEntry]
    def __init__(self, ssh: _Optional[bool] = ..., proxies: _Optional[_Iterable[_Union[ProxyEntry, _Mapping]]] = ...) -> None: ...

class ProxyEntry(_message.Message):
    __slots__ = ("name", "port")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    name: str
    port: int
    def __init__(self, name: _Optional[str] = ..., port: _Optional[int] = ...) -> None: ...

class VolumeMount(_message.Message):
    __slots__ = ("disk_id", "mount_path", "read_only")
    DISK_ID_FIELD_NUMBER: _ClassVar[int]
    MOUNT_PATH_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    disk_id: str
    mount_path: str
    read_only: bool
    def __init__(self, disk_id: _Optional[str] = ..., mount_path: _Optional[str] = ..., read_only: _Optional[bool] = ...) -> None: ...

class CreateVmRequest(_message.Message):
    __slots__ = ("name", "image_ref", "env", "cmd", "restart_policy", "config", "org", "shared", "networks", "isolated", "team", "labels", "spec")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    IMAGE_REF_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    CMD_FIELD_NUMBER: _ClassVar[int]
    RESTART_POLICY_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    ORG_FIELD_NUMBER: _ClassVar[int]
    SHARED_FIELD_NUMBER: _ClassVar[int]
    NETWORKS_FIELD_NUMBER: _ClassVar[int]
    ISOLATED_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    name: str
    image_ref: str
    env: _containers.RepeatedCompositeFieldContainer[EnvVar]
    cmd: _containers.RepeatedScalarFieldContainer[str]
    restart_policy: str
    config: VmConfig
    org: str
    shared: bool
    networks: _containers.RepeatedScalarFieldContainer[str]
    isolated: bool
    team: str
    labels: _containers.ScalarMap[str, str]
    spec: MachineSpec
    def __init__(self, name: _Optional[str] = ..., image_ref: _Optional[str] = ..., env: _Optional[_Iterable[_Union[EnvVar, _Mapping]]] = ..., cmd: _Optional[_Iterable[str]] = ..., restart_policy: _Optional[str] = ..., config: _Optional[_Union[VmConfig, _Mapping]] = ..., org: _Optional[str] = ..., shared: _Optional[bool] = ..., networks: _Optional[_Iterable[str]] = ..., isolated: _Optional[bool] = ..., team: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., spec: _Optional[_Union[MachineSpec, _Mapping]] = ...) -> None: ...

class MachineSpecBase(_message.Message):
    __slots__ = ("team", "snapshot")
    TEAM_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    team: str
    snapshot: str
    def __init__(self, team: _Optional[str] = ..., snapshot: _Optional[str] = ...) -> None: ...

class MachineSpec(_message.Message):
    __slots__ = ("version", "base", "size", "labels", "networks", "isolated", "egress", "env", "connections", "agents", "assign_to", "secrets", "packages")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class ConnectionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    NETWORKS_FIELD_NUMBER: _ClassVar[int]
    ISOLATED_FIELD_NUMBER: _ClassVar[int]
    EGRESS_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    ASSIGN_TO_FIELD_NUMBER: _ClassVar[int]
    SECRETS_FIELD_NUMBER: _ClassVar[int]
    PACKAGES_FIELD_NUMBER: _ClassVar[int]
    version: int
    base: MachineSpecBase
    size: str
    labels: _containers.ScalarMap[str, str]
    networks: _containers.RepeatedScalarFieldContainer[str]
    isolated: bool
    egress: _containers.RepeatedScalarFieldContainer[str]
    env: _containers.ScalarMap[str, str]
    connections: _containers.ScalarMap[str, str]
    agents: _containers.RepeatedScalarFieldContainer[str]
    assign_to: str
    secrets: _containers.RepeatedScalarFieldContainer[str]
    packages: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, version: _Optional[int] = ..., base: _Optional[_Union[MachineSpecBase, _Mapping]] = ..., size: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., networks: _Optional[_Iterable[str]] = ..., isolated: _Optional[bool] = ..., egress: _Optional[_Iterable[str]] = ..., env: _Optional[_Mapping[str, str]] = ..., connections: _Optional[_Mapping[str, str]] = ..., agents: _Optional[_Iterable[str]] = ..., assign_to: _Optional[str] = ..., secrets: _Optional[_Iterable[str]] = ..., packages: _Optional[_Iterable[str]] = ...) -> None: ...

class EnvVar(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class CreateVmResponse(_message.Message):
    __slots__ = ("vm_id", "name", "public_ip", "url", "image", "status", "boot_time_ms", "paused_automations", "boots_first")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_IP_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    BOOT_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_AUTOMATIONS_FIELD_NUMBER: _ClassVar[int]
    BOOTS_FIRST_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    name: str
    public_ip: str
    url: str
    image: str
    status: str
    boot_time_ms: int
    paused_automations: int
    boots_first: bool
    def __init__(self, vm_id: _Optional[str] = ..., name: _Optional[str] = ..., public_ip: _Optional[str] = ..., url: _Optional[str] = ..., image: _Optional[str] = ..., status: _Optional[str] = ..., boot_time_ms: _Optional[int] = ..., paused_automations: _Optional[int] = ..., boots_first: _Optional[bool] = ...) -> None: ...

class DestroyVmRequest(_message.Message):
    __slots__ = ("vm_id",)
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    def __init__(self, vm_id: _Optional[str] = ...) -> None: ...

class DestroyVmResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SuggestVmNameRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SuggestVmNameResponse(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class RenameVmRequest(_message.Message):
    __slots__ = ("vm_id", "new_name")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    NEW_NAME_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    new_name: str
    def __init__(self, vm_id: _Optional[str] = ..., new_name: _Optional[str] = ...) -> None: ...

class RenameVmResponse(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class SetVmNetworksRequest(_message.Message):
    __slots__ = ("vm_id", "networks")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    NETWORKS_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    networks: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, vm_id: _Optional[str] = ..., networks: _Optional[_Iterable[str]] = ...) -> None: ...

class SetVmNetworksResponse(_message.Message):
    __slots__ = ("networks",)
    NETWORKS_FIELD_NUMBER: _ClassVar[int]
    networks: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, networks: _Optional[_Iterable[str]] = ...) -> None: ...

class SetVmEgressAllowRequest(_message.Message):
    __slots__ = ("vm", "entries")
    VM_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    vm: str
    entries: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, vm: _Optional[str] = ..., entries: _Optional[_Iterable[str]] = ...) -> None: ...

class SetVmEgressAllowResponse(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, entries: _Optional[_Iterable[str]] = ...) -> None: ...

class UpdateVmLabelsRequest(_message.Message):
    __slots__ = ("vm", "set", "remove", "replace_all")
    class SetEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    VM_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    REMOVE_FIELD_NUMBER: _ClassVar[int]
    REPLACE_ALL_FIELD_NUMBER: _ClassVar[int]
    vm: str
    set: _containers.ScalarMap[str, str]
    remove: _containers.RepeatedScalarFieldContainer[str]
    replace_all: bool
    def __init__(self, vm: _Optional[str] = ..., set: _Optional[_Mapping[str, str]] = ..., remove: _Optional[_Iterable[str]] = ..., replace_all: _Optional[bool] = ...) -> None: ...

class UpdateVmLabelsResponse(_message.Message):
    __slots__ = ("labels",)
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    LABELS_FIELD_NUMBER: _ClassVar[int]
    labels: _containers.ScalarMap[str, str]
    def __init__(self, labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ExposePortRequest(_message.Message):
    __slots__ = ("vm_id", "vm_port", "protocol", "vm")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    VM_PORT_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    VM_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    vm_port: int
    protocol: str
    vm: str
    def __init__(self, vm_id: _Optional[str] = ..., vm_port: _Optional[int] = ..., protocol: _Optional[str] = ..., vm: _Optional[str] = ...) -> None: ...

class ExposePortResponse(_message.Message):
    __slots__ = ("vm_name", "dns", "public_port", "vm_port", "protocol", "vm_id")
    VM_NAME_FIELD_NUMBER: _ClassVar[int]
    DNS_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_PORT_FIELD_NUMBER: _ClassVar[int]
    VM_PORT_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    vm_name: str
    dns: str
    public_port: int
    vm_port: int
    protocol: str
    vm_id: str
    def __init__(self, vm_name: _Optional[str] = ..., dns: _Optional[str] = ..., public_port: _Optional[int] = ..., vm_port: _Optional[int] = ..., protocol: _Optional[str] = ..., vm_id: _Optional[str] = ...) -> None: ...

class UnexposePortRequest(_message.Message):
    __slots__ = ("vm_id", "vm_port", "vm")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    VM_PORT_FIELD_NUMBER: _ClassVar[int]
    VM_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    vm_port: int
    vm: str
    def __init__(self, vm_id: _Optional[str] = ..., vm_port: _Optional[int] = ..., vm: _Optional[str] = ...) -> None: ...

class UnexposePortResponse(_message.Message):
    __slots__ = ("forward",)
    FORWARD_FIELD_NUMBER: _ClassVar[int]
    forward: ExposePortResponse
    def __init__(self, forward: _Optional[_Union[ExposePortResponse, _Mapping]] = ...) -> None: ...

class ListExposedPortsRequest(_message.Message):
    __slots__ = ("vm",)
    VM_FIELD_NUMBER: _ClassVar[int]
    vm: str
    def __init__(self, vm: _Optional[str] = ...) -> None: ...

class ListExposedPortsResponse(_message.Message):
    __slots__ = ("forwards",)
    FORWARDS_FIELD_NUMBER: _ClassVar[int]
    forwards: _containers.RepeatedCompositeFieldContainer[ExposePortResponse]
    def __init__(self, forwards: _Optional[_Iterable[_Union[ExposePortResponse, _Mapping]]] = ...) -> None: ...

class SetVarRequest(_message.Message):
    __slots__ = ("org", "kind", "name", "value", "scope", "domains")
    ORG_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    org: str
    kind: str
    name: str
    value: str
    scope: str
    domains: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, org: _Optional[str] = ..., kind: _Optional[str] = ..., name: _Optional[str] = ..., value: _Optional[str] = ..., scope: _Optional[str] = ..., domains: _Optional[_Iterable[str]] = ...) -> None: ...

class VarReply(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: str
    def __init__(self, message: _Optional[str] = ...) -> None: ...

class ListVarsRequest(_message.Message):
    __slots__ = ("org", "kind")
    ORG_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    org: str
    kind: str
    def __init__(self, org: _Optional[str] = ..., kind: _Optional[str] = ...) -> None: ...

class VarItem(_message.Message):
    __slots__ = ("name", "kind", "scope", "value", "domains", "bound_machines")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    BOUND_MACHINES_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    scope: str
    value: str
    domains: _containers.RepeatedScalarFieldContainer[str]
    bound_machines: int
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., scope: _Optional[str] = ..., value: _Optional[str] = ..., domains: _Optional[_Iterable[str]] = ..., bound_machines: _Optional[int] = ...) -> None: ...

class VarListReply(_message.Message):
    __slots__ = ("vars",)
    VARS_FIELD_NUMBER: _ClassVar[int]
    vars: _containers.RepeatedCompositeFieldContainer[VarItem]
    def __init__(self, vars: _Optional[_Iterable[_Union[VarItem, _Mapping]]] = ...) -> None: ...

class RemoveVarRequest(_message.Message):
    __slots__ = ("org", "kind", "name", "scope")
    ORG_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    org: str
    kind: str
    name: str
    scope: str
    def __init__(self, org: _Optional[str] = ..., kind: _Optional[str] = ..., name: _Optional[str] = ..., scope: _Optional[str] = ...) -> None: ...

class SetSecretScopeRequest(_message.Message):
    __slots__ = ("org", "name", "to")
    ORG_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    org: str
    name: str
    to: str
    def __init__(self, org: _Optional[str] = ..., name: _Optional[str] = ..., to: _Optional[str] = ..., **kwargs) -> None: ...

class StartVmRequest(_message.Message):
    __slots__ = ("vm_id",)
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    def __init__(self, vm_id: _Optional[str] = ...) -> None: ...

class StartVmResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StopVmRequest(_message.Message):
    __slots__ = ("vm_id",)
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    def __init__(self, vm_id: _Optional[str] = ...) -> None: ...

class StopVmResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RebootVmRequest(_message.Message):
    __slots__ = ("vm_id",)
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    def __init__(self, vm_id: _Optional[str] = ...) -> None: ...

class RebootVmResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SuspendVmRequest(_message.Message):
    __slots__ = ("vm_id",)
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    def __init__(self, vm_id: _Optional[str] = ...) -> None: ...

class SuspendVmResponse(_message.Message):
    __slots__ = ("suspend_us",)
    SUSPEND_US_FIELD_NUMBER: _ClassVar[int]
    suspend_us: int
    def __init__(self, suspend_us: _Optional[int] = ...) -> None: ...

class ResumeVmRequest(_message.Message):
    __slots__ = ("vm_id",)
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    def __init__(self, vm_id: _Optional[str] = ...) -> None: ...

class ResumeVmResponse(_message.Message):
    __slots__ = ("resume_us",)
    RESUME_US_FIELD_NUMBER: _ClassVar[int]
    resume_us: int
    def __init__(self, resume_us: _Optional[int] = ...) -> None: ...

class HibernateVmRequest(_message.Message):
    __slots__ = ("vm_id",)
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    def __init__(self, vm_id: _Optional[str] = ...) -> None: ...

class HibernateVmResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WakeVmRequest(_message.Message):
    __slots__ = ("vm_id",)
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    def __init__(self, vm_id: _Optional[str] = ...) -> None: ...

class WakeVmResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetVmRequest(_message.Message):
    __slots__ = ("vm_id",)
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    def __init__(self, vm_id: _Optional[str] = ...) -> None: ...

class GetVmResponse(_message.Message):
    __slots__ = ("vm_id", "name", "image_ref", "public_ip", "status", "restart_policy", "disk_bytes", "auto_suspend_timeout_secs", "ssh_port", "org", "billing_org", "access_domain", "auto_hibernate_timeout_secs", "source", "vcpu", "memory_bytes", "created_at", "hibernated_at_ms", "auto_destroy_timeout_secs", "boot_time_ms", "last_connected_ms", "org_id", "billing_org_id", "source_info", "networks", "isolated", "custom_domains", "egress_allow", "bot_protection", "delete_at_ms", "delete_after_cron", "idle_ignore_outbound", "bot_protection_mode", "labels", "spec", "created_spec", "created_by", "created_by_name", "requirements", "packages", "status_reason", "problems", "resident_bytes", "https_url")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    IMAGE_REF_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_IP_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    RESTART_POLICY_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    AUTO_SUSPEND_TIMEOUT_SECS_FIELD_NUMBER: _ClassVar[int]
    SSH_PORT_FIELD_NUMBER: _ClassVar[int]
    ORG_FIELD_NUMBER: _ClassVar[int]
    BILLING_ORG_FIELD_NUMBER: _ClassVar[int]
    ACCESS_DOMAIN_FIELD_NUMBER: _ClassVar[int]
    AUTO_HIBERNATE_TIMEOUT_SECS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    HIBERNATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    AUTO_DESTROY_TIMEOUT_SECS_FIELD_NUMBER: _ClassVar[int]
    BOOT_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    LAST_CONNECTED_MS_FIELD_NUMBER: _ClassVar[int]
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    BILLING_ORG_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_INFO_FIELD_NUMBER: _ClassVar[int]
    NETWORKS_FIELD_NUMBER: _ClassVar[int]
    ISOLATED_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_DOMAINS_FIELD_NUMBER: _ClassVar[int]
    EGRESS_ALLOW_FIELD_NUMBER: _ClassVar[int]
    BOT_PROTECTION_FIELD_NUMBER: _ClassVar[int]
    DELETE_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DELETE_AFTER_CRON_FIELD_NUMBER: _ClassVar[int]
    IDLE_IGNORE_OUTBOUND_FIELD_NUMBER: _ClassVar[int]
    BOT_PROTECTION_MODE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    CREATED_SPEC_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_NAME_FIELD_NUMBER: _ClassVar[int]
    REQUIREMENTS_FIELD_NUMBER: _ClassVar[int]
    PACKAGES_FIELD_NUMBER: _ClassVar[int]
    STATUS_REASON_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    RESIDENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    HTTPS_URL_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    name: str
    image_ref: str
    public_ip: str
    status: str
    restart_policy: str
    disk_bytes: int
    auto_suspend_timeout_secs: int
    ssh_port: int
    org: str
    billing_org: str
    access_domain: str
    auto_hibernate_timeout_secs: int
    source: str
    vcpu: int
    memory_bytes: int
    created_at: int
    hibernated_at_ms: int
    auto_destroy_timeout_secs: int
    boot_time_ms: int
    last_connected_ms: int
    org_id: str
    billing_org_id: str
    source_info: VmSource
    networks: _containers.RepeatedScalarFieldContainer[str]
    isolated: bool
    custom_domains: _containers.RepeatedCompositeFieldContainer[CustomDomainInfo]
    egress_allow: _containers.RepeatedScalarFieldContainer[str]
    bot_protection: bool
    delete_at_ms: int
    delete_after_cron: str
    idle_ignore_outbound: bool
    bot_protection_mode: str
    labels: _containers.ScalarMap[str, str]
    spec: MachineSpec
    created_spec: MachineSpec
    created_by: str
    created_by_name: str
    requirements: _containers.RepeatedCompositeFieldContainer[MachineRequirement]
    packages: _containers.RepeatedCompositeFieldContainer[MachinePackage]
    status_reason: str
    problems: _containers.RepeatedScalarFieldContainer[str]
    resident_bytes: int
    https_url: str
    def __init__(self, vm_id: _Optional[str] = ..., name: _Optional[str] = ..., image_ref: _Optional[str] = ..., public_ip: _Optional[str] = ..., status: _Optional[str] = ..., restart_policy: _Optional[str] = ..., disk_bytes: _Optional[int] = ..., auto_suspend_timeout_secs: _Optional[int] = ..., ssh_port: _Optional[int] = ..., org: _Optional[str] = ..., billing_org: _Optional[str] = ..., access_domain: _Optional[str] = ..., auto_hibernate_timeout_secs: _Optional[int] = ..., source: _Optional[str] = ..., vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., created_at: _Optional[int] = ..., hibernated_at_ms: _Optional[int] = ..., auto_destroy_timeout_secs: _Optional[int] = ..., boot_time_ms: _Optional[int] = ..., last_connected_ms: _Optional[int] = ..., org_id: _Optional[str] = ..., billing_org_id: _Optional[str] = ..., source_info: _Optional[_Union[VmSource, _Mapping]] = ..., networks: _Optional[_Iterable[str]] = ..., isolated: _Optional[bool] = ..., custom_domains: _Optional[_Iterable[_Union[CustomDomainInfo, _Mapping]]] = ..., egress_allow: _Optional[_Iterable[str]] = ..., bot_protection: _Optional[bool] = ..., delete_at_ms: _Optional[int] = ..., delete_after_cron: _Optional[str] = ..., idle_ignore_outbound: _Optional[bool] = ..., bot_protection_mode: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., spec: _Optional[_Union[MachineSpec, _Mapping]] = ..., created_spec: _Optional[_Union[MachineSpec, _Mapping]] = ..., created_by: _Optional[str] = ..., created_by_name: _Optional[str] = ..., requirements: _Optional[_Iterable[_Union[MachineRequirement, _Mapping]]] = ..., packages: _Optional[_Iterable[_Union[MachinePackage, _Mapping]]] = ..., status_reason: _Optional[str] = ..., problems: _Optional[_Iterable[str]] = ..., resident_bytes: _Optional[int] = ..., https_url: _Optional[str] = ...) -> None: ...

class UpdateMachineSpecRequest(_message.Message):
    __slots__ = ("vm", "patch", "dry_run", "reboot", "retry_packages", "expected_spec")
    VM_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REBOOT_FIELD_NUMBER: _ClassVar[int]
    RETRY_PACKAGES_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_SPEC_FIELD_NUMBER: _ClassVar[int]
    vm: str
    patch: str
    dry_run: bool
    reboot: bool
    retry_packages: bool
    expected_spec: str
    def __init__(self, vm: _Optional[str] = ..., patch: _Optional[str] = ..., dry_run: _Optional[bool] = ..., reboot: _Optional[bool] = ..., retry_packages: _Optional[bool] = ..., expected_spec: _Optional[str] = ...) -> None: ...

class UpdateMachineSpecResponse(_message.Message):
    __slots__ = ("changes", "reboot_required", "reboot_recommended", "spec", "applied", "rebooted", "resize_error")
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    REBOOT_REQUIRED_FIELD_NUMBER: _ClassVar[int]
    REBOOT_RECOMMENDED_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    REBOOTED_FIELD_NUMBER: _ClassVar[int]
    RESIZE_ERROR_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.RepeatedCompositeFieldContainer[MachineSpecChange]
    reboot_required: bool
    reboot_recommended: bool
    spec: MachineSpec
    applied: bool
    rebooted: bool
    resize_error: str
    def __init__(self, changes: _Optional[_Iterable[_Union[MachineSpecChange, _Mapping]]] = ..., reboot_required: _Optional[bool] = ..., reboot_recommended: _Optional[bool] = ..., spec: _Optional[_Union[MachineSpec, _Mapping]] = ..., applied: _Optional[bool] = ..., rebooted: _Optional[bool] = ..., resize_error: _Optional[str] = ...) -> None: ...

class MachineSpecChange(_message.Message):
    __slots__ = ("field", "apply", "added", "removed", "changed", "before", "after", "note", "warnings", "skipped", "unskipped")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    APPLY_FIELD_NUMBER: _ClassVar[int]
    ADDED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    UNSKIPPED_FIELD_NUMBER: _ClassVar[int]
    field: str
    apply: str
    added: _containers.RepeatedScalarFieldContainer[str]
    removed: _containers.RepeatedScalarFieldContainer[str]
    changed: _containers.RepeatedScalarFieldContainer[str]
    before: str
    after: str
    note: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    skipped: _containers.RepeatedScalarFieldContainer[str]
    unskipped: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, field: _Optional[str] = ..., apply: _Optional[str] = ..., added: _Optional[_Iterable[str]] = ..., removed: _Optional[_Iterable[str]] = ..., changed: _Optional[_Iterable[str]] = ..., before: _Optional[str] = ..., after: _Optional[str] = ..., note: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ..., skipped: _Optional[_Iterable[str]] = ..., unskipped: _Optional[_Iterable[str]] = ...) -> None: ...

class MachinePackage(_message.Message):
    __slots__ = ("command", "state", "exit_code", "output_tail", "reason", "started_at_ms", "finished_at_ms")
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TAIL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    command: str
    state: str
    exit_code: int
    output_tail: str
    reason: str
    started_at_ms: int
    finished_at_ms: int
    def __init__(self, command: _Optional[str] = ..., state: _Optional[str] = ..., exit_code: _Optional[int] = ..., output_tail: _Optional[str] = ..., reason: _Optional[str] = ..., started_at_ms: _Optional[int] = ..., finished_at_ms: _Optional[int] = ...) -> None: ...

class MachineRequirement(_message.Message):
    __slots__ = ("kind", "name", "scope", "tag", "met", "can_fix", "reason")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    MET_FIELD_NUMBER: _ClassVar[int]
    CAN_FIX_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    kind: str
    name: str
    scope: str
    tag: str
    met: bool
    can_fix: bool
    reason: str
    def __init__(self, kind: _Optional[str] = ..., name: _Optional[str] = ..., scope: _Optional[str] = ..., tag: _Optional[str] = ..., met: _Optional[bool] = ..., can_fix: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...

class VmSource(_message.Message):
    __slots__ = ("kind", "name", "version", "id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    kind: str
    name: str
    version: int
    id: str
    def __init__(self, kind: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[int] = ..., id: _Optional[str] = ...) -> None: ...

class ListVmsRequest(_message.Message):
    __slots__ = ("org", "all_contexts", "label_selector")
    ORG_FIELD_NUMBER: _ClassVar[int]
    ALL_CONTEXTS_FIELD_NUMBER: _ClassVar[int]
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    org: str
    all_contexts: bool
    label_selector: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, org: _Optional[str] = ..., all_contexts: _Optional[bool] = ..., label_selector: _Optional[_Iterable[str]] = ...) -> None: ...

class ListVmsResponse(_message.Message):
    __slots__ = ("vms", "ssh_host_key")
    VMS_FIELD_NUMBER: _ClassVar[int]
    SSH_HOST_KEY_FIELD_NUMBER: _ClassVar[int]
    vms: _containers.RepeatedCompositeFieldContainer[GetVmResponse]
    ssh_host_key: str
    def __init__(self, vms: _Optional[_Iterable[_Union[GetVmResponse, _Mapping]]] = ..., ssh_host_key: _Optional[str] = ...) -> None: ...

class StreamLogsRequest(_message.Message):
    __slots__ = ("vm_id", "follow")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    follow: bool
    def __init__(self, vm_id: _Optional[str] = ..., follow: _Optional[bool] = ...) -> None: ...

class LogChunk(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...

class ExecChunk(_message.Message):
    __slots__ = ("data", "stdin", "tty", "command", "vm_id", "exit_code", "cols", "rows", "window_change", "is_stderr", "device_id")
    DATA_FIELD_NUMBER: _ClassVar[int]
    STDIN_FIELD_NUMBER: _ClassVar[int]
    TTY_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    COLS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_CHANGE_FIELD_NUMBER: _ClassVar[int]
    IS_STDERR_FIELD_NUMBER: _ClassVar[int]
    DEVICE_ID_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    stdin: bool
    tty: bool
    command: str
    vm_id: str
    exit_code: int
    cols: int
    rows: int
    window_change: bool
    is_stderr: bool
    device_id: str
    def __init__(self, data: _Optional[bytes] = ..., stdin: _Optional[bool] = ..., tty: _Optional[bool] = ..., command: _Optional[str] = ..., vm_id: _Optional[str] = ..., exit_code: _Optional[int] = ..., cols: _Optional[int] = ..., rows: _Optional[int] = ..., window_change: _Optional[bool] = ..., is_stderr: _Optional[bool] = ..., device_id: _Optional[str] = ...) -> None: ...

class DesktopChunk(_message.Message):
    __slots__ = ("vm_id", "data")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    data: bytes
    def __init__(self, vm_id: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class CreateNetworkRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class CreateNetworkResponse(_message.Message):
    __slots__ = ("network_id",)
    NETWORK_ID_FIELD_NUMBER: _ClassVar[int]
    network_id: str
    def __init__(self, network_id: _Optional[str] = ...) -> None: ...

class ListNetworksRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListNetworksResponse(_message.Message):
    __slots__ = ("networks",)
    NETWORKS_FIELD_NUMBER: _ClassVar[int]
    networks: _containers.RepeatedCompositeFieldContainer[NetworkInfo]
    def __init__(self, networks: _Optional[_Iterable[_Union[NetworkInfo, _Mapping]]] = ...) -> None: ...

class NetworkInfo(_message.Message):
    __slots__ = ("network_id", "subnet", "status")
    NETWORK_ID_FIELD_NUMBER: _ClassVar[int]
    SUBNET_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    network_id: str
    subnet: str
    status: str
    def __init__(self, network_id: _Optional[str] = ..., subnet: _Optional[str] = ..., status: _Optional[str] = ...) -> None: ...

class AddCustomDomainRequest(_message.Message):
    __slots__ = ("vm_id", "domain")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    domain: str
    def __init__(self, vm_id: _Optional[str] = ..., domain: _Optional[str] = ...) -> None: ...

class AddCustomDomainResponse(_message.Message):
    __slots__ = ("domain",)
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    domain: CustomDomainInfo
    def __init__(self, domain: _Optional[_Union[CustomDomainInfo, _Mapping]] = ...) -> None: ...

class ListCustomDomainsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListCustomDomainsResponse(_message.Message):
    __slots__ = ("domains",)
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    domains: _containers.RepeatedCompositeFieldContainer[CustomDomainInfo]
    def __init__(self, domains: _Optional[_Iterable[_Union[CustomDomainInfo, _Mapping]]] = ...) -> None: ...

class RemoveCustomDomainRequest(_message.Message):
    __slots__ = ("domain",)
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    domain: str
    def __init__(self, domain: _Optional[str] = ...) -> None: ...

class RemoveCustomDomainResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CustomDomainInfo(_message.Message):
    __slots__ = ("domain", "vm_id", "vm_name", "status", "last_error", "https_url")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    VM_NAME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    HTTPS_URL_FIELD_NUMBER: _ClassVar[int]
    domain: str
    vm_id: str
    vm_name: str
    status: str
    last_error: str
    https_url: str
    def __init__(self, domain: _Optional[str] = ..., vm_id: _Optional[str] = ..., vm_name: _Optional[str] = ..., status: _Optional[str] = ..., last_error: _Optional[str] = ..., https_url: _Optional[str] = ...) -> None: ...

class SetOrgDomainRequest(_message.Message):
    __slots__ = ("org_id", "domain")
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    domain: str
    def __init__(self, org_id: _Optional[str] = ..., domain: _Optional[str] = ...) -> None: ...

class SetOrgDomainResponse(_message.Message):
    __slots__ = ("domain",)
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    domain: OrgDomainInfo
    def __init__(self, domain: _Optional[_Union[OrgDomainInfo, _Mapping]] = ...) -> None: ...

class GetOrgDomainRequest(_message.Message):
    __slots__ = ("org_id",)
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    def __init__(self, org_id: _Optional[str] = ...) -> None: ...

class GetOrgDomainResponse(_message.Message):
    __slots__ = ("domain",)
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    domain: OrgDomainInfo
    def __init__(self, domain: _Optional[_Union[OrgDomainInfo, _Mapping]] = ...) -> None: ...

class ClearOrgDomainRequest(_message.Message):
    __slots__ = ("org_id",)
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    def __init__(self, org_id: _Optional[str] = ...) -> None: ...

class ClearOrgDomainResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class OrgDomainInfo(_message.Message):
    __slots__ = ("org_id", "domain", "status", "last_error")
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    domain: str
    status: str
    last_error: str
    def __init__(self, org_id: _Optional[str] = ..., domain: _Optional[str] = ..., status: _Optional[str] = ..., last_error: _Optional[str] = ...) -> None: ...

class GetConfigRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetConfigResponse(_message.Message):
    __slots__ = ("default_image", "zone")
    DEFAULT_IMAGE_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    default_image: str
    zone: str
    def __init__(self, default_image: _Optional[str] = ..., zone: _Optional[str] = ...) -> None: ...

class WhoamiRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WhoamiResponse(_message.Message):
    __slots__ = ("user_id", "pubkey_fingerprints", "billing", "display_name", "is_host_owner")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    PUBKEY_FINGERPRINTS_FIELD_NUMBER: _ClassVar[int]
    BILLING_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    IS_HOST_OWNER_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    pubkey_fingerprints: _containers.RepeatedScalarFieldContainer[str]
    billing: BillingInfo
    display_name: str
    is_host_owner: bool
    def __init__(self, user_id: _Optional[str] = ..., pubkey_fingerprints: _Optional[_Iterable[str]] = ..., billing: _Optional[_Union[BillingInfo, _Mapping]] = ..., display_name: _Optional[str] = ..., is_host_owner: _Optional[bool] = ...) -> None: ...

class BillingInfo(_message.Message):
    __slots__ = ("subscription_status", "past_due_since", "max_vms", "vcpu", "memory_bytes", "balance_micro", "billing_mode", "currency", "ceiling_vcpu", "ceiling_memory_bytes")
    SUBSCRIPTION_STATUS_FIELD_NUMBER: _ClassVar[int]
    PAST_DUE_SINCE_FIELD_NUMBER: _ClassVar[int]
    MAX_VMS_FIELD_NUMBER: _ClassVar[int]
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    BALANCE_MICRO_FIELD_NUMBER: _ClassVar[int]
    BILLING_MODE_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    CEILING_VCPU_FIELD_NUMBER: _ClassVar[int]
    CEILING_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    subscription_status: str
    past_due_since: int
    max_vms: int
    vcpu: int
    memory_bytes: int
    balance_micro: int
    billing_mode: str
    currency: str
    ceiling_vcpu: int
    ceiling_memory_bytes: int
    def __init__(self, subscription_status: _Optional[str] = ..., past_due_since: _Optional[int] = ..., max_vms: _Optional[int] = ..., vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., balance_micro: _Optional[int] = ..., billing_mode: _Optional[str] = ..., currency: _Optional[str] = ..., ceiling_vcpu: _Optional[int] = ..., ceiling_memory_bytes: _Optional[int] = ...) -> None: ...

class ListPlansRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListPlansResponse(_message.Message):
    __slots__ = ("plans",)
    PLANS_FIELD_NUMBER: _ClassVar[int]
    plans: _containers.RepeatedCompositeFieldContainer[PlanInfo]
    def __init__(self, plans: _Optional[_Iterable[_Union[PlanInfo, _Mapping]]] = ...) -> None: ...

class PlanInfo(_message.Message):
    __slots__ = ("monthly_eur", "lookup_key", "description", "vcpu", "memory_bytes")
    MONTHLY_EUR_FIELD_NUMBER: _ClassVar[int]
    LOOKUP_KEY_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    monthly_eur: int
    lookup_key: str
    description: str
    vcpu: int
    memory_bytes: int
    def __init__(self, monthly_eur: _Optional[int] = ..., lookup_key: _Optional[str] = ..., description: _Optional[str] = ..., vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ...) -> None: ...

class GetBillingRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetBillingResponse(_message.Message):
    __slots__ = ("billing",)
    BILLING_FIELD_NUMBER: _ClassVar[int]
    billing: BillingInfo
    def __init__(self, billing: _Optional[_Union[BillingInfo, _Mapping]] = ...) -> None: ...

class CreateCheckoutSessionRequest(_message.Message):
    __slots__ = ("success_url", "cancel_url")
    SUCCESS_URL_FIELD_NUMBER: _ClassVar[int]
    CANCEL_URL_FIELD_NUMBER: _ClassVar[int]
    success_url: str
    cancel_url: str
    def __init__(self, success_url: _Optional[str] = ..., cancel_url: _Optional[str] = ...) -> None: ...

class CreateCheckoutSessionResponse(_message.Message):
    __slots__ = ("checkout_url",)
    CHECKOUT_URL_FIELD_NUMBER: _ClassVar[int]
    checkout_url: str
    def __init__(self, checkout_url: _Optional[str] = ...) -> None: ...

class CreateBillingPortalSessionRequest(_message.Message):
    __slots__ = ("return_url",)
    RETURN_URL_FIELD_NUMBER: _ClassVar[int]
    return_url: str
    def __init__(self, return_url: _Optional[str] = ...) -> None: ...

class CreateBillingPortalSessionResponse(_message.Message):
    __slots__ = ("portal_url",)
    PORTAL_URL_FIELD_NUMBER: _ClassVar[int]
    portal_url: str
    def __init__(self, portal_url: _Optional[str] = ...) -> None: ...

class CreateTokenRequest(_message.Message):
    __slots__ = ("expires_in_secs",)
    EXPIRES_IN_SECS_FIELD_NUMBER: _ClassVar[int]
    expires_in_secs: int
    def __init__(self, expires_in_secs: _Optional[int] = ...) -> None: ...

class CreateTokenResponse(_message.Message):
    __slots__ = ("token", "expires_at")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    token: str
    expires_at: int
    def __init__(self, token: _Optional[str] = ..., expires_at: _Optional[int] = ...) -> None: ...

class ListTokensRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListTokensResponse(_message.Message):
    __slots__ = ("tokens",)
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokens: _containers.RepeatedCompositeFieldContainer[TokenInfo]
    def __init__(self, tokens: _Optional[_Iterable[_Union[TokenInfo, _Mapping]]] = ...) -> None: ...

class TokenInfo(_message.Message):
    __slots__ = ("jti", "created_at", "expires_at")
    JTI_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    jti: str
    created_at: int
    expires_at: int
    def __init__(self, jti: _Optional[str] = ..., created_at: _Optional[int] = ..., expires_at: _Optional[int] = ...) -> None: ...

class RevokeTokenRequest(_message.Message):
    __slots__ = ("jti",)
    JTI_FIELD_NUMBER: _ClassVar[int]
    jti: str
    def __init__(self, jti: _Optional[str] = ...) -> None: ...

class RevokeTokenResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LinkSshKeyRequest(_message.Message):
    __slots__ = ("pubkey", "device_id", "label")
    PUBKEY_FIELD_NUMBER: _ClassVar[int]
    DEVICE_ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    pubkey: str
    device_id: str
    label: str
    def __init__(self, pubkey: _Optional[str] = ..., device_id: _Optional[str] = ..., label: _Optional[str] = ...) -> None: ...

class LinkSshKeyResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ForkVmRequest(_message.Message):
    __slots__ = ("source_vm_id", "name", "config", "shared", "networks", "isolated", "labels", "from_checkpoint")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SOURCE_VM_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    SHARED_FIELD_NUMBER: _ClassVar[int]
    NETWORKS_FIELD_NUMBER: _ClassVar[int]
    ISOLATED_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    FROM_CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    source_vm_id: str
    name: str
    config: VmConfig
    shared: bool
    networks: _containers.RepeatedScalarFieldContainer[str]
    isolated: bool
    labels: _containers.ScalarMap[str, str]
    from_checkpoint: str
    def __init__(self, source_vm_id: _Optional[str] = ..., name: _Optional[str] = ..., config: _Optional[_Union[VmConfig, _Mapping]] = ..., shared: _Optional[bool] = ..., networks: _Optional[_Iterable[str]] = ..., isolated: _Optional[bool] = ..., labels: _Optional[_Mapping[str, str]] = ..., from_checkpoint: _Optional[str] = ...) -> None: ...

class ForkVmResponse(_message.Message):
    __slots__ = ("vm_id", "name", "public_ip", "url", "image", "status", "forked_from", "boot_time_ms", "paused_automations")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_IP_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FORKED_FROM_FIELD_NUMBER: _ClassVar[int]
    BOOT_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_AUTOMATIONS_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    name: str
    public_ip: str
    url: str
    image: str
    status: str
    forked_from: str
    boot_time_ms: int
    paused_automations: int
    def __init__(self, vm_id: _Optional[str] = ..., name: _Optional[str] = ..., public_ip: _Optional[str] = ..., url: _Optional[str] = ..., image: _Optional[str] = ..., status: _Optional[str] = ..., forked_from: _Optional[str] = ..., boot_time_ms: _Optional[int] = ..., paused_automations: _Optional[int] = ...) -> None: ...

class ListProxiesRequest(_message.Message):
    __slots__ = ("vm_name", "vm")
    VM_NAME_FIELD_NUMBER: _ClassVar[int]
    VM_FIELD_NUMBER: _ClassVar[int]
    vm_name: str
    vm: str
    def __init__(self, vm_name: _Optional[str] = ..., vm: _Optional[str] = ...) -> None: ...

class ListProxiesResponse(_message.Message):
    __slots__ = ("proxies",)
    PROXIES_FIELD_NUMBER: _ClassVar[int]
    proxies: _containers.RepeatedCompositeFieldContainer[ProxyInfo]
    def __init__(self, proxies: _Optional[_Iterable[_Union[ProxyInfo, _Mapping]]] = ...) -> None: ...

class ProxyInfo(_message.Message):
    __slots__ = ("name", "vm_name", "domain", "port", "is_default", "port_display", "vm_id", "port_mode", "effective_port", "https_url")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VM_NAME_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    PORT_DISPLAY_FIELD_NUMBER: _ClassVar[int]
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    PORT_MODE_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_PORT_FIELD_NUMBER: _ClassVar[int]
    HTTPS_URL_FIELD_NUMBER: _ClassVar[int]
    name: str
    vm_name: str
    domain: str
    port: int
    is_default: bool
    port_display: str
    vm_id: str
    port_mode: str
    effective_port: int
    https_url: str
    def __init__(self, name: _Optional[str] = ..., vm_name: _Optional[str] = ..., domain: _Optional[str] = ..., port: _Optional[int] = ..., is_default: _Optional[bool] = ..., port_display: _Optional[str] = ..., vm_id: _Optional[str] = ..., port_mode: _Optional[str] = ..., effective_port: _Optional[int] = ..., https_url: _Optional[str] = ...) -> None: ...

class ListProxyNodesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListProxyNodesResponse(_message.Message):
    __slots__ = ("proxies",)
    PROXIES_FIELD_NUMBER: _ClassVar[int]
    proxies: _containers.RepeatedCompositeFieldContainer[ProxyNodeInfo]
    def __init__(self, proxies: _Optional[_Iterable[_Union[ProxyNodeInfo, _Mapping]]] = ...) -> None: ...

class ProxyNodeInfo(_message.Message):
    __slots__ = ("id", "endpoint")
    ID_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    id: str
    endpoint: str
    def __init__(self, id: _Optional[str] = ..., endpoint: _Optional[str] = ...) -> None: ...

class CreateProxyRequest(_message.Message):
    __slots__ = ("name", "vm_name", "port", "vm")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VM_NAME_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    VM_FIELD_NUMBER: _ClassVar[int]
    name: str
    vm_name: str
    port: int
    vm: str
    def __init__(self, name: _Optional[str] = ..., vm_name: _Optional[str] = ..., port: _Optional[int] = ..., vm: _Optional[str] = ...) -> None: ...

class CreateProxyResponse(_message.Message):
    __slots__ = ("name", "vm_name", "domain", "port", "https_url")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VM_NAME_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    HTTPS_URL_FIELD_NUMBER: _ClassVar[int]
    name: str
    vm_name: str
    domain: str
    port: int
    https_url: str
    def __init__(self, name: _Optional[str] = ..., vm_name: _Optional[str] = ..., domain: _Optional[str] = ..., port: _Optional[int] = ..., https_url: _Optional[str] = ...) -> None: ...

class DeleteProxyRequest(_message.Message):
    __slots__ = ("name", "vm_name", "vm")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VM_NAME_FIELD_NUMBER: _ClassVar[int]
    VM_FIELD_NUMBER: _ClassVar[int]
    name: str
    vm_name: str
    vm: str
    def __init__(self, name: _Optional[str] = ..., vm_name: _Optional[str] = ..., vm: _Optional[str] = ...) -> None: ...

class DeleteProxyResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetProxyPortRequest(_message.Message):
    __slots__ = ("name", "vm_name", "port", "vm")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VM_NAME_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    VM_FIELD_NUMBER: _ClassVar[int]
    name: str
    vm_name: str
    port: str
    vm: str
    def __init__(self, name: _Optional[str] = ..., vm_name: _Optional[str] = ..., port: _Optional[str] = ..., vm: _Optional[str] = ...) -> None: ...

class SetProxyPortResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class UploadFileRequest(_message.Message):
    __slots__ = ("vm_id", "path", "data")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    path: str
    data: bytes
    def __init__(self, vm_id: _Optional[str] = ..., path: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class UploadFileResponse(_message.Message):
    __slots__ = ("bytes_written",)
    BYTES_WRITTEN_FIELD_NUMBER: _ClassVar[int]
    bytes_written: int
    def __init__(self, bytes_written: _Optional[int] = ...) -> None: ...

class UploadFileChunk(_message.Message):
    __slots__ = ("vm_id", "path", "total_size", "data")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    path: str
    total_size: int
    data: bytes
    def __init__(self, vm_id: _Optional[str] = ..., path: _Optional[str] = ..., total_size: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class DownloadFileRequest(_message.Message):
    __slots__ = ("vm_id", "path")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    path: str
    def __init__(self, vm_id: _Optional[str] = ..., path: _Optional[str] = ...) -> None: ...

class DownloadFileResponse(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...

class DownloadFileChunk(_message.Message):
    __slots__ = ("total_size", "data")
    TOTAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    total_size: int
    data: bytes
    def __init__(self, total_size: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class ListDirRequest(_message.Message):
    __slots__ = ("vm_id", "path")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    path: str
    def __init__(self, vm_id: _Optional[str] = ..., path: _Optional[str] = ...) -> None: ...

class DirEntry(_message.Message):
    __slots__ = ("name", "is_dir", "size_bytes", "permissions", "modified_at", "added_at")
    NAME_FIELD_NUMBER: _ClassVar[int]
    IS_DIR_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    MODIFIED_AT_FIELD_NUMBER: _ClassVar[int]
    ADDED_AT_FIELD_NUMBER: _ClassVar[int]
    name: str
    is_dir: bool
    size_bytes: int
    permissions: str
    modified_at: int
    added_at: int
    def __init__(self, name: _Optional[str] = ..., is_dir: _Optional[bool] = ..., size_bytes: _Optional[int] = ..., permissions: _Optional[str] = ..., modified_at: _Optional[int] = ..., added_at: _Optional[int] = ...) -> None: ...

class ListDirResponse(_message.Message):
    __slots__ = ("entries", "truncated")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[DirEntry]
    truncated: bool
    def __init__(self, entries: _Optional[_Iterable[_Union[DirEntry, _Mapping]]] = ..., truncated: _Optional[bool] = ...) -> None: ...

class MkdirRequest(_message.Message):
    __slots__ = ("vm_id", "path")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    path: str
    def __init__(self, vm_id: _Optional[str] = ..., path: _Optional[str] = ...) -> None: ...

class MkdirResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RenamePathRequest(_message.Message):
    __slots__ = ("vm_id", "old_path", "new_path")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    OLD_PATH_FIELD_NUMBER: _ClassVar[int]
    NEW_PATH_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    old_path: str
    new_path: str
    def __init__(self, vm_id: _Optional[str] = ..., old_path: _Optional[str] = ..., new_path: _Optional[str] = ...) -> None: ...

class RenamePathResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DeletePathRequest(_message.Message):
    __slots__ = ("vm_id", "path")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    path: str
    def __init__(self, vm_id: _Optional[str] = ..., path: _Optional[str] = ...) -> None: ...

class DeletePathResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CopyPathRequest(_message.Message):
    __slots__ = ("vm_id", "old_path", "new_path")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    OLD_PATH_FIELD_NUMBER: _ClassVar[int]
    NEW_PATH_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    old_path: str
    new_path: str
    def __init__(self, vm_id: _Optional[str] = ..., old_path: _Optional[str] = ..., new_path: _Optional[str] = ...) -> None: ...

class CopyPathResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CreateSnapshotRequest(_message.Message):
    __slots__ = ("vm", "name")
    VM_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    vm: str
    name: str
    def __init__(self, vm: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class CreateSnapshotResponse(_message.Message):
    __slots__ = ("snapshot_id", "name", "version", "status", "paused_automations")
    SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_AUTOMATIONS_FIELD_NUMBER: _ClassVar[int]
    snapshot_id: str
    name: str
    version: int
    status: str
    paused_automations: int
    def __init__(self, snapshot_id: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[int] = ..., status: _Optional[str] = ..., paused_automations: _Optional[int] = ...) -> None: ...

class ListSnapshotsRequest(_message.Message):
    __slots__ = ("org",)
    ORG_FIELD_NUMBER: _ClassVar[int]
    org: str
    def __init__(self, org: _Optional[str] = ...) -> None: ...

class ListSnapshotsResponse(_message.Message):
    __slots__ = ("snapshots",)
    SNAPSHOTS_FIELD_NUMBER: _ClassVar[int]
    snapshots: _containers.RepeatedCompositeFieldContainer[SnapshotInfo]
    def __init__(self, snapshots: _Optional[_Iterable[_Union[SnapshotInfo, _Mapping]]] = ...) -> None: ...

class GetSnapshotRequest(_message.Message):
    __slots__ = ("name", "org")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ORG_FIELD_NUMBER: _ClassVar[int]
    name: str
    org: str
    def __init__(self, name: _Optional[str] = ..., org: _Optional[str] = ...) -> None: ...

class GetSnapshotResponse(_message.Message):
    __slots__ = ("snapshot",)
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    snapshot: SnapshotInfo
    def __init__(self, snapshot: _Optional[_Union[SnapshotInfo, _Mapping]] = ...) -> None: ...

class DeleteSnapshotRequest(_message.Message):
    __slots__ = ("name", "org")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ORG_FIELD_NUMBER: _ClassVar[int]
    name: str
    org: str
    def __init__(self, name: _Optional[str] = ..., org: _Optional[str] = ...) -> None: ...

class DeleteSnapshotResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CreateVmFromSnapshotRequest(_message.Message):
    __slots__ = ("snapshot", "name", "config", "org", "isolated", "labels", "spec", "wait")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    ORG_FIELD_NUMBER: _ClassVar[int]
    ISOLATED_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    snapshot: str
    name: str
    config: VmConfig
    org: str
    isolated: bool
    labels: _containers.ScalarMap[str, str]
    spec: MachineSpec
    wait: bool
    def __init__(self, snapshot: _Optional[str] = ..., name: _Optional[str] = ..., config: _Optional[_Union[VmConfig, _Mapping]] = ..., org: _Optional[str] = ..., isolated: _Optional[bool] = ..., labels: _Optional[_Mapping[str, str]] = ..., spec: _Optional[_Union[MachineSpec, _Mapping]] = ..., wait: _Optional[bool] = ...) -> None: ...

class SnapshotInfo(_message.Message):
    __slots__ = ("snapshot_id", "name", "version", "status", "size_bytes", "updated_at", "vcpu", "memory_bytes", "use_count", "created_at", "failed_version", "failure_reason", "archived", "storage", "total_bytes", "shared_bytes", "source_name", "source_vm_id", "image_ref", "pause_us", "duration_ms")
    SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    USE_COUNT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    FAILED_VERSION_FIELD_NUMBER: _ClassVar[int]
    FAILURE_REASON_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHARED_BYTES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_NAME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_VM_ID_FIELD_NUMBER: _ClassVar[int]
    IMAGE_REF_FIELD_NUMBER: _ClassVar[int]
    PAUSE_US_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    snapshot_id: str
    name: str
    version: int
    status: str
    size_bytes: int
    updated_at: int
    vcpu: int
    memory_bytes: int
    use_count: int
    created_at: int
    failed_version: int
    failure_reason: str
    archived: bool
    storage: str
    total_bytes: int
    shared_bytes: int
    source_name: str
    source_vm_id: str
    image_ref: str
    pause_us: int
    duration_ms: int
    def __init__(self, snapshot_id: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[int] = ..., status: _Optional[str] = ..., size_bytes: _Optional[int] = ..., updated_at: _Optional[int] = ..., vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., use_count: _Optional[int] = ..., created_at: _Optional[int] = ..., failed_version: _Optional[int] = ..., failure_reason: _Optional[str] = ..., archived: _Optional[bool] = ..., storage: _Optional[str] = ..., total_bytes: _Optional[int] = ..., shared_bytes: _Optional[int] = ..., source_name: _Optional[str] = ..., source_vm_id: _Optional[str] = ..., image_ref: _Optional[str] = ..., pause_us: _Optional[int] = ..., duration_ms: _Optional[int] = ...) -> None: ...

class CreateCheckpointRequest(_message.Message):
    __slots__ = ("vm", "name")
    VM_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    vm: str
    name: str
    def __init__(self, vm: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class CreateCheckpointResponse(_message.Message):
    __slots__ = ("checkpoint_id", "name", "status")
    CHECKPOINT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    checkpoint_id: str
    name: str
    status: str
    def __init__(self, checkpoint_id: _Optional[str] = ..., name: _Optional[str] = ..., status: _Optional[str] = ...) -> None: ...

class ListCheckpointsRequest(_message.Message):
    __slots__ = ("vm",)
    VM_FIELD_NUMBER: _ClassVar[int]
    vm: str
    def __init__(self, vm: _Optional[str] = ...) -> None: ...

class ListCheckpointsResponse(_message.Message):
    __slots__ = ("checkpoints",)
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    checkpoints: _containers.RepeatedCompositeFieldContainer[CheckpointInfo]
    def __init__(self, checkpoints: _Optional[_Iterable[_Union[CheckpointInfo, _Mapping]]] = ...) -> None: ...

class DeleteCheckpointRequest(_message.Message):
    __slots__ = ("vm", "name")
    VM_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    vm: str
    name: str
    def __init__(self, vm: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class DeleteCheckpointResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RestoreCheckpointRequest(_message.Message):
    __slots__ = ("vm", "name")
    VM_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    vm: str
    name: str
    def __init__(self, vm: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class RestoreCheckpointResponse(_message.Message):
    __slots__ = ("held_connections", "longest_wait_ms")
    HELD_CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    LONGEST_WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    held_connections: int
    longest_wait_ms: int
    def __init__(self, held_connections: _Optional[int] = ..., longest_wait_ms: _Optional[int] = ...) -> None: ...

class CheckpointInfo(_message.Message):
    __slots__ = ("checkpoint_id", "name", "status", "size_bytes", "created_at", "created_by", "available", "total_bytes", "shared_bytes", "failure_reason", "pause_us", "duration_ms", "parent_name", "is_current", "created_by_name")
    CHECKPOINT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHARED_BYTES_FIELD_NUMBER: _ClassVar[int]
    FAILURE_REASON_FIELD_NUMBER: _ClassVar[int]
    PAUSE_US_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    PARENT_NAME_FIELD_NUMBER: _ClassVar[int]
    IS_CURRENT_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_NAME_FIELD_NUMBER: _ClassVar[int]
    checkpoint_id: str
    name: str
    status: str
    size_bytes: int
    created_at: int
    created_by: str
    available: bool
    total_bytes: int
    shared_bytes: int
    failure_reason: str
    pause_us: int
    duration_ms: int
    parent_name: str
    is_current: bool
    created_by_name: str
    def __init__(self, checkpoint_id: _Optional[str] = ..., name: _Optional[str] = ..., status: _Optional[str] = ..., size_bytes: _Optional[int] = ..., created_at: _Optional[int] = ..., created_by: _Optional[str] = ..., available: _Optional[bool] = ..., total_bytes: _Optional[int] = ..., shared_bytes: _Optional[int] = ..., failure_reason: _Optional[str] = ..., pause_us: _Optional[int] = ..., duration_ms: _Optional[int] = ..., parent_name: _Optional[str] = ..., is_current: _Optional[bool] = ..., created_by_name: _Optional[str] = ...) -> None: ...

class CreateDiskRequest(_message.Message):
    __slots__ = ("name", "size_bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    size_bytes: int
    def __init__(self, name: _Optional[str] = ..., size_bytes: _Optional[int] = ...) -> None: ...

class CreateDiskResponse(_message.Message):
    __slots__ = ("disk_id", "name", "size_bytes", "status")
    DISK_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    disk_id: str
    name: str
    size_bytes: int
    status: str
    def __init__(self, disk_id: _Optional[str] = ..., name: _Optional[str] = ..., size_bytes: _Optional[int] = ..., status: _Optional[str] = ...) -> None: ...

class ListDisksRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListDisksResponse(_message.Message):
    __slots__ = ("disks",)
    DISKS_FIELD_NUMBER: _ClassVar[int]
    disks: _containers.RepeatedCompositeFieldContainer[DiskInfo]
    def __init__(self, disks: _Optional[_Iterable[_Union[DiskInfo, _Mapping]]] = ...) -> None: ...

class DiskInfo(_message.Message):
    __slots__ = ("disk_id", "name", "size_bytes", "status", "attachments", "created_at")
    DISK_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ATTACHMENTS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    disk_id: str
    name: str
    size_bytes: int
    status: str
    attachments: _containers.RepeatedCompositeFieldContainer[DiskAttachment]
    created_at: int
    def __init__(self, disk_id: _Optional[str] = ..., name: _Optional[str] = ..., size_bytes: _Optional[int] = ..., status: _Optional[str] = ..., attachments: _Optional[_Iterable[_Union[DiskAttachment, _Mapping]]] = ..., created_at: _Optional[int] = ...) -> None: ...

class DiskAttachment(_message.Message):
    __slots__ = ("vm_id", "vm_name", "mount_path", "mount_mode")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    VM_NAME_FIELD_NUMBER: _ClassVar[int]
    MOUNT_PATH_FIELD_NUMBER: _ClassVar[int]
    MOUNT_MODE_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    vm_name: str
    mount_path: str
    mount_mode: str
    def __init__(self, vm_id: _Optional[str] = ..., vm_name: _Optional[str] = ..., mount_path: _Optional[str] = ..., mount_mode: _Optional[str] = ...) -> None: ...

class AttachDiskRequest(_message.Message):
    __slots__ = ("disk_id", "vm_id", "mount_path", "read_only")
    DISK_ID_FIELD_NUMBER: _ClassVar[int]
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    MOUNT_PATH_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    disk_id: str
    vm_id: str
    mount_path: str
    read_only: bool
    def __init__(self, disk_id: _Optional[str] = ..., vm_id: _Optional[str] = ..., mount_path: _Optional[str] = ..., read_only: _Optional[bool] = ...) -> None: ...

class AttachDiskResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DetachDiskRequest(_message.Message):
    __slots__ = ("disk_id", "vm_id")
    DISK_ID_FIELD_NUMBER: _ClassVar[int]
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    disk_id: str
    vm_id: str
    def __init__(self, disk_id: _Optional[str] = ..., vm_id: _Optional[str] = ...) -> None: ...

class DetachDiskResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DestroyDiskRequest(_message.Message):
    __slots__ = ("disk_id",)
    DISK_ID_FIELD_NUMBER: _ClassVar[int]
    disk_id: str
    def __init__(self, disk_id: _Optional[str] = ...) -> None: ...

class DestroyDiskResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetAutoSuspendTimeoutRequest(_message.Message):
    __slots__ = ("vm_id", "timeout_secs")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECS_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    timeout_secs: int
    def __init__(self, vm_id: _Optional[str] = ..., timeout_secs: _Optional[int] = ...) -> None: ...

class SetAutoSuspendTimeoutResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetAutoHibernateTimeoutRequest(_message.Message):
    __slots__ = ("vm_id", "timeout_secs")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECS_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    timeout_secs: int
    def __init__(self, vm_id: _Optional[str] = ..., timeout_secs: _Optional[int] = ...) -> None: ...

class SetAutoHibernateTimeoutResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetDeleteAfterRequest(_message.Message):
    __slots__ = ("vm_id", "delete_after_secs", "delete_after_cron")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    DELETE_AFTER_SECS_FIELD_NUMBER: _ClassVar[int]
    DELETE_AFTER_CRON_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    delete_after_secs: int
    delete_after_cron: str
    def __init__(self, vm_id: _Optional[str] = ..., delete_after_secs: _Optional[int] = ..., delete_after_cron: _Optional[str] = ...) -> None: ...

class SetDeleteAfterResponse(_message.Message):
    __slots__ = ("delete_at_ms",)
    DELETE_AT_MS_FIELD_NUMBER: _ClassVar[int]
    delete_at_ms: int
    def __init__(self, delete_at_ms: _Optional[int] = ...) -> None: ...

class SetBotProtectionRequest(_message.Message):
    __slots__ = ("vm_id", "enabled", "mode")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    enabled: bool
    mode: str
    def __init__(self, vm_id: _Optional[str] = ..., enabled: _Optional[bool] = ..., mode: _Optional[str] = ...) -> None: ...

class SetBotProtectionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetIdleIgnoreOutboundRequest(_message.Message):
    __slots__ = ("vm_id", "enabled")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    enabled: bool
    def __init__(self, vm_id: _Optional[str] = ..., enabled: _Optional[bool] = ...) -> None: ...

class SetIdleIgnoreOutboundResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CreateApiKeyRequest(_message.Message):
    __slots__ = ("name", "expires_in_secs", "org", "kind")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_IN_SECS_FIELD_NUMBER: _ClassVar[int]
    ORG_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    name: str
    expires_in_secs: int
    org: str
    kind: str
    def __init__(self, name: _Optional[str] = ..., expires_in_secs: _Optional[int] = ..., org: _Optional[str] = ..., kind: _Optional[str] = ...) -> None: ...

class CreateApiKeyResponse(_message.Message):
    __slots__ = ("id", "api_key", "expires_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    API_KEY_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    api_key: str
    expires_at: int
    def __init__(self, id: _Optional[str] = ..., api_key: _Optional[str] = ..., expires_at: _Optional[int] = ...) -> None: ...

class ListApiKeysRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListApiKeysResponse(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[ApiKeyInfo]
    def __init__(self, keys: _Optional[_Iterable[_Union[ApiKeyInfo, _Mapping]]] = ...) -> None: ...

class ApiKeyInfo(_message.Message):
    __slots__ = ("id", "name", "key_prefix", "created_at", "last_used_at", "expires_at", "org", "kind", "created_by", "mine")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KEY_PREFIX_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_USED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    ORG_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    MINE_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    key_prefix: str
    created_at: int
    last_used_at: int
    expires_at: int
    org: str
    kind: str
    created_by: str
    mine: bool
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., key_prefix: _Optional[str] = ..., created_at: _Optional[int] = ..., last_used_at: _Optional[int] = ..., expires_at: _Optional[int] = ..., org: _Optional[str] = ..., kind: _Optional[str] = ..., created_by: _Optional[str] = ..., mine: _Optional[bool] = ...) -> None: ...

class DeleteApiKeyRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class DeleteApiKeyResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ShareVmRequest(_message.Message):
    __slots__ = ("vm_id", "org")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    ORG_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    org: str
    def __init__(self, vm_id: _Optional[str] = ..., org: _Optional[str] = ...) -> None: ...

class ShareVmResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListOrgsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListOrgsResponse(_message.Message):
    __slots__ = ("orgs", "default_org_id")
    ORGS_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_ORG_ID_FIELD_NUMBER: _ClassVar[int]
    orgs: _containers.RepeatedCompositeFieldContainer[OrgSummary]
    default_org_id: str
    def __init__(self, orgs: _Optional[_Iterable[_Union[OrgSummary, _Mapping]]] = ..., default_org_id: _Optional[str] = ...) -> None: ...

class OrgSummary(_message.Message):
    __slots__ = ("id", "name", "is_admin", "slug")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    IS_ADMIN_FIELD_NUMBER: _ClassVar[int]
    SLUG_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    is_admin: bool
    slug: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., is_admin: _Optional[bool] = ..., slug: _Optional[str] = ...) -> None: ...

class GetOrgBillingRequest(_message.Message):
    __slots__ = ("org",)
    ORG_FIELD_NUMBER: _ClassVar[int]
    org: str
    def __init__(self, org: _Optional[str] = ...) -> None: ...

class GetOrgBillingResponse(_message.Message):
    __slots__ = ("id", "name", "is_admin", "max_vms", "vcpu", "memory_bytes", "vm_count", "vms", "balance_micro", "billing_mode", "accruing_micro", "currency", "ceiling_vcpu", "ceiling_memory_bytes")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    IS_ADMIN_FIELD_NUMBER: _ClassVar[int]
    MAX_VMS_FIELD_NUMBER: _ClassVar[int]
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    VM_COUNT_FIELD_NUMBER: _ClassVar[int]
    VMS_FIELD_NUMBER: _ClassVar[int]
    BALANCE_MICRO_FIELD_NUMBER: _ClassVar[int]
    BILLING_MODE_FIELD_NUMBER: _ClassVar[int]
    ACCRUING_MICRO_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    CEILING_VCPU_FIELD_NUMBER: _ClassVar[int]
    CEILING_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    is_admin: bool
    max_vms: int
    vcpu: int
    memory_bytes: int
    vm_count: int
    vms: _containers.RepeatedCompositeFieldContainer[OrgBilledVm]
    balance_micro: int
    billing_mode: str
    accruing_micro: int
    currency: str
    ceiling_vcpu: int
    ceiling_memory_bytes: int
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., is_admin: _Optional[bool] = ..., max_vms: _Optional[int] = ..., vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., vm_count: _Optional[int] = ..., vms: _Optional[_Iterable[_Union[OrgBilledVm, _Mapping]]] = ..., balance_micro: _Optional[int] = ..., billing_mode: _Optional[str] = ..., accruing_micro: _Optional[int] = ..., currency: _Optional[str] = ..., ceiling_vcpu: _Optional[int] = ..., ceiling_memory_bytes: _Optional[int] = ...) -> None: ...

class OrgBilledVm(_message.Message):
    __slots__ = ("name", "owner", "status", "billing", "owner_name")
    NAME_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    BILLING_FIELD_NUMBER: _ClassVar[int]
    OWNER_NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    owner: str
    status: str
    billing: str
    owner_name: str
    def __init__(self, name: _Optional[str] = ..., owner: _Optional[str] = ..., status: _Optional[str] = ..., billing: _Optional[str] = ..., owner_name: _Optional[str] = ...) -> None: ...

class UsageRates(_message.Message):
    __slots__ = ("vcpu_hour_micro", "ram_gib_hour_micro", "disk_gib_hour_micro")
    VCPU_HOUR_MICRO_FIELD_NUMBER: _ClassVar[int]
    RAM_GIB_HOUR_MICRO_FIELD_NUMBER: _ClassVar[int]
    DISK_GIB_HOUR_MICRO_FIELD_NUMBER: _ClassVar[int]
    vcpu_hour_micro: int
    ram_gib_hour_micro: int
    disk_gib_hour_micro: int
    def __init__(self, vcpu_hour_micro: _Optional[int] = ..., ram_gib_hour_micro: _Optional[int] = ..., disk_gib_hour_micro: _Optional[int] = ...) -> None: ...

class StateSeconds(_message.Message):
    __slots__ = ("running", "standby", "hibernated", "stopped")
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    STANDBY_FIELD_NUMBER: _ClassVar[int]
    HIBERNATED_FIELD_NUMBER: _ClassVar[int]
    STOPPED_FIELD_NUMBER: _ClassVar[int]
    running: int
    standby: int
    hibernated: int
    stopped: int
    def __init__(self, running: _Optional[int] = ..., standby: _Optional[int] = ..., hibernated: _Optional[int] = ..., stopped: _Optional[int] = ...) -> None: ...

class VmUsage(_message.Message):
    __slots__ = ("vm_id", "name", "owner", "owner_name", "sharing", "status", "vcpu", "memory_bytes", "disk_bytes", "seconds", "vcpu_hours", "ram_gib_hours", "disk_gib_hours", "cost_micro", "complete", "checkpoint_bytes", "checkpoint_gib_hours")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    OWNER_NAME_FIELD_NUMBER: _ClassVar[int]
    SHARING_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    VCPU_HOURS_FIELD_NUMBER: _ClassVar[int]
    RAM_GIB_HOURS_FIELD_NUMBER: _ClassVar[int]
    DISK_GIB_HOURS_FIELD_NUMBER: _ClassVar[int]
    COST_MICRO_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_BYTES_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_GIB_HOURS_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    name: str
    owner: str
    owner_name: str
    sharing: str
    status: str
    vcpu: int
    memory_bytes: int
    disk_bytes: int
    seconds: StateSeconds
    vcpu_hours: float
    ram_gib_hours: float
    disk_gib_hours: float
    cost_micro: int
    complete: bool
    checkpoint_bytes: int
    checkpoint_gib_hours: float
    def __init__(self, vm_id: _Optional[str] = ..., name: _Optional[str] = ..., owner: _Optional[str] = ..., owner_name: _Optional[str] = ..., sharing: _Optional[str] = ..., status: _Optional[str] = ..., vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., disk_bytes: _Optional[int] = ..., seconds: _Optional[_Union[StateSeconds, _Mapping]] = ..., vcpu_hours: _Optional[float] = ..., ram_gib_hours: _Optional[float] = ..., disk_gib_hours: _Optional[float] = ..., cost_micro: _Optional[int] = ..., complete: _Optional[bool] = ..., checkpoint_bytes: _Optional[int] = ..., checkpoint_gib_hours: _Optional[float] = ...) -> None: ...

class GetOrgUsageRequest(_message.Message):
    __slots__ = ("org", "since", "until")
    ORG_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    org: str
    since: int
    until: int
    def __init__(self, org: _Optional[str] = ..., since: _Optional[int] = ..., until: _Optional[int] = ...) -> None: ...

class GetOrgUsageResponse(_message.Message):
    __slots__ = ("org_id", "org", "period_start", "period_end", "currency", "rates", "total_cost_micro", "vms", "complete")
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    ORG_FIELD_NUMBER: _ClassVar[int]
    PERIOD_START_FIELD_NUMBER: _ClassVar[int]
    PERIOD_END_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    RATES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COST_MICRO_FIELD_NUMBER: _ClassVar[int]
    VMS_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    org: str
    period_start: int
    period_end: int
    currency: str
    rates: UsageRates
    total_cost_micro: int
    vms: _containers.RepeatedCompositeFieldContainer[VmUsage]
    complete: bool
    def __init__(self, org_id: _Optional[str] = ..., org: _Optional[str] = ..., period_start: _Optional[int] = ..., period_end: _Optional[int] = ..., currency: _Optional[str] = ..., rates: _Optional[_Union[UsageRates, _Mapping]] = ..., total_cost_micro: _Optional[int] = ..., vms: _Optional[_Iterable[_Union[VmUsage, _Mapping]]] = ..., complete: _Optional[bool] = ...) -> None: ...

class GetVmUsageRequest(_message.Message):
    __slots__ = ("vm_id", "since", "until", "org")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    ORG_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    since: int
    until: int
    org: str
    def __init__(self, vm_id: _Optional[str] = ..., since: _Optional[int] = ..., until: _Optional[int] = ..., org: _Optional[str] = ...) -> None: ...

class GetVmUsageResponse(_message.Message):
    __slots__ = ("period_start", "period_end", "currency", "rates", "usage")
    PERIOD_START_FIELD_NUMBER: _ClassVar[int]
    PERIOD_END_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    RATES_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    period_start: int
    period_end: int
    currency: str
    rates: UsageRates
    usage: VmUsage
    def __init__(self, period_start: _Optional[int] = ..., period_end: _Optional[int] = ..., currency: _Optional[str] = ..., rates: _Optional[_Union[UsageRates, _Mapping]] = ..., usage: _Optional[_Union[VmUsage, _Mapping]] = ...) -> None: ...

class ListBillingActivityRequest(_message.Message):
    __slots__ = ("org", "since", "until", "page_token", "page_size")
    ORG_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    org: str
    since: int
    until: int
    page_token: str
    page_size: int
    def __init__(self, org: _Optional[str] = ..., since: _Optional[int] = ..., until: _Optional[int] = ..., page_token: _Optional[str] = ..., page_size: _Optional[int] = ...) -> None: ...

class BillingActivityEntry(_message.Message):
    __slots__ = ("entry_id", "kind", "amount_micro", "created_at")
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_MICRO_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    entry_id: str
    kind: str
    amount_micro: int
    created_at: int
    def __init__(self, entry_id: _Optional[str] = ..., kind: _Optional[str] = ..., amount_micro: _Optional[int] = ..., created_at: _Optional[int] = ...) -> None: ...

class ListBillingActivityResponse(_message.Message):
    __slots__ = ("currency", "balance_micro", "entries", "next_page_token")
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    BALANCE_MICRO_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    currency: str
    balance_micro: int
    entries: _containers.RepeatedCompositeFieldContainer[BillingActivityEntry]
    next_page_token: str
    def __init__(self, currency: _Optional[str] = ..., balance_micro: _Optional[int] = ..., entries: _Optional[_Iterable[_Union[BillingActivityEntry, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class UnshareVmRequest(_message.Message):
    __slots__ = ("vm_id",)
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    def __init__(self, vm_id: _Optional[str] = ...) -> None: ...

class UnshareVmResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetBackupScheduleRequest(_message.Message):
    __slots__ = ("vm", "schedule_kind", "schedule_value", "retention_secs")
    VM_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_KIND_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_VALUE_FIELD_NUMBER: _ClassVar[int]
    RETENTION_SECS_FIELD_NUMBER: _ClassVar[int]
    vm: str
    schedule_kind: str
    schedule_value: str
    retention_secs: int
    def __init__(self, vm: _Optional[str] = ..., schedule_kind: _Optional[str] = ..., schedule_value: _Optional[str] = ..., retention_secs: _Optional[int] = ...) -> None: ...

class SetBackupScheduleResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ClearBackupScheduleRequest(_message.Message):
    __slots__ = ("vm",)
    VM_FIELD_NUMBER: _ClassVar[int]
    vm: str
    def __init__(self, vm: _Optional[str] = ...) -> None: ...

class ClearBackupScheduleResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetBackupScheduleRequest(_message.Message):
    __slots__ = ("vm",)
    VM_FIELD_NUMBER: _ClassVar[int]
    vm: str
    def __init__(self, vm: _Optional[str] = ...) -> None: ...

class GetBackupScheduleResponse(_message.Message):
    __slots__ = ("enabled", "schedule_kind", "schedule_value", "retention_secs", "next_backup_at", "last_backup_at")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_KIND_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_VALUE_FIELD_NUMBER: _ClassVar[int]
    RETENTION_SECS_FIELD_NUMBER: _ClassVar[int]
    NEXT_BACKUP_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_BACKUP_AT_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    schedule_kind: str
    schedule_value: str
    retention_secs: int
    next_backup_at: int
    last_backup_at: int
    def __init__(self, enabled: _Optional[bool] = ..., schedule_kind: _Optional[str] = ..., schedule_value: _Optional[str] = ..., retention_secs: _Optional[int] = ..., next_backup_at: _Optional[int] = ..., last_backup_at: _Optional[int] = ...) -> None: ...

class ListBackupsRequest(_message.Message):
    __slots__ = ("vm",)
    VM_FIELD_NUMBER: _ClassVar[int]
    vm: str
    def __init__(self, vm: _Optional[str] = ...) -> None: ...

class BackupInfo(_message.Message):
    __slots__ = ("backup_id", "status", "size_bytes", "checksum", "points_to_backup_id", "created_at", "expires_at")
    BACKUP_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    POINTS_TO_BACKUP_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    backup_id: str
    status: str
    size_bytes: int
    checksum: str
    points_to_backup_id: str
    created_at: int
    expires_at: int
    def __init__(self, backup_id: _Optional[str] = ..., status: _Optional[str] = ..., size_bytes: _Optional[int] = ..., checksum: _Optional[str] = ..., points_to_backup_id: _Optional[str] = ..., created_at: _Optional[int] = ..., expires_at: _Optional[int] = ...) -> None: ...

class ListBackupsResponse(_message.Message):
    __slots__ = ("backups",)
    BACKUPS_FIELD_NUMBER: _ClassVar[int]
    backups: _containers.RepeatedCompositeFieldContainer[BackupInfo]
    def __init__(self, backups: _Optional[_Iterable[_Union[BackupInfo, _Mapping]]] = ...) -> None: ...

class TriggerBackupRequest(_message.Message):
    __slots__ = ("vm",)
    VM_FIELD_NUMBER: _ClassVar[int]
    vm: str
    def __init__(self, vm: _Optional[str] = ...) -> None: ...

class TriggerBackupResponse(_message.Message):
    __slots__ = ("backup_id",)
    BACKUP_ID_FIELD_NUMBER: _ClassVar[int]
    backup_id: str
    def __init__(self, backup_id: _Optional[str] = ...) -> None: ...

class DeleteBackupRequest(_message.Message):
    __slots__ = ("vm", "backup_id")
    VM_FIELD_NUMBER: _ClassVar[int]
    BACKUP_ID_FIELD_NUMBER: _ClassVar[int]
    vm: str
    backup_id: str
    def __init__(self, vm: _Optional[str] = ..., backup_id: _Optional[str] = ...) -> None: ...

class DeleteBackupResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RestoreBackupRequest(_message.Message):
    __slots__ = ("vm", "backup_id")
    VM_FIELD_NUMBER: _ClassVar[int]
    BACKUP_ID_FIELD_NUMBER: _ClassVar[int]
    vm: str
    backup_id: str
    def __init__(self, vm: _Optional[str] = ..., backup_id: _Optional[str] = ...) -> None: ...

class RestoreBackupResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetOrgBackupsDefaultRequest(_message.Message):
    __slots__ = ("org_id", "period_secs", "retention_secs")
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    PERIOD_SECS_FIELD_NUMBER: _ClassVar[int]
    RETENTION_SECS_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    period_secs: int
    retention_secs: int
    def __init__(self, org_id: _Optional[str] = ..., period_secs: _Optional[int] = ..., retention_secs: _Optional[int] = ...) -> None: ...

class SetOrgBackupsDefaultResponse(_message.Message):
    __slots__ = ("enabled", "period_secs", "retention_secs")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    PERIOD_SECS_FIELD_NUMBER: _ClassVar[int]
    RETENTION_SECS_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    period_secs: int
    retention_secs: int
    def __init__(self, enabled: _Optional[bool] = ..., period_secs: _Optional[int] = ..., retention_secs: _Optional[int] = ...) -> None: ...

class GetOrgBackupsDefaultRequest(_message.Message):
    __slots__ = ("org_id",)
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    def __init__(self, org_id: _Optional[str] = ...) -> None: ...

class GetOrgBackupsDefaultResponse(_message.Message):
    __slots__ = ("enabled", "period_secs", "retention_secs")
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    PERIOD_SECS_FIELD_NUMBER: _ClassVar[int]
    RETENTION_SECS_FIELD_NUMBER: _ClassVar[int]
    enabled: bool
    period_secs: int
    retention_secs: int
    def __init__(self, enabled: _Optional[bool] = ..., period_secs: _Optional[int] = ..., retention_secs: _Optional[int] = ...) -> None: ...

class SetOrgMachineDefaultsRequest(_message.Message):
    __slots__ = ("org_id", "vcpu", "memory_bytes")
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    vcpu: int
    memory_bytes: int
    def __init__(self, org_id: _Optional[str] = ..., vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ...) -> None: ...

class SetOrgMachineDefaultsResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetOrgMachineDefaultsRequest(_message.Message):
    __slots__ = ("org_id",)
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    def __init__(self, org_id: _Optional[str] = ...) -> None: ...

class ResizeVmRequest(_message.Message):
    __slots__ = ("vm_id", "vcpu", "memory_bytes")
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    vm_id: str
    vcpu: int
    memory_bytes: int
    def __init__(self, vm_id: _Optional[str] = ..., vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ...) -> None: ...

class ResizeVmResponse(_message.Message):
    __slots__ = ("vcpu", "memory_bytes", "rebooted")
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    REBOOTED_FIELD_NUMBER: _ClassVar[int]
    vcpu: int
    memory_bytes: int
    rebooted: bool
    def __init__(self, vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., rebooted: _Optional[bool] = ...) -> None: ...

class GetOrgMachineDefaultsResponse(_message.Message):
    __slots__ = ("set", "vcpu", "memory_bytes", "ceiling_vcpu", "ceiling_memory_bytes")
    SET_FIELD_NUMBER: _ClassVar[int]
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    CEILING_VCPU_FIELD_NUMBER: _ClassVar[int]
    CEILING_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    set: bool
    vcpu: int
    memory_bytes: int
    ceiling_vcpu: int
    ceiling_memory_bytes: int
    def __init__(self, set: _Optional[bool] = ..., vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., ceiling_vcpu: _Optional[int] = ..., ceiling_memory_bytes: _Optional[int] = ...) -> None: ...

class SetOrgIdleIgnoreOutboundDefaultRequest(_message.Message):
    __slots__ = ("org_id", "enabled", "apply_existing", "new_machines_only")
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    APPLY_EXISTING_FIELD_NUMBER: _ClassVar[int]
    NEW_MACHINES_ONLY_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    enabled: bool
    apply_existing: bool
    new_machines_only: bool
    def __init__(self, org_id: _Optional[str] = ..., enabled: _Optional[bool] = ..., apply_existing: _Optional[bool] = ..., new_machines_only: _Optional[bool] = ...) -> None: ...

class SetOrgIdleIgnoreOutboundDefaultResponse(_message.Message):
    __slots__ = ("machines_changed", "machines_skipped", "snapshots_changed")
    MACHINES_CHANGED_FIELD_NUMBER: _ClassVar[int]
    MACHINES_SKIPPED_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOTS_CHANGED_FIELD_NUMBER: _ClassVar[int]
    machines_changed: int
    machines_skipped: int
    snapshots_changed: int
    def __init__(self, machines_changed: _Optional[int] = ..., machines_skipped: _Optional[int] = ..., snapshots_changed: _Optional[int] = ...) -> None: ...

class GetOrgIdleIgnoreOutboundDefaultRequest(_message.Message):
    __slots__ = ("org_id",)
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    def __init__(self, org_id: _Optional[str] = ...) -> None: ...

class GetOrgIdleIgnoreOutboundDefaultResponse(_message.Message):
    __slots__ = ("set", "enabled", "platform_enabled")
    SET_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    PLATFORM_ENABLED_FIELD_NUMBER: _ClassVar[int]
    set: bool
    enabled: bool
    platform_enabled: bool
    def __init__(self, set: _Optional[bool] = ..., enabled: _Optional[bool] = ..., platform_enabled: _Optional[bool] = ...) -> None: ...

class SetOrgBotProtectionDefaultRequest(_message.Message):
    __slots__ = ("org_id", "mode", "new_machines_only")
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    NEW_MACHINES_ONLY_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    mode: str
    new_machines_only: bool
    def __init__(self, org_id: _Optional[str] = ..., mode: _Optional[str] = ..., new_machines_only: _Optional[bool] = ...) -> None: ...

class SetOrgBotProtectionDefaultResponse(_message.Message):
    __slots__ = ("machines_changed", "snapshots_changed", "machines_off", "machines_skipped")
    MACHINES_CHANGED_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOTS_CHANGED_FIELD_NUMBER: _ClassVar[int]
    MACHINES_OFF_FIELD_NUMBER: _ClassVar[int]
    MACHINES_SKIPPED_FIELD_NUMBER: _ClassVar[int]
    machines_changed: int
    snapshots_changed: int
    machines_off: int
    machines_skipped: int
    def __init__(self, machines_changed: _Optional[int] = ..., snapshots_changed: _Optional[int] = ..., machines_off: _Optional[int] = ..., machines_skipped: _Optional[int] = ...) -> None: ...

class GetOrgBotProtectionDefaultRequest(_message.Message):
    __slots__ = ("org_id",)
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    def __init__(self, org_id: _Optional[str] = ...) -> None: ...

class GetOrgBotProtectionDefaultResponse(_message.Message):
    __slots__ = ("set", "mode", "platform_mode")
    SET_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PLATFORM_MODE_FIELD_NUMBER: _ClassVar[int]
    set: bool
    mode: str
    platform_mode: str
    def __init__(self, set: _Optional[bool] = ..., mode: _Optional[str] = ..., platform_mode: _Optional[str] = ...) -> None: ...

class CreateOrgRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class CreateOrgResponse(_message.Message):
    __slots__ = ("id", "name")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class RenameOrgRequest(_message.Message):
    __slots__ = ("org_id", "name")
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    name: str
    def __init__(self, org_id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class RenameOrgResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetOrgMembersRequest(_message.Message):
    __slots__ = ("org_id",)
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    def __init__(self, org_id: _Optional[str] = ...) -> None: ...

class GetOrgMembersResponse(_message.Message):
    __slots__ = ("members", "invites")
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    INVITES_FIELD_NUMBER: _ClassVar[int]
    members: _containers.RepeatedCompositeFieldContainer[OrgMemberInfo]
    invites: _containers.RepeatedCompositeFieldContainer[OrgInviteInfo]
    def __init__(self, members: _Optional[_Iterable[_Union[OrgMemberInfo, _Mapping]]] = ..., invites: _Optional[_Iterable[_Union[OrgInviteInfo, _Mapping]]] = ...) -> None: ...

class OrgMemberInfo(_message.Message):
    __slots__ = ("user_id", "role", "display_name", "github_username")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    GITHUB_USERNAME_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    role: str
    display_name: str
    github_username: str
    def __init__(self, user_id: _Optional[str] = ..., role: _Optional[str] = ..., display_name: _Optional[str] = ..., github_username: _Optional[str] = ...) -> None: ...

class OrgInviteInfo(_message.Message):
    __slots__ = ("token", "email", "accept_url", "created_at", "expires_at", "role")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_URL_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    token: str
    email: str
    accept_url: str
    created_at: int
    expires_at: int
    role: str
    def __init__(self, token: _Optional[str] = ..., email: _Optional[str] = ..., accept_url: _Optional[str] = ..., created_at: _Optional[int] = ..., expires_at: _Optional[int] = ..., role: _Optional[str] = ...) -> None: ...

class InviteOrgMemberRequest(_message.Message):
    __slots__ = ("org_id", "email", "role")
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    email: str
    role: str
    def __init__(self, org_id: _Optional[str] = ..., email: _Optional[str] = ..., role: _Optional[str] = ...) -> None: ...

class InviteOrgMemberResponse(_message.Message):
    __slots__ = ("token", "accept_url", "expires_at", "created_at")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_URL_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    token: str
    accept_url: str
    expires_at: int
    created_at: int
    def __init__(self, token: _Optional[str] = ..., accept_url: _Optional[str] = ..., expires_at: _Optional[int] = ..., created_at: _Optional[int] = ...) -> None: ...

class RevokeOrgInviteRequest(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class RevokeOrgInviteResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RemoveOrgMemberRequest(_message.Message):
    __slots__ = ("org_id", "user_id")
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    user_id: str
    def __init__(self, org_id: _Optional[str] = ..., user_id: _Optional[str] = ...) -> None: ...

class RemoveOrgMemberResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetOrgMemberRoleRequest(_message.Message):
    __slots__ = ("org_id", "user_id", "role")
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    user_id: str
    role: str
    def __init__(self, org_id: _Optional[str] = ..., user_id: _Optional[str] = ..., role: _Optional[str] = ...) -> None: ...

class SetOrgMemberRoleResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TeamInfo(_message.Message):
    __slots__ = ("id", "org_id", "name", "created_by_user_id", "created_at", "is_admin", "members", "default_snapshot_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_USER_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    IS_ADMIN_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    org_id: str
    name: str
    created_by_user_id: str
    created_at: int
    is_admin: bool
    members: _containers.RepeatedCompositeFieldContainer[TeamMemberInfo]
    default_snapshot_id: str
    def __init__(self, id: _Optional[str] = ..., org_id: _Optional[str] = ..., name: _Optional[str] = ..., created_by_user_id: _Optional[str] = ..., created_at: _Optional[int] = ..., is_admin: _Optional[bool] = ..., members: _Optional[_Iterable[_Union[TeamMemberInfo, _Mapping]]] = ..., default_snapshot_id: _Optional[str] = ...) -> None: ...

class TeamMemberInfo(_message.Message):
    __slots__ = ("user_id", "role", "display_name", "github_username", "added_at")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    GITHUB_USERNAME_FIELD_NUMBER: _ClassVar[int]
    ADDED_AT_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    role: str
    display_name: str
    github_username: str
    added_at: int
    def __init__(self, user_id: _Optional[str] = ..., role: _Optional[str] = ..., display_name: _Optional[str] = ..., github_username: _Optional[str] = ..., added_at: _Optional[int] = ...) -> None: ...

class ListTeamsRequest(_message.Message):
    __slots__ = ("org_id",)
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    def __init__(self, org_id: _Optional[str] = ...) -> None: ...

class ListTeamsResponse(_message.Message):
    __slots__ = ("teams",)
    TEAMS_FIELD_NUMBER: _ClassVar[int]
    teams: _containers.RepeatedCompositeFieldContainer[TeamInfo]
    def __init__(self, teams: _Optional[_Iterable[_Union[TeamInfo, _Mapping]]] = ...) -> None: ...

class GetTeamRequest(_message.Message):
    __slots__ = ("team_id",)
    TEAM_ID_FIELD_NUMBER: _ClassVar[int]
    team_id: str
    def __init__(self, team_id: _Optional[str] = ...) -> None: ...

class CreateTeamRequest(_message.Message):
    __slots__ = ("org_id", "name")
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    name: str
    def __init__(self, org_id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class RenameTeamRequest(_message.Message):
    __slots__ = ("team_id", "name")
    TEAM_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    team_id: str
    name: str
    def __init__(self, team_id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class RenameTeamResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DestroyTeamRequest(_message.Message):
    __slots__ = ("team_id",)
    TEAM_ID_FIELD_NUMBER: _ClassVar[int]
    team_id: str
    def __init__(self, team_id: _Optional[str] = ...) -> None: ...

class DestroyTeamResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AddTeamMemberRequest(_message.Message):
    __slots__ = ("team_id", "user_id")
    TEAM_ID_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    team_id: str
    user_id: str
    def __init__(self, team_id: _Optional[str] = ..., user_id: _Optional[str] = ...) -> None: ...

class AddTeamMemberResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RemoveTeamMemberRequest(_message.Message):
    __slots__ = ("team_id", "user_id")
    TEAM_ID_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    team_id: str
    user_id: str
    def __init__(self, team_id: _Optional[str] = ..., user_id: _Optional[str] = ...) -> None: ...

class RemoveTeamMemberResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetTeamMemberRoleRequest(_message.Message):
    __slots__ = ("team_id", "user_id", "role")
    TEAM_ID_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    team_id: str
    user_id: str
    role: str
    def __init__(self, team_id: _Optional[str] = ..., user_id: _Optional[str] = ..., role: _Optional[str] = ...) -> None: ...

class SetTeamMemberRoleResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetTeamDefaultSnapshotRequest(_message.Message):
    __slots__ = ("team_id", "snapshot_id")
    TEAM_ID_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    team_id: str
    snapshot_id: str
    def __init__(self, team_id: _Optional[str] = ..., snapshot_id: _Optional[str] = ...) -> None: ...

class SetTeamDefaultSnapshotResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
