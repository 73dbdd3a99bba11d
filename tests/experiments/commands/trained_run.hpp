#pragma once

#include "../../data/temporary_directory.hpp"
#include "../program.hpp"

#include <doctest/doctest.h>

#include <string>

namespace surd::test {

/// A short run of `copy`, made once.
struct TrainedRun {
  TemporaryDirectory folder;
  std::string path = folder.path("run"), output;
  std::string checkpoints = path + "/checkpoints/";

  explicit TrainedRun(const std::string& settings = "") {
    const std::string config =
        folder.write("tiny.yaml",
                     "task: {name: copy, train_size: 60, valid_size: 8, test_size: 8, vocabulary: 9, max_length: 3}\n"
                     "model: {d_model: 8, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: {width: 8}}\n"
                     "train: {updates: 4, batch_size: 16, evaluate_every: 2, checkpoint_every: 2}\n");
    const Outcome trained = program("train " + config + settings + " --out " + path);
    REQUIRE(trained.exit_code == 0);
    output = trained.output;
  }
  Outcome translate(const std::string& input, const std::string& more = "") const {
    return shell("printf '" + input + "' | " SURD_EXECUTABLE " translate " + path + " " + more);
  }
};

}  // namespace surd::test
