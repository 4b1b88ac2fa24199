"""`boxd machine cp`: files, trees, links, modes, and what cannot be copied."""

from __future__ import annotations

import os
import stat

from tests.cli.conftest import BOXD


async def test_a_file_there_and_back(boxd, web, service, tmp_path):
    data = os.urandom(3_000_000)
    (tmp_path / "f").write_bytes(data)
    assert (await boxd("machine", "cp", str(tmp_path / "f"), "web:")).text == "copied 1 file, 2.9M\n"
    assert (service.home("web") / "f").read_bytes() == data
    assert (await boxd("machine", "cp", "web:~/f", "-")).out == data
    done = await boxd("machine", "cp", "web:f", str(tmp_path / "g"), "--json")
    assert done.json["bytes"] == len(data)
    assert (tmp_path / "g").read_bytes() == data
    assert (await boxd("machine", "cp", "-", "web:/home/boxd/h", feed=b"piped")).status == 0
    assert (service.home("web") / "h").read_bytes() == b"piped"


LINKS = {"link": "/etc/passwd", "sub/up": "../run", "dangling": "no where\nat all", "dirlink": "sub"}


def make_tree(source):
    (source / "sub/empty").mkdir(parents=True)
    (source / "run").write_text("#!/bin/sh\n")
    (source / "run").chmod(0o755)
    (source / "sub/page").write_text("page")
    for name, target in LINKS.items():
        (source / name).symlink_to(target)


async def test_a_tree_there_and_back(boxd, web, service, tmp_path):
    source, back = tmp_path / "site", tmp_path / "back"
    make_tree(source)
    done = await boxd("machine", "cp", str(source), "web:")
    assert (done.status, "-r" in done.err) == (1, True)
    done = await boxd("machine", "cp", "-r", str(source), "web:", "--json")
    assert (done.status, done.err) == (0, ""), done
    assert (done.json["files"], done.json["links"], done.json["skipped"]) == (2, 4, [])
    for turn in range(2):  # the second time into what is there
        done = await boxd("machine", "cp", "-r", "web:site", str(back if turn == 0 else tmp_path / "back/.."))
        assert (done.status, done.text) == (0, "copied 2 files and 4 links, 14B\n"), done.err
    for there in (service.home("web") / "site", back, source):
        names = sorted(str(path.relative_to(there)) for path in there.rglob("*"))
        assert names == sorted(["run", "sub", "sub/empty", "sub/page", *LINKS])
        assert {name: str((there / name).readlink()) for name in LINKS} == LINKS
        assert (there / "run").stat().st_mode & stat.S_IXUSR
        assert not (there / "sub/page").stat().st_mode & stat.S_IXUSR


async def test_a_single_program_stays_one(boxd, web, service, tmp_path):
    program, plain = service.home("web") / "program", service.home("web") / "plain"
    for path, mode in ((program, 0o755), (plain, 0o644)):
        path.touch()
        path.chmod(mode)
        assert (await boxd("machine", "cp", f"web:{path.name}", str(tmp_path))).status == 0
        assert (tmp_path / path.name).stat().st_mode & 0o100 == mode & 0o100


async def test_a_link_that_is_named_itself_is_followed(boxd, web, service, tmp_path):
    make_tree(tmp_path / "site")
    (tmp_path / "way").symlink_to("site")
    assert (await boxd("machine", "cp", str(tmp_path / "site/sub/up"), "web:")).status == 0
    assert (service.home("web") / "up").read_text() == "#!/bin/sh\n"
    assert (await boxd("machine", "cp", "-r", str(tmp_path / "way"), "web:")).status == 0
    assert (service.home("web") / "way/sub/page").read_text() == "page"


def make_odd(directory):
    """A pipe and a socket beside a file."""
    directory.mkdir()
    os.mkfifo(directory / "pipe")
    os.mknod(directory / "sock", stat.S_IFSOCK | 0o600)
    (directory / "plain").write_text("x")


