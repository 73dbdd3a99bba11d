#include "experiments/commands/sentences.hpp"

#include <limits>

namespace surd {

void expect_fits(const OpenRun& run, const std::string& where, std::size_t positions) {
  expect(positions <= run.model.transformer().max_length(), where,
         "{} tokens are more than the model's longest sequence of {}", positions, run.model.transformer().max_length());
}

DecodingArguments translation_options(const std::optional<std::size_t>& max_length) {
  DecodingArguments options;
  options.max_length = max_length.value_or(std::numeric_limits<std::size_t>::max());
  if (!max_length) options.max_length_factor = 2;
  return options;
}

std::string nats_text(double log_probability) { return fmt::format("{:.6g}", log_probability + 0.0); }

}  // namespace surd
