"""Whom a shell trusts that calls the service: all whom the system trusts, and Caddy's own authority."""

import os
import ssl
from pathlib import Path

SYSTEM_ROOTS = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # macOS, BSD
)
ROOT = Path("pki", "authorities", "local", "root.crt")
"""Where Caddy keeps the certificate of its authority, in its storage."""
PUBLIC_FILE = 0o644


def system_roots() -> Path | None:
    """Return the file of authorities that OpenSSL's users read by default; None where there is none."""
    default = ssl.get_default_verify_paths()
    candidates = (os.environ.get("SSL_CERT_FILE"), default.cafile, default.openssl_cafile, *SYSTEM_ROOTS)
    existing = (Path(path) for path in candidates if path and Path(path).is_file())
    return next(existing, None) or _certifi()


def _certifi() -> Path | None:
    try:
        import certifi
    except ImportError:
        return None
    return Path(certifi.where())


def write_bundle(bundle: Path, root: Path) -> Path:
    """Write the bundle for SSL_CERT_FILE: with Caddy's certificate alone, pip would trust no other server."""
    ca_certificate = root.read_text(encoding="ascii").strip()
    system = system_roots()
    # SSL_CERT_FILE might point to the bundle of an earlier start.
    theirs = (
        ""
        if system is None
        else system.read_text(encoding="utf-8", errors="replace").replace(ca_certificate, "").rstrip()
    )
    draft = bundle.with_name(f".{bundle.name}.draft")
    draft.write_text(f"{theirs}\n{ca_certificate}\n".lstrip(), encoding="utf-8")
    draft.chmod(PUBLIC_FILE)
    return draft.replace(bundle)
