"""The proxy of deploy/nginx.conf as a process of its own, before servers that the test has started."""

import os
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
FOLDER: Final = ROOT / "deploy"
BOUND: Final = 60.0


@contextmanager
def open_listener() -> Iterator[socket.socket]:
    """A socket at any port that is free, for the proxy to take over: so its port is known beforehand."""
    with socket.create_server(("127.0.0.1", 0), backlog=511) as made:
        yield made


def get_port(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def write_configuration(folder: Path, port: int, servers: Sequence[int]) -> Path:
    """The configuration as it is, but for its places: the ports, and the folders that it writes to."""
    changes = {
        "listen 8080;": f"listen 127.0.0.1:{port};",
        "/etc/nginx/": f"{folder}/",
        "/tmp/": f"{folder}/",  # noqa: S108 - what the file says
        "access_log /dev/stdout;": f"access_log {folder}/access.log;",
        **{f"handrail-{number}:8765": f"127.0.0.1:{server}" for number, server in enumerate(servers, 1)},
    }
    path = folder / "nginx.conf"
    path.write_text(_changed("nginx.conf", changes), "utf-8")
    return path


def add_tls(folder: Path, port: int, keys: Path) -> None:
    """Have it include the part about TLS, with the key and the certificate in this folder."""
    changes = {"listen 8443 ssl;": f"listen 127.0.0.1:{port} ssl;", "/run/secrets/": f"{keys}/"}
    (folder / "tls.conf").write_text(_changed("nginx-tls.conf", changes), "utf-8")


def _changed(name: str, changes: dict[str, str]) -> str:
    """The text of a file with all of these replaced; each must stand in it."""
    text = (FOLDER / name).read_text("utf-8")
    for old, new in changes.items():
        assert old in text, f"{old} does not stand in the file"
        text = text.replace(old, new)
    return text


@contextmanager
def run_nginx(
    folder: Path, listeners: Sequence[socket.socket], servers: Sequence[int], keys: Path | None = None
) -> Iterator[None]:
    """The proxy at these sockets, with TLS at the second if there are keys; it writes to the folder."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program, "nginx is missing: run tools/setup packages"
    folder.mkdir()
    path = write_configuration(folder, get_port(listeners[0]), servers)
    if keys:
        add_tls(folder, get_port(listeners[1]), keys)
    held = [one.fileno() for one in listeners]
    words = [program, "-c", str(path), "-p", str(folder), "-g", "daemon off; user root;"]
    env = {"PATH": os.environ["PATH"], "NGINX": "".join(f"{one};" for one in held)}
    with (folder / "errors").open("wb") as errors:
        running = subprocess.Popen(words, env=env, pass_fds=held, stdout=errors, stderr=errors)
    try:
        _until_it_runs(running, folder)
        yield
    finally:
        running.send_signal(signal.SIGQUIT)
        try:
            running.wait(5)
        except subprocess.TimeoutExpired:
            running.terminate()
            running.wait(BOUND)


def _until_it_runs(running: "subprocess.Popen[bytes]", folder: Path) -> None:
    end = time.monotonic() + BOUND
    while not (folder / "nginx.pid").exists():
        assert running.poll() is None, (folder / "errors").read_text("utf-8")
        assert time.monotonic() < end, "the proxy never began"
        select.select([], [], [], 0.01)
