from openboxd.wire import boxd_api_pb2 as _boxd_api_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

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
    __slots__ = ("digest", "name", "created_at", "disk_bytes", "kernel_version", "is_default")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    KERNEL_VERSION_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    digest: str
    name: str
    created_at: int
    disk_bytes: int
    kernel_version: str
    is_default: bool
    def __init__(self, digest: _Optional[str] = ..., name: _Optional[str] = ..., created_at: _Optional[int] = ..., disk_bytes: _Optional[int] = ..., kernel_version: _Optional[str] = ..., is_default: _Optional[bool] = ...) -> None: ...

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

class DoctorResponse(_message.Message):
    __slots__ = ("findings",)
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    def __init__(self, findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ...) -> None: ...

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
