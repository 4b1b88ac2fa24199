"""The console of a machine, as a stream of raw bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator

from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.api.streams import reading
from openboxd.model import Caller
from openboxd.wire import boxd_api_pb2 as pb


async def stream_logs(service: Service, caller: Caller, request: pb.StreamLogsRequest) -> AsyncIterator[pb.LogChunk]:
    async with reading(service.logs(caller, request.vm_id, follow=request.follow)) as pieces:
        async for piece in pieces:
            yield pb.LogChunk(data=piece)


METHODS: dict[str, Method] = {"StreamLogs": stream_logs}
