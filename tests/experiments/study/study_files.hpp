#pragma once

#include "experiments/config/settings.hpp"
#include "experiments/study/file/read_study.hpp"
#include "tests/data/temporary_directory.hpp"
#include "tests/text.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

/// Studies small enough for tests.
namespace surd::test {

inline const char* const study_base =
    "base:\n"
    "  task: {name: copy, train_size: 26, valid_size: 5, test_size: 1, vocabulary: 6, max_length: 3}\n"
    "  model: {d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: {width: 8}}\n"
    "  train: {updates: 20, batch_size: 4, evaluate_every: 10, log_every: 5}\n";

inline const char* const study_rest =
    "axes:\n"
    "  - {name: scale, key: model.embedding.scale, values: [one, sqrt_dim]}\n"
    "  - name: rho\n"
    "    levels:\n"
    "      - {name: low, value: 0.5, set: {model.positions.scale: 2}}\n"
    "      - {name: high, value: 2, set: {model.positions.scale: 0.5}}\n"
    "seeds: 2\n"
    "metrics:\n"
    "  - {name: loss, kind: final_value}\n"
    "  - {name: accuracy, kind: best_value, of: token_accuracy}\n";

inline const char* const study_tuning =
    "tuning:\n"
    "  metric: loss\n"
    "  seeds: 2\n"
    "  axes:\n"
    "    - {name: rate, key: optimizer.learning_rate, values: [0.001, 0.01, 0.1]}\n"
    "    - {name: embedding, key: model.embedding.learning_rate_multiplier, values: [1, 8], extensions: 0}\n";

struct StudyFile {
  TemporaryDirectory directory;

  std::string write(const std::string& text) const { return directory.write("study.yaml", text); }
  Study load(const std::string& text, const std::vector<std::string>& settings = {}, bool quick = false) const {
    return load_study(write(text), settings, quick);
  }
  /// The first lines of a study whose rest is `rest`.
  static std::string whole(const std::string& rest = study_rest) {
    return std::string("title: A study\nclaims: [3]\n") + study_base + rest;
  }
};

/// What follows title, claims and base of a study, and a part of what is told of it.
struct Wrong {
  std::string rest;
  const char* told;
};

/// Everything that is wrong with a study, without the folder of the file.
inline std::string complaint(const std::string& text, bool quick = false) {
  const StudyFile file;
  try {
    static_cast<void>(file.load(text, {}, quick));
  } catch (const ConfigError& error) {
    std::string message = error.what();
    const std::string folder = file.directory.path("");
    for (std::size_t i = 0; (i = message.find(folder)) != std::string::npos;) message.erase(i, folder.size());
    return message;
  }
  return "";
}

/// The config of an arm, key by key.
inline Settings config_of(const Study& study, std::size_t arm) {
  return settings_of(YamlDocument::parse(to_yaml(study.config(arm, {}, 1)), "config").root());
}

inline void check_told(const std::vector<Wrong>& cases) {
  for (const Wrong& wrong : cases) {
    const std::string told = complaint(StudyFile::whole(wrong.rest));
    CAPTURE(wrong.rest);
    CAPTURE(told);
    CHECK(contains(told, wrong.told));
    CHECK(("\n" + told).find("\n: ") == std::string::npos);  // each has a place
  }
}

}  // namespace surd::test
