from openboxd.wire import boxd_api_pb2 as _boxd_api_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Quota(_message.Message):
    __slots__ = ("machines", "vcpu", "memory_bytes", "pool_bytes")
    MACHINES_FIELD_NUMBER: _ClassVar[int]
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    POOL_BYTES_FIELD_NUMBER: _ClassVar[int]
    machines: int
    vcpu: int
    memory_bytes: int
    pool_bytes: int
    def __init__(self, machines: _Optional[int] = ..., vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., pool_bytes: _Optional[int] = ...) -> None: ...

class UserInfo(_message.Message):
    __slots__ = ("id", "name", "is_owner", "quota", "used")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    IS_OWNER_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    is_owner: bool
    quota: Quota
    used: Quota
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., is_owner: _Optional[bool] = ..., quota: _Optional[_Union[Quota, _Mapping]] = ..., used: _Optional[_Union[Quota, _Mapping]] = ...) -> None: ...

class AddUserRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class AddUserResponse(_message.Message):
    __slots__ = ("user", "api_key")
    USER_FIELD_NUMBER: _ClassVar[int]
    API_KEY_FIELD_NUMBER: _ClassVar[int]
    user: UserInfo
    api_key: str
    def __init__(self, user: _Optional[_Union[UserInfo, _Mapping]] = ..., api_key: _Optional[str] = ...) -> None: ...

class ListUsersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListUsersResponse(_message.Message):
    __slots__ = ("users",)
    USERS_FIELD_NUMBER: _ClassVar[int]
    users: _containers.RepeatedCompositeFieldContainer[UserInfo]
    def __init__(self, users: _Optional[_Iterable[_Union[UserInfo, _Mapping]]] = ...) -> None: ...

class RemoveUserRequest(_message.Message):
    __slots__ = ("user", "remove_machines")
    USER_FIELD_NUMBER: _ClassVar[int]
    REMOVE_MACHINES_FIELD_NUMBER: _ClassVar[int]
    user: str
    remove_machines: bool
    def __init__(self, user: _Optional[str] = ..., remove_machines: _Optional[bool] = ...) -> None: ...

class AddUserKeyRequest(_message.Message):
    __slots__ = ("user", "only")
    USER_FIELD_NUMBER: _ClassVar[int]
    ONLY_FIELD_NUMBER: _ClassVar[int]
    user: str
    only: bool
    def __init__(self, user: _Optional[str] = ..., only: _Optional[bool] = ...) -> None: ...

class RemoveUserResponse(_message.Message):
    __slots__ = ("machines",)
    MACHINES_FIELD_NUMBER: _ClassVar[int]
    machines: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, machines: _Optional[_Iterable[str]] = ...) -> None: ...

class SetQuotaRequest(_message.Message):
    __slots__ = ("user", "machines", "vcpu", "memory_bytes", "pool_bytes")
    USER_FIELD_NUMBER: _ClassVar[int]
    MACHINES_FIELD_NUMBER: _ClassVar[int]
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    POOL_BYTES_FIELD_NUMBER: _ClassVar[int]
    user: str
    machines: int
    vcpu: int
    memory_bytes: int
    pool_bytes: int
    def __init__(self, user: _Optional[str] = ..., machines: _Optional[int] = ..., vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., pool_bytes: _Optional[int] = ...) -> None: ...

class GetAccountRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AcceptOrgInviteRequest(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class AcceptOrgInviteResponse(_message.Message):
    __slots__ = ("id", "name")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class RemoveOrgRequest(_message.Message):
    __slots__ = ("org_id",)
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    org_id: str
    def __init__(self, org_id: _Optional[str] = ...) -> None: ...

class RemoveOrgResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Progress(_message.Message):
    __slots__ = ("operation", "step", "fraction", "detail")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    FRACTION_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    operation: str
    step: str
    fraction: float
    detail: str
    def __init__(self, operation: _Optional[str] = ..., step: _Optional[str] = ..., fraction: _Optional[float] = ..., detail: _Optional[str] = ...) -> None: ...

class ImageInfo(_message.Message):
    __slots__ = ("digest", "name", "created_at", "disk_bytes", "kernel_version", "is_default", "warm")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    KERNEL_VERSION_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    WARM_FIELD_NUMBER: _ClassVar[int]
    digest: str
    name: str
    created_at: int
    disk_bytes: int
    kernel_version: str
    is_default: bool
    warm: _containers.RepeatedCompositeFieldContainer[WarmSize]
    def __init__(self, digest: _Optional[str] = ..., name: _Optional[str] = ..., created_at: _Optional[int] = ..., disk_bytes: _Optional[int] = ..., kernel_version: _Optional[str] = ..., is_default: _Optional[bool] = ..., warm: _Optional[_Iterable[_Union[WarmSize, _Mapping]]] = ...) -> None: ...

class WarmSize(_message.Message):
    __slots__ = ("vcpu", "memory_bytes")
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    vcpu: int
    memory_bytes: int
    def __init__(self, vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ...) -> None: ...

class BuildImageRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class BuildImageResponse(_message.Message):
    __slots__ = ("progress", "image")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    progress: Progress
    image: ImageInfo
    def __init__(self, progress: _Optional[_Union[Progress, _Mapping]] = ..., image: _Optional[_Union[ImageInfo, _Mapping]] = ...) -> None: ...

class WarmImageRequest(_message.Message):
    __slots__ = ("name", "vcpu", "memory_bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VCPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    vcpu: int
    memory_bytes: int
    def __init__(self, name: _Optional[str] = ..., vcpu: _Optional[int] = ..., memory_bytes: _Optional[int] = ...) -> None: ...

class ListImagesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListImagesResponse(_message.Message):
    __slots__ = ("images",)
    IMAGES_FIELD_NUMBER: _ClassVar[int]
    images: _containers.RepeatedCompositeFieldContainer[ImageInfo]
    def __init__(self, images: _Optional[_Iterable[_Union[ImageInfo, _Mapping]]] = ...) -> None: ...

class RemoveImageRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class RemoveImageResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WatchMachineRequest(_message.Message):
    __slots__ = ("ref",)
    REF_FIELD_NUMBER: _ClassVar[int]
    ref: str
    def __init__(self, ref: _Optional[str] = ...) -> None: ...

class WaitCheckpointRequest(_message.Message):
    __slots__ = ("vm", "name")
    VM_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    vm: str
    name: str
    def __init__(self, vm: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class WaitSnapshotRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class VerifyCheckpointRequest(_message.Message):
    __slots__ = ("vm", "name")
    VM_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    vm: str
    name: str
    def __init__(self, vm: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class VerifySnapshotRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class Damage(_message.Message):
    __slots__ = ("file", "start", "end", "text")
    FILE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    file: str
    start: int
    end: int
    text: str
    def __init__(self, file: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., text: _Optional[str] = ...) -> None: ...

class Verification(_message.Message):
    __slots__ = ("checkpoint", "checked_bytes", "duration_ms", "damages", "sealed")
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    CHECKED_BYTES_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    DAMAGES_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    checkpoint: str
    checked_bytes: int
    duration_ms: int
    damages: _containers.RepeatedCompositeFieldContainer[Damage]
    sealed: bool
    def __init__(self, checkpoint: _Optional[str] = ..., checked_bytes: _Optional[int] = ..., duration_ms: _Optional[int] = ..., damages: _Optional[_Iterable[_Union[Damage, _Mapping]]] = ..., sealed: _Optional[bool] = ...) -> None: ...

class VerifyCheckpointResponse(_message.Message):
    __slots__ = ("progress", "result")
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    progress: Progress
    result: Verification
    def __init__(self, progress: _Optional[_Union[Progress, _Mapping]] = ..., result: _Optional[_Union[Verification, _Mapping]] = ...) -> None: ...

class ListEventsRequest(_message.Message):
    __slots__ = ("vm", "limit")
    VM_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    vm: str
    limit: int
    def __init__(self, vm: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("at_ms", "actor", "actor_name", "operation", "detail", "outcome", "duration_ms", "error")
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    ACTOR_NAME_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    at_ms: int
    actor: str
    actor_name: str
    operation: str
    detail: str
    outcome: str
    duration_ms: int
    error: str
    def __init__(self, at_ms: _Optional[int] = ..., actor: _Optional[str] = ..., actor_name: _Optional[str] = ..., operation: _Optional[str] = ..., detail: _Optional[str] = ..., outcome: _Optional[str] = ..., duration_ms: _Optional[int] = ..., error: _Optional[str] = ...) -> None: ...

class ListEventsResponse(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ...) -> None: ...

class DoctorRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Finding(_message.Message):
    __slots__ = ("subject", "verdict", "detail", "remedy")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    subject: str
    verdict: str
    detail: str
    remedy: str
    def __init__(self, subject: _Optional[str] = ..., verdict: _Optional[str] = ..., detail: _Optional[str] = ..., remedy: _Optional[str] = ...) -> None: ...

class RootCertificateRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RootCertificateResponse(_message.Message):
    __slots__ = ("pem",)
    PEM_FIELD_NUMBER: _ClassVar[int]
    pem: str
    def __init__(self, pem: _Optional[str] = ...) -> None: ...

class DoctorResponse(_message.Message):
    __slots__ = ("findings", "version", "home")
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HOME_FIELD_NUMBER: _ClassVar[int]
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    version: str
    home: str
    def __init__(self, findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., version: _Optional[str] = ..., home: _Optional[str] = ...) -> None: ...

class SshKeyInfo(_message.Message):
    __slots__ = ("fingerprint", "public_key", "device_id", "label")
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    DEVICE_ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    fingerprint: str
    public_key: str
    device_id: str
    label: str
    def __init__(self, fingerprint: _Optional[str] = ..., public_key: _Optional[str] = ..., device_id: _Optional[str] = ..., label: _Optional[str] = ...) -> None: ...

class ListSshKeysRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListSshKeysResponse(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[SshKeyInfo]
    def __init__(self, keys: _Optional[_Iterable[_Union[SshKeyInfo, _Mapping]]] = ...) -> None: ...

class UnlinkSshKeyRequest(_message.Message):
    __slots__ = ("fingerprint",)
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    fingerprint: str
    def __init__(self, fingerprint: _Optional[str] = ...) -> None: ...

class UnlinkSshKeyResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DestroySelfRequest(_message.Message):
    __slots__ = ("confirm_name",)
    CONFIRM_NAME_FIELD_NUMBER: _ClassVar[int]
    confirm_name: str
    def __init__(self, confirm_name: _Optional[str] = ...) -> None: ...

class DestroySelfResponse(_message.Message):
    __slots__ = ("name", "vm_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VM_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    vm_id: str
    def __init__(self, name: _Optional[str] = ..., vm_id: _Optional[str] = ...) -> None: ...
