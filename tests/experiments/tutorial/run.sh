#!/bin/sh
# docs/tutorial.md as a reader would follow it, from the files in its blocks, with fewer updates.
#
#     run.sh SOURCE FOLDER_OF_SURD
set -eu
source=$1
PATH=$2:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

awk '
  /^```/ { block = block == "" ? substr($0, 4) " " : ""; next }
  block == "python " { print > "numbers.py" }
  block == "yaml " { print > "numbers.yaml" }
  block == "sh " { print > "commands.sh" }
' "$source/docs/tutorial.md"
sed -i 's/updates: 1000/updates: 20/; s/evaluate_every: 100/evaluate_every: 10/; s/checkpoint_every: 100/checkpoint_every: 5/' numbers.yaml
sed -i 's/--last 5/--last 3/' commands.sh
grep -c '^surd train' commands.sh | grep -x 2

sh -eux commands.sh >output 2>&1 || { cat output; exit 1; }
cat output
paste -d "\n" test.en test.de | head -n 4 >sample
awk '/^```/ { inside = !inside; next } inside' "$source/docs/tutorial.md" | grep -F -x -c -f sample | grep -x 4
grep -x 'numbers.yaml: ok' output
grep -x 'vocabulary  source 403, target 403 (shared), bpe' output
grep '^BLEU|nrefs:1|case:mixed' output
grep '^chrF2|nrefs:1' output
grep 'mean of 3 checkpoints, after updates 10, 15, 20' output
grep '^sqrt_dim  *1/1' output
test "$(wc -l <test.hyp)" = 500
test -s alignment.html
test -s curves.html
