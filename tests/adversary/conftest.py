"""A server on this machine, to see who connects."""

import socket
import threading
import time

import full_run
import pytest


def own_server():
    """A server where no other test looks for one: they all use the first loopback address."""
    try:
        return socket.create_server(("127.0.0.2", 0))
    except OSError:  # a system that has only that one
        return socket.create_server(("127.0.0.1", 0))


@pytest.fixture
def listener(monkeypatch):
    """An address on this machine, every connection to it, and an environment that leads there."""
    seen = []  # of each connection what it sent, so that a failure shows who it was
    with own_server() as server:
        host = "{}:{}".format(*server.getsockname())
        here = f"http://{host}"
        for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "HTTP_PROXY", "HTTPS_PROXY",
                     "ALL_PROXY", "http_proxy", "https_proxy", "CLOUD_STORAGE_EMULATOR_ENDPOINT",
                     "GOOGLE_CLOUD_CPP_STORAGE_TESTBENCH_ENDPOINT", "HF_ENDPOINT"):  # fmt: skip
            monkeypatch.setenv(name, here)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", f"tcp://{host}")
        monkeypatch.setenv("SPARK_MASTER", f"spark://{host}")

        def answer():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                seen.append(bytearray())
                with connection:
                    seen[-1] += connection.recv(1 << 16)
                    connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield host, seen
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.fixture(autouse=True)
def figures(request):
    """Count what a test tries."""
    full_run.seen.update(full_run.NOTHING)
    began = time.monotonic()
    yield
    full_run.write_figures(request.node.name, time.monotonic() - began)
