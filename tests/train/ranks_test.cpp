#include "train/ranks/ranks.hpp"

#include "tests/text.hpp"
#include "tests/train/toy.hpp"
#include "train/optimizers/adam.hpp"
#include "train/train.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace surd {
namespace {

/// What all threads that play a rank share. Calls of one kind are matched by their order.
class Hub {
 public:
  explicit Hub(std::size_t count) : count(count) {}

  void post(const std::string& kind, std::size_t number, std::size_t rank, std::vector<char> bytes) {
    const std::lock_guard lock(guard_);
    posts_[{kind, number}][rank] = std::move(bytes);
  }
  /// What each rank has sent; nothing before all have.
  std::optional<std::map<std::size_t, std::vector<char>>> all(const std::string& kind, std::size_t number) {
    const std::lock_guard lock(guard_);
    const auto& posted = posts_[{kind, number}];
    if (posted.size() < count) return std::nullopt;
    return posted;
  }

  const std::size_t count;

 private:
  std::mutex guard_;
  std::map<std::pair<std::string, std::size_t>, std::map<std::size_t, std::vector<char>>> posts_;
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(Hub& hub, std::size_t index) : hub_(hub), index_(index) {}

  std::size_t count() const override { return hub_.count; }
  std::size_t index() const override { return index_; }
  Request all_to_all(const Real* send, Real* receive, std::size_t size) override {
    return begin("scatter", send, receive, size * count() * sizeof(Real), size * sizeof(Real));
  }
  Request all_gather(Real* all, std::size_t size) override {
    return begin("gather", all + index_ * size, all, size * sizeof(Real), size * sizeof(Real));
  }
  Request all_gather(const char* send, char* receive, std::size_t size) override {
    return begin("report", send, receive, size, size);
  }
  bool done(Request request) override {
    const Pending& pending = pending_.at(request);
    const auto all = hub_.all(pending.kind, pending.number);
    if (!all) return false;
    for (const auto& [rank, bytes] : *all) {
      const std::size_t from = pending.kind == "scatter" ? index_ * pending.piece : 0;
      std::memcpy(pending.receive + rank * pending.piece, bytes.data() + from, pending.piece);
    }
    pending_.erase(request);
    return true;
  }

 private:
  struct Pending {
    std::string kind;
    std::size_t number;
    char* receive;
    std::size_t piece;  ///< bytes that come from each rank
  };
  template <class T>
  Request begin(const std::string& kind, const T* send, T* receive, std::size_t bytes, std::size_t piece) {
    const std::size_t number = numbers_[kind]++;
    const char* first = reinterpret_cast<const char*>(send);
    hub_.post(kind, number, index_, {first, first + bytes});
    pending_[++last_] = {kind, number, reinterpret_cast<char*>(receive), piece};
    return last_;
  }

  Hub& hub_;
  std::size_t index_;
  std::map<std::string, std::size_t> numbers_;
  std::map<Request, Pending> pending_;
  Request last_ = 0;
};

/// What a run leaves: the values of all parameters, and the loss of each update.
struct Trained {
  std::vector<std::vector<Real>> values;
  std::vector<double> losses;

