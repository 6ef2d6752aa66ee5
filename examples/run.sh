#!/bin/sh
# Installs what is missing, builds heed and trains a small Transformer until it
# copies sequences it has never seen. Arguments go to copy_task:
#
#   sh examples/run.sh --help
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

sh "$root/setup.sh"
(
  cd "$root"
  echo "run: building copy_task (a few minutes the first time)"
  cmake --preset release -DHEED_BUILD_EXAMPLES=ON -DHEED_BUILD_TESTS=OFF \
    --log-level=WARNING
  cmake --build build/release --target copy_task
)
exec "$root/build/release/examples/copy_task" "$@"
