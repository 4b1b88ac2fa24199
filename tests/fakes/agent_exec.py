"""Commands of a fake guest: a handful of built-ins that read and change its memory and disk.

`a && b` and `a; b` work as in a shell, quotes too, and `$?` does not. Each command raises the memory's counter.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from openboxd.errors import BoxdError, Interrupted
from openboxd.model import ExecOutput, ExecRequest
from tests.fakes import agent_files

if TYPE_CHECKING:
    from tests.fakes.agent import FakeAgent

BUILT_INS = """
set K V     keep a variable in memory         get K       print it; 1 if there is none
counter     print the memory's counter        boot-id     print what every boot makes anew
boots       print how often the disk booted   echo ...    print
hostname    print who it was told to be
err ...     print to stderr                   exit N      end with a status
true, false                                   cat         copy stdin to stdout
wait        until cancelled or interrupted    yes         print y for ever
write P T   write a file                      read P      print a file; 1 if there is none
"""


class FakeExecSession:
    """See ports.ExecSession."""

    def __init__(self, agent: FakeAgent, request: ExecRequest) -> None:
        self.exit_code: int | None = None
        self.size = (request.cols, request.rows)
        self._agent, self._request = agent, request
        self._output: asyncio.Queue[ExecOutput | BoxdError | None] = asyncio.Queue(16)
        self._stdin: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._eof = False
        self._ending: BoxdError | None = None
        self._ended = False
        self._command = asyncio.create_task(self._run(), name=f"fake guest: {request.command}")

    # -- the caller's side

    async def output(self) -> AsyncIterator[ExecOutput]:
        while not self._ended or not self._output.empty():
            item = await self._output.get()
            if isinstance(item, BoxdError):
                self._ended = True
                raise item
            if item is None:
                self._ended = True
                return
            yield item
        if self._ending is not None:
            raise self._ending

    async def write(self, data: bytes) -> None:
        if not self._eof and not self._command.done():
            self._stdin.put_nowait(data)

    async def write_eof(self) -> None:
        if not self._eof:
            self._eof = True
            self._stdin.put_nowait(None)

    async def resize(self, cols: int, rows: int) -> None:
        if self._request.tty:
            self.size = (cols, rows)

    async def cancel(self) -> None:
        self._finish(143)

    # -- the guest's side

    def interrupt(self, reason: str) -> None:
        """The channel is gone: whoever reads the output is told why."""
        if self._finish(None):
            self._ending = Interrupted(reason)
            self._make_room().put_nowait(self._ending)

    def _finish(self, status: int | None) -> bool:
        """End the command from outside; whether it still ran."""
        if self._command.done() or self.exit_code is not None or self._ending is not None:
            return False
        self._command.cancel()
        if status is not None:
            self.exit_code = status
            self._make_room().put_nowait(None)
        return True

    def _make_room(self) -> asyncio.Queue[ExecOutput | BoxdError | None]:
        if self._output.full():
            self._output.get_nowait()
        return self._output

    async def _run(self) -> None:
        status = 0
        lexer = shlex.shlex(self._request.command, posix=True, punctuation_chars=";&")
        lexer.whitespace_split = True
        words: list[str] = []
        run = True
        for word in [*lexer, ";"]:
            if word not in (";", "&&"):
                words.append(word)
                continue
            if run and words:
                status = await self._one(words)
                if words[0] == "exit":
                    break
            run, words = word == ";" or (run and status == 0), []
        self.exit_code = status
        await self._output.put(None)

    async def _one(self, words: list[str]) -> int:
        await self._agent.process.until(lambda: self._agent.ready)
        self._agent.process.guest.memory.counter += 1
        name, *arguments = words
        match name:
            case "cat":
                while (data := await self._stdin.get()) is not None:
                    await self._print(data)
            case "wait":
                await asyncio.get_running_loop().create_future()
            case "yes":
                while True:
                    await self._agent.process.until(lambda: self._agent.ready)
                    await self._print(b"y\n")
            case "echo" | "err":
                await self._print(" ".join(arguments).encode() + b"\n", is_stderr=name == "err")
            case "exit":
                return int(arguments[0]) if arguments else 0
            case _:
                return await self._state(name, arguments)
        return 0

    async def _state(self, name: str, arguments: list[str]) -> int:
        guest = self._agent.process.guest
        commands: dict[str, Callable[..., object]] = {
            "true": lambda: None,
            "false": lambda: 1,
            "set": lambda key, value: guest.memory.variables.update({key: value}),
            "get": lambda key: guest.memory.variables[key].encode() + b"\n",
            "counter": lambda: b"%d\n" % guest.memory.counter,
            "boot-id": lambda: guest.memory.boot_id.encode() + b"\n",
            "systemctl": lambda *_: None,
            "sudo": lambda *_: None,
            "hostname": lambda *_: guest.memory.identity.get("name", "").encode() + b"\n",
            "boots": lambda: b"%d\n" % guest.disk.boots,
            "write": lambda path, text: agent_files.write(guest, agent_files.resolve(path), text.encode()),
            "read": lambda path: agent_files.read(guest, agent_files.resolve(path)),
        }
        if name not in commands:
            await self._print(f"sh: 1: {name}: not found\n".encode(), is_stderr=True)
            return 127
        try:
            result = commands[name](*arguments)
        except (KeyError, BoxdError) as error:
            await self._print(f"{name}: {error}\n".encode(), is_stderr=True)
            return 1
        if isinstance(result, bytes):
            await self._print(result)
        return result if isinstance(result, int) else 0

    async def _print(self, data: bytes, is_stderr: bool = False) -> None:
        await self._output.put(ExecOutput(data, is_stderr and not self._request.tty))
