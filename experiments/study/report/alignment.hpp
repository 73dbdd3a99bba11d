#pragma once

#include "train/cross_attention.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace surd {

/// A translation and where its tokens come from, as attention sees it.
struct Alignment {
  std::size_t line;                 ///< of the input, from 1
  std::string text;                 ///< the translation
  std::vector<std::string> source;  ///< S tokens, eos included
  std::vector<std::string> target;  ///< T tokens, eos included where it was written
  std::vector<CrossAttention> layers;
};

/// A line a translation, each a JSON object: "line", "text", "source", "target", and "layers", a list of {"layer": its
/// path, "heads": [H][T][S]} from the first layer to the last.
std::string alignments_json(const std::vector<Alignment>& alignments);

/// How many translations a page shows: browsers become slow with more.
inline constexpr std::size_t most_alignments_on_a_page = 50;

/// A page with a heat map for each of the first translations, of the mean over heads and of each head, layer by layer.
/// Without a chart library, "" or not there, it has tables only. Throws Error where that is there and cannot be read.
std::string alignments_page(const std::vector<Alignment>& alignments, const std::string& chart_library);

}  // namespace surd
