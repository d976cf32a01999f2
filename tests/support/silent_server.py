"""A server that accepts connections and never answers; it sends at most one ``greeting``."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def silent_server(greeting: bytes = b"") -> Iterator[int]:
    """Start the server and give its port; ``greeting`` is sent after the first bytes of a connection."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            while True:
                try:
                    connection = listening.accept()[0]
                except OSError:
                    return
                taken.append(connection)
                if greeting:
                    with contextlib.suppress(OSError):
                        connection.recv(4096)
                        connection.sendall(greeting)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            thread.join(5)
            for connection in taken:
                connection.close()
