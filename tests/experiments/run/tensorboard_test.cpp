#include "experiments/run/logs/event_file.hpp"
#include "experiments/run/logs/events.hpp"
#include "experiments/run/logs/named_numbers.hpp"
#include "experiments/run/run_result.hpp"
#include "tests/experiments/run/small_run.hpp"
#include "tests/text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <protozero/pbf_message.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace {

using namespace surd;
using namespace surd::test;

/// CRC-32C bit by bit (RFC 3720, appendix B.4), turned and shifted as TFRecord has it.
std::uint32_t expected_checksum(const std::string& bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
  }
  crc = ~crc;
  return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U;
}

template <class Number>
Number number_at(const std::string& bytes, std::size_t at) {
  Number number = 0;
  for (std::size_t i = sizeof number; i-- > 0;)
    number = static_cast<Number>((number << 8U) | static_cast<unsigned char>(bytes.at(at + i)));
  return number;
}

namespace tb = tensorboard;

/// The first field of this number in a message: how it is read is for `get` to say. Empty where there is none.
template <class Field, class Get>
auto field_of(const protozero::data_view& message, Field number, Get get) {
  std::optional<decltype(get(std::declval<protozero::pbf_message<Field>&>()))> found;
  for (protozero::pbf_message<Field> fields(message); fields.next();)
    if (!found && fields.tag() == number)
      found = get(fields);
    else
      fields.skip();
  return found;
}
constexpr auto as_double = [](auto& field) { return field.get_double(); };
constexpr auto as_message = [](auto& field) { return field.get_view(); };
constexpr auto as_string = [](auto& field) { return field.get_string(); };
constexpr auto as_doubles = [](auto& field) {
  const auto all = field.get_packed_double();
  return std::vector<double>(all.begin(), all.end());
};

struct HistogramShown {
  double min, max, count, sum_of_squares;
  std::vector<double> upper_ends, counts;
};

/// A value of a summary.
struct ValueShown {
  std::string tag, bytes;

  float number() const {
    return field_of(bytes, tb::Value::number, [](auto& field) { return field.get_float(); }).value();
  }
  HistogramShown histogram() const {
    const auto message = field_of(bytes, tb::Value::histogram, as_message).value();
    const auto number = [&](tb::Histogram field) { return field_of(message, field, as_double).value(); };
    const auto list = [&](tb::Histogram field) { return field_of(message, field, as_doubles).value(); };
    return {number(tb::Histogram::min),      number(tb::Histogram::max),
            number(tb::Histogram::count),    number(tb::Histogram::sum_of_squares),
            list(tb::Histogram::upper_ends), list(tb::Histogram::counts)};
  }
  std::string text() const {
    const auto tensor = field_of(bytes, tb::Value::tensor, as_message).value();
    CHECK(field_of(tensor, tb::TextTensor::type, [](auto& field) { return field.get_enum(); }) == tb::text_type);
    const auto metadata = field_of(bytes, tb::Value::metadata, as_message).value();
    const auto plugin = field_of(metadata, tb::Metadata::plugin, as_message).value();
    CHECK(field_of(plugin, tb::Plugin::name, as_string) == "text");
    return field_of(tensor, tb::TextTensor::texts, as_string).value();
  }
};

struct EventShown {
  double wall_time;
  std::int64_t step;
  std::string file_version;
  bool starts;
  std::vector<ValueShown> values;
};

EventShown decode(const std::string& record) {
  EventShown event{field_of(record, tb::Event::wall_time, as_double).value(),
                   field_of(record, tb::Event::step, [](auto& field) { return field.get_int64(); }).value_or(0),
                   field_of(record, tb::Event::file_version, as_string).value_or(""),
                   false,
                   {}};
  if (const auto log = field_of(record, tb::Event::session_log, as_message))
    event.starts = field_of(*log, tb::SessionLog::status, [](auto& field) { return field.get_enum(); }) == tb::start;
  if (const auto summary = field_of(record, tb::Event::summary, as_message))
    for (protozero::pbf_message<tb::Summary> values(*summary); values.next();) {
      const std::string bytes = values.get_string();
      event.values.push_back({field_of(bytes, tb::Value::tag, as_string).value(), bytes});
    }
  return event;
}

