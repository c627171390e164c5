"""Who reaches whom, by the rules of NetworkPolicy: what no policy selects is open, else what any of them allows."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from tests.deploy.chart.helm import Manifest
from tests.deploy.chart.policy import _matches


@dataclass(frozen=True)
class Peer:
    """The other end: a pod with labels in a namespace with labels, or an address outside."""

    address: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    namespace: dict[str, str] = field(default_factory=dict)
    is_here: bool = False
    """Whether it is in the policies' own namespace."""


def reaches(
    policies: list[Manifest], labels: dict[str, str], way: str, peer: Peer, port: int, protocol: str = "TCP"
) -> bool:
    """Say whether a pod with these labels may be reached (`ingress`) or reach (`egress`)."""
    mine = [
        one["spec"] for one in policies
        if _matches(labels, one["spec"]["podSelector"]) and way.title() in one["spec"]["policyTypes"]
    ]  # fmt: skip
    rules = [rule for spec in mine for rule in spec.get(way, [])]
    return not mine or any(_allows(rule, way, peer, port, protocol) for rule in rules)


def _allows(rule: Manifest, way: str, peer: Peer, port: int, protocol: str) -> bool:
    ports, peers = rule.get("ports"), rule.get("from" if way == "ingress" else "to")
    fits = not ports or any(
        one.get("protocol", "TCP") == protocol and one["port"] <= port <= one.get("endPort", one["port"])
        for one in ports
    )
    return fits and (not peers or any(_is(one, peer) for one in peers))


def _is(rule: Manifest, peer: Peer) -> bool:
    if block := rule.get("ipBlock"):
        return (
            bool(peer.address)
            and _within(peer.address, block["cidr"])
            and not any(_within(peer.address, one) for one in block.get("except", []))
        )
    if peer.address:
        return False
    if "namespaceSelector" in rule:
        return _matches(peer.namespace, rule["namespaceSelector"]) and _matches(
            peer.labels, rule.get("podSelector", {})
        )
    return peer.is_here and _matches(peer.labels, rule["podSelector"])


def _within(address: str, cidr: str) -> bool:
    return ipaddress.ip_address(address) in ipaddress.ip_network(cidr)
