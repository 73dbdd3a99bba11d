#include "experiments/run/experiment.hpp"
#include "experiments/study/file/read_study.hpp"
#include "experiments/study/metrics/probe_number.hpp"
#include "train/probe/probe.hpp"
#include "train/updater.hpp"

#include <algorithm>
#include <set>

namespace surd {
namespace {

/// Keeps what the probe records of an update.
class ProbeListener : public TrainListener {
 public:
  explicit ProbeListener(const ParameterSet& parameters) : parameters_(parameters) {}

  Observer* observer(std::uint64_t /*update*/, std::size_t index, const Batch& batch) override {
    return probe_.watch(index, batch);
  }
  void gradients(std::uint64_t /*update*/, const ParameterSet& parameters) override {
    probe_.parameters(parameters);
    probe_.noise({1, 1});  // its names are what counts
  }
  void updated(const UpdateRecord&) override { probe_.updated(parameters_); }
  const std::vector<Probe::Record>& records() const { return probe_.records(); }

 private:
  const ParameterSet& parameters_;
  Probe probe_;
};

/// What the first update of such a run records.
std::vector<Probe::Record> first_records(const ConfigFile& file) {
  Experiment experiment(file);
  const RunConfig& config = file.config;
  TrainOptions options = config.train;
  options.replicas = 1;
  const Transformer& model = experiment.model->transformer();
  const Dataset& dataset = *experiment.data.dataset;
  Batcher batcher(dataset.split("train"), options.batching, config.seed,
                  model.has_encoder() ? Sides::two : Sides::joined);
  ParameterSet& parameters = experiment.model->parameters();
  const Training training{model,
                          parameters,
                          *experiment.optimizer,
                          *experiment.schedule,
                          dataset.split("train"),
                          dataset.split("valid"),
                          dataset.codec,
                          config.seed};
  ProbeListener listener(parameters);
  try {
    listener.updated(Updater(training, options).update({batcher.batch(0, 0)}, 1, 0, listener));
  } catch (const Diverged&) {  // then what was recorded before
  }
  return listener.records();
}

struct Asked {
  const MetricSpec* metric;
  const ProbeMetricOptions* probed;
  Problem problem = {};   // of the arm that comes nearest
  std::size_t right = 0;  // words of path, what and statistic that an arm has
};

/// Compares what is asked with what an arm records. A statistic need not be there of this module yet: that of a
/// parameter which is 0 at first comes later.
void compare(Asked& asked, const std::vector<Probe::Record>& records) {
  using Record = Probe::Record;
  const ProbeMetricOptions& probed = *asked.probed;
  const struct {
    const char* key;
    std::string Record::*name;
    const std::string& asked;
    const char* of;
  } words[] = {{"path", &Record::path, probed.path, ""},
               {"what", &Record::what, probed.what, " of this module"},
               {"statistic", &Record::statistic, probed.statistic, " of this quantity"}};
  std::vector<const Record*> left;
  for (const Record& record : records) left.push_back(&record);
  std::size_t right = 0;
  for (const auto& word : words) {
    std::set<std::string> names;
    for (const Record* record : left) names.insert(record->*word.name);
    if (word.name == &Record::statistic)
      for (const Record& record : records)
        if (record.what == probed.what) names.insert(record.statistic);
    if (names.count(word.asked) == 0) {
      if (asked.problem.message.empty() || right > asked.right)
        asked.problem = {asked.metric->origin, asked.metric->name + "." + word.key,
                         fmt::format("the probe records no '{}'{}{}", shown(word.asked), word.of,
                                     not_among(word.asked, {names.begin(), names.end()}))};
      asked.right = std::max(asked.right, right);
      return;
    }
    const auto other = [&](const Record* record) { return record->*word.name != word.asked; };
    left.erase(std::remove_if(left.begin(), left.end(), other), left.end());
    ++right;
  }
  asked.right = right;
}

}  // namespace

void check_probes(const Study& study) {
  constexpr std::size_t all = 3;
  std::vector<Asked> asked;
  for (const MetricSpec& metric : study.metrics)
    if (const ProbeMetricOptions* probed = metric.metric->probed()) asked.push_back({&metric, probed});
  const auto open = [&] {
    return std::any_of(asked.begin(), asked.end(), [](const Asked& one) { return one.right < all; });
  };
  for (std::size_t arm = 0; arm < study.arms.size() && open(); ++arm) {
    const std::vector<Probe::Record> records = first_records(study.config_file(arm, {}, study.seeds.front()));
    for (Asked& one : asked)
      if (one.right < all) compare(one, records);
  }
  std::vector<Problem> problems;
  for (const Asked& one : asked)
    if (one.right < all) problems.push_back(one.problem);
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

}  // namespace surd
