"""Caddy as a child of the supervisor: on a socket that is bound already, with a certificate authority of its own."""

import http.client
import shutil
import socket
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evalsvc.local.process import Command
from evalsvc.local.supervisor.children.child import ChildSpec
from evalsvc.local.supervisor.front.caddyfile import CaddyPlan
from evalsvc.local.supervisor.front.trust import ROOT, write_bundle

PROGRAM = "caddy"
GRACE_SECONDS = 5  # as in the template
PROXIED = {
    "EVALSVC_REQUIRE_HTTPS": "1",
    "EVALSVC_BEHIND_PROXY": "1",
}
"""What the service is told behind it, whatever else its environment says."""
HSTS_VARIABLE = "EVALSVC_HSTS_SECONDS"
"""0 unless it is set: a browser would insist on https at each port of this machine, for a year."""


def find_caddy() -> str | None:
    """Return the program of the environment's wheel, or one on the PATH; None where there is none."""
    beside = Path(sys.executable).with_name(PROGRAM)
    return str(beside) if beside.is_file() else shutil.which(PROGRAM)


@dataclass(frozen=True)
class CaddyFront:
    """One start's Caddy."""

    program: str
    folder: Path
    """Its own: Caddyfile, keys, certificates."""
    listener: socket.socket
    address: str
    """The address at which this machine reaches it, without brackets."""
    plan: Callable[[str, Path], CaddyPlan]
    """Makes the plan of a network address to listen at, and a folder for keys."""

    @property
    def port(self) -> int:
        """Return where it listens."""
        return int(self.listener.getsockname()[1])

    @property
    def url(self) -> str:
        """Return where the service is called."""
        return f"https://[{self.address}]:{self.port}" if ":" in self.address else f"https://{self.address}:{self.port}"

    @property
    def ca_file(self) -> Path:
        """Return the certificate of its authority. It is there once Caddy is ready, and stays for ten years."""
        return self.folder / "data" / ROOT

    def trust(self) -> dict[str, str]:
        """Write the bundle for shells; return what a shell needs to call the service."""
        bundle = write_bundle(self.folder / "ca-bundle.pem", self.ca_file)
        return {"EVALSVC_CA_FILE": str(self.ca_file), "SSL_CERT_FILE": str(bundle)}

    def command(self) -> Command:
        """Write the Caddyfile; return how Caddy is run. Raises UnfitName."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = self.listener.fileno()
        caddyfile = self.folder / "Caddyfile"
        caddyfile.write_text(self.plan(f"fd/{number}", self.folder / "data").text(), encoding="utf-8")
        return Command(
            [self.program, "run", "--config", str(caddyfile), "--adapter", "caddyfile"],
            # It sees no secret of ours.
            env={"HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)},
            cwd=self.folder,
            pass_fds=(number,),
        )

    def spec(self, stage: int) -> ChildSpec:
        """Describe the child. Of the stage of the service: both stop at once, and the service answers who waits."""
        return ChildSpec(PROGRAM, self.command, self.answers, stage, stop_timeout=2 * GRACE_SECONDS)

    def answers(self) -> bool:
        """Return whether Caddy ends TLS with a certificate of its authority; the service behind it is not checked."""
        if not self.ca_file.exists():
            return False
        try:
            context = ssl.create_default_context(cafile=str(self.ca_file))
            connection = http.client.HTTPSConnection(self.address, self.port, timeout=2, context=context)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            return False
        connection.close()
        return True
