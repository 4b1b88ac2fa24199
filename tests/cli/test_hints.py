"""What a mistyped or empty name, a wrong address and a closed port are answered with."""

from __future__ import annotations

import pytest

from tests.fakes.service import KEY


@pytest.mark.parametrize(
    ("argv", "status"),
    [(["machine", "get", "wbe"], 1), (["machine", "cp", "wbe:f", "."], 1), (["machine", "exec", "wbe", "true"], 125)],
)
async def test_a_machine_that_could_have_been_meant(boxd, web, argv, status):
    done = await boxd(*argv)
    assert (done.status, done.err) == (status, "error: VM 'wbe' not found\nhint: did you mean 'web'?\n")
    assert (await boxd(*argv, env={"BOXD_API_KEY": "no"})).err == "error: the API key is not valid\n"


async def test_a_checkpoint_that_could_have_been_meant(boxd, web):
    done = await boxd("machine", "checkpoint", "restore", "web", "onne", "-y")
    assert done.err == "error: checkpoint 'onne' not found on machine 'web'\nhint: did you mean 'one'?\n"


async def test_programs_get_no_hint_and_neither_does_who_is_far_off(boxd, web):
    assert (await boxd("machine", "get", "wbe", "--json")).err == "error: VM 'wbe' not found\n"
    assert (await boxd("machine", "get", "unlike")).err == "error: VM 'unlike' not found\n"


@pytest.mark.parametrize(
    "argv",
    [
        ["machine", "new", ""],
        ["machine", "new", "--image", ""],
        ["machine", "checkpoint", "save", "web", ""],
        ["machine", "checkpoint", "verify", "web", ""],
        ["image", "build", ""],
    ],
)
async def test_an_empty_name_is_not_the_same_as_none(boxd, web, service, argv):
    done = await boxd(*argv)
    assert (done.status, "an empty name was given" in done.err) == (2, True)
    assert len(service.machines(None)) == 1
    assert len(await service.checkpoints(None, "web")) == 1


async def test_removing_an_image_asks(boxd, service):
    unasked = await boxd("image", "remove", "debian")
    assert (unasked.status, "-y" in unasked.err, len(service.known_images)) == (2, True, 1)
    status, shown = await boxd.on_terminal("image", "rm", "debian", reply=b"n\n", until=b"[y/N]")
    assert (status, b"Remove image 'debian'?" in shown, len(service.known_images)) == (1, True, 1)
    status, _ = await boxd.on_terminal("image", "rm", "debian", reply=b"y\n", until=b"[y/N]")
    assert (status, service.known_images) == (0, [])


async def test_a_checkpoint_list_names_people_and_parents(boxd, web, service):
    await boxd("machine", "checkpoint", "save", "web", "two")
    _, one, two = (await boxd("machine", "checkpoint", "list", "web")).text.splitlines()
    assert one.split()[-2:] == ["-", "Owner"]
    assert two.split()[-2:] == ["one", "Owner"]
    assert (await boxd("machine", "checkpoint", "list", "web", "--json")).json[1]["created_by"] == "u_owner"


async def test_grpcs_own_log_does_not_reach_stderr(boxd):
    """TLS is spoken to a port that takes none, which gRPC logs as an error of its own."""
    url = boxd.environ["BOXD_BASE_URL"].replace("http:", "https:")
    done = await boxd("ls", env={"BOXD_BASE_URL": url, "BOXD_API_KEY": KEY})
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert done.err.startswith(f"error: the boxd daemon at {url} does not answer")


async def test_a_word_is_not_an_address(boxd):
    done = await boxd("--api-url", "nonsense", "ls")
    assert (done.status, done.err.count("\n"), "'nonsense' is not the address" in done.err) == (1, 1, True)