std::vector<EventShown> read_events(const std::string& file) {
  const std::string bytes = read_file(file);
  std::vector<EventShown> events;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = number_at<std::uint64_t>(bytes, at);
    CHECK(number_at<std::uint32_t>(bytes, at + 8) == expected_checksum(bytes.substr(at, 8)));
    REQUIRE(length <= bytes.size() - at - 16);
    const std::string record = bytes.substr(at + 12, length);
    CHECK(number_at<std::uint32_t>(bytes, at + 12 + length) == expected_checksum(record));
    events.push_back(decode(record));
    at += 16 + length;
  }
  return events;
}

/// In the order in which TensorBoard reads them.
std::vector<std::string> event_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const std::string& name : names_in(folder))
    if (name.rfind(event_file_prefix, 0) == 0) files.push_back(folder + "/" + name);
  return files;
}

/// By tag and step.
using Shown = std::map<std::string, std::map<std::int64_t, ValueShown>>;

/// What TensorBoard shows of a run: a start puts an end to what was there of its step and later ones.
Shown shown_of(const std::string& folder) {
  Shown shown;
  for (const std::string& file : event_files(folder)) {
    for (const EventShown& event : read_events(file)) {
      if (event.starts)
        for (auto& [tag, steps] : shown) steps.erase(steps.lower_bound(event.step), steps.end());
      for (const ValueShown& value : event.values) {
        CAPTURE(value.tag);
        CAPTURE(event.step);
        CHECK(shown[value.tag].emplace(event.step, value).second);
      }
    }
  }
  return shown;
}

std::map<std::string, std::map<std::int64_t, std::string>> bytes_of_shown(const std::string& folder) {
  std::map<std::string, std::map<std::int64_t, std::string>> bytes;
  for (const auto& [tag, steps] : shown_of(folder))
    for (const auto& [step, value] : steps) bytes[tag][step] = value.bytes;
  return bytes;
}

template <class Record>
void check_numbers(const Shown& shown, const std::vector<Record>& records) {
  REQUIRE_FALSE(records.empty());
  for (const Record& record : records) {
    for (const auto& [name, number] : numbers_of(record)) {
      CAPTURE(name);
      CHECK(shown.at(name).at(static_cast<std::int64_t>(record.update)).number() == static_cast<float>(number));
      CHECK(shown.at(name).size() == records.size());
    }
  }
}

TEST_CASE("the checksum is that of the standard") {
  // Of "123456789" it is 0xE3069283, before it is turned and shifted.
  CHECK(expected_checksum("123456789") == ((0xE3069283U >> 15U) | (0xE3069283U << 17U)) + 0xA282EAD8U);
}

