#!/bin/sh
# Installs what is missing, builds heed and its tests, and runs them all.
# Arguments go to ctest, so that one file's tests can run alone:
#
#   sh tests/run.sh -R nn/linear
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."

sh setup.sh tests
echo "run: building heed_tests (a few minutes the first time)"
cmake --preset release -DHEED_BUILD_TESTS=ON --log-level=WARNING
cmake --build build/release --target heed_tests

log=build/release/Testing/Temporary/LastTest.log
rm -f "$log"
status=0
ctest --test-dir build/release --output-on-failure --no-tests=error "$@" ||
  status=$?

# The last line counts test cases; a file that died before it could report its
# own counts as one failed case.
[ -f "$log" ] && awk '
  /^\[doctest\] test cases:/ {
    gsub(/\|/, " "); passed += $5; failed += $7; broken = ($7 > 0)
  }
  /^Test Failed\.$/ && !broken { ++failed }
  /^Test (Passed|Failed)\.$/ { broken = 0 }
  END { printf "%d passed, %d failed\n", passed, failed }' "$log"
exit "$status"
