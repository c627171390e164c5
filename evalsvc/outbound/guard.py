"""Which addresses, URLs and headers an outgoing call may have.

A host name is looked up once, and the connection goes to an address of that answer that passed the check. So a name
that resolves differently the next time does not get past the check. Nor does an odd spelling of an address.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from evalsvc.outbound.failures import OutboundFailed

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Listed here, because `is_global` of the standard library differs between Python versions. The list follows the IANA
# registries of special-purpose addresses (RFC 6890), and adds two addresses of cloud metadata that look public.
REFUSED = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments, metadata
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        "168.63.129.16/32",  # metadata
        "::ffff:0:0:0/96",  # stateless translation (SIIT): maps to any IPv4 address
        "::/96",  # unspecified, loopback, IPv4-compatible
        "64:ff9b::/96",  # NAT64: maps to any IPv4 address
        "64:ff9b:1::/48",  # NAT64 of the local network
        "100::/64",  # discard
        "2001::/23",  # protocol assignments, Teredo, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: maps to any IPv4 address
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fc00::/7",  # unique local, metadata
        "fe80::/10",  # link-local
        "fec0::/10",  # site-local
        "ff00::/8",  # multicast
    )
)
NOT_CALLED = (
    "The host's address is not one that this service calls; the operator's EVALSVC_OUTBOUND_ALLOW names the private "
    "networks that it does call."
)
UNUSUAL_PORT = "This service calls no public address at port {}; the operator's EVALSVC_OUTBOUND_PORTS says at which."
IN_CLEAR = "Plain http is for networks that the operator allows; use https."
# Headers that callers may not set: they frame the message, or belong to one hop on the way to the server.
FRAMING = frozenset(("host", "content-length", "transfer-encoding", "accept-encoding", "expect", "trailer", "te"))
OF_HOPS = frozenset(("connection", "keep-alive", "upgrade", "proxy-connection", "proxy-authorization"))
OWN_HEADERS = FRAMING | OF_HOPS
_running_lookups: dict[tuple[asyncio.AbstractEventLoop, str, int], asyncio.Future[list[str]]] = {}
_hex_digits = frozenset("0123456789abcdef")
_token = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")


def is_refused(address: Address, *, allow: Sequence[Network] = ()) -> bool:
    """Return whether calls to the address are refused.

    IPv4-mapped IPv6 addresses (::ffff:0:0/96) are checked as IPv4.
    """
    address = getattr(address, "ipv4_mapped", None) or address
    return not _is_in_networks(address, allow) and _is_in_networks(address, REFUSED)


def may_connect(address: Address, port: int, *, plain: bool) -> bool:
    """Return whether a call may go there: other ports and plain http only where the operator's settings allow it."""
    return _misfit(address, port, plain=plain) is None


def _misfit(address: Address, port: int, *, plain: bool) -> str | None:
    """Return why a call may not go there."""
    allow = settings.OUTBOUND_ALLOW
    if is_refused(address, allow=allow):
        return NOT_CALLED
    if _is_in_networks(getattr(address, "ipv4_mapped", None) or address, allow):
        return None
    if plain and not settings.OUTBOUND_PLAIN_HTTP:
        return IN_CLEAR
    return None if is_usual(port) else UNUSUAL_PORT.format(port)


def is_usual(port: int) -> bool:
    """Return whether public addresses are called at this port."""
    return any(port in usual for usual in settings.OUTBOUND_PORTS)


