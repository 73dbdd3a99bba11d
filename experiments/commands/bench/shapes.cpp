#include "experiments/command_line/command.hpp"
#include "experiments/commands/bench/bench_shape.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

struct BenchShapesArguments {
  bool json = false;

  void fields(Fields& f) { f("json", json, "print JSON"); }
};

int bench_shapes_command(const BenchShapesArguments& arguments) {
  if (!arguments.json)
    fmt::print("{:<9} {:>10} {:>7} {:>5} {:>12} {:>6} {:>5} {:>16}\n", "shape", "vocabulary", "d_model", "heads",
               "feed-forward", "layers", "pairs", "positions");
  for (const BenchShape& s : bench_shapes()) {
    if (arguments.json)
      fmt::print("{}\n", Json{{"name", s.name},
                              {"vocabulary", s.vocabulary},
                              {"d_model", s.d_model},
                              {"heads", s.heads},
                              {"feed_forward_width", s.feed_forward_width},
                              {"layers", s.layers},
                              {"batch_size", s.batch_size},
                              {"source_length", s.source_length},
                              {"target_length", s.target_length}}
                             .dump());
    else
      fmt::print("{:<9} {:>10} {:>7} {:>5} {:>12} {:>6} {:>5} {:>16}\n", s.name, with_commas(s.vocabulary), s.d_model,
                 s.heads, with_commas(s.feed_forward_width),
                 s.source_length == 0 ? fmt::format("{}", s.layers) : fmt::format("{0}+{0}", s.layers), s.batch_size,
                 fmt::format("{}, {}", s.source_length, s.target_length));
  }
  return exit_done;
}

}  // namespace

void add_bench_shapes(CommandTable& table) {
  table.add("bench shapes", "The shapes that --config can name", {}, bench_shapes_command);
}

}  // namespace surd
