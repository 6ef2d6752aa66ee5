#!/bin/sh
# Runs the translate program as its users do: trains, kills, goes on, translates,
# scores, draws, and calls it wrongly.
#
#   sh program.sh PROGRAM MODEL FOLDER
#
# MODEL: a folder with number words learned. FOLDER: to work in, is emptied.
set -eu
program=$1 model=$2 folder=$3
source=$(CDPATH='' cd -- "$(dirname -- "$0")/../../.." && pwd)
rm -rf "$folder" && mkdir -p "$folder"
cd "$folder"

fail() {
  echo "program.sh: $*" >&2
  exit 1
}

# A run killed at any moment goes on to the same bits.
brief="--eval-every 20 --keep 2 --dropout 0.1 --goal 0 --seed 3"
# shellcheck disable=SC2086  # several words
"$program" train --model whole $brief --steps 120 >whole.log
# shellcheck disable=SC2086
"$program" train --model parts $brief --steps 120 >parts.log &
training=$!
waited=0
until [ -f parts/checkpoint.safetensors ]; do
  sleep 0.1
  waited=$((waited + 1))
  [ "$waited" -lt 600 ] || fail "no checkpoint within a minute"
done
kill -9 "$training" 2>/dev/null || true
wait "$training" 2>/dev/null || true
"$program" train --model parts --resume --patience 7 >>parts.log
cmp whole/model.safetensors parts/model.safetensors
grep '"loss"' whole/log.jsonl >whole.losses
grep '"loss"' parts/log.jsonl | cmp - whole.losses
grep -q '</svg>' whole/curves.svg

# Told to stop, it saves and says how to go on.
# shellcheck disable=SC2086
"$program" train --model stopped $brief --steps 100000 >stopped.log &
training=$!
sleep 2
kill -TERM "$training"
status=0
wait "$training" || status=$?
[ "$status" -eq 143 ] || fail "stopped with status $status"
grep -q 'translate train --resume --model stopped' stopped.log

# A line in gives a line out, blank stays blank.
printf 'forty-two thousand and seven\n\n \r\nsix hundred and seventeen' >src
printf 'zweiundvierzigtausendsieben\n\n\nsechshundertsiebzehn\n' >ref
"$program" run --model "$model" <src >out
cmp ref out
"$program" run --model "$model" --beam 1 --batch 1 <src >out
cmp ref out
"$program" run --model "$model" --score <src >out
grep -q "$(printf '^-[0-9.]*\tzweiundvierzigtausendsieben$')" out
"$program" run --model "$model" --n-best 3 <src >out
grep -q '^0 ||| zweiundvierzigtausendsieben ||| -[0-9.]*$' out
[ "$(grep -c '^0 |||' out)" -gt 1 ] || fail "no more than one of the best"
[ "$(grep '^[12] |||' out)" = "$(printf '1 ||| ||| 0\n2 ||| ||| 0')" ]
grep -q '^3 ||| sechshundertsiebzehn ||| -' out
printf '\357\273\277forty-two\n' | "$program" run --model "$model" >out
[ "$(cat out)" = zweiundvierzig ] || fail "a byte order mark was translated"

# Whoever writes a line and waits gets its answer.
mkfifo asked said
"$program" run --model "$model" <asked >said &
exec 3>asked 4<said
for number in forty-two seven; do
  echo "$number" >&3
  timeout 60 head -n 1 <&4 >>answers || fail "no answer to $number"
done
exec 3>&- 4<&-
wait $!
[ "$(cat answers)" = "$(printf 'zweiundvierzig\nsieben')" ]

"$program" evaluate --model "$model" --src src --ref ref >scores
grep -q '^chrF2 = 100.00$' scores
printf 'the cat sat on mat\n' >hyp
printf 'the cat sat on the mat\n' >sentence
"$program" evaluate --hyp hyp --ref sentence >scores
grep -q '^BLEU = 57.89 ' scores
grep -q 'case:mixed|eff:no|tok:13a|smooth:exp' scores

"$program" attention --model "$model" --text "forty-two" --out page.html >drawn
grep -q '</html>' page.html
"$program" attention --model "$model" --text "forty-two" --terminal >drawn
grep -q 'layer 2, head 4' drawn
"$program" info --model "$model" | grep -q 'pieces'

