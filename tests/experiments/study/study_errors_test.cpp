#include "experiments/config/settings.hpp"
#include "experiments/study/execution/plan.hpp"
#include "experiments/study/file/claims.hpp"
#include "experiments/study/file/study_group.hpp"
#include "tests/experiments/program.hpp"
#include "tests/experiments/study/study_files.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace {

using namespace surd;
using namespace surd::test;

TEST_CASE("what is wrong with a study is told with its place and a way out") {
  const std::string good = study_rest, tuning = study_tuning;
  const auto expression = [](const std::string& formula) {
    return "metrics: [{name: x, kind: expression, formula: '" + formula + "'}]\n";
  };
  const auto tuned = [&](const std::string& axis) {
    return good + "tuning: {metric: loss, axes: [{name: a, " + axis + "}]}\n";
  };
  const std::string numbered =
      "axes:\n  - {name: d, key: model.d_model, values: [16, 32]}\n"
      "  - {name: wide, levels: [{name: '1', value: 1}]}\n"
      "  - {name: tie, levels: [{name: none}]}\n";
  const std::vector<Wrong> cases = {
      {good + "sedes: 3\n", "study.yaml:17:1: sedes: unknown key; did you mean 'seeds'?"},
      {good + "seeds: 3\n", "duplicate key"},
      {"seeds: [1, 2, 1]\n", "study.yaml:7:15: seeds: 1 stands there twice; remove one"},
      {"seeds: 0\n", "study.yaml:7:8: seeds: must be"},
      {"looks: 99999999999999999999\n", "study.yaml:7:8: looks: must be in [1, 10]; got '99999999999999999999'"},
      {"axes: [{name: a, levels: [{name: '1'}, {name: '1,b=2'}]}, {name: b, levels: [{name: '3'}, {name: '2,b=3'}]}]\n",
       "axes: two arms would have the same folder, 'a=1,b=2,b=3,'; leave ',' and '=' out of the names of levels"},
      {"axes: [{name: a, key: model.heads}]\n", "study.yaml:7:8: axes[0]: must have either levels, or key and values"},
      {"axes: [{name: a, key: model.heads, values: [2, 2]}]\n", "two levels are called '2'; rename one"},
      {"axes: [{name: a, key: model.heads, values: [2]}, {name: a, key: train.log_every, values: [3]}]\n",
       "axes[1].name: another axis is called 'a' already; rename one"},
      {"axes: [{name: a, levels: [{name: b}, {name: \"c\\nd\"}]}]\n",
       "study.yaml:7:38: a: must be one line without control characters; got 'c\\nd'"},
      {"arms: [{name: b}, {name: \"c\\a\"}]\n",
       "study.yaml:7:19: arm: must be one line without control characters; got "},
      {"axes: [{name: a, key: model.heads, values: [1, \"\\u202e2\"]}]\n", "study.yaml:7:48: a: must be one line"},
      {good + "hypotheses:\n  - name: >\n      It is so.\n    metric: loss\n",
       "study.yaml:18:5: hypotheses[0].name: must be one line without control characters; got 'It is so.\\n'; write "
       ">-"},
      {"question: \"a\\eb\\nc\"\n", "study.yaml:7:11: question: must have no control characters but line breaks"},
      {"metrics: [{name: a, unit: \"nats\\n\"}]\n",
       "study.yaml:7:11: metrics[0].unit: must be one line without control"},
      {good + "tuning: {metric: loss, axes: [{name: a, key: optimizer.learning_rate, values: [1, 2]}, {name: a, key: "
              "train.clip_norm, values: [1, 2]}]}\n",
       "study.yaml:17:88: tuning.axes[1].name: another axis of the tuning is called 'a' already; rename one"},
      {"axes: [{name: a-b, key: model.heads, values: [2]}]\n", "must be at most 40 letters, digits and '_'"},
      {"axes: [{name: regime, key: model.heads, values: [2]}]\n", "'regime' has a meaning of its own"},
      {"axes: [{name: a, key: model.head, values: [2]}]\n",
       "study.yaml:7:44: model.head: unknown key; did you mean 'heads'?"},
      {"axes: [{name: a, key: model.heads, values: [2, 5]}]\n",
       "study.yaml:7:48: model.heads: must divide d_model = 16; it is 5"},
      {"axes: [{name: a, key: model.d_model, values: [16, many]}]\n", "study.yaml:7:51: model.d_model: must be"},
      {"arms: [{name: a}, {name: b, set: {model.heads: 2}}]\n",
       "study.yaml:7:48: the arms 'arm=a' and 'arm=b' have the same config"},
      {"arms: [{name: a, set: {seed: 3}}]\n", "the runs have the study's seeds"},
      {"arms: [{name: a, set: {train.minutes: 3}}]\n",
       "base.train.minutes: makes runs end at updates that depend on the machine; remove it, and set train.updates"},
      {"arms: [{name: a, set: 3}]\n", "arms[0].set: must be a mapping of config keys"},
      {good + "arms: [{name: a}]\n", "arms: is shorthand for one axis; write it as one of the axes"},
      {"metrics: [{name: a, kind: updates_to}]\n", "metrics[0].target: is required where kind is updates_to,"},
      {"metrics: [{name: a, target: 3}]\n",
       "metrics[0].target: kind 'final_value' (the default) has no 'target'; 'updates_to', 'tokens_to', 'seconds_to' "
       "have: set "
       "metrics[0].kind to one of them or remove this key"},
      {"metrics: [{name: a, kind: best}]\n", "metrics[0].kind: must be one of final_value, best_value,"},
      {"metrics: [{name: a, of: los}]\n",
       "must be one of loss, perplexity, bits_per_byte, token_accuracy, sequence_accuracy, bleu, chrf; got 'los'; did "
       "you mean "
       "'loss'?"},
      {"metrics: [{name: a}, {name: a, of: perplexity}]\n", "metrics[1].name: another metric is called 'a' already"},
      {"metrics: [{name: a, kind: initial_value}]\n",
       "study.yaml:7:11: a: initial_value needs train.evaluate_at_start: true, which arm 'alone' does not have"},
      {"metrics: [{name: a, split: test}]\n",
       "study.yaml:7:11: a: final_value needs test among train.evaluate_splits, e.g. [test], which arm 'alone' does "
       "not"},
      {"metrics: [{name: a, kind: best_value, split: test}]\n", "kind 'best_value' has no 'split'"},
      {"metrics: [{name: a, split: ''}]\n", "metrics[0].split: must be the name of a split; remove it"},
      {"metrics: [{name: a, kind: diverged}]\n", "a: diverged needs train.evaluate_at_start: true"},
      {"metrics: [{name: a, of: bleu}]\n", "a: final_value needs train.evaluate_bleu: true"},
      {"metrics: [{name: a, of: bits_per_byte}]\n",
       "a: final_value needs a task of texts alone, e.g. task.name: text, which arm 'alone' does not have"},
      {"metrics: [{name: a, kind: updates_to, of: sequence_accuracy, target: 0.9}]\nset: {train.evaluate_sequences: "
       "0}\n",
       "a: updates_to needs train.evaluate_sequences above 0"},
      {"metrics: [{name: a, kind: rate_sensitivity}]\n", "is found from the tuning, and the study has none"},
      {"arms: [{name: x, set: {train.metric: token_accuracy, train.stop_at: 0.9}}]\n"
       "metrics: [{name: a, kind: updates_to, of: token_accuracy, target: 0.9}]\n",
       "a: updates_to needs train.stop_after of at least 3 beside stop_at, which arm 'arm=x' does not have"},
      {"arms: [{name: x, set: {train.stop_at: 0.9}}]\nmetrics: [{name: a}]\n",
       "a: final_value needs train.stop_at: null, which arm 'arm=x' does not have"},
      {"arms: [{name: x, set: {train.patience: 4}}]\n"
       "metrics: [{name: a, kind: tokens_to, target: 0.8}]\n",
       "a: tokens_to needs train.patience: null, which arm 'arm=x' does not have"},
      {"arms: [{name: x, set: {train.stop_at: 0.9, train.stop_after: 3, train.evaluate_every: 5}}]\n"
       "metrics: [{name: a, kind: updates_to, of: token_accuracy, target: 0.8}]\n",
       "a: updates_to needs train.metric: token_accuracy beside train.stop_at, which arm 'arm=x' does not have"},
      {"arms: [{name: x, set: {train.stop_at: 0.9, train.stop_after: 3, train.evaluate_every: 5}}]\n"
       "metrics: [{name: a, kind: updates_to, target: 0.8}]\n",
       "a: updates_to needs train.stop_at at its target, 0.8, or past it, which arm 'arm=x' does not have"},
      {"metrics: [{name: a, kind: updates_to, target: 0}]\n", "metrics[0].target: is no value to be reached"},
      {"metrics: [{name: a, kind: updates_to, of: token_accuracy, target: 97}]\n",
       "metrics[0].target: is no value to be reached"},
      {"metrics: [{name: a, kind: updates_to, of: perplexity, target: 1}]\n",
       "metrics[0].target: is no value to be reached"},
      {"metrics: [{name: a, kind: probe, path: p, what: w, statistic: s}]\n", "a: probe needs probe.every above 0"},
      {"arms: [{name: x, set: {train.log_every: 6}}]\nmetrics: [{name: a, kind: loss_spikes}]\n",
       "a: loss_spikes needs train.log_every of at most 5"},
      {"metrics: [{name: a, kind: probe, path: p, what: w}]\n",
       "metrics[0].statistic: is required where kind is probe"},
      {"metrics: [{name: a, kind: probe, path: p, what: w, statistic: s, at: loss}]\n",
       "metrics[0].loss: is required where at is loss"},
      {"metrics: [{name: a, kind: probe, path: p, what: w, statistic: s, loss: 2}]\n",
       "metrics[0].loss: is not read here: it is read only when at is loss (at is first by default)"},
      {good + "quick: {levels: [null]}\n", "study.yaml:17:17: quick.levels: must be a mapping of lists; got a list"},
      {good + "set: [[]]\n", "study.yaml:17:6: set: must be a mapping of config keys, such as"},
      {"axes: [{name: _pi, key: model.heads, values: [2]}]\n", "'_pi' has a meaning of its own"},
      {"metrics: [{name: loss}, {name: r, kind: rate_sensitivity}, {name: x, kind: expression, formula: r + 1}]\n" +
           tuning,
       "metrics[2].formula: 'r' is a metric of a whole tuning"},
      {"metrics: [{name: loss}, {name: r, kind: best_rate}]\n"
       "tuning: {metric: loss, axes: [{name: clip, key: train.clip_norm, values: [0.5, 1]}]}\n",
       "metrics[1].kind: best_rate is found along the learning rates of the tuning, and none of its axes has the key "
       "optimizer.learning_rate"},
      {good + tuning + "  search: jointly\n", "tuning.settings: is required where search is jointly"},
      {good + tuning + "  settings: 4\n", "tuning.settings: is not read here: it is read only when search is jointly"},
      {good + tuning + "  search: jointly\n  settings: 0\n", "tuning.settings: must be in [1, 10000]"},
      {good + "tuning: {metric: loss, search: jointly, settings: 2, axes: [{name: rate, key: optimizer.learning_rate, "
              "values: [0.001, 0.01], extensions: 1}]}\n",
       "tuning.axes[0].extensions: grids do not grow where search is jointly"},
      {good + "tuning: {metric: loss, search: jointly, settings: 2, axes: [{name: rate, key: optimizer.learning_rate, "
              "values: [0.001, 0.01], grow_at: alike}]}\n",
       "tuning.axes[0].grow_at: grids do not grow where search is jointly"},
      {tuned("key: train.batch_size, values: [16], grow_at: alike"),
       "tuning.axes[0].grow_at: a grid grows by the ratio of two of its values, and this one has one"},
      {good + "tuning: {metric: loss, seeds: 1, axes: [{name: rate, key: optimizer.learning_rate, values: [0.001, "
              "0.01], grow_at: alike}]}\n",
       "tuning.axes[0].grow_at: one seed tells nothing apart; give the tuning more seeds, or remove it"},
      {tuned("key: train.batch_size, values: [16, 32], extensions: 0, grow_at: alike"),
       "tuning.axes[0].grow_at: is not read here: it is read only when extensions is above 0"},
      {tuned("key: train.batch_size, values: [16], extensions: 1"),
       "tuning.axes[0].extensions: a grid grows by the ratio of two of its values, and this one has one"},
      {"metrics: [{name: loss}, {name: r, kind: rate_sensitivity}]\n" + tuning + "  search: jointly\n  settings: 5\n",
       "metrics[1].kind: rate_sensitivity needs the whole grid of rates with the other settings fixed, and 5 of the 6 "
       "settings of the tuning are tried; set tuning.settings: 6, or search in_turn"},
      {"axes: [{name: a, key: optimizer.learning_rate, values: [0.1, 0.2]}]\nmetrics: [{name: loss}]\n" + tuning,
       "the arms 'a=0.1' and 'a=0.2' differ in what is tuned alone, so tuned they are the same"},
      {"metrics: [{name: x, kind: expression, formula: \"1\\0 + 1\"}]\n", "has a character of code 0; remove it"},
      {expression("16 < V < 20"), "metrics[0].formula: of two comparisons in a row the second would take"},
      {expression("16 < (V + 1) <= 20"), "of two comparisons in a row"},
      {expression("V + 2 * (1 < sqrt(V) < 20)"), "of two comparisons in a row"},
      {expression("2 < V == 1"), "of two comparisons in a row"},
      {expression("log (V)"), "metrics[0].formula: log is the natural logarithm to some"},
      {good + tuning + "  seed: 3\n", "study.yaml:23:3: tuning.seed: unknown key; did you mean 'seeds'?"},
      {"seeds: [1002]\nmetrics: [{name: loss}]\n" + tuning, "tuning.seeds: 1002 is a seed of the study too"},
      {"metrics: [{name: los}]\n" + tuning, "tuning.metric: there is no metric 'loss'; did you mean 'los'?"},
      {good + "tuning: {metric: loss}\n", "tuning.axes: must have at least one axis"},
      {good + "tuning: {metric: loss, axes: [{name: a, key: optimizer.learning_rate, values: [1, 0.5]}]}\n",
       "tuning.axes[0].values: must rise; 0.5 follows 1"},
      {good + "tuning: {metric: loss, axes: [{name: a, key: optimizer.lerning_rate, values: [0.5, 1]}]}\n",
       "optimizer.lerning_rate: unknown key; did you mean 'learning_rate'?"},
      {tuned("key: optimizer.beta2, values: [0.9, 0.99]"),
       "study.yaml:17:31: tuning.axes[0].values: by its own ratio the grid of 'a' can be extended to 1.09, where "
       "optimizer.beta2 must be in [0, 1); got 1.09; set extensions: 0, or change the grid"},
      {tuned("key: train.batch_size, values: [4, 6]"),
       "can be extended to 2.67, where train.batch_size must be a whole"},
      {tuned("key: train.batch_size, values: [16, 24], extensions: 1"), "can be extended to 10.7, where train.batch"},
      {tuned("key: optimizer.learning_rate, values: [1.0e-37, 2.0e-37], extensions: 8"),
       "where optimizer.learning_rate must be of a size from 1.2e-38 to 3.4e38; got 6.25e-39; set extensions: 0, "
       "or "
       "change the grid"},
      {tuned("key: optimizer.learning_rate, values: [1.0e+37, 1.0e+38]"),
       "where optimizer.learning_rate must be of a size"},
      {good + "quick: {levels: {rho: [middle]}}\n", "quick.levels: axis 'rho' has no level 'middle'"},
      {good + "quick: {levels: {roh: [low]}}\n", "quick.levels: there is no axis 'roh'; did you mean 'rho'?"},
      {good + "quick: {seeds: 0}\n", "study.yaml:17:16: quick.seeds: must be in [1, 10000]; got 0"},
      {good + tuning + "quick: {tuning_seeds: x}\n", "quick.tuning_seeds: must be a whole number"},
      {good + "quick: {set: 3}\n", "quick.set: must be a mapping of config keys"},
      {good + "quick: {set: {train.updatse: 3}}\n", "train.updatse: unknown key; did you mean 'updates'?"},
      {good + "quick: {set: {model.heads: 3}}\n", "model.heads: must divide d_model = 16; it is 3"},
      {"claims: [4]\n", "duplicate key"},
      {good + "without: [{scale: one, rho: lo}]\n",
       "study.yaml:17:29: without[0]: axis 'rho' has no level 'lo'; did you mean 'low'?"},
      {good + "without: [{scal: one}]\n",
       "study.yaml:17:12: without[0]: there is no axis 'scal'; did you mean 'scale'?"},
      {good + "without: [{scale: [one]}]\n", "without[0]: axis 'scale' takes one level, not a list"},
      {good + "without: [{regime: tuned}]\n", "without[0]: regime is no axis of the arms; remove it"},
      {good + "without: {scale: one}\n", "without: must be a list of mappings of levels by axis, such as"},
      {good + "without: []\n", "without: must be a list of mappings of levels by axis, such as"},
      {good + "without: [one]\n", "without[0]: must be a mapping of levels by axis"},
      {good + "without: [{}]\n", "without[0]: must name a level or more; this would leave out every arm"},
      {good + "without: [{rho: low, scale: one}, {scale: one, rho: low}]\n",
       "study.yaml:17:35: without[1]: fits no arm that the entries before it do not leave out; remove it"},
      {good + "without: [{rho: low}, {rho: high}]\n", "study.yaml:17:10: without: leaves no arm; remove an entry"},
      {good + "without: [{rho: low}]\n",
       "without: leaves no arm with level 'low' of axis 'rho'; remove the level itself"},
      {numbered + "set: {optimizer.learning_rate: 3e-3 / dd}\n",
       "study.yaml:11:32: optimizer.learning_rate: the formula has no number called 'dd'; did you mean 'd'?"},
      {numbered + "set: {optimizer.learning_rate: 3e-3 / width}\n", "no number called 'width'; there are d, wide"},
      {numbered + "set: {optimizer.learning_rate: wdie}\n", "no number called 'wdie'; did you mean 'wide'?"},
      {numbered + "set: {optimizer.learning_rate: 1 / tie}\n",
       "optimizer.learning_rate: not every level of axis 'tie' is a number; give each a 'value' to use it in a "
       "formula"},
      {numbered + "set: {optimizer.learning_rate: 1 / V}\n",
       "V, the size of the vocabulary, is known after a run only"},
      {numbered + "set: {optimizer.learning_rate: 1 / (d - 32)}\n",
       "optimizer.learning_rate: '1 / (d - 32)' is inf in arm 'd=32, wide=1, tie=none'; it must be a finite number"},
      {numbered + "set: {optimizer.learning_rate: 3e-3 * (d}\n", "optimizer.learning_rate: formula '3e-3 * (d': "},
      {numbered + "set: {optimizer.learning_rate: d = 3}\n", "optimizer.learning_rate: must be one expression"},
      {numbered + "set: {optimizer.learning_rate: -d}\n",
       "study.yaml:11:32: optimizer.learning_rate: must be greater than 0; got -16"},
      {numbered + "set: {optimizer.learning_rate: \"64\"}\n",
       "must be a number (greater than 0); got the text \"64\"; remove the quotes"},
      {numbered + "set: {optimizer.learning_rate: much}\n", "optimizer.learning_rate: must be a number"},
      {numbered + "set: {optimizer.learning_rat: 1 / d}\n", "unknown key; did you mean 'learning_rate'?"},
      {numbered + "set: {model.feed_forward.width: d / 3}\n",
       "model.feed_forward.width: 'd / 3' is 5.333333333333333 in arm 'd=16, wide=1, tie=none'; it must be a whole "
       "number in every arm; rint() rounds"},
      {numbered + "set: {model.feed_forward.width: 1e3}\n", "model.feed_forward.width: must be a whole number"},
      {numbered + "set: {model.positions.scale: d * inv_dim}\n",
       "model.positions.scale: 'inv_dim' is a word that this key takes, and no number that a formula can name"},
      {numbered + "set: {model.positions.scale: 8 * inv_dmi}\n", "no number called 'inv_dmi'; did you mean 'inv_dim'?"},
      {numbered + "set: {model.positions.scale: sqrtdim}\n", "got 'sqrtdim'; did you mean 'sqrt_dim'?"},
      {"axes: [{name: one, key: model.d_model, values: [16, 32]}]\nset: {model.positions.scale: one}\n",
       "study.yaml:8:30: model.positions.scale: 'one' is a value of this key by itself, and 'one' an axis too; rename"},
      {"axes: [{name: inv_dim, key: model.d_model, values: [16, 32]}]\nset: {model.positions.scale: 8 * inv_dim}\n",
       "'8 * inv_dim' is a value of this key by itself, and 'inv_dim' an axis too; rename the axis"},
      {numbered + "set: {model.d_model: 64}\n",
       "study.yaml:8:5: model.d_model: 'set' sets it for every arm, over what levels say; remove one"},
      {numbered + "set: {model: {tie: {source: d}}}\n", "model.tie"},
      {numbered + "set: {seed: 3}\n", "the runs have the study's seeds"},
      {numbered + "set: 3\n", "set: must be a mapping of config keys"},
      {"arms: [{name: a, set: {train.log_every: 3}}, {name: b}]\nset: {train: {log_every: 4}}\n",
       "study.yaml:7:41: train.log_every: 'set' sets it for every arm, over what levels say; remove one"},
      {"changes: [{date: 2026-02-29, what: A, seen: B}]\n",
       "study.yaml:7:18: changes[0].date: must be a date of the calendar, year-month-day such as 2026-11-20; got "
       "'2026-02-29'"},
      {"changes: [{date: 2100-02-29, what: A, seen: B}]\n", "changes[0].date: must be a date of the calendar"},
      {"changes: [{date: 2026-04-31, what: A, seen: B}]\n", "changes[0].date: must be a date of the calendar"},
      {"changes: [{date: 2026-13-01, what: A, seen: B}]\n", "changes[0].date: must be a date of the calendar"},
      {"changes: [{date: 2026-00-01, what: A, seen: B}]\n", "changes[0].date: must be a date of the calendar"},
      {"changes: [{date: 2026-1-01, what: A, seen: B}]\n", "changes[0].date: must be a date of the calendar"},
      {"changes: [{date: 20.11.2026, what: A, seen: B}]\n", "changes[0].date: must be a date of the calendar"},
      {"changes:\n  - {date: 2026-02-03, what: A, seen: B}\n  - {date: 2026-02-02, what: A, seen: B}\n",
       "study.yaml:9:12: changes[1].date: 2026-02-02 is before 2026-02-03, the date of the change above it"},
      {"changes: [{what: A, seen: B}]\n", "changes[0].date: is required"},
      {"changes: [{date: 2026-02-02, seen: B}]\n", "changes[0].what: is required"},
      {"changes: [{date: 2026-02-02, what: A}]\n", "changes[0].seen: is required: what was known by then"},
      {"changes: [{date: 2026-02-02, what: A, sen: B}]\n", "changes[0].sen: unknown key; did you mean 'seen'?"},
      {"changes: {date: 2026-02-02, what: A, seen: B}\n", "changes: must be a list"},
  };
  check_told(cases);
  CHECK(complaint(StudyFile::whole(good + tuning)).empty());
  CHECK(complaint(StudyFile::whole(tuned("key: optimizer.beta2, values: [0.9, 0.99], extensions: 0"))).empty());
  CHECK(complaint(StudyFile::whole(tuned("key: train.batch_size, values: [8, 16]"))).empty());
  const StudyFile begun;  // with a grid that can grow too far, by a version that did not look
  const std::string file = begun.write(StudyFile::whole(tuned("key: optimizer.beta2, values: [0.9, 0.99]")));
  CHECK(load_study(StudySource{file, {}, false, {}, true}).tuning->axes[0].extensions == 2);
  for (const char* clear : {"16 < V && V < 120 || V > 3", "(16 < V) < 20", "V >= 16 ? (V < 2) : V < 3", "log10(V) > 1",
                            "min(V < 3, 2 > 1)", "2 < V && (3 != V) == 1"})
    CHECK(complaint(StudyFile::whole(expression(clear))).empty());
  const std::string misread = begun.write(StudyFile::whole(expression("log(16 < V < 20)")));
  CHECK(load_study(StudySource{misread, {}, false, {}, true}).metrics.size() == 1);
  CHECK(contains(complaint("title: T\n"), "base: is required; it may be {}"));
  CHECK(contains(complaint("title: T\nbase: {optimizer: {learning_rate: 3e-3 / d}}\n"
                           "axes: [{name: d, key: model.d_model, values: [16, 32]}]\n"),
                 "study.yaml:2:35: optimizer.learning_rate: a formula of axes cannot stand in the base; move it to the "
                 "study's 'set'"));
  CHECK(contains(complaint("title: T\nbase: {seed: 3}\n"), "base.seed: the runs have the study's seeds"));
  CHECK(contains(complaint("extends: t5\ntitle: T\nbase: {}\n"), "a study cannot build upon another file"));
  CHECK(contains(complaint("title: T\nbase: {extends: t6}\n"), "there is no preset 't6'"));
}