TEST_CASE("an event file has a run's numbers, histograms, config and samples") {
  SmallRun run;
  run.settings = {"train.tensorboard=true", "train.evaluate_at_start=true"};
  REQUIRE(run.train(run.arguments("run")) == 0);
  const std::string folder = run.directory.path("run");
  const auto files = event_files(folder);
  REQUIRE(files.size() == 1);
  const auto events = read_events(files.front());
  REQUIRE(events.size() > 2);
  CHECK(events[0].file_version == "brain.Event:2");
  CHECK(events[1].starts);
  CHECK(events[1].step == 0);
  for (const EventShown& event : events) CHECK(event.wall_time > 1.5e9);

  const Shown shown = shown_of(folder);
  const Metrics metrics = read_metrics(folder + "/metrics.jsonl");
  check_numbers(shown, metrics.updates);
  check_numbers(shown, metrics.evaluations);
  std::size_t histograms = 0;
  const ProbeLog log = decode_probe(read_file(folder + "/probe.jsonl"), "probe.jsonl");
  for (const ProbeSeries& series : log) {
    const bool has_histogram =
        series.what == "parameter" && (series.statistic == "norm" || series.statistic == "gradient_norm");
    for (const auto& [update, value] : series.numbers) {
      const auto step = static_cast<std::int64_t>(update);
      CHECK(shown.at("probe/" + series.path + "/" + series.what + "/" + series.statistic).at(step).number() ==
            static_cast<float>(value));
      if (!has_histogram) continue;
      ++histograms;
      const HistogramShown histogram =
          shown.at((series.statistic == "norm" ? "parameters/" : "gradients/") + series.path).at(step).histogram();
      CAPTURE(series.path);
      CHECK(std::sqrt(histogram.sum_of_squares) == doctest::Approx(value).epsilon(1e-4));
      const std::size_t ranges = histogram.counts.size();
      REQUIRE(ranges > 0);
      CHECK(histogram.upper_ends.size() == ranges);
      double count = 0;
      for (std::size_t i = 0; i < ranges; ++i) {
        count += histogram.counts[i];
        CHECK(histogram.upper_ends[i] > (i == 0 ? histogram.min - (ranges == 1) : histogram.upper_ends[i - 1]));
      }
      CHECK(count == histogram.count);
      CHECK(histogram.upper_ends.back() == histogram.max);
      CHECK(histogram.counts.front() > 0);
      CHECK(histogram.counts.back() > 0);
    }
  }
  CHECK(histograms > 100);

  REQUIRE(shown.at("config").count(0) == 1);
  CHECK(contains(shown.at("config").at(0).text(), "    seed: 1\n    task:\n"));
  CHECK(shown.at("samples").size() == metrics.evaluations.size());
  const std::string samples = shown.at("samples").at(10).text();
  CHECK(contains(samples, "    source       "));
  CHECK(contains(samples, "\n    translation  "));
  CHECK(contains(samples, "\n    reference    "));
}

TEST_CASE("event files change no byte of the others, and who does not ask for them has none") {
  SmallRun run;
  REQUIRE(run.train(run.arguments("off")) == 0);
  run.settings = {"train.tensorboard=true"};
  REQUIRE(run.train(run.arguments("on")) == 0);
  CHECK(event_files(run.directory.path("off")).empty());
  CHECK(event_files(run.directory.path("on")).size() == 1);
  for (const char* name : {"/metrics.jsonl", "/probe.jsonl", "/data.json", "/checkpoints/best.safetensors",
                           "/checkpoints/update-00000010.safetensors"})
    CHECK_MESSAGE(read_file(run.directory.path("on") + name) == read_file(run.directory.path("off") + name), name);
}

TEST_CASE("a run that is killed and resumed shows what one does that was never stopped") {
  SmallRun run;
  run.settings = {"train.tensorboard=true", "train.log_every=1", "probe.every=2"};
  REQUIRE(run.train(run.arguments("whole")) == 0);
  for (const std::uint64_t last : {2, 7}) {  // before the first checkpoint, and after one; both within a second
    TrainArguments arguments = run.arguments("killed", last == 7);
    arguments.after_update = [=](std::uint64_t update) {
      if (update == last) throw Killed();
    };
    CHECK_THROWS_AS(run.train(arguments), Killed);
  }
  REQUIRE(run.train(run.arguments("killed", true)) == 0);
  CHECK(run.result("killed") == run.result("whole"));

  const std::string folder = run.directory.path("killed");
  const auto files = event_files(folder);
  REQUIRE(files.size() == 3);
  CHECK(read_events(files[1]).at(1).step == 0);  // it began again
  const auto summary = nlohmann::json::parse(read_file(folder + "/summary.json"));
  const auto resumed_at = summary["resumed_at"].get<std::int64_t>();
  CHECK(resumed_at > 0);
  CHECK(resumed_at < 7);
  CHECK(read_events(files[2]).at(1).step == resumed_at + 1);
  CHECK(bytes_of_shown(folder) == bytes_of_shown(run.directory.path("whole")));
}

TEST_CASE("a later event file has a later name, whatever the clock says") {
  const TemporaryDirectory folder;
  const std::string ahead = "events.out.tfevents.9000000000.elsewhere.1";
  folder.write(ahead, "");
  const EventFile file(folder.path());
  const auto files = event_files(folder.path());
  REQUIRE(files.size() == 2);
  CHECK(files[0] == folder.path(ahead));
  CHECK(contains(files[1], "events.out.tfevents.9000000001."));
}

}  // namespace
