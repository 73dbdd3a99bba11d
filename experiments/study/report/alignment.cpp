#include "experiments/study/report/alignment.hpp"

#include "experiments/program/output_file.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/study/report/assets.hpp"
#include "experiments/study/report/charts/chart.hpp"
#include "experiments/study/report/page.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

namespace surd {
namespace {

using report::Chart;
using report::Json;
using report::Panel;
using Matrix = std::vector<std::vector<double>>;

Matrix weights_of(const CrossAttention& attention, std::size_t head) {
  const Shape& shape = attention.weights.shape();  // [H, T, S]
  Matrix matrix(shape[1], std::vector<double>(shape[2]));
  for (std::size_t t = 0; t < shape[1]; ++t)
    for (std::size_t s = 0; s < shape[2]; ++s) matrix[t][s] = static_cast<double>(attention.weights(head, t, s));
  return matrix;
}

Matrix mean_of(const std::vector<Matrix>& heads) {
  Matrix mean = heads.front();
  for (std::size_t t = 0; t < mean.size(); ++t)
    for (std::size_t s = 0; s < mean[t].size(); ++s) {
      double sum = 0;
      for (const Matrix& head : heads) sum += head[t][s];
      mean[t][s] = sum / static_cast<double>(heads.size());
    }
  return mean;
}

std::vector<Matrix> heads_of(const CrossAttention& attention) {
  std::vector<Matrix> heads;
  for (std::size_t h = 0; h < attention.weights.shape()[0]; ++h) heads.push_back(weights_of(attention, h));
  return heads;
}

Chart chart_of(const Alignment& alignment) {
  Chart chart;
  chart.id = fmt::format("line-{}", alignment.line);
  chart.kind = Chart::Kind::heatmap;
  chart.title = fmt::format("Line {}: {}", alignment.line, alignment.text);
  chart.x.title = "source";
  chart.y.title = "weight";
  chart.panel_label = "layer and head";
  // The last layer first: what it looks at is closest to what is written.
  for (auto layer = alignment.layers.rbegin(); layer != alignment.layers.rend(); ++layer) {
    const std::vector<Matrix> heads = heads_of(*layer);
    const auto add = [&](const std::string& name, const Matrix& weights) {
      chart.panels.push_back(
          Panel{fmt::format("{}, {}", layer->layer, name), {}, alignment.target, alignment.source, weights});
    };
    if (heads.size() > 1) add("mean of heads", mean_of(heads));
    for (std::size_t h = 0; h < heads.size(); ++h) add(fmt::format("head {}", h), heads[h]);
  }
  const Panel& first = chart.panels.front();
  std::vector<std::string> pairs;
  chart.table = {fmt::format("Line {}: {}", alignment.line, first.title), {"target"}, {}};
  chart.table.columns.insert(chart.table.columns.end(), alignment.source.begin(), alignment.source.end());
  for (std::size_t t = 0; t < first.rows.size(); ++t) {
    const std::vector<double>& weights = first.z[t];
    const auto largest = static_cast<std::size_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
    pairs.push_back(fmt::format("{} to {}", first.rows[t], first.columns[largest]));
    std::vector<std::string> cells = {first.rows[t]};
    for (const double weight : weights) cells.push_back(fmt::format("{:.2f}", weight));
    chart.table.rows.push_back(std::move(cells));
  }
  chart.alt = fmt::format("{}, each token and where most of its weight is: {}.", first.title, fmt::join(pairs, ", "));
  return chart;
}

std::string alignments_page(const std::vector<Alignment>& alignments, const std::string& chart_library) {
  report::Section section{"alignments", "Attention to the source", {}};
  for (const Alignment& alignment : alignments) section.charts.push_back(chart_of(alignment));
  return report::render_charts(report::charts_page,
                               {{"title", "Where each token of a translation looks"},
                                {"sections", report::to_json({section})},
                                {"data", report::chart_data({section})}},
                               chart_library);
}

/// An empty file, too: that of no lines.
bool holds_alignments(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return file.eof();
  const Json first = Json::parse(line, nullptr, false);
  return first.is_object() && first.contains("target") && first.contains("layers");
}

}  // namespace

std::string to_json_line(const Alignment& alignment) {
  Json layers = Json::array();
  for (const CrossAttention& attention : alignment.layers) {
    Json heads = Json::array();
    for (const Matrix& head : heads_of(attention)) {
      heads.push_back(Json::array());
      for (const std::vector<double>& weights : head) heads.back().push_back(report::rounded(weights));
    }
    layers.push_back({{"layer", attention.layer}, {"heads", heads}});
  }
  return Json{{"line", alignment.line},
              {"text", alignment.text},
              {"source", alignment.source},
              {"target", alignment.target},
              {"layers", layers}}
      .dump();
}

AlignmentFile::AlignmentFile(const std::string& path, std::string chart_library)
    : path_(path), chart_library_(std::move(chart_library)) {
  expect_output_file("--alignment", path, {".html", ".jsonl"});
  if (std::filesystem::path(path).extension() == ".html") return;
  const bool replaceable = !path_exists(path) || holds_alignments(path);
  expect_usage(replaceable, "--alignment", "'{}' is there and has no alignments; name another file", path);
  lines_.emplace(path, O_WRONLY | O_CREAT | O_TRUNC);
}

void AlignmentFile::add(Alignment alignment) {
  if (lines_) {
    lines_->write(to_json_line(alignment) + "\n");
    return;
  }
  for (const CrossAttention& attention : alignment.layers) weights_shown_ += attention.weights.size();
  shown_.push_back(std::move(alignment));
}

void AlignmentFile::finish() {
  if (!lines_) write_file_atomically(path_, alignments_page(shown_, chart_library_));
}

}  // namespace surd
