"""The daemon's calls about the host and its images."""

from __future__ import annotations

from collections.abc import AsyncIterator

from openboxd.client.connection import HOST, Connection
from openboxd.wire import openboxd_host_pb2 as host_pb


class HostCalls:
    """A part of `Client`."""

    _connection: Connection

    def build_image(self, name: str) -> AsyncIterator[host_pb.BuildImageResponse]:
        """Progress, then the image as the last item; an empty name means the default image."""
        request = host_pb.BuildImageRequest(name=name)
        return self._connection.stream(f"{HOST}BuildImage", request, host_pb.BuildImageResponse)

    def warm_image(self, name: str, vcpu: int, memory_bytes: int) -> AsyncIterator[host_pb.BuildImageResponse]:
        """Progress, then the image as the last item; new machines of this size need not boot then."""
        request = host_pb.WarmImageRequest(name=name, vcpu=vcpu, memory_bytes=memory_bytes)
        return self._connection.stream(f"{HOST}WarmImage", request, host_pb.BuildImageResponse)

    async def images(self) -> list[host_pb.ImageInfo]:
        request = host_pb.ListImagesRequest()
        return list((await self._connection.unary(f"{HOST}ListImages", request, host_pb.ListImagesResponse)).images)

    async def remove_image(self, name: str) -> None:
        request = host_pb.RemoveImageRequest(name=name)
        await self._connection.unary(f"{HOST}RemoveImage", request, host_pb.RemoveImageResponse)

    async def doctor(self) -> host_pb.DoctorResponse:
        return await self._connection.unary(f"{HOST}Doctor", host_pb.DoctorRequest(), host_pb.DoctorResponse)

    async def root_certificate(self) -> str:
        """PEM of the root behind the machines' HTTPS domains."""
        request, path = host_pb.RootCertificateRequest(), f"{HOST}RootCertificate"
        return (await self._connection.unary(path, request, host_pb.RootCertificateResponse)).pem
