"""A mail server: it speaks SMTP on a socket, and keeps what it is given."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from queue import Queue
from typing import Any


@dataclass
class Mailbox:
    """What has come, and how many callers are turned away first."""

    port: int = 0
    mails: Queue[EmailMessage] = field(default_factory=Queue)
    n_busy: int = 0
    n_turned_away: int = 0
    logins: set[str] = field(default_factory=set)

    def next(self, seconds: float = 30) -> EmailMessage:
        return self.mails.get(timeout=seconds)

    def turns_away(self) -> bool:
        if self.n_busy == 0:
            return False
        self.n_busy, self.n_turned_away = self.n_busy - 1, self.n_turned_away + 1
        return True


class Session(socketserver.StreamRequestHandler):
    """One caller, in the words of RFC 5321."""

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def handle(self) -> None:
        box: Mailbox = self.server.box  # type: ignore[attr-defined]
        if box.turns_away():
            return self.say("421 busy, come again")
        self.say("220 mail.example ready")
        for line in iter(self.rfile.readline, b""):
            verb, _, rest = line.decode().strip().partition(" ")
            if verb.upper() == "QUIT":
                return self.say("221 bye")
            self.answer(box, verb.upper(), rest)
        return None

    def answer(self, box: Mailbox, verb: str, rest: str) -> None:
        if verb == "EHLO":
            self.say("250-mail.example\r\n250 AUTH PLAIN")
        elif verb == "AUTH":
            box.logins.add(rest)
            self.say("235 welcome")
        elif verb == "DATA":
            self.say("354 go on")
            lines = list(iter(self.rfile.readline, b".\r\n"))
            mail = message_from_bytes(b"".join(lines), policy=policy.default)
            self.say("250 kept")
            box.mails.put(mail)
        else:
            self.say("250 fine")


class Server(socketserver.ThreadingTCPServer):
    """The socket."""

    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of callers that have gone: workers are killed at the end."""

    def __init__(self, box: Mailbox) -> None:
        self.box = box
        super().__init__(("127.0.0.1", 0), Session)


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    box = Mailbox()
    with Server(box) as server:
        box.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield box
        server.shutdown()
        thread.join()


def text_of(mail: Any) -> str:
    return str(mail.get_content())
