"""`boxd machine exec` and `connect`: no stdin, output that is no text, what a person sees when a session is cut."""

from __future__ import annotations

import asyncio
import os

from tests.cli.conftest import BOXD


async def test_no_stdin_leaves_it_to_others(boxd, web):
    for option in ("-n", "--no-stdin"):
        done = await boxd("machine", "exec", option, "web", "--", "cat", feed=b"not read")
        assert (done.status, done.out) == (0, b"")


async def test_a_shell_loop_reads_all_its_lines(boxd, web, tmp_path):
    (tmp_path / "lines").write_text("1\n2\n3\n")
    script = 'while read -r line; do "$0" machine exec -n web -- echo "$line"; done <"$1"'
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", script, BOXD, tmp_path / "lines", env=boxd.environ, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(process.communicate(), 30)
    assert out == b"1\n2\n3\n"


async def test_json_says_when_output_is_not_text(boxd, web):
    done = await boxd("machine", "exec", "--json", "web", "--", r"printf 'a\377b'")
    assert done.json == {"output": "a\ufffdb", "binary": True, "exit_code": 0}
    assert "binary" not in (await boxd("machine", "exec", "--json", "web", "--", "echo ü")).json


async def test_a_timeout_says_what_became_of_the_command(boxd, web):
    done = await boxd("machine", "exec", "web", "--timeout", "3", "--", "sleep", "1000")
    text = "error: the command ran longer than 3 s on machine 'web' and was killed\n"
    assert (done.status, done.err) == (124, text)


async def test_connect_to_a_machine_that_does_not_run_is_125(boxd, web, service):
    await service.stop_machine(None, "web")
    status, shown = await boxd.on_terminal("connect", "web", until=b"never", reply=b"")
    assert (status, shown.startswith(b"error: machine 'web' is stopped")) == (125, True), shown


async def test_the_error_of_a_cut_session_has_a_line_of_its_own(boxd, web, service, tmp_path):
    os.mkfifo(tmp_path / "up")
    up = asyncio.Event()
    reader = os.open(tmp_path / "up", os.O_RDONLY | os.O_NONBLOCK)
    asyncio.get_running_loop().add_reader(reader, up.set)

    async def cut_when_up():
        await up.wait()
        asyncio.get_running_loop().remove_reader(reader)
        os.close(reader)
        await service.restore_checkpoint(None, "web", "one")

    cutting = asyncio.create_task(cut_when_up())
    typed = f"printf abc; echo >{tmp_path}/up; sleep 1000\n".encode()
    status, shown = await boxd.on_terminal("connect", "web", until=b"", reply=typed)
    await asyncio.wait_for(cutting, 60)
    assert status == 125, shown
    assert shown.endswith(b"\r\nerror: machine 'web' was restored to checkpoint 'one'\r\n")


async def test_arguments_that_are_no_text_are_refused_in_words(boxd, web):
    text = "error: an argument is not text in UTF-8; names, paths and commands travel as such\n"
    for status, arguments in ((125, ("exec", "web", "--", "echo")), (2, ("get",)), (2, ("new",))):
        done = await boxd("machine", *arguments, b"\xff")
        assert (done.status, done.err) == (status, text)
