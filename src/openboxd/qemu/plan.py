"""The plan of a machine: its hardware as plain JSON data, made once, kept in every capture. Pure.

A capture loads only into the machine it was taken of: the same machine type, CPU, RAM and devices at the same
places. So everything is spelled out, also what QEMU would choose by itself today.
"""

from __future__ import annotations

from typing import Any

from openboxd.errors import InvalidArgument, OperationFailed
from openboxd.model import MIB, Accelerator, Size
from openboxd.ports import Plan
from openboxd.qemu.facts import Facts

FORMAT = 1

AGENT_PORT = "org.boxd.agent.0"
"""Name of the virtio-serial port, by which the agent finds it in the guest."""

_CPU = {
    "kvm": "host,migratable=on",
    "tcg": "max",
}


def plan_machine(facts: Facts, accelerator: Accelerator, size: Size) -> Plan:
    """The plan of a new machine. Raises InvalidArgument for a size that no machine can have."""
    if size.vcpu < 1:
        raise InvalidArgument(f"a machine needs at least 1 vCPU, not {size.vcpu}")
    if size.memory_bytes < 64 * MIB or size.memory_bytes % MIB:
        raise InvalidArgument("a machine needs at least 64 MiB of memory, in whole MiB")
    return {
        "format": FORMAT,
        "qemu": facts.version,
        "accel": accelerator.name,
        "machine": facts.machine,
        "cpu": _CPU[accelerator.name],
        "vcpus": size.vcpu,
        "ram_bytes": size.memory_bytes,
        "devices": _devices(),
    }


def check_plan(plan: Plan, available: Accelerator) -> None:
    """Raises OperationFailed, in words, if a capture's plan cannot be carried out here."""
    if plan.get("format") != FORMAT:
        raise OperationFailed("this capture was taken by another version of boxd and cannot be loaded")
    if plan["accel"] == "kvm" and available.name != "kvm":
        raise OperationFailed(
            f"this capture was taken under KVM and needs it, but this host has none now. {available.reason}"
        )


def ram_bytes(plan: Plan) -> int:
    """RAM of the machine."""
    return int(plan["ram_bytes"])


def _devices() -> list[dict[str, Any]]:
    """Every device, in the order of the command line, each with its fixed place on the root bus."""
    pci = {"bus": "pcie.0"}
    return [
        {"role": "disk", "driver": "virtio-blk-pci", "id": "disk0", **pci, "addr": "0x2"},
        {"role": "net", "driver": "virtio-net-pci", "id": "net0", **pci, "addr": "0x3"},
        {"role": "plain", "driver": "virtio-rng-pci", "id": "rng0", **pci, "addr": "0x4"},
        {"role": "plain", "driver": "virtio-serial-pci", "id": "serial0", **pci, "addr": "0x5", "max_ports": 4},
        {
            "role": "agent",
            "driver": "virtserialport",
            "id": "agent0",
            "bus": "serial0.0",
            "nr": 1,
            "name": AGENT_PORT,
        },
        {"role": "generation", "driver": "vmgenid", "id": "vmgenid0"},
    ]
