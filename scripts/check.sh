#!/bin/sh
# Every gate but the tests; `sh scripts/check.sh mypy imports` runs two of them.

cd "$(dirname "$0")/.." || exit 1
exec "${EVALSVC_VENV:-.venv}/bin/python" scripts/check.py "$@"
