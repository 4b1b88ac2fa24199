"""Commands and downloads, told to the machine's idle timers: it is in use while they run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable

from openboxd.model import ExecOutput
from openboxd.ports import ExecSession


class UsingSession:
    """Implements ExecSession over another one; `end` is called when it is over, `heard` at what its caller sends."""

    def __init__(self, session: ExecSession, end: Callable[[], None], heard: Callable[[], None]) -> None:
        self.exit_code: int | None = None
        self._session, self._end, self._heard = session, end, heard

    async def output(self) -> AsyncIterator[ExecOutput]:
        """See ExecSession."""
        try:
            async for piece in self._session.output():
                yield piece
            self.exit_code = self._session.exit_code
        finally:
            self._end()

    async def write(self, data: bytes) -> None:
        """See ExecSession."""
        self._heard()
        await self._session.write(data)

    async def write_eof(self) -> None:
        """See ExecSession."""
        await self._session.write_eof()

    async def resize(self, cols: int, rows: int) -> None:
        """See ExecSession."""
        await self._session.resize(cols, rows)

    async def cancel(self) -> None:
        """See ExecSession."""
        self._end()
        await self._session.cancel()


class UsingPieces:
    """The pieces of a file; `end` is called when they are read, or nobody reads them any more."""

    def __init__(self, pieces: AsyncIterator[bytes], end: Callable[[], None]) -> None:
        self._pieces, self._end = pieces, end

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._pieces)
        except BaseException:
            self._end()
            raise

    async def aclose(self) -> None:
        """Read no more."""
        self._end()
        if isinstance(self._pieces, AsyncGenerator):
            await self._pieces.aclose()
