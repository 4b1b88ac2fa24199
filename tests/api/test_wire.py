"""The contract files: the generated modules are those of the .proto files, and the published SDK agrees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from openboxd.wire import boxd_api_pb2, generate

FIRST_OWN_NUMBER = 1000

DESCRIBE = """
import json, sys
from importlib import import_module
file = import_module(sys.argv[1]).DESCRIPTOR
def field(f):
    return [f.number, f.type, f.is_repeated, f.has_presence, f.message_type and f.message_type.name,
            f.containing_oneof and f.containing_oneof.name]
messages = {n: {f.name: field(f) for f in m.fields if f.number < 1000} for n, m in file.message_types_by_name.items()}
calls = {m.name: [m.input_type.name, m.output_type.name, m.client_streaming, m.server_streaming]
         for m in file.services_by_name["BoxdApi"].methods}
print(json.dumps([messages, calls]))
"""


def test_the_generated_modules_are_up_to_date(tmp_path):
    subprocess.run([sys.executable, "-m", "openboxd.wire.generate", str(tmp_path)], check=True)
    made = sorted((tmp_path / "openboxd/wire").iterdir())
    assert len(made) == 3 * len(generate.PROTOS)
    for path in made:
        assert path.read_text() == (generate.HERE / path.name).read_text(), f"{path.name} is not up to date"


def test_the_contract_has_all_calls_and_messages():
    assert len(boxd_api_pb2.DESCRIPTOR.services_by_name["BoxdApi"].methods) == 121
    assert len(boxd_api_pb2.DESCRIPTOR.message_types_by_name) == 271


def test_own_fields_begin_at_1000():
    own = {
        f"{message.name}.{field.name}"
        for message in boxd_api_pb2.DESCRIPTOR.message_types_by_name.values()
        for field in message.fields
        if field.number >= FIRST_OWN_NUMBER
    }
    assert own == {
        "GetVmResponse.status_reason",
        "SrfConfig.auto_hibernate_timeout_secs",
        "GetVmResponse.resident_bytes",
        "GetVmResponse.problems",
        *(f"{name}.https_url" for name in ("GetVmResponse", "ProxyInfo", "CreateProxyResponse", "CustomDomainInfo")),
        "ShareVmRequest.org",
        "VmUsage.checkpoint_bytes",
        "VmUsage.checkpoint_gib_hours",
        "WhoamiResponse.is_host_owner",
        "CreateVmFromSnapshotRequest.wait",
        "CreateVmResponse.boots_first",
        "ForkVmRequest.from_checkpoint",
        *(
            f"SnapshotInfo.{name}"
            for name in (
                "total_bytes",
                "shared_bytes",
                "source_name",
                "source_vm_id",
                "image_ref",
                "pause_us",
                "duration_ms",
            )
        ),
        "RestoreCheckpointResponse.held_connections",
        "RestoreCheckpointResponse.longest_wait_ms",
        *(
            f"CheckpointInfo.{name}"
            for name in (
                "total_bytes",
                "shared_bytes",
                "failure_reason",
                "pause_us",
                "duration_ms",
                "parent_name",
                "is_current",
                "created_by_name",
            )
        ),
    }


def test_the_published_sdk_describes_the_same_contract(sdk_python: Path):
    ours, theirs = (
        json.loads(subprocess.run([python, "-c", DESCRIBE, module], check=True, capture_output=True).stdout)
        for python, module in (
            (sys.executable, "openboxd.wire.boxd_api_pb2"),
            (sdk_python, "boxd._generated.api_pb2"),
        )
    )
    assert ours == theirs