  bool operator==(const Trained& other) const { return values == other.values && losses == other.losses; }
};

struct Recorder : TrainListener {
  std::vector<double> losses;
  bool stop = false;
  std::uint64_t saved = 0;
  void updated(const UpdateRecord& record) override { losses.push_back(record.loss); }
  bool interrupted() override { return stop; }
  void checkpoint(const TrainState& state, bool) override { saved = state.update; }
};

TransformerOptions toy_options() {
  TransformerOptions options;
  options.d_model = 16;
  options.heads = 2;
  options.encoder_layers = options.decoder_layers = 1;
  options.feed_forward = test::feed_forward({32});
  options.dropout = 0.1;
  options.embedding.tie = Tie::all;  // parameters that are used more than once
  return options;
}

TrainOptions train_options(std::size_t batch_size, std::size_t accumulate) {
  TrainOptions training;
  training.updates = training.evaluate_every = training.checkpoint_every = 8;
  training.batching.batch_size = batch_size;
  training.accumulate = accumulate;
  training.evaluate_sequences = 0;
  return training;
}

Trained trained(const TrainOptions& training, Ranks* (*make)(Transport*, ParameterSet&), Transport* transport,
                Recorder& recorder) {
  test::Toy toy(Vocabulary::specials + 12, toy_options(), 7);
  const auto train_pairs = test::copy_pairs(60, 2, 6, 12, 7), valid_pairs = test::copy_pairs(8, 2, 6, 12, 8);
  Adam optimizer(toy.parameters, AdamOptions());
  ConstantSchedule schedule(training.updates, {});
  const std::unique_ptr<Ranks> ranks(make(transport, toy.parameters));
  train(
      {toy.transformer, toy.parameters, optimizer, schedule, train_pairs, valid_pairs, test::no_words, 7, ranks.get()},
      training, {}, recorder);
  Trained result{{}, recorder.losses};
  for (const Parameter& parameter : toy.parameters)
    result.values.emplace_back(parameter.value.data(), parameter.value.data() + parameter.value.size());
  return result;
}

Ranks* alone(Transport*, ParameterSet&) { return nullptr; }
Ranks* together(Transport* transport, ParameterSet& parameters) {
  return new Ranks(*transport, parameters, std::chrono::seconds(60), [] { return false; });
}

/// What each rank comes to.
std::vector<Trained> on_ranks(std::size_t count, const TrainOptions& training) {
  Hub hub(count);
  std::vector<Trained> results(count);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      ThreadTransport transport(hub, rank);
      Recorder recorder;
      results[rank] = trained(training, together, &transport, recorder);
    });
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST_CASE("so many ranks come to the same bits as so many replicas, all of them") {
  for (const std::size_t accumulate : {1, 3})
    for (const std::size_t count : {1, 2, 3, 5}) {
      TrainOptions training = train_options(9, accumulate);
      const std::vector<Trained> ranks = on_ranks(count, training);
      training.replicas = count;
      Recorder recorder;
      const Trained replicas = trained(training, alone, nullptr, recorder);
      CAPTURE(accumulate);
      CAPTURE(count);
      REQUIRE(recorder.losses.size() == 8);
      for (const Trained& rank : ranks) CHECK(rank == replicas);
    }
}

TEST_CASE("ranks without a part of a batch, and ranks of several replicas, come to the same on all") {
  TrainOptions training = train_options(2, 1);
  const std::vector<Trained> ranks = on_ranks(4, training);  // two of them have nothing to do
  training.replicas = 2;
  Recorder recorder;
  CHECK(ranks[0] == trained(training, alone, nullptr, recorder));
  for (const Trained& rank : ranks) CHECK(rank == ranks[0]);
  const std::vector<Trained> both = on_ranks(2, train_options(9, 1)), threads = [] {
    TrainOptions options = train_options(9, 1);
    options.replicas = 2;
    return on_ranks(2, options);
  }();
  CHECK(threads[0] == threads[1]);
  CHECK_FALSE(threads[0] == both[0]);
}

TEST_CASE("where one rank is told to stop, all stop after the same update") {
  Hub hub(3);
  std::vector<std::size_t> updates(3);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      ThreadTransport transport(hub, rank);
      Recorder recorder;
      recorder.stop = rank == 1;
      trained(train_options(9, 1), together, &transport, recorder);
      updates[rank] = recorder.losses.size();
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(updates == std::vector<std::size_t>{1, 1, 1});
}

/// A rank that does not answer any more after a while.
struct LostTransport : ThreadTransport {
  using ThreadTransport::ThreadTransport;
  std::size_t left = 0;
  Request all_gather(const char* send, char* receive, std::size_t size) override {
    if (left-- == 0) throw RankLost("this rank dies");
    return ThreadTransport::all_gather(send, receive, size);
  }
};

TEST_CASE("where a rank is lost, the others end in time, and save what was reached before") {
  Hub hub(2);
  std::string message;
  Recorder recorder;
  std::thread lost([&] {
    LostTransport transport(hub, 1);
    transport.left = 3;
    Recorder own;
    try {
      trained(train_options(9, 1), together, &transport, own);
    } catch (const RankLost&) {
    }
  });
  ThreadTransport transport(hub, 0);
  const auto impatient = [](Transport* way, ParameterSet& parameters) {
    return new Ranks(*way, parameters, std::chrono::milliseconds(200), [] { return false; });
  };
  message = test::message_of([&] { trained(train_options(9, 1), impatient, &transport, recorder); });
  lost.join();
  CHECK(test::contains(message, "rank 0: the other ranks did not answer within"));
  CHECK(recorder.losses.size() == 3);
  CHECK(recorder.saved == 3);
}

}  // namespace
}  // namespace surd
