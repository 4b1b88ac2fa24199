"""exec and stream_exec: bytes, arguments, exit codes, stdin, terminals, cancelling, many at once, slow readers."""

from __future__ import annotations

import asyncio
import json
import shlex
import statistics
import subprocess
import threading
import time

import pytest
from boxd import errors
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FUZZ = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

VECTOR = ["a b", "$HOME", "x'y", "", "*", "l1\nl2", "--json", "ü€", ";id", "`id`", '"', "\\", "~", "#", "&&"]
SHOW = "import sys,json;print(json.dumps(sys.argv[1:]))"


def test_arguments_keep_their_boundaries(client, golden):
    result = client.machines.exec(golden, ["python3", "-c", SHOW, *VECTOR])
    assert (json.loads(result.stdout), result.stderr, result.exit_code) == (VECTOR, "", 0)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


@FUZZ
@given(st.lists(TEXT, min_size=1, max_size=6))
def test_any_arguments_keep_their_boundaries(client, golden, arguments):
    result = client.machines.exec(golden, ["printf", "%s\\0", "begin", *arguments], encoding="buffer")
    assert result.stdout == b"".join(a.encode() + b"\0" for a in ["begin", *arguments])


def test_a_long_argument(client, golden):
    long = "x" * 100_000
    assert client.machines.exec(golden, ["printf", "%s", long]).stdout == long
    # 128 KiB is what a kernel takes for one argument, and the whole line is one.
    try:
        code = client.machines.exec(golden, ["printf", "%s", "x" * 200_000]).exit_code
    except errors.BoxdError as error:
        assert error.code in ("invalid_argument", "failed_precondition"), error.message
    else:
        assert code in (0, 126, 127)


CODES = {
    "exit 5": 5,
    "sh -c 'exit 5'": 5,
    "false": 1,
    "nosuchcmd": 127,
    "/etc/passwd": 126,
    "sh -c 'kill -9 $$'": 137,
    "sh -c 'kill -TERM $$'": 143,
    "kill -9 $$": 137,
    "exit 256": 0,
    "true": 0,
}


@pytest.mark.parametrize("line", CODES)
def test_exit_codes(client, golden, line):
    assert client.machines.exec(golden, line).exit_code == CODES[line]


def test_environment_directory_and_separate_streams(client, golden):
    run = client.machines.exec
    assert run(golden, "printenv A PWD", env={"A": "x 'y' $z"}, cwd="/tmp").stdout == "x 'y' $z\n/tmp\n"
    wrong = run(golden, "echo never", cwd="/no/such")
    assert (wrong.stdout, wrong.exit_code != 0, "no/such" in wrong.stderr) == ("", True, True)
    both = run(golden, "echo out; echo err >&2; exit 3")
    assert (both.stdout, both.stderr, both.exit_code) == ("out\n", "err\n", 3)
    assert run(golden, "id -un; pwd").stdout == "boxd\n/home/boxd\n"
    assert run(golden, "cat").exit_code == 0, "stdin ends at once"


def test_a_terminal(client, golden):
    result = client.machines.exec(golden, "tty; stty size; echo err >&2", tty=True, cols=91, rows=33)
    assert "/dev/pts/" in result.stdout and "33 91" in result.stdout and "err" in result.stdout
    assert result.stderr == ""
    with client.machines.stream_exec(golden, command="read x; stty size", tty=True, cols=80, rows=24) as stream:
        stream.resize(101, 41)
        stream.write("\n")
        shown = b"".join(stream)
    assert b"41 101" in shown


SIZES = [0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 2**20 - 1, 2**20, 2**20 + 1]


def echoed(client, golden, data):
    with client.machines.stream_exec(golden, command="cat; exit 7") as stream:
        for start in range(0, len(data), 50_000):
            stream.write(data[start : start + 50_000])
        stream.write_eof()
        back = b"".join(stream)
        return back, stream.exit_code