TEST_CASE("every problem of a study is told at once, one of the base for all arms once") {
  const std::string told =
      complaint("title: T\nbase: {model: {heads: 5}}\naxes: [{name: a, key: train.log_every, values: [1, 2, 3]}]\n");
  CHECK(std::count(told.begin(), told.end(), '\n') == 0);
  CHECK(contains(told, "study.yaml:2:23: model.heads: must divide d_model = 64"));
  CHECK(contains(complaint("title: \"T\\nU\"\nbase: {}\n"), "study.yaml:1:8: title: must be one line without control"));
  const std::string two = complaint("titel: T\nbase: {}\nmetrics: [{name: a, kind: updates_to}]\nseeds: none\n");
  for (const char* part : {"titel: unknown key", "title: is required", "metrics[0].target", "seeds: must be"}) {
    CAPTURE(part);
    CHECK(contains(two, part));
  }
}

TEST_CASE("what follows from a mistake is not told beside it") {
  const std::string axes = "axes: [{name: a, key: model.heads, values: [1, 2, 4]}]\n",
                    metrics = "metrics: [{name: l}]\n",
                    rest =
                        "set: {model.feed_forward.width: 8 * a}\nwithout: [{a: '4'}]\n"
                        "hypotheses: [{name: H, metric: l, arm: {a: '1'}, against: {a: '2'}, expect: lower}]\n"
                        "quick: {levels: {a: ['1']}}\ntuning: {metric: l, axes: [{name: rate, key: "
                        "optimizer.learning_rate, values: [0.1, 1]}]}\n";
  for (const Wrong& wrong : std::vector<Wrong>{
           {axes + "metrics: 5\n" + rest,
            "study.yaml:8:10: metrics: must be a list, each element after a '- '; got '5'"},
           {axes + "metrics: [null]\n" + rest,
            "study.yaml:8:11: metrics[0]: must be a mapping; got nothing; write its "},
           {"axes: x\n" + metrics + rest, "study.yaml:7:7: axes: must be a list, each element after a '- '; got 'x'"},
           {"axes: [[]]\n" + metrics + rest, "study.yaml:7:8: axes[0]: must be a mapping; got a list"},
           {"axes: [{name: a, key: model.heads, values: 5}]\n" + metrics + rest,
            "study.yaml:7:44: axes[0].values: must be a list; got '5'"},
           {"axes: [{name: a, levels: x}]\n" + metrics + rest,
            "study.yaml:7:26: axes[0].levels: must be a list, each element after a '- '; got 'x'"},
           {"axes: [{name: a, levels: [x]}]\n" + metrics + rest,
            "study.yaml:7:27: axes[0].levels[0]: must be a mapping"},
           {"arms: x\n" + metrics + rest, "study.yaml:7:7: arms: must be a list, each element after a '- '; got 'x'"},
           {axes + metrics + "quick: {levels: {a: [five]}}\n",
            "study.yaml:9:22: quick.levels: axis 'a' has no level 'five'"},
           {axes + metrics + "hypotheses: [[]]\n", "study.yaml:9:14: hypotheses[0]: must be a mapping; got a list"},
           {axes + metrics + "hypotheses: [{name: H, metric: [], arm: {a: '1'}, against: {a: '2'}, expect: lower}]\n",
            "study.yaml:9:32: hypotheses[0].metric: must be text; got a list"},
           {axes + "metrics: [{name: l}, {name: r, kind: best_rate}]\ntuning: 5\nhypotheses: [{name: H, regime: tuned, "
                   "metric: l, arm: {a: '1'}, against: {a: '2'}, expect: lower}]\n",
            "study.yaml:9:9: tuning: must be a mapping, its keys (metric, seeds, search, settings, only, axes) "
            "indented"},
       }) {
    const std::string told = complaint(StudyFile::whole(wrong.rest));
    CAPTURE(wrong.rest);
    CAPTURE(told);
    CHECK(told.rfind(wrong.told, 0) == 0);
    CHECK(told.find('\n') == std::string::npos);
  }
}

