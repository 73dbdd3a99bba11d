#pragma once

#include "train/cross_attention.hpp"
#include "train/storage/files.hpp"

#include <cstddef>
#include <optional>
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

/// "line", "text", "source", "target", and "layers", a list of {"layer": its path, "heads": [H][T][S]} from the first
/// layer to the last, as JSON on one line.
std::string to_json_line(const Alignment& alignment);

/// A file of alignments. Where its name ends in .html, it is a page with a heat map for each, of the mean over heads
/// and of each head, layer by layer; without a chart library, "" or not there, it has tables only. Otherwise it must
/// end in .jsonl, and has a JSON object a line, written as they come.
class AlignmentFile {
 public:
  /// Throws UsageError where a .jsonl file is there and has no alignments (a page is replaced), or expect_output_file()
  /// does; Error with the system's reason where it cannot be written, here and below.
  AlignmentFile(const std::string& path, std::string chart_library);

  /// Whether there is place for one more: browsers become slow with large pages.
  bool has_place() const { return shown_.size() < most_shown && weights_shown_ < most_weights_shown; }
  void add(Alignment alignment);
  /// To be called at the end: writes the page.
  void finish();

  static constexpr std::size_t most_shown = 50, most_weights_shown = 1'000'000;

 private:
  std::string path_;
  std::optional<File> lines_;  // none: it is a page
  std::string chart_library_;
  std::vector<Alignment> shown_;  // of a page
  std::size_t weights_shown_ = 0;
};

}  // namespace surd
