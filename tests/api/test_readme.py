"""The program that the README shows, as it stands there, with the published SDK."""

from __future__ import annotations

import asyncio
import textwrap
from pathlib import Path

from openboxd.api.ports import NewMachine
from openboxd.api.server import serve
from openboxd.model import GIB
from tests.api.test_sdk_keys import service, start_sdk
from tests.fakes.service import KEY

__all__ = ["service"]  # the fixture

README = Path(__file__).parents[2] / "README.md"


async def test_the_program_of_the_readme_waits_for_its_save(sdk_python, service, tmp_path):
    text = README.read_text()
    program = textwrap.dedent(text[text.index("    import time\n    from boxd import") :].partition("\n\n")[0])
    (tmp_path / "key").write_text(f"{KEY}\n")
    caller = service.authenticate(KEY)
    await service.create_machine(caller, NewMachine(name="web", vcpu=1, memory_bytes=GIB))
    await service.until(lambda: service.machine(caller, "web").status == "running")
    service.save.clear()
    async with serve(service, "127.0.0.1:0") as address:
        script = program.replace("http://127.0.0.1:9443", f"http://{address}")
        script = script.replace("/var/lib/boxd/admin.key", str(tmp_path / "key"))
        running = await start_sdk(sdk_python, "", f"{script}\ndone(b.machines.get('web').status)")
        await service.until(lambda: any(service._checkpoints.values()))
        service.save.set()
        out, err = await asyncio.wait_for(running.communicate(), 30)
    assert running.returncode == 0, err.decode()
    assert out.split()[0] == b"Linux"
    assert out.split()[-1] == b'"running"'
    assert service.restores == 1