# A text of one's own, compressed; a line far too long.
gzip -c "$source/README.md" >text.gz
"$program" train --preset tiny --src text.gz --tgt "$source/README.md" \
  --vocab-size 300 --steps 12 --eval-every 6 --model text >text.log
awk 'BEGIN { for (i = 0; i < 10000; ++i) printf "heed " }' >long
# warned WORDS...: tells soon, and once, what is not translated.
warned() {
  timeout 60 "$program" "$@" --model text --max-length 4 <long >out 2>err ||
    fail "status $? of: $*"
  [ "$(grep -c 'only the first 1023 tokens' err)" -eq 1 ] ||
    fail "no warning of: $*"
}
warned run --align
warned evaluate --src long --ref long
warned attention --text "$(cat long)" --terminal --layer 1 --head 1
warned attention --text "$(cat long)" --translation heed --out long.html

# wrong WORDS...: ends with status 2 and one line that says why.
wrong() {
  status=0
  "$program" "$@" </dev/null >out 2>err || status=$?
  [ "$status" -eq 2 ] || fail "status $status of: $*"
  [ "$(wc -l <err)" -eq 1 ] || fail "more than a line of: $*"
}
wrong dance
wrong train --colour red
wrong train --lr fast
wrong train --src missing --tgt missing
wrong train --src src --tgt hyp --model new
wrong train --src /dev/null --tgt /dev/null --model new
wrong train --model "$model"
wrong train --resume --model missing
for flags in "--d-ff 32" "--dropout 0.2" "--task dates" "--vocab-size 99"; do
  # shellcheck disable=SC2086
  wrong train --resume --model parts $flags
done
grep -q '^patience=7$' parts/settings.toml || fail "settings were not kept"
# A start that fails leaves the old model, and nothing in the way of the next.
cp whole/model.safetensors old
wrong train --model whole --overwrite --task dates --max-tokens 1
cmp old whole/model.safetensors
wrong train --model new --task dates --max-tokens 1
[ ! -e new ] || fail "a failed start left a folder"
rm whole/translate.json
wrong train --model whole
cmp old whole/model.safetensors
wrong train --heads 7 --model new
wrong run --model missing
wrong run --model "$model" --n-best 9
wrong evaluate --ref ref
wrong evaluate --hyp hyp --ref ref
wrong evaluate --hyp missing --ref ref
wrong attention --model "$model" --text forty
wrong attention --model "$model" --text forty --terminal --layer 3
grep -q -- '--layer must be in \[1, 2\], got 3' err
wrong attention --model "$model" --text forty --terminal --head 5
grep -q -- '--head must be in \[1, 4\], got 5' err
wrong attention --model "$model" --text forty --out page.html --layer 1
wrong attention --model "$model" --text forty --terminal \
  --translation "$(printf 'gr\374n')"
grep -q -- '--translation must be UTF-8' err
wrong info --model "$source/README.md"
printf 'gr\374n\n' >latin
wrong evaluate --hyp latin --ref latin
wrong train --src latin --tgt latin --model new
status=0
"$program" run --model "$model" <latin 2>err || status=$?
[ "$status" -eq 2 ] || fail "status $status of a line that is not UTF-8"
cp -R "$model" other
sed 's/"version": 1/"version": 9/' "$model/translate.json" >other/translate.json
wrong info --model other
cp "$model/translate.json" other/translate.json
head -c 1000 "$model/model.safetensors" >other/model.safetensors
wrong info --model other
cp text/model.safetensors other/model.safetensors  # many lines to say
wrong info --model other
[ "$(wc -c <err)" -lt 600 ] || fail "a line far too long"
mkdir translate_nothing
wrong info --model translate_nothing
grep -q '^translate: translate_nothing' err

# full WORDS...: says so when nothing can be written.
full() {
  status=0
  "$program" "$@" <src >/dev/full 2>err || status=$?
  [ "$status" -eq 2 ] || fail "status $status with a full disk: $*"
  [ "$(grep -c 'the output cannot be written' err)" -eq 1 ] ||
    fail "no word of the full disk: $*"
}
full --help
full run --model "$model"
full evaluate --hyp src --ref src
full info --model "$model"
full attention --model "$model" --text forty --terminal
echo "translate does what it says"
