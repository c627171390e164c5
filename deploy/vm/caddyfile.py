"""Print the Caddyfile of one machine, from the release's template: `python - HOSTS DOMAIN ACME ACME_ROOT`."""

import re
import sys
from pathlib import Path

from evalsvc.local.supervisor.front.caddyfile import CaddyPlan, format_site_address

STORAGE = Path("/var/lib/evalsvc-caddy")
INTERNAL = "\ttls internal\n"
SITE = re.compile(r"^https://\S[^\n]* \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
"""The block of the names; the one for all other names begins with `https:// {`."""


def main(hosts: str, domain: str, acme: str, acme_root: str) -> str:
    """Return the Caddyfile; a domain gets its certificate from an ACME authority, other names from Caddy's own."""
    names = tuple(name for name in hosts.split(",") if name)
    text = CaddyPlan("fd/3", names, STORAGE, "unix//run/evalsvc-web.sock", "127.0.0.1:4317").text()
    if not domain:
        return text
    site = SITE.search(text)[0]
    block = site.partition("\n")[2].replace(INTERNAL, issuer(acme, acme_root), 1)
    return text.replace(site, f"{site}\n{format_site_address(domain)} {{\n{block}", 1)


def issuer(acme: str, acme_root: str) -> str:
    """Return the line of the authority. It asks back at port 443, as port 80 is nobody's here."""
    asked = (("dir", acme), ("trusted_roots", acme_root))
    options = "".join(f"\t\t\t{name} {value}\n" for name, value in asked if value)
    return f"\ttls {{\n\t\tissuer acme {{\n{options}\t\t\tdisable_http_challenge\n\t\t}}\n\t}}\n"


print(main(*sys.argv[1:]), end="")