TEST_CASE("contradictions that only a model or the data show are told before any run begins") {
  const StudyFile file;
  const Study study =
      file.load("title: T\nbase: {}\narms: [{name: a}, {name: b, set: {model.positions.max_length: 3}}]\n");
  try {
    check_experiments(study);
    FAIL("the contradiction is not told");
  } catch (const ConfigError& error) {
    CAPTURE(std::string(error.what()));
    CHECK(contains(error.what(), "study.yaml:3:63: model.positions.max_length: must be at least"));
  }
}

TEST_CASE("--quick needs a quick, and a level of it stands there once") {
  const StudyFile file;
  CHECK_NOTHROW(file.load(StudyFile::whole()));
  CHECK(contains(message_of([&] { file.load(StudyFile::whole(), {}, true); }),
                 "quick: is missing, so that --quick cuts nothing down; add e.g. quick: {seeds: 2, "));
  CHECK(contains(message_of([&] {
                   file.load(StudyFile::whole(std::string(study_rest) + "quick: {levels: {scale: [one, one]}}\n"));
                 }),
                 "quick.levels: 'one' stands there twice; remove one"));
}

TEST_CASE("a number of the probe that no arm records is told before the runs") {
  const StudyFile file;
  const auto told = [&](const std::string& path, const std::string& what, const std::string& statistic) {
    const Study study =
        file.load(StudyFile::whole("arms: [{name: a}, {name: b, set: {model.attention.scale: learned one}}]\nseeds: 2\n"
                                   "set: {probe.every: 1}\nmetrics:\n  - {name: m, kind: probe, path: " +
                                   path + ", what: " + what + ", statistic: " + statistic + "}\n"));
    return message_of([&] { check_probes(study); });
  };
  const std::string path = "encoder.0.self_attention";
  CHECK(told(path, "scores", "std").empty());
  CHECK(told("model", "gradient", "noise_scale").empty());
  CHECK(contains(told("encoder.0.self_atention", "scores", "std"),
                 "m.path: the probe records no 'encoder.0.self_atention'; did you mean 'encoder.0.self_attention'?"));
  CHECK(contains(told(path, "scors", "std"),
                 "m.what: the probe records no 'scors' of this module; did you mean 'scores'?"));
  CHECK(contains(told(path, "scores", "sdt"),
                 "m.statistic: the probe records no 'sdt' of this quantity; did you mean 'std'?"));
  CHECK(told(path + ".scale", "parameter", "norm").empty());  // which the second arm alone has
}

}  // namespace
