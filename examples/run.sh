#!/bin/sh
# Installs what is missing, builds heed and trains two small Transformers: one
# until it copies sequences it has never seen, one until it translates number
# words. Arguments go to copy_task:
#
#   sh examples/run.sh --help
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

sh "$root/setup.sh"
(
  cd "$root"
  echo "run: building copy_task and translate (a few minutes the first time)"
  cmake --preset release -DHEED_BUILD_EXAMPLES=ON -DHEED_BUILD_TESTS=OFF \
    --log-level=WARNING
  cmake --build build/release --target copy_task translate
)
examples=$root/build/release/examples
"$examples/copy_task" "$@"
for argument; do
  case $argument in -h | --help) exit 0 ;; esac
done

echo
model=$root/build/release/numbers_model
"$examples/translate/translate" train --model "$model" --overwrite
echo
echo "Which English pieces each German piece was taken from:"
for number in "forty-two thousand and seven" "six hundred and seventeen" \
  "twenty-one thousand one hundred and one" "nineteen thousand and ninety" \
  "eight hundred and fifty-three thousand two hundred and sixty-four"; do
  echo
  echo "$number"
  echo "$number" |
    "$examples/translate/translate" run --model "$model" --align
done
echo "To translate more: $examples/translate/translate run --model $model"
