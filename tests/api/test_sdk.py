"""The published SDK, unmodified and in an environment of its own, against the API: our standing acceptance test."""

from __future__ import annotations

import asyncio
import json

from tests.fakes.service import KEY

LIMIT = 60

PRELUDE = """
import json, sys
import boxd
from boxd import errors
client = boxd.Boxd(base_url=sys.argv[1], token=sys.argv[2])
def done(value): print(json.dumps(value))
"""


async def run_sdk(sdk_python, address, script):
    process = await asyncio.create_subprocess_exec(
        sdk_python,
        "-c",
        PRELUDE + script,
        f"http://{address}",
        KEY,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), LIMIT)
    assert process.returncode == 0, err.decode()
    return json.loads(out)


async def test_machines(sdk_python, address):
    script = """
vm = client.machines.create(name="web", memory="1G", vcpu=2, labels={"role": "web"})
client.machines.wait_until_ready(vm.id)
got = client.machines.get("web")
listed = [m.name for m in client.machines.list()]
client.machines.stop("web"); stopped = client.machines.get("web").status
client.machines.start("web"); client.machines.reboot("web")
try:
    client.machines.get("ghost")
except errors.NotFoundError as error:
    message = error.message
try:
    client.disks.create("d", "1G")
except errors.APIStatusError as error:
    refused = error.message
client.machines.delete(vm.id)
size = got.resources
done([got.name, got.status, size.vcpu, size.memory_bytes, got.id == vm.id, listed, stopped, message, refused,
      [m.name for m in client.machines.list()]])
"""
    assert await run_sdk(sdk_python, address, script) == [
        "web",
        "running",
        2,
        2**30,
        True,
        ["web"],
        "stopped",
        "VM 'ghost' not found",
        "this boxd does not offer extra disks yet",
        [],
    ]


async def test_exec(sdk_python, address, web):
    script = """
vector = ["a b", "$HOME", "x'y", "", "*", "l1\\nl2", "--json", "\\u00fc", ";id"]
show = "import sys,json;print(json.dumps(sys.argv[1:]))"
result = client.machines.exec("web", ["python3", "-c", show, *vector])
codes = [client.machines.exec("web", line).exit_code for line in ("exit 5", "false", "nosuchcmd", "kill -9 $$")]
env = client.machines.exec("web", "printenv A PWD", env={"A": "x y"}, cwd="/").stdout
ended = client.machines.exec("web", "cat").exit_code
with client.machines.stream_exec("web", command="cat; exit 3") as stream:
    stream.write("one "); stream.write("two"); stream.write_eof()
    echoed = "".join(piece if isinstance(piece, str) else piece.decode() for piece in stream)
    code = stream.exit_code
with client.machines.stream_exec("web", command="cat", close_stdin=True) as stream:
    nothing = list(stream)
done([json.loads(result.stdout) == vector, codes, env, ended, echoed, code, nothing])
"""
    got = await run_sdk(sdk_python, address, script)
    assert got == [True, [5, 1, 127, 137], "x y\n/\n", 0, "one two", 3, []]


async def test_a_timeout_ends_the_command(sdk_python, address, web, service):
    script = """
try:
    client.machines.exec("web", "sleep 1000", timeout=1)
    done("no timeout")
except Exception as error:
    done(type(error).__name__)
"""
    assert await run_sdk(sdk_python, address, script) != "no timeout"
    await asyncio.wait_for(service.sessions[-1].cancelled.wait(), 60)


async def test_files(sdk_python, address, web):
    script = """
files = client.machines.files
data = bytes(range(256)) * 12000
written = files.upload("web", "f", data)
same = files.download("web", "f") == data
files.upload("web", "empty", b""); empty = files.download("web", "empty").decode()
files.mkdir("web", "d"); files.copy("web", "f", "d/g"); files.rename("web", "d/g", "d/h"); files.delete("web", "f")
listing = [e.name for e in files.list_dir("web", ".").entries]
done([written, same, empty, listing, [e.name for e in files.list_dir("web", "d").entries]])
"""
    assert await run_sdk(sdk_python, address, script) == [256 * 12000, True, "", ["d", "empty"], ["h"]]


async def test_checkpoints(sdk_python, address, web):
    script = """
import time
checkpoints = client.machines.checkpoints
made = checkpoints.create("web", "before")
limit = time.monotonic() + 20
while checkpoints.list("web")[0].status == "pending" and time.monotonic() < limit:
    time.sleep(0.1)
(row,) = checkpoints.list("web")
client.machines.exec("web", "touch later")
checkpoints.restore("web", "before")
left = client.machines.exec("web", "ls").stdout
try:
    checkpoints.create("web", "before")
except errors.ConflictError as error:
    taken = error.code
checkpoints.delete("web", "before")
done([made.status, row.status, row.available, row.size_bytes > 0, row.created_at.year >= 2026, left, taken,
      len(checkpoints.list("web"))])
"""
    got = await run_sdk(sdk_python, address, script)
    assert got == ["pending", "ready", True, True, True, "", "already_exists", 0]


async def test_account(sdk_python, address):
    script = """
names = [name for name in dir(client) if not name.startswith("_")]
done([client.machines.suggest_name(), names])
"""
    name, namespaces = await run_sdk(sdk_python, address, script)
    assert name.startswith("brave-otter")
    assert "machines" in namespaces
