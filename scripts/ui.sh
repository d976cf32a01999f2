#!/usr/bin/env bash
# Opens `dagster dev` on a lake: scripts/ui.sh LAKE PORT. Ctrl-C ends it.
set -euo pipefail
cd "$(dirname "$0")/.."
lake=$1
port=$2

if [ ! -d "$lake/dagster" ]; then
  echo "There is no lake in $lake yet: run make demo first." >&2
  exit 1
fi
# A second server on a taken port would start its daemon on the same lake before it fails, so look first.
.venv/bin/python - "$port" <<'PYTHON' || exit 1
import socket, sys

text = sys.argv[1]
if not text.isdecimal() or not 0 < int(text) < 65536:
    sys.exit(f"PORT={text} is not a port: use a number from 1 to 65535.")
with socket.socket() as probe:
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        probe.bind(("127.0.0.1", int(text)))
    except OSError as error:
        sys.exit(f"Port {text} cannot be used ({error.strerror}): stop what listens there or choose another, make ui PORT=3001.")
PYTHON

export DAGSTER_HOME
DAGSTER_HOME=$(cd "$lake/dagster" && pwd)
echo "Dagster opens at http://127.0.0.1:$port; Ctrl-C ends it."
exec .venv/bin/dagster dev -w workspace.yaml -h 127.0.0.1 -p "$port"
