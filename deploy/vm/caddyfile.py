"""Print the Caddyfile of one machine, from the release's template: `python - HOSTS DOMAIN ACME ACME_ROOT`."""

import sys
from pathlib import Path

from evalsvc.local.supervisor.front.caddyfile import CaddyPlan

STORAGE = Path("/var/lib/evalsvc-caddy")
INTERNAL = "\ttls internal\n"


def main(hosts: str, domain: str, acme: str, acme_root: str) -> str:
    """Return the Caddyfile; a domain gets its certificate from an ACME authority, other names from Caddy's own."""
    names = tuple(name for name in [*hosts.split(","), domain] if name)
    text = CaddyPlan("fd/3", names, STORAGE, "unix//run/evalsvc-web.sock", "127.0.0.1:4317").text()
    if not domain:
        return text
    # Caddy knows by itself which names only its own authority can speak for.
    text = text.replace(INTERNAL, "", 1)
    asked = [("acme_ca", acme), ("acme_ca_root", acme_root)]
    options = "".join(f"\t{name} {value}\n" for name, value in asked if value)
    return text.replace("\tadmin off\n", f"\tadmin off\n{options}", 1)


print(main(*sys.argv[1:]), end="")
