"""How QEMU is called: compared word by word with golden files."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from openboxd.errors import InvalidArgument, OperationFailed
from openboxd.guest.agent.port import PORT_NAME
from openboxd.model import GIB, MIB, Accelerator, Size
from openboxd.ports import NetworkLink, RunSpec
from openboxd.qemu.arguments import Handles, arguments
from openboxd.qemu.facts import Facts
from openboxd.qemu.plan import AGENT_PORT, check_plan, plan_machine

GOLDEN = Path(__file__).parent / "golden"
FACTS = Facts("/usr/bin/qemu-system-x86_64", "10.0.2", "pc-q35-10.0")
TCG = Accelerator("tcg", "Software emulation.")
KVM = Accelerator("kvm", "KVM.")
HANDLES = Handles(11, 12, 13, Path("/run/boxd/0a1b2c3d/0123456789ab/pid"), "6c21f3a2-95cf-4b6f-9f0e-0f6e5b6f7a11")
SPEC = RunSpec(
    run_id="0123456789ab",
    machine_id="m-1",
    name="web",
    size=Size(2, GIB),
    disk=Path("/var/lib/boxd/pool/machines/m-1/disk.raw"),
    kernel=Path("/var/lib/boxd/pool/images/d1/vmlinuz"),
    initrd=Path("/var/lib/boxd/pool/images/d1/initrd"),
    cmdline="root=/dev/vda rw console=ttyS0",
    console=Path("/var/lib/boxd/pool/machines/m-1/console.log"),
    address="10.77.0.9",
    mac="52:54:00:12:34:56",
)


def golden(name: str, argv: list[str]) -> None:
    """One word a line. To accept a change: write the file anew and look at the difference."""
    assert "\n".join(argv) + "\n" == (GOLDEN / name).read_text()


def test_boot_under_software_emulation() -> None:
    golden("boot-tcg.args", arguments(FACTS.program, SPEC, plan_machine(FACTS, TCG, SPEC.size), HANDLES))


def test_load_under_kvm() -> None:
    plan = plan_machine(FACTS, KVM, Size(4, 8 * GIB))
    memory = Path("/var/lib/boxd/pool/machines/m-1/checkpoints/cp_1/memory.img")
    golden("load-kvm.args", arguments(FACTS.program, SPEC, plan, HANDLES, memory))


def test_the_plan_of_a_capture_is_kept_whatever_this_host_would_choose() -> None:
    plan = json.loads(json.dumps(plan_machine(FACTS, TCG, SPEC.size)))
    argv = arguments(FACTS.program, dataclasses.replace(SPEC, size=Size(9, 9 * GIB)), plan, HANDLES)
    assert argv == arguments(FACTS.program, SPEC, plan, HANDLES)


def test_names_cannot_add_options() -> None:
    spec = dataclasses.replace(SPEC, name="a,process=b", console=Path("/x,append=off"), disk=Path('/d",x:"'))
    argv = arguments(FACTS.program, spec, plan_machine(FACTS, TCG, SPEC.size), HANDLES)
    assert "guest=a,,process=b,debug-threads=on" in argv
    assert "file,id=console,path=/x,,append=off,append=on" in argv
    block = next(word for word in argv if word.startswith('{"driver":"raw"'))
    assert json.loads(block)["file"]["filename"] == '/d",x:"'


def test_a_tap_is_handed_over_and_the_card_stays_the_same() -> None:
    link = NetworkLink(16, "10.213.0.1", "10.213.0.2", tap=7, words="ip=10.213.0.10")
    spec = dataclasses.replace(SPEC, link=link)
    plan = plan_machine(FACTS, TCG, SPEC.size)
    with_tap, without = (arguments(FACTS.program, each, plan, HANDLES) for each in (spec, SPEC))
    assert netdev(with_tap) == {"type": "tap", "id": "net", "fd": "7", "vhost": False}
    assert with_tap[with_tap.index("-append") + 1] == f"{SPEC.cmdline} ip=10.213.0.10"
    at = with_tap.index("-netdev") + 2
    unplugged = json.loads(with_tap[at + 1])
    assert (with_tap[at], unplugged["id"], unplugged["restrict"]) == ("-netdev", "unplugged", True)
    del with_tap[at : at + 2]
    changed = {at for at, (one, two) in enumerate(zip(with_tap, without, strict=True)) if one != two}
    assert changed == {with_tap.index("-netdev") + 1, with_tap.index("-append") + 1}


def test_qemus_own_network_leads_out_only_where_it_is_told_to() -> None:
    plan = plan_machine(FACTS, TCG, SPEC.size)
    spec = dataclasses.replace(SPEC, address="10.213.1.10")
    closed = dataclasses.replace(spec, link=NetworkLink(16, "10.213.0.1", ""))
    open_ = dataclasses.replace(spec, link=NetworkLink(16, "10.213.0.1", "10.213.0.2", -1, False, ("unshare", "-n")))
    argv = arguments(FACTS.program, open_, plan, HANDLES)
    assert argv[:3] == ["unshare", "-n", FACTS.program]
    assert netdev(argv) == {
        "type": "user",
        "id": "net",
        "restrict": False,
        "ipv6": False,
        "net": "10.213.0.0/16",
        "host": "10.213.0.1",
        "dns": "10.213.0.2",
        "dhcpstart": "10.213.1.10",
    }
    assert netdev(arguments(FACTS.program, closed, plan, HANDLES))["restrict"] is True


def netdev(argv: list[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(argv[argv.index("-netdev") + 1])
    return found


@pytest.mark.parametrize(
    ("address", "host", "dns"),
    [
        ("10.1.2.9", "10.1.2.1", "10.1.2.254"),
        ("10.1.2.1", "10.1.2.2", "10.1.2.254"),
        ("10.1.2.254", "10.1.2.1", "10.1.2.253"),
    ],
)
def test_nobody_in_the_network_has_the_guests_address(address: str, host: str, dns: str) -> None:
    spec = dataclasses.replace(SPEC, address=address)
    argv = arguments(FACTS.program, spec, plan_machine(FACTS, TCG, SPEC.size), HANDLES)
    net = json.loads(argv[argv.index("-netdev") + 1])
    assert (net["dhcpstart"], net["host"], net["dns"]) == (address, host, dns)
    assert net["net"] == "10.1.2.0/24"
    assert net["restrict"] is True


def test_every_device_has_a_place_of_its_own() -> None:
    devices = plan_machine(FACTS, TCG, SPEC.size)["devices"]
    places = [device["addr"] for device in devices if "addr" in device]
    assert len(places) == len(set(places)) == 4
    assert len({device["id"] for device in devices}) == len(devices)


def test_the_agent_looks_for_the_port_that_qemu_offers() -> None:
    assert AGENT_PORT == PORT_NAME


@pytest.mark.parametrize("size", [Size(0, GIB), Size(1, 63 * MIB), Size(1, GIB + 1)])
def test_sizes_that_no_machine_can_have(size: Size) -> None:
    with pytest.raises(InvalidArgument):
        plan_machine(FACTS, TCG, size)


def test_a_capture_of_kvm_needs_kvm() -> None:
    plan = plan_machine(FACTS, KVM, SPEC.size)
    check_plan(plan, KVM)
    check_plan(plan_machine(FACTS, TCG, SPEC.size), KVM)
    with pytest.raises(OperationFailed, match="under KVM"):
        check_plan(plan, TCG)
    with pytest.raises(OperationFailed, match="another version"):
        check_plan({**plan, "format": 2}, KVM)