@pytest.mark.parametrize("size", SIZES)
def test_stdin_comes_back_byte_for_byte(client, golden, size):
    data = (bytes(range(256)) * (size // 256 + 1))[:size]
    assert echoed(client, golden, data) == (data, 7)


@FUZZ
@given(st.binary(max_size=9000))
def test_any_bytes_come_back(client, golden, data):
    assert echoed(client, golden, data) == (data, 7)


def test_large_output_is_whole(client, golden):
    size = 24 * 2**20
    begun = time.monotonic()
    result = client.machines.exec(golden, f"head -c {size} /dev/zero", encoding="buffer")
    took = time.monotonic() - begun
    assert result.stdout == bytes(size)
    print(f"\noutput of a command: {size / 2**20 / took:.1f} MiB/s")


def test_a_background_child_does_not_hold_the_call(client, golden):
    begun = time.monotonic()
    assert client.machines.exec(golden, "sleep 30 & echo started").stdout == "started\n"
    assert time.monotonic() - begun < 15
    client.machines.exec(golden, "pkill -f 'sleep 3[0]'")


def gone(client, golden, mark):
    """Wait until no process bears the mark."""
    deadline = time.monotonic() + 20
    while client.machines.exec(golden, f"pgrep -f '[s]leep {mark}'").stdout:
        assert time.monotonic() < deadline, "a process of an ended call lives on"


def test_hanging_up_ends_the_whole_group(client, golden):
    line = "sh -c 'sleep 4711 & sleep 4711 & echo up; wait'"
    with client.machines.stream_exec(golden, command=line) as stream:
        assert next(iter(stream)) == b"up\n"
    gone(client, golden, 4711)


def test_a_timeout_ends_the_command(client, golden):
    with pytest.raises(errors.BoxdError, match="timed out"):
        client.machines.exec(golden, "sleep 4712", timeout=1)
    gone(client, golden, 4712)


def test_a_hundred_commands_at_once(async_client, golden):
    async def all_of_them():
        async with async_client() as client:
            # The SDK exchanges its key once for each call that is made before it has a token.
            await client.machines.get(golden)
            calls = (client.machines.exec(golden, f"cat /proc/sys/kernel/hostname; echo {n}") for n in range(100))
            return await asyncio.gather(*calls)

    begun = time.monotonic()
    results = asyncio.run(all_of_them())
    print(f"\n100 commands at once: {time.monotonic() - begun:.1f} s")
    assert [(r.stdout, r.exit_code) for r in results] == [(f"golden\n{n}\n", 0) for n in range(100)]


def test_a_reader_who_stalls_holds_nobody_up(client, golden):
    """A minute in which a command has more to say than anybody takes."""
    with client.machines.stream_exec(golden, command="head -c 80000000 /dev/zero; echo end >&2") as stalled:
        chunks = stalled.iter_chunks()
        next(chunks)
        deadline, worst = time.monotonic() + 60, 0.0
        while time.monotonic() < deadline:
            begun = time.monotonic()
            assert client.machines.exec(golden, "echo on").stdout == "on\n"
            worst = max(worst, time.monotonic() - begun)
        print(f"\nslowest of the others while one stalls: {1000 * worst:.0f} ms")


def test_round_trip(client, golden):
    for _ in range(3):
        client.machines.exec(golden, "true")
    times = []
    for _ in range(25):
        begun = time.monotonic()
        client.machines.exec(golden, "true")
        times.append(1000 * (time.monotonic() - begun))
    print(f"\nexec true: median {statistics.median(times):.0f} ms, best {min(times):.0f}, worst {max(times):.0f}")


def test_two_threads_share_a_client(client, golden):
    seen = {}

    def work(number):
        seen[number] = [client.machines.exec(golden, f"echo {number}-{n}").stdout for n in range(5)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {number: [f"{number}-{n}\n" for n in range(5)] for number in range(4)}


def test_the_asynchronous_stream(async_client, golden):
    async def talk():
        async with (
            async_client() as client,
            client.machines.stream_exec(golden, command="cat; exit 4") as stream,
        ):
            await stream.write(b"one\xff")
            await stream.write_eof()
            return b"".join([piece async for piece in stream]), stream.exit_code

    assert asyncio.run(talk()) == (b"one\xff", 4)


def test_what_the_shell_of_this_host_says_of_the_same_line(client, golden):
    for line in ("printf 'a\\nb' | tr a-z A-Z", "x=1; echo $((x+2))", shlex.join(["echo", "a  b"])):
        here = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
        there = client.machines.exec(golden, line)
        assert (there.stdout, there.exit_code) == (here.stdout, here.returncode)
