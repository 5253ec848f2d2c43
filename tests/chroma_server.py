"""A Chroma server of the tests' own: `chroma run` on a free loopback port."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen


@contextmanager
def chroma_server(folder: Path, port: int) -> Iterator[str]:
    """The server's address, once it answers; it is stopped at the end."""
    command = [str(Path(sys.executable).parent / "chroma"), "run", "--path", str(folder), "--port", str(port)]
    log = folder.parent / "chroma.log"
    with log.open("wb") as stream:
        server = subprocess.Popen([*command, "--host", "127.0.0.1"], stdout=stream, stderr=stream)
    try:
        for _ in range(300):
            try:
                with urlopen(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=1):
                    break
            except (URLError, OSError):
                if server.poll() is not None:
                    raise RuntimeError(f"the Chroma server ended: {log.read_text()[-500:]}") from None
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait(10)
