"""QEMU's user network as an ordinary user has it, seen by a real guest: a way out by pasta, nothing of the host.

The guest is the image's kernel with busybox; the daemon's part is played by the driver itself.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from openboxd.host import pidfd
from openboxd.network.addresses import GATEWAY, RESOLVER, host_resolver
from tests.lab import Lab, run
from tests.network.namespaces import HOST, WORLD, World, in_namespace, world
from tests.network.test_bridge import Service
from tests.network.test_pasta import OWN_DEVICE, SOURCE, SYSTEM_PYTHON
from tests.network.test_reach import NameService
from tests.qemu.tinyguest import write_initrd

pytestmark = [
    pytest.mark.guest,
    pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces"),
    pytest.mark.skipif(shutil.which("pasta") is None, reason="needs pasta (apt install passt)"),
]

ADDRESS = "10.213.0.10"
MODULES = ("net/core/failover", "drivers/net/net_failover", "drivers/net/virtio_net")

INIT = f"""#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
for number in 0 1 2; do insmod /modules/$number.ko; done
ip link set eth0 up
ip addr add {ADDRESS}/16 dev eth0
ip route add default via {GATEWAY}
ask() {{ echo "ASKED $1:$2 $(nc -w 3 $1 $2 </dev/null 2>/dev/null)"; }}
echo UP
n=0; while [ $n -lt 50 ] && ! nc -w 1 {WORLD} 80 </dev/null >/dev/null 2>&1; do n=$((n+1)); sleep 0.2; done
ask {WORLD} 80
for place in "{GATEWAY} 5000" "{GATEWAY} 5001" "{HOST} 5000" "10.213.0.2 5001"; do ask $place; done
echo "LOOKED UP $(nslookup world.test {RESOLVER} 2>&1 | tr '\n' ' ')"
# Forged: what is the host's loopback, by way of the card.
ip addr flush dev lo; ip route del local 127.0.0.0/8 table local 2>/dev/null
ip route add 127.0.0.0/8 via {GATEWAY} dev eth0
ask 127.0.0.1 5001
echo OVER
poweroff -f
"""

PROGRAM = """
import asyncio, json, subprocess, sys
from pathlib import Path
from types import SimpleNamespace
from openboxd.network.user import UserNetwork

async def main():
    network = UserNetwork(Path(sys.argv[1]), sys.argv[2])
    machine = SimpleNamespace(address=sys.argv[3], name="web", run_id="a" * 12, egress_allow=())
    link = await network.prepare(machine, machine.run_id)
    argv = [*link.around, *sys.argv[4:]]
    qemu = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
    said = []
    try:
        for line in qemu.stdout:
            said.append(line.strip())
            if line.startswith("UP"):
                await network.attach(machine, machine.run_id, qemu.pid)
            if line.startswith("OVER"):
                break
    finally:
        qemu.kill()
        qemu.wait()
        await network.release(machine, machine.run_id)
    left = [path.name for path in Path(sys.argv[1]).iterdir()]
    print(json.dumps({"restricted": link.restricted, "said": said, "left": left}))

asyncio.run(main())
"""


@pytest.fixture
def place() -> Iterator[World]:
    with world() as made:
        yield made


@pytest.fixture
def directory(lab: Lab) -> Iterator[Path]:
    """Where the ordinary user finds the guest: others may not enter a tmp_path."""
    made = Path(f"/tmp/boxd-pasta-qemu-{os.getpid()}")
    made.mkdir(mode=0o755)
    try:
        version = json.loads((lab.image_dir / "manifest.json").read_text())["kernel_version"]
        modules = []
        for name in MODULES:
            target = made / f"{Path(name).name}.ko.xz"
            source = f"/usr/lib/modules/{version}/kernel/{name}.ko.xz"
            subprocess.run(["debugfs", "-R", f"dump {source} {target}", lab.image_dir / "disk.raw"], check=True)
            modules.append(target)
        write_initrd(made / "initrd", Path("/bin/busybox"), tuple(modules), INIT)
        shutil.copy(lab.image_dir / "vmlinuz", made / "vmlinuz")
        (made / "program.py").write_text(PROGRAM)
        (made / "run").mkdir()
        shutil.chown(made / "run", 1234, 1234)
        run("chmod", "-R", "a+rX", made)
        yield made
    finally:
        shutil.rmtree(made)


def test_a_guest_reaches_the_world_and_nothing_of_the_host(place: World, directory: Path) -> None:
    services: list[Service | NameService] = [
        Service(place.world, WORLD, 80, socket.SOCK_STREAM, b"world for "),
        Service(place.host, "127.0.0.1", 5001, socket.SOCK_STREAM, b"loopback for "),
        Service(place.host, "0.0.0.0", 5000, socket.SOCK_STREAM, b"host for "),
    ]
    resolver = host_resolver()
    if resolver:  # here it is nobody's but ours
        in_namespace(place.world, f"ip addr add {resolver}/32 dev lo")
        services.append(NameService(place.world, {"world.test": WORLD}, resolver))
    network = f"user,id=net,net=10.213.0.0/16,host={GATEWAY},dns={RESOLVER},dhcpstart={ADDRESS}"
    qemu = [
        *("qemu-system-x86_64", "-M", "q35", "-accel", "tcg", "-m", "256", "-nodefaults", "-display", "none"),
        *("-kernel", directory / "vmlinuz", "-initrd", directory / "initrd", "-serial", "stdio", "-no-reboot"),
        *(
            "-append",
            "console=ttyS0 quiet panic=-1",
            "-netdev",
            network,
            "-device",
            "virtio-net-pci,netdev=net,romfile=",
        ),
    ]
    try:
        ordinary = ["setpriv", "--reuid", "1234", "--regid", "1234", "--clear-groups"]
        argv = [
            *("ip", "netns", "exec", place.host, "unshare", "--mount", "sh", "-c", OWN_DEVICE, "sh", *ordinary),
            *("env", f"PYTHONPATH={SOURCE}", f"HOME={directory}", SYSTEM_PYTHON, directory / "program.py"),
            *(directory / "run", shutil.which("pasta"), ADDRESS, *qemu),
        ]
        done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, timeout=280, check=False, cwd="/")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout.splitlines()[-1])
    finally:
        for service in services:
            service.close()
        for process in pidfd.find(lambda argv: any(f"{directory}/" in word for word in argv)):
            pidfd.send(process.pidfd, signal.SIGKILL)  # what a program that did not end has left
            os.close(process.pidfd)
    asked = [line.removeprefix("ASKED ") for line in found["said"] if line.startswith("ASKED ")]
    answers = {place: answer for place, _, answer in (line.partition(" ") for line in asked)}
    assert answers.pop(f"{WORLD}:80") == f"world for {HOST}", found
    print(f"\nof others: {answers}")
    [looked_up] = [line for line in found["said"] if line.startswith("LOOKED UP ")]
    assert WORLD in looked_up or not resolver, looked_up
    assert len(answers) == 5
    assert set(answers.values()) == {""}, found
    assert (found["restricted"], found["left"]) == (False, [])
