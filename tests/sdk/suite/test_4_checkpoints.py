"""Checkpoints: undo, its rules, and what it does to open streams; and the console."""

from __future__ import annotations

import asyncio
import time

import pytest
from boxd import errors


def ready(client, golden, name):
    deadline = time.monotonic() + 120
    while True:
        row = next(row for row in client.machines.checkpoints.list(golden) if row.name == name)
        if row.status != "pending":
            assert (row.status, row.available) == ("ready", True)
            return row
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_undo(client, golden):
    checkpoints, run = client.machines.checkpoints, client.machines.exec
    before = client.machines.get(golden)
    run(golden, "echo old > file; nohup sh -c 'echo $$ > pid; exec sleep 4713' >/dev/null 2>&1 & sleep 1")
    made = checkpoints.create(golden, "before")
    assert (made.name, made.status) == ("before", "pending")
    row = ready(client, golden, "before")
    assert row.size_bytes > 0 and abs(row.created_at.timestamp() - time.time()) < 3600
    assert row.created_by == client.account.get().user_id
    pid, boot = run(golden, "cat pid").stdout, run(golden, "cat /proc/sys/kernel/random/boot_id").stdout
    run(golden, "echo new > file; touch added; pkill -f 'sleep 471[3]'")
    begun = time.monotonic()
    checkpoints.restore(golden, "before")
    print(f"\nrestore: {1000 * (time.monotonic() - begun):.0f} ms")
    assert run(golden, "cat file; ls added 2>/dev/null; pgrep -f 'sleep 471[3]'").stdout == "old\n" + pid
    assert run(golden, "cat /proc/sys/kernel/random/boot_id").stdout == boot
    assert abs(int(run(golden, "date +%s").stdout) - time.time()) < 5
    after = client.machines.get(golden)
    assert (after.id, after.name, after.status, after.access.url) == (
        before.id,
        before.name,
        "running",
        before.access.url,
    )
    run(golden, "pkill -f 'sleep 471[3]'")


def test_a_stream_open_across_a_save_goes_on_and_across_a_restore_ends(client, golden):
    checkpoints = client.machines.checkpoints
    with client.machines.stream_exec(golden, command="while read x; do echo got $x; done") as stream:
        pieces = iter(stream)
        stream.write("one\n")
        assert next(pieces) == b"got one\n"
        checkpoints.create(golden, "open")
        ready(client, golden, "open")
        stream.write("two\n")
        assert next(pieces) == b"got two\n"
        checkpoints.restore(golden, "open")
        with pytest.raises(Exception) as caught:
            list(pieces)
        assert "restored" in str(caught.value)
    checkpoints.delete(golden, "open")


def test_its_rules(client, golden):
    checkpoints = client.machines.checkpoints
    for name in ("Up", "a/b", "-a", "a" * 64):
        with pytest.raises(errors.APIStatusError) as caught:
            checkpoints.create(golden, name)
        assert caught.value.code == "invalid_argument"
    with pytest.raises(errors.ConflictError, match="already has a checkpoint 'booted'"):
        checkpoints.create(golden, "booted")
    with pytest.raises(errors.NotFoundError, match="checkpoint 'ghost' not found on machine 'golden'"):
        checkpoints.delete(golden, "ghost")
    generated = checkpoints.create(golden, "")
    assert generated.name.startswith("cp-")
    ready(client, golden, generated.name)
    names = [row.name for row in checkpoints.list(golden)]
    assert names[0] == "booted" and names[-1] == generated.name, "oldest first"
    for name in names[1:]:
        checkpoints.delete(golden, name)
    assert [row.name for row in checkpoints.list(golden)] == ["booted"]


def test_the_console(client, golden):
    said = b"".join(client.machines.logs(golden))
    assert said
    client.machines.exec(golden, "echo hello from the guest | sudo tee /dev/ttyS0 /dev/console >/dev/null")
    deadline, heard = time.monotonic() + 20, b""
    for piece in client.machines.logs(golden, follow=True):
        heard += piece
        if b"hello from the guest" in heard:
            break
        assert time.monotonic() < deadline
    assert b"\0" * 4096 not in heard


def test_the_asynchronous_client_is_the_same(async_client, golden):
    async def all_of_it():
        async with async_client() as client:
            checkpoints = client.machines.checkpoints
            await checkpoints.create(golden, "async")
            async with asyncio.timeout(120):
                while (await checkpoints.list(golden))[-1].status == "pending":  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            await checkpoints.restore(golden, "async")
            answered = (await client.machines.exec(golden, "echo back")).stdout
            await checkpoints.delete(golden, "async")
            return answered, [row.name for row in await checkpoints.list(golden)]

    assert asyncio.run(all_of_it()) == ("back\n", ["booted"])
