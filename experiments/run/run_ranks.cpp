#include "experiments/run/run_ranks.hpp"

#include "experiments/program/exit_code.hpp"
#include "experiments/program/stopwatch.hpp"
#include "experiments/run/data/fingerprint.hpp"
#include "experiments/run/data/unknown_tokens.hpp"
#include "experiments/run/system_info.hpp"
#include "train/storage/hash.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <thread>

namespace surd {
namespace {

/// What a rank other than the first sees of its run: whether it was told to stop.
class AssistingListener : public TrainListener {
 public:
  explicit AssistingListener(const StopSignals& signals) : signals_(signals) {}
  bool interrupted() override { return signals_.received() != 0; }

 private:
  const StopSignals& signals_;
};

/// Hashes of what must be the same on all ranks, by name.
std::map<std::string, std::uint64_t> facts_of(const RunConfig& config, const Corpus& corpus, const TrainState& state) {
  std::map<std::string, std::string> texts{{"config", to_yaml(config)},
                                           {"data", to_json_text(fingerprint(corpus), UnknownShares())},
                                           {"update to begin after", std::to_string(state.update)}};
  for (const auto& [name, value] : system_info())
    if (std::find(std::begin(facts_of_rounding), std::end(facts_of_rounding), name) != std::end(facts_of_rounding))
      texts[name] = value;
  std::map<std::string, std::uint64_t> hashes;
  for (const auto& [name, text] : texts) hashes[name] = Hash().add(text).value();
  return hashes;
}

}  // namespace

std::unique_ptr<Ranks> make_ranks(const RunRequest& request, ParameterSet& parameters, const StopSignals& signals) {
  if (request.transport == nullptr) return nullptr;
  return std::make_unique<Ranks>(*request.transport, parameters, std::chrono::duration<double>(request.rank_timeout),
                                 // What mpirun sends where a rank has died; other signals ask for an orderly stop.
                                 [&signals] { return signals.received() == SIGTERM; });
}

void expect_alike(const RunRequest& request, const RunConfig& config, const Corpus& corpus, const TrainState& state) {
  Transport& transport = *request.transport;
  const auto facts = facts_of(config, corpus, state);
  std::vector<std::uint64_t> own;
  for (const auto& fact : facts) own.push_back(fact.second);
  std::vector<std::uint64_t> all(own.size() * transport.count());
  const Transport::Request sent =
      transport.all_gather(reinterpret_cast<const char*>(own.data()), reinterpret_cast<char*>(all.data()),
                           own.size() * sizeof(std::uint64_t));
  for (const Stopwatch watch; !transport.done(sent); std::this_thread::yield())
    if (watch.seconds() > request.rank_timeout)
      throw RankLost(fmt::format("rank {}: the other ranks did not begin within {:.0f} s", transport.index(),
                                 request.rank_timeout));
  for (std::size_t rank = 0; rank < transport.count(); ++rank) {
    std::size_t fact = rank * own.size();
    for (const auto& [name, hash] : facts)
      expect(all[fact++] == hash, fmt::format("rank {}", rank),
             "has another {} than rank {}; all must begin with the same, on one kind of processor", name,
             transport.index());
  }
}

int assist(Training training, const RunConfig& config, const TrainState& state, const RunRequest& request) {
  const StopSignals signals;
  const auto ranks = make_ranks(request, training.parameters, signals);
  training.ranks = ranks.get();
  AssistingListener listener(signals);
  try {
    train(training, config.train, state, listener);
  } catch (const Diverged&) {  // all ranks come to the same
  }
  return exit_done;
}

}  // namespace surd
