#!/bin/sh
# Installs what heed is built with and this machine lacks. examples/run.sh and
# tests/run.sh call it; alone: `sh setup.sh`, or `sh setup.sh tests`.
#
#   always   a C++20 compiler, CMake (3.22 or newer), Ninja, OpenBLAS (its
#            OpenMP build), nlohmann-json, CLI11, zlib and SentencePiece (both
#            for examples/translate)
#   tests    doctest as well, and OpenMP where the compiler comes without
#
# Debian and Ubuntu: with apt-get, through sudo when not root; apt-get is not
# called when nothing is missing. Elsewhere it names what to install.
set -eu

missing=
need() { missing="$missing $1"; }
has() { command -v "$1" >/dev/null 2>&1; }
installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Tools may come from anywhere; of libraries, dpkg knows the development files.
has "${CXX:-c++}" || need g++
has cmake || need cmake
has ninja || need ninja-build

if has apt-get && has dpkg-query; then
  libraries="libopenblas-openmp-dev nlohmann-json3-dev libcli11-dev
    zlib1g-dev libsentencepiece-dev"
  [ "${1:-}" != tests ] || libraries="$libraries doctest-dev"
  for package in $libraries; do
    installed "$package" || need "$package"
  done
  [ -n "$missing" ] || exit 0

  root=
  if [ "$(id -u)" -ne 0 ]; then
    if ! has sudo; then
      echo "setup: missing packages; install them as root with" >&2
      echo "  apt-get install$missing" >&2
      exit 1
    fi
    root=sudo
  fi
  echo "setup: installing$missing"
  apt_get() {
    $root env DEBIAN_FRONTEND=noninteractive apt-get -qq \
      -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"
  }
  # One unreachable source of several need not stop the installation.
  apt_get update || echo "setup: apt-get update failed, going on" >&2
  # shellcheck disable=SC2086  # one word a package
  if ! apt_get install -y --no-install-recommends $missing >/dev/null; then
    echo "setup: could not install$missing" >&2
    exit 1
  fi
else
  wanted="cmake ninja openblas nlohmann-json cli11 zlib sentencepiece"
  [ "${1:-}" != tests ] || wanted="$wanted doctest libomp"
  if [ -n "$missing" ]; then
    echo "setup: missing tools; here there is no apt-get to install them." >&2
    echo "setup: needed are a C++20 compiler and: $wanted" >&2
    if has brew; then
      echo "  brew install $wanted" >&2
    fi
    exit 1
  fi
  echo "setup: no apt-get here; if CMake misses something, install $wanted" >&2
fi
