#pragma once

#include "experiments/run/run_folder.hpp"
#include "train/decoding.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// Sentences on their way into the model of a run.
namespace surd {

/// Throws Error, naming `where`, where the model has no place for so many tokens.
void expect_fits(const OpenRun& run, const std::string& where, std::size_t positions);

/// Ids of a line, which stands at `where`. Throws Error where it is too long for the model.
std::vector<TokenId> encode(const OpenRun& run, const std::string& line, const std::string& where);

/// The longest a translation may get; where a person did not limit it, twice the source and some more.
DecodingArguments translation_options(const std::optional<std::size_t>& max_length);

}  // namespace surd
