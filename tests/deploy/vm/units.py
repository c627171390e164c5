"""What is wrong with the unit files of deploy/vm, as far as their text tells; a booted machine tells the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import CHECKOUT

VM = CHECKOUT / "deploy" / "vm"
SCRIPTS = [*(VM / name for name in ("install", "upgrade", "uninstall")), *VM.glob("*.sh")]
PROGRAMS = [VM / "files" / name for name in ("run", "backup", "evalsvc-manage")]
Entry = tuple[str, str, str]
"""Section, key, value."""
SHARED = "evalsvc-.service.d/10-hardening.conf"
HARDENING = {
    "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "AmbientCapabilities": "", "PrivateUsers": "yes",
    "PrivateTmp": "yes", "PrivateDevices": "yes", "PrivateIPC": "yes", "DevicePolicy": "closed",
    "ProtectSystem": "strict", "ProtectHome": "yes", "ProtectProc": "invisible", "ProtectClock": "yes",
    "ProtectControlGroups": "yes", "ProtectHostname": "yes", "ProtectKernelLogs": "yes",
    "ProtectKernelModules": "yes", "ProtectKernelTunables": "yes", "RestrictNamespaces": "yes",
    "RestrictRealtime": "yes", "RestrictSUIDSGID": "yes", "RemoveIPC": "yes", "LockPersonality": "yes",
    "MemoryDenyWriteExecute": "yes", "KeyringMode": "private", "SystemCallArchitectures": "native",
    "SystemCallFilter": "@system-service ~@privileged", "SystemCallErrorNumber": "EPERM", "UMask": "0077",
}  # fmt: skip
KNOWN = {
    "Unit": {"Description", "After", "Wants", "Requires", "PartOf", "StartLimitIntervalSec"},
    "Service": {
        *HARDENING,
        "Type", "User", "Group", "SupplementaryGroups", "Environment", "EnvironmentFile", "ExecStart", "Restart",
        "RestartSec", "KillMode", "TimeoutStartSec", "TimeoutStopSec", "StateDirectory", "StateDirectoryMode",
        "RuntimeDirectory", "RuntimeDirectoryMode", "ReadWritePaths", "PrivateNetwork", "RestrictAddressFamilies",
        "IPAddressDeny", "IPAddressAllow", "ProcSubset", "MemoryMax", "TasksMax", "LimitNOFILE", "Nice",
        "IOSchedulingClass", "IOSchedulingPriority",
    },
    "Socket": {"ListenStream", "SocketGroup", "SocketMode", "Backlog", "NoDelay"},
    "Timer": {"OnCalendar", "RandomizedDelaySec", "Persistent"},
    "Install": {"WantedBy"},
}  # fmt: skip
BOUNDS = ("User", "MemoryMax", "TasksMax", "RestrictAddressFamilies")
SECRET = re.compile(r"\b\w*(SECRET|PASSWORD|TOKEN|PEPPER|KEYS?)=\S|://[^/\s:]*:[^@\s]+@")


def files(folder: Path) -> list[Path]:
    """Return all unit files and drop-ins."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def entries(path: Path) -> Iterator[Entry]:
    """Yield what a unit file says, line by line; a line that is none of its kinds has no section and no key."""
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if header := re.fullmatch(r"\[(\w+)\]", line):
            section = header[1]
        elif pair := re.fullmatch(r"(\w+)=(.*)", line):
            yield section, pair[1], pair[2]
        else:
            yield "", "", line


def service(path: Path) -> dict[str, str]:
    """Return the section Service; what is said several times stands in one value."""
    told: dict[str, str] = {}
    for section, key, value in entries(path):
        if section == "Service":
            told[key] = f"{told[key]} {value}" if key in told else value
    return told


def problems(folder: Path) -> list[str]:
    """Return a sentence for each fault."""
    return [*_unknown(folder), *_unhardened(folder), *_unbounded(folder), *_secrets(folder)]


def _unknown(folder: Path) -> Iterator[str]:
    for path in files(folder):
        for section, key, value in entries(path):
            if key not in KNOWN.get(section, set()):
                yield f"{path.name}: {key or value} is not known in [{section}]"


def _unhardened(folder: Path) -> Iterator[str]:
    told = service(folder / SHARED)
    yield from (
        f"{key} is {told.get(key)!r}, not {value!r}" for key, value in HARDENING.items() if told.get(key) != value
    )
    # A unit of its own mind would be read after nothing: drop-ins are read last, so only they could take it back.
    for path in files(folder):
        if path != folder / SHARED and path.suffix in (".service", ".conf"):
            yield from (f"{path.name} says {key} itself" for key in set(service(path)) & set(HARDENING))
            if path.suffix == ".service" and not path.name.startswith("evalsvc-"):
                yield f"{path.name} is not reached by {SHARED}"


def _unbounded(folder: Path) -> Iterator[str]:
    for path in folder.glob("*.service"):
        told = service(path)
        yield from (f"{path.name} has no {key}" for key in BOUNDS if not told.get(key))
        if told.get("User") == "root":
            yield f"{path.name} runs as root"
        if told.get("Type") != "oneshot" and told.get("Restart") != "always":
            yield f"{path.name} is not started again"


def _secrets(folder: Path) -> Iterator[str]:
    for path in files(folder):
        for _, key, value in entries(path):
            if key in ("Environment", "ExecStart") and SECRET.search(value):
                yield f"{path.name}: a secret in {key}"
