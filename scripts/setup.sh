#!/usr/bin/env bash
# Creates .venv with the packages of the project; does nothing when .venv is up to date.
#   scripts/setup.sh            installs everything, for checks and tests
#   scripts/setup.sh --run      installs what the demo and the user interface need
#   scripts/setup.sh --java     also checks that Java is installed, which Spark needs, and records Spark's classes once
# PYTHON=... selects the Python; the default is the newest suitable one on the PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHONS="python3.13 python3.12 python3.11 python3 python"
LEAST_JAVA=17

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

check_java() {
  local java="java" said version
  [ -z "${JAVA_HOME:-}" ] || java="$JAVA_HOME/bin/java"
  if ! said=$("$java" -version 2>&1); then
    fail "Spark needs Java $LEAST_JAVA or later and '$java' does not run: install a JDK (Debian and Ubuntu: openjdk-17-jdk-headless) or set JAVA_HOME."
  fi
  version=$(printf '%s\n' "$said" | sed -nE 's/.*version "([0-9]+)(\.([0-9]+))?.*/\1 \3/p' | head -n 1)
  # Java 8 reports its version as 1.8
  case "$version" in "1 "*) version=${version#1 } ;; *) version=${version%% *} ;; esac
  if ! [ "${version:-0}" -ge "$LEAST_JAVA" ] 2>/dev/null; then
    fail "Spark needs Java $LEAST_JAVA or later and '$java' is Java ${version:-of an unknown version}: install a newer JDK or set JAVA_HOME."
  fi
  java_version=${said%%$'\n'*}
}

# Prints the version as "3.11", or nothing when the command does not run (a pyenv shim may exist without a Python).
python_version() {
  "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true
}

suitable() {
  case "$1" in 3.1[1-9] | 3.[2-9][0-9]) return 0 ;; esac
  return 1
}

find_python() {
  local name version
  if [ -n "${PYTHON:-}" ]; then
    version=$(python_version "$PYTHON")
    [ -n "$version" ] || fail "Python 3.11 or later is needed and PYTHON=$PYTHON does not run."
    suitable "$version" || fail "Python 3.11 or later is needed and PYTHON=$PYTHON is Python $version."
    found=$PYTHON
    return
  fi
  for name in $PYTHONS; do
    if suitable "$(python_version "$name")"; then
      found=$(command -v "$name")
      return
    fi
  done
  if command -v uv >/dev/null && found=$(uv python find '>=3.11' 2>/dev/null); then
    return
  fi
  fail "Python 3.11 or later is needed and none of $PYTHONS on the PATH is one: install it, or name one with PYTHON=/path/to/python."
}

# Whether .venv was created in this folder: a venv does not work after its folder was moved.
created_here() {
  grep -qF "$(pwd -P)/.venv" .venv/bin/activate 2>/dev/null
}

make_venv() {
  echo "Creating .venv with $found (Python $(python_version "$found")${uv:+, uv})."
  rm -rf .venv
  if [ -n "$uv" ]; then
    "$uv" venv --quiet --python "$found" .venv
  elif ! "$found" -m venv .venv; then
    rm -rf .venv
    fail "'$found -m venv' failed: install the venv module (Debian and Ubuntu: python3-venv) or uv."
  fi
}

install() {
  local what=(-c constraints.txt --group demo)
  if [ "$1" = run ]; then
    what+=(-e ".[dagster]")
  else
    what+=(--group dev --group docs -e ".[dagster,polars,pandas]")
  fi
  echo "Installing packages in the versions of constraints.txt."
  if [ -n "$uv" ]; then
    "$uv" pip install --quiet --python .venv/bin/python "${what[@]}"
  else
    # pip supports dependency groups since 25.1
    .venv/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
    PYTHONWARNINGS=ignore .venv/bin/python -m pip install --quiet "${what[@]}"
  fi
}

# Records the classes of a Spark session once for these packages and this Java, so that sessions start faster.
record_classes() {
  if ! [ -w .venv ] || [ "$(cat .venv/classes-done 2>/dev/null)" = "$1" ]; then return; fi
  echo "Recording the classes of Spark once, so that its sessions start faster."
  .venv/bin/python -m assets.demo.record_classes 2>&1 | grep -E '^(note:|Spark sessions)' || true
  printf '%s\n' "$1" >.venv/classes-done
}

main() {
  local scope=all key found="" uv="" wanted option java=""
  for option in "$@"; do
    case "$option" in
    --java)
      check_java
      java=yes
      ;;
    --run) scope=run ;;
    *) fail "scripts/setup.sh: unknown option $option" ;;
    esac
  done
  key="$(cat pyproject.toml constraints.txt scripts/setup.sh | cksum) $(pwd -P)"
  if [ -n "${PYTHON:-}" ]; then
    find_python
    wanted=$(python_version "$PYTHON")
  else
    wanted=$(python_version .venv/bin/python)
  fi
  if [ -x .venv/bin/python ] && suitable "$wanted" && [ "$(python_version .venv/bin/python)" = "$wanted" ] &&
    case "$(cat .venv/setup-done 2>/dev/null)" in "$key all" | "$key $scope") true ;; *) false ;; esac; then
    [ -z "$java" ] || record_classes "$key $java_version"
    return
  fi
  [ -n "$found" ] || find_python
  # only a uv that supports dependency groups
  if command -v uv >/dev/null && uv pip install --help 2>/dev/null | grep -q -e '--group'; then uv=$(command -v uv); fi
  if ! [ -x .venv/bin/python ] || [ "$(python_version .venv/bin/python)" != "${wanted:-none}" ] || ! created_here; then
    make_venv
  fi
  install "$scope"
  printf '%s\n' "$key $scope" >.venv/setup-done
  [ -z "$java" ] || record_classes "$key $java_version"
  echo "Ready."
}

main "$@"