async def test_what_is_skipped_is_named_and_fails(boxd, web, service, tmp_path):
    make_odd(tmp_path / "odd")
    make_odd(service.home("web") / "there")
    for source, target in ((str(tmp_path / "odd"), "web:"), ("web:there", str(tmp_path))):
        done = await boxd("machine", "cp", "-r", source, target)
        assert (done.status, done.text) == (1, "copied 1 file, 1B\n")
        pipe, sock, last = done.err.splitlines()
        assert pipe.startswith("skipped ") and pipe.endswith("pipe: it is a named pipe")
        assert sock.startswith("skipped ") and sock.endswith("sock: it is a socket")
        assert last == "error: not everything was copied: 2 skipped, everything else is there"
    assert (service.home("web") / "odd/plain").read_text() == "x"
    assert (tmp_path / "there/plain").read_text() == "x"


async def test_a_link_never_takes_the_place_of_a_directory(boxd, web, service, tmp_path):
    make_tree(tmp_path / "site")
    (service.home("web") / "site/dirlink").mkdir(parents=True)
    done = await boxd("machine", "cp", "-r", str(tmp_path / "site"), "web:")
    assert (done.status, "skipped web:site/dirlink: the link could not be made there" in done.err) == (1, True)
    assert not (service.home("web") / "site/dirlink").is_symlink()
    (tmp_path / "back/link").mkdir(parents=True)
    done = await boxd("machine", "cp", "-r", "web:site/.", str(tmp_path / "back"))
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert not (tmp_path / "back/link").is_symlink()


async def test_nothing_is_written_through_a_link_of_an_earlier_copy(boxd, web, service, tmp_path):
    home, outside = service.home("web"), tmp_path / "outside"
    outside.mkdir()
    (home / "site").mkdir()
    (home / "site/sub").symlink_to(outside)
    assert (await boxd("machine", "cp", "-r", "web:site", str(tmp_path))).status == 0
    (home / "site/sub").unlink()
    (home / "site/sub").mkdir()
    (home / "site/sub/page").write_text("page")
    done = await boxd("machine", "cp", "-r", "web:site", str(tmp_path))
    assert (done.status, list(outside.iterdir())) == (1, [])


async def test_pipes_and_devices_are_neither_source_nor_target(boxd, web, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for argv in ([str(tmp_path / "pipe"), "web:"], ["/dev/zero", "web:f"]):
        done = await boxd("machine", "cp", *argv)
        assert (done.status, done.err.count("\n"), "only files are copied" in done.err) == (1, 1, True)
    await boxd("machine", "exec", "web", "--", "touch", "f")
    done = await boxd("machine", "cp", "web:f", str(tmp_path / "pipe"))
    assert (done.status, "is not a file" in done.err) == (1, True)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


async def test_errors_name_what_was_given(boxd, web, tmp_path):
    await boxd("machine", "exec", "web", "--", "touch", "f")
    done = await boxd("machine", "cp", "web:f", str(tmp_path / "nodir/x"))
    assert (done.status, done.err) == (1, f"error: {tmp_path}/nodir/x: No such file or directory\n")


async def test_a_copy_is_shown_on_a_terminal(boxd, web, tmp_path):
    (tmp_path / "big").write_bytes(bytes(30_000_000))
    status, shown = await boxd.on_terminal("machine", "cp", str(tmp_path / "big"), "web:", until=b"never", reply=b"")
    assert status == 0, shown
    assert b"copying" in shown and b"copied 1 file, 28.6M" in shown


async def test_copying_errors_are_one_line(boxd, web, tmp_path):
    for argv in (
        [str(tmp_path / "missing"), "web:"],
        ["web:missing", str(tmp_path)],
        ["ghost:f", str(tmp_path)],
        [str(BOXD), "web:no/such/dir"],
    ):
        done = await boxd("machine", "cp", *argv)
        assert (done.status, done.out, done.err.count("\n")) == (1, b"", 1), done
    assert list(tmp_path.glob("*.*")) == []
