#!/bin/sh
# docs/extending.md as a reader would follow it: its files are taken from its code blocks, built as a project of their
# own against a fresh installation, and run.
#
#     run.sh SOURCE BUILD CXX
set -eu
source=$1 build=$2 compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/surd" >"$work/install.log" || { cat "$work/install.log"; exit 1; }

# A block belongs to the file that its first line names: "// main.cpp", "# CMakeLists.txt".
mkdir "$work/project"
awk -v folder="$work/project/" '
  /^```/ { inside = !inside; file = ""; first = inside; next }
  inside && first { first = 0; if ($0 ~ /^(\/\/|#) [A-Za-z_.]+$/) file = folder $2 }
  inside && file { print > file }
' "$source/docs/extending.md"

cmake -S "$work/project" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/surd" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror=return-type"
cmake --build "$work/build"

cd "$work/project"
"$work/build/check"
"$work/build/my_surd" config check rotate.yaml
"$work/build/my_surd" list layers | grep squared_relu
"$work/build/my_surd" list layers | grep decay
"$work/build/my_surd" list subwords | grep lower
"$work/build/my_surd" config schema | grep -c squared_relu
"$work/build/my_surd" study schema | grep -c seconds_per_update
"$work/build/my_surd" hello World | grep -x 'Hello, World!'
"$work/build/my_surd" hello World --times 2 | grep -c Hello | grep -x 2
"$work/build/my_surd" --help | grep 'hello *Greet somebody'
if "$work/build/my_surd" hello World --times 0; then exit 1; fi
"$work/build/my_surd" train rotate.yaml --out "$work/run" --set train.updates=20 --set train.evaluate_every=20
"$work/build/my_surd" samples "$work/run" --count 2
printf 'Hello World\nhello you\n' >"$work/text"
files=$(for split in train valid test; do printf ", ${split}_source: $work/text, ${split}_target: $work/text"; done)
echo "{task: {name: parallel_text, subwords: {kind: lower}$files}, train: {updates: 2, evaluate_every: 2}}" >"$work/lower.yaml"
"$work/build/my_surd" train "$work/lower.yaml" --out "$work/lower"
grep -x hello "$work/lower/vocabulary/source.txt"
if grep Hello "$work/lower/vocabulary/source.txt"; then exit 1; fi
"$work/build/my_surd" study run speed.yaml --out "$work/speed" --jobs 2
"$work/build/my_surd" study export "$work/speed" | grep -c '^d=128/seed-[1-6],128,,[1-6],finished,seconds,0[.0-9e-]*,s,exactly$' | grep -x 6
if "$work/build/my_surd" study run speed.yaml --out "$work/never" --set train.updates=0; then exit 1; fi
grep -q '"path":"encoder.0.self_attention","what":"slopes","statistic":"rms"' "$work/run/probe.jsonl"
grep -q '"path":"encoder.0.feed_forward","what":"hidden","statistic":"zeros"' "$work/run/probe.jsonl"
"$work/surd/bin/surd" config check "$work/surd/share/surd/configs/copy.yaml"
"$work/surd/bin/surd" config schema | cmp - "$work/surd/share/surd/config.schema.json"
"$work/surd/bin/surd" study schema | cmp - "$work/surd/share/surd/study.schema.json"

# A program of one's own completes its commands; surd's pages are installed with it.
"$work/build/my_surd" completion bash | grep -x 'complete -F _my_surd my_surd'
"$work/build/my_surd" completion bash | grep "'hello') options='--times --help'"
"$work/build/my_surd" --help | grep -A1 -x 'Further commands:' | grep 'hello *Greet somebody'
grep '^_surd()' "$work/surd/share/bash-completion/completions/surd"
grep -x '#compdef surd' "$work/surd/share/zsh/vendor-completions/_surd"
grep 'Train a model' "$work/surd/share/man/man1/surd-train.1"

# The same libraries by pkg-config, in both types.
pkg_config() { PKG_CONFIG_PATH=$(dirname "$(find "$work/surd" -name surd.pc)") pkg-config "$@"; }
cat >"$work/plain.cpp" <<'EOF'
#include <surd/experiments/commands/all_commands.hpp>
int main(int argc, char** argv) { return surd::run_command_line(argc, argv); }
EOF
"$compiler" -std=c++17 $(pkg_config --cflags surd) "$work/plain.cpp" $(pkg_config --libs surd) -o "$work/plain"
"$work/plain" list tasks | grep '^copy '
"$compiler" -std=c++17 -O1 $(pkg_config --cflags surd_f64) check.cpp decay.cpp squared_relu.cpp $(pkg_config --libs surd_f64) \
  -o "$work/check"
"$work/check"
test "surd $(pkg_config --modversion surd)" = "surd $("$work/surd/bin/surd" --version)"

# Presets are found beside the installed program, and by any other where SURD_PRESETS says.
presets="$work/surd/share/surd/presets"
mkdir -p "$presets"
echo 'task: {name: reverse}' >"$presets/of_this_test.yaml"
echo 'extends: of_this_test' >"$work/extends.yaml"
"$work/surd/bin/surd" config check "$work/extends.yaml"
SURD_PRESETS="$presets" "$work/build/my_surd" config check "$work/extends.yaml"

# The installed program does not know the new names, and says which it does.
if "$work/surd/bin/surd" config check rotate.yaml; then exit 1; fi
