"""The Caddyfile of one start, made from the template that is shipped."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from string import Template

TEMPLATE = Path(__file__).with_name("service.caddy")
OTLP_TEMPLATE = Path(__file__).with_name("otlp.caddy")
PLACE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-*:[]"
"""The characters of a host; any other could end a name, and begin a directive of somebody else's."""


class UnfitName(ValueError):
    """A host name for which no certificate can be issued; the message gives the name."""


@dataclass(frozen=True)
class CaddyPlan:
    """What the template leaves open."""

    listener: str
    """Caddy's network address of the socket to serve on, as `fd/7`."""
    names: tuple[str, ...]
    """Hosts to answer to; each gets a certificate of Caddy's own authority."""
    storage: Path
    """The folder of keys and certificates."""
    web: str
    """host:port of gunicorn."""
    otlp: str | None = None
    """host:port of OTLP over gRPC, if it is there."""

    def text(self) -> str:
        """Return the Caddyfile. Raises UnfitName."""
        return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
            listener=self.listener,
            names=", ".join(format_site_address(name) for name in self.names),
            storage=self.storage,
            web=self.web,
            otlp="# No OTLP over gRPC." if self.otlp is None else self._otlp(self.otlp),
            so="${so}",
        )

    @staticmethod
    def _otlp(address: str) -> str:
        return Template(OTLP_TEMPLATE.read_text(encoding="utf-8")).substitute(otlp_address=address)


def format_site_address(host: str) -> str:
    """Return the address of a site for a host as EVALSVC_ALLOWED_HOSTS writes it. Raises UnfitName."""
    if not host or not set(host) <= set(PLACE):
        raise UnfitName(f"{host!r} is no host that a certificate can be made for.")
    return f"https://*{host}" if host.startswith(".") else f"https://{host}"


def list_hosts(allowed: str, host: str) -> tuple[str, ...]:
    """Return the hosts to answer to: those of EVALSVC_ALLOWED_HOSTS, and the address that is listened at."""
    names = [part.strip() for part in allowed.split(",") if part.strip()]
    return tuple(unique([*names, f"[{host}]" if ":" in host else host]))


def unique(names: Iterable[str]) -> Iterable[str]:
    """Return each once, in the order of the first."""
    return dict.fromkeys(names)