def _is_in_networks(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


def resolve_addresses(host: str, port: int, *, plain: bool, timeout: float) -> list[str]:
    """Resolve a name once, and return the addresses to which a connection is allowed, in the resolver's order.

    Raises OutboundFailed: `connection` when the name does not exist, `refused_address` when all of its addresses are
    refused, `timeout` when the resolver has not answered after `timeout` seconds.
    """
    return _filter_addresses(literal(host) or _look_up(host, port, timeout), port, plain=plain)


async def resolve_addresses_async(host: str, port: int, *, plain: bool) -> list[str]:
    """Look a name up as `resolve_addresses` does, but without a time limit: the caller sets one."""
    return _filter_addresses(literal(host) or await _look_up_async(host, port), port, plain=plain)


def _filter_addresses(addresses: Sequence[str], port: int, *, plain: bool) -> list[str]:
    candidates = [ip_address(text.partition("%")[0]) for text in addresses]
    misfits = [_misfit(address, port, plain=plain) for address in candidates]
    if None not in misfits:
        raise _refusal(misfits)
    return [str(address) for address, misfit in zip(candidates, misfits, strict=True) if misfit is None]


def _refusal(misfits: Sequence[str | None]) -> OutboundFailed:
    # The message names neither the address nor its kind, so that it cannot be used to map the operator's network.
    reason = next((misfit for misfit in misfits if misfit not in (None, NOT_CALLED)), NOT_CALLED)
    return OutboundFailed(OutboundFailed.REFUSED_ADDRESS, reason or NOT_CALLED)


def resolve_host(host: str, port: int) -> list[str]:
    """Resolve a host with the resolver of this machine, and return each address once."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def literal(host: str) -> list[str]:
    """Return the address if the host is written as one; an empty list for a name."""
    try:
        return [str(ip_address(host))]
    except ValueError:
        return []


def _look_up(host: str, port: int, timeout: float) -> list[str]:
    try:
        return _start_look_up(host, port).result(timeout=max(0.0, timeout))
    except FutureTimeout:
        raise OutboundFailed(OutboundFailed.TIMEOUT, "The resolver did not answer in time.") from None


async def _look_up_async(host: str, port: int) -> list[str]:
    """Resolve a name once for all tasks of this loop that need it at the same time."""
    key = (asyncio.get_running_loop(), host, port)
    lookup = _running_lookups.get(key)
    if lookup is None:
        lookup = _running_lookups[key] = asyncio.wrap_future(_start_look_up(host, port))
        lookup.add_done_callback(lambda _: _running_lookups.pop(key, None))
        # Every waiting task might be cancelled before the resolver fails; asyncio would log the exception as never
        # retrieved.
        lookup.add_done_callback(lambda done: done.cancelled() or done.exception())
    return await asyncio.shield(lookup)


def _start_look_up(host: str, port: int) -> Future[list[str]]:
    """Resolve a name in a thread: the resolver does not support timeouts, and only a thread can be abandoned."""
    answer: Future[list[str]] = Future()

    def ask() -> None:
        try:
            answer.set_result(resolve_host(host, port))
        except (OSError, UnicodeError):
            detail = "The host's name cannot be resolved."
            answer.set_exception(OutboundFailed(OutboundFailed.CONNECTION, detail))

    threading.Thread(target=ask, daemon=True, name="outbound-resolver").start()
    return answer


def check_url(url: str) -> SplitResult:
    """Check a URL, as far as is possible without a resolver, and return its parts.

    Raises OutboundFailed: `bad_url`, or `refused_address` for a literal address that may not be called.
    """
    if not 1 <= len(url) <= 2048 or not url.isascii() or not url.isprintable() or any(c in url for c in ' \\"<>^`{|}'):
        raise _bad_url("Write a URL of at most 2048 printable ASCII characters, without spaces.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _bad_url("The host or the port cannot be read.") from None
    if parts.scheme not in ("http", "https"):
        raise _bad_url("The URL must begin with https:// (or http:// in a network that the operator allows).")
    if not host or port == 0:
        raise _bad_url("The URL needs a host, and a port between 1 and 65535 if it names one.")
    if "@" in parts.netloc:
        raise _bad_url("The URL must not hold a user name or a password; send secrets in headers.")
    if parts.fragment or url.endswith("#"):
        raise _bad_url("The URL must not have a fragment.")
    plain = parts.scheme == "http"
    _check_host(host, port or (80 if plain else 443), plain=plain)
    return parts


def why_not_called(url: str) -> str | None:
    """Return why `check_url` refuses a URL; None for a valid one."""
    try:
        check_url(url)
    except OutboundFailed as exc:
        return exc.detail
    return None


def _check_host(host: str, port: int, *, plain: bool) -> None:
    """Refuse an address that is not allowed, and a number that is not a valid address:

    no resolver is needed for these.
    """
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        if _looks_numeric(host):
            raise _bad_url("Write an address in full, as 192.0.2.7; other spellings of numbers are not read.") from None
        # If the operator allows no network, every name resolves to a public address.
        misfit = None if settings.OUTBOUND_ALLOW or is_usual(port) else UNUSUAL_PORT.format(port)
    else:
        misfit = _misfit(address, port, plain=plain)
    if misfit is not None:
        raise _refusal([misfit])


def _looks_numeric(host: str) -> bool:
    """Return whether resolvers may read the host as an IPv4 address: its last part is a number, perhaps in hex."""
    last = host.removesuffix(".").rpartition(".")[2].lower()
    return last.isdigit() or (last.startswith("0x") and set(last[2:]) <= _hex_digits)


def _bad_url(detail: str) -> OutboundFailed:
    return OutboundFailed(OutboundFailed.BAD_URL, detail)


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse headers that would change where the request goes or where it ends; raises OutboundFailed `bad_header`."""
    for name, value in headers.items():
        if not name or not set(name.lower()) <= _token:
            raise OutboundFailed(OutboundFailed.BAD_HEADER, "A header's name has characters that names cannot have.")
        if name.lower() in OWN_HEADERS:
            raise OutboundFailed(OutboundFailed.BAD_HEADER, f"The header {name} is set by the service.")
        if not value.isascii() or not value.replace("\t", " ").isprintable() or value != value.strip():
            detail = f"The value of the header {name} must be printable ASCII on one line, without blanks around it."
            raise OutboundFailed(OutboundFailed.BAD_HEADER, detail)
