"""What every ports.Agent must do; subclasses provide `agent`, in step, with an empty home directory.

The command lines are few and plain, so that an agent without a shell can know them; `say_error` and `block` may be
spelt its own way.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from openboxd.errors import AlreadyExists, Interrupted, InvalidArgument, NotFound, WrongState
from openboxd.model import ExecRequest
from openboxd.ports import Agent, ExecSession

LIMIT = 20.0


async def pieces(*data: bytes) -> AsyncIterator[bytes]:
    for piece in data:
        yield piece


async def collect(session: ExecSession) -> tuple[bytes, bytes]:
    """All of stdout and stderr."""
    stdout, stderr = b"", b""
    async with asyncio.timeout(LIMIT):
        async for piece in session.output():
            if piece.is_stderr:
                stderr += piece.data
            else:
                stdout += piece.data
    return stdout, stderr


async def run(agent: Agent, command: str, stdin: bytes = b"") -> tuple[int | None, bytes, bytes]:
    """Exit status, stdout and stderr of a command."""
    session = await agent.exec(ExecRequest(command))
    if stdin:
        await session.write(stdin)
    await session.write_eof()
    stdout, stderr = await collect(session)
    return session.exit_code, stdout, stderr


async def put(agent: Agent, path: str, data: bytes) -> int:
    return await agent.upload(path, len(data), pieces(data))


async def get(agent: Agent, path: str) -> bytes:
    size, content = await agent.download(path)
    data = b"".join([piece async for piece in content])
    assert size == len(data)
    return data


class AgentContract:
    """Every agent must pass."""

    say_error = "echo oops >&2"
    block = "sleep 600"

    # -- commands
    async def test_output_and_status_of_a_command_are_passed_on(self, agent: Agent) -> None:
        assert await run(agent, "echo hello") == (0, b"hello\n", b"")
        assert await run(agent, "exit 5") == (5, b"", b"")
        assert (await run(agent, "nosuchcmd"))[0] == 127

    async def test_the_status_is_not_known_before_the_end(self, agent: Agent) -> None:
        session = await agent.exec(ExecRequest("echo hello"))
        assert session.exit_code is None
        await collect(session)
        assert session.exit_code == 0

    async def test_stderr_is_kept_apart(self, agent: Agent) -> None:
        assert await run(agent, f"{self.say_error}; echo out") == (0, b"out\n", b"oops\n")

    async def test_stdin_is_passed_on_until_its_end(self, agent: Agent) -> None:
        assert await run(agent, "cat", stdin=b"a\0b\n") == (0, b"a\0b\n", b"")
        assert await run(agent, "cat") == (0, b"", b"")

    async def test_the_end_of_stdin_may_come_twice_and_too_late(self, agent: Agent) -> None:
        session = await agent.exec(ExecRequest("true"))
        await collect(session)
        await session.write(b"nobody reads this")
        await session.write_eof()
        await session.write_eof()
        await session.cancel()

    async def test_cancel_ends_a_command(self, agent: Agent) -> None:
        session = await agent.exec(ExecRequest(self.block))
        await session.cancel()
        await session.cancel()
        await collect(session)
        assert session.exit_code == 143

    async def test_commands_run_side_by_side(self, agent: Agent) -> None:
        blocked = await agent.exec(ExecRequest(self.block))
        assert (await run(agent, "echo hello"))[1] == b"hello\n"
        await blocked.cancel()
        await collect(blocked)

    async def test_closing_interrupts_what_runs(self, agent: Agent) -> None:
        session = await agent.exec(ExecRequest(self.block))
        await agent.close("the machine was restored to x")
        await agent.close("again")
        with pytest.raises(Interrupted, match="the machine was restored to x"):
            await collect(session)
        assert session.exit_code is None
        assert not agent.ready
        with pytest.raises(Interrupted, match="the machine was restored to x"):
            await agent.exec(ExecRequest("true"))
        with pytest.raises(Interrupted):
            await agent.wait_ready(LIMIT)

    # -- files
    @pytest.mark.parametrize("size", [0, 1, 4096, 65537, 1 << 20])
    async def test_a_file_comes_back_as_it_was_sent(self, agent: Agent, size: int) -> None:
        data = bytes(range(256)) * (size // 256 + 1)
        assert await put(agent, "file", data[:size]) == size
        assert await get(agent, "file") == data[:size]

    async def test_an_upload_replaces_a_file(self, agent: Agent) -> None:
        await put(agent, "file", b"a longer first content")
        await put(agent, "file", b"second")
        assert await get(agent, "file") == b"second"

    async def test_an_upload_of_another_size_leaves_the_old_content(self, agent: Agent) -> None:
        await put(agent, "file", b"old")
        for size in (2, 4):
            with pytest.raises(InvalidArgument):
                await agent.upload("file", size, pieces(b"new"))
        assert await get(agent, "file") == b"old"
        assert [entry.name for entry in (await agent.list_dir(".", 10)).entries] == ["file"]

    async def test_uploads_into_nothing_or_onto_a_directory_are_refused(self, agent: Agent) -> None:
        await agent.mkdir("dir")
        with pytest.raises(NotFound, match="missing"):
            await put(agent, "missing/file", b"x")
        with pytest.raises(WrongState, match="dir"):
            await put(agent, "dir", b"x")

    async def test_downloads_of_nothing_or_a_directory_are_refused(self, agent: Agent) -> None:
        await agent.mkdir("dir")
        with pytest.raises(NotFound, match="missing"):
            await agent.download("missing")
        with pytest.raises(WrongState, match="dir"):
            await agent.download("dir")

    # -- directories
    async def test_a_listing_is_sorted_and_capped(self, agent: Agent) -> None:
        await agent.mkdir("dir")
        for name in ("c", "a", "b"):
            await put(agent, f"dir/{name}", name.encode() * 3)
        await agent.mkdir("dir/sub")
        whole = await agent.list_dir("dir", 4)
        assert [entry.name for entry in whole.entries] == ["a", "b", "c", "sub"]
        assert not whole.truncated
        assert (whole.entries[0].size_bytes, whole.entries[0].permissions) == (3, "-rw-r--r--")
        assert whole.entries[0].modified_at > 1_600_000_000
        assert (whole.entries[3].is_dir, whole.entries[3].permissions) == (True, "drwxr-xr-x")
        capped = await agent.list_dir("dir", 2)
        assert [entry.name for entry in capped.entries] == ["a", "b"]
        assert capped.truncated

    async def test_what_is_no_directory_cannot_be_listed(self, agent: Agent) -> None:
        await put(agent, "file", b"x")
        with pytest.raises(NotFound, match="missing"):
            await agent.list_dir("missing", 10)
        with pytest.raises(WrongState, match="file"):
            await agent.list_dir("file", 10)

    async def test_mkdir_makes_one_directory(self, agent: Agent) -> None:
        await agent.mkdir("dir")
        assert (await agent.list_dir("dir", 10)).entries == ()
        with pytest.raises(AlreadyExists, match="dir"):
            await agent.mkdir("dir")
        with pytest.raises(NotFound, match="missing"):
            await agent.mkdir("missing/dir")

    async def test_rename_moves_files_and_trees(self, agent: Agent) -> None:
        await agent.mkdir("old")
        await put(agent, "old/file", b"x")
        await agent.rename("old", "new")
        assert await get(agent, "new/file") == b"x"
        with pytest.raises(NotFound):
            await agent.list_dir("old", 10)
        with pytest.raises(NotFound, match="missing"):
            await agent.rename("missing", "other")

    async def test_copy_takes_whole_trees(self, agent: Agent) -> None:
        await agent.mkdir("old")
        await put(agent, "old/file", b"x")
        await agent.copy("old", "new")
        await put(agent, "old/file", b"changed")
        assert await get(agent, "new/file") == b"x"
        with pytest.raises(NotFound, match="missing"):
            await agent.copy("missing", "other")
        with pytest.raises(WrongState):
            await agent.copy("old", "old/within")

    async def test_a_directory_is_not_overwritten(self, agent: Agent) -> None:
        await agent.mkdir("dir")
        await put(agent, "file", b"x")
        for deed in (agent.copy, agent.rename):
            with pytest.raises(WrongState, match="dir"):
                await deed("file", "dir")

    async def test_delete_takes_whole_trees(self, agent: Agent) -> None:
        await agent.mkdir("dir")
        await put(agent, "dir/file", b"x")
        await agent.delete("dir")
        with pytest.raises(NotFound):
            await agent.list_dir("dir", 10)
        with pytest.raises(NotFound, match="dir"):
            await agent.delete("dir")
