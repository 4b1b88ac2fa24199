"""Clients of the published SDK. Nothing here, and nothing beside it, imports anything of the project."""

from __future__ import annotations

import os

import boxd
import pytest

GOLDEN = "golden"
URL = os.environ["SDK_URL"]
KEY = os.environ["SDK_KEY"]

TIMEOUT = 240.0
"""Seconds for a call: a reboot without KVM takes longer than the SDK's 60 when the host has much else to do."""


@pytest.fixture(scope="session")
def client():
    with boxd.Boxd(base_url=URL, api_key=KEY, timeout=TIMEOUT) as client:
        yield client


@pytest.fixture
def golden(client):
    """The running machine's id."""
    return client.machines.get(GOLDEN).id


@pytest.fixture
def place(client, golden):
    """An empty directory in the machine, gone afterwards."""
    path = "/home/boxd/place"
    client.machines.files.mkdir(golden, path)
    yield path
    client.machines.files.delete(golden, path)


@pytest.fixture(scope="session")
def async_client():
    """Makes a client inside the running loop: `async with async_client() as c`."""
    return lambda: boxd.AsyncBoxd(base_url=URL, api_key=KEY, timeout=TIMEOUT)
