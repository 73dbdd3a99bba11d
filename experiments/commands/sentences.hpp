#pragma once

#include "experiments/run/run_folder.hpp"
#include "train/decoding.hpp"

#include <cstddef>
#include <optional>
#include <string>

/// What goes into the model of a run, and what comes out of it.
namespace surd {

/// Throws Error, naming `where`, where the model has no place for so many tokens.
void expect_fits(const OpenRun& run, const std::string& where, std::size_t positions);

/// Limits how long a translation may get: to `max_length` tokens, or where that is not given, to 2 (n + 1) + 20 for a
/// source of n tokens and its eos. Either limit counts the translation's eos.
DecodingArguments translation_options(const std::optional<std::size_t>& max_length);

/// A number of --scores with six digits: "-1.23456", in nats; a length penalty can make scores as small as -1e-30.
std::string nats_text(double log_probability);

}  // namespace surd
