#pragma once

#include "experiments/study/file/study.hpp"
#include "experiments/study/verdicts/estimate.hpp"

#include <nlohmann/json.hpp>

#include <limits>
#include <optional>
#include <string>
#include <vector>

/// The parts of a study's report: each chart is made once and gives the data that JavaScript draws, the table beside it
/// and the sentence for those who see neither.
namespace surd::report {

using Json = nlohmann::ordered_json;
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Six significant digits are more than a screen shows, and half the size; null where it is not finite.
Json rounded(double value);
Json rounded(const std::vector<double>& values);
/// Four significant digits: "0.6931", "12346", "3.2e-05"; an en dash for NaN.
std::string number_text(double value);
/// "0.5 [0.4, 0.6]"; without a usable interval only the number.
std::string number_text(double value, const statistics::Interval& interval);
/// The same with "≥ " or "≤ " where only a bound is known.
std::string number_text(const MetricValue& value);
std::string number_text(const Estimate& estimate);

/// A metric with its unit, and the quantile over seeds that stands for an arm: "steps (updates)", "rate (10 %
/// quantile)".
std::string heading_of(const MetricSpec& metric);

struct Table {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< the first cell of a row is its heading
};
/// For the template of tables.
Json to_json(const Table& table);

/// A line of a chart, or the points of a chart of intervals.
struct Series {
  enum class Kind {
    mean,    ///< with a band from low to high, or error bars
    seeds,   ///< faint lines, separated by NaN
    theory,  ///< what a formula expects
    chosen   ///< a ring around a point
  };
  std::string name;
  Kind kind = Kind::mean;
  std::size_t style = 0;  ///< colour, dash pattern and marker
  std::vector<double> x, y, low, high;
  std::vector<std::size_t> counts;  ///< seeds behind each point
};

std::vector<std::string> names_of(Series::Kind);

/// One of several small charts of the same axes.
struct Panel {
  std::string title;
  std::vector<Series> series;
  std::vector<std::string> rows;       ///< of a heatmap or of a chart of intervals
  std::vector<std::string> columns;    ///< of a heatmap
  std::vector<std::vector<double>> z;  ///< of a heatmap, by row
};

struct ChartAxis {
  std::string title;
  bool log = false;
  std::optional<double> cap;  ///< nothing above it is shown
};

struct Chart {
  enum class Kind { lines, heatmap, intervals };
  std::string id;  ///< unique on the page
  Kind kind = Kind::lines;
  std::string title;
  std::string alt;                  ///< one sentence
  std::string note;                 ///< how to read it; may be empty
  ChartAxis x, y;                   ///< y of a heatmap: the colours
  bool error_bars = false;          ///< instead of bands: nothing was measured between the points
  std::string panel_label = "arm";  ///< what a panel shows, where one is chosen from a list
  std::vector<Panel> panels;
  Table table;
};
std::vector<std::string> names_of(Chart::Kind);
Json to_json(const Chart& chart);

/// Of a chart of lines: a row a panel and x, a column a series, single seeds left out.
Table table_of(const Chart& chart);
/// "The mean at NAME VALUE is lowest ... and highest ...", of the last x of each line.
std::string extremes(const Chart& chart, const std::string& what);

/// The y of all lines but those of seeds and theories.
std::vector<double> means_of(const Chart& chart);
/// Whether values span more than a factor and are all positive, so that a logarithmic axis shows more.
bool spans(const std::vector<double>& values, double factor);

}  // namespace surd::report
