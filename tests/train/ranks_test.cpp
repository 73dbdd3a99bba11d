#include "train/ranks/ranks.hpp"

#include "tests/text.hpp"
#include "tests/train/toy.hpp"
#include "train/optimizers/adam.hpp"
#include "train/train.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace surd {
namespace {

/// What all threads that play a rank share: what was sent and not yet received, by sender, receiver and label. The same
/// report goes to all.
class Hub {
 public:
  explicit Hub(std::size_t count) : count(count) {}

  /// Numbers where their sender has them, until they are received.
  struct Post {
    const Real* numbers;
    std::size_t count;
    bool received = false;
  };
  using Address = std::tuple<std::size_t, std::size_t, std::size_t>;
  std::shared_ptr<Post> post(const Address& address, const Real* numbers, std::size_t count) {
    const std::lock_guard lock(guard_);
    return posts_[address].emplace_back(std::make_shared<Post>(Post{numbers, count}));
  }
  bool is_received(const Post& post) {
    const std::lock_guard lock(guard_);
    return post.received;
  }
  bool receive(const Address& address, Real* to, std::size_t count) {
    const std::lock_guard lock(guard_);
    std::deque<std::shared_ptr<Post>>& posts = posts_[address];
    if (posts.empty()) return false;
    Post& post = *posts.front();
    CHECK(post.count == count);
    std::copy_n(post.numbers, std::min(post.count, count), to);
    post.received = true;
    posts.pop_front();
    return true;
  }

  /// What this rank has sent and nobody received is gone, with the memory it lies in.
  void withdraw(std::size_t rank) {
    const std::lock_guard lock(guard_);
    for (auto& [address, posts] : posts_)
      if (std::get<0>(address) == rank) posts.clear();
  }

  void report(std::size_t number, std::size_t rank, std::vector<char> bytes) {
    const std::lock_guard lock(guard_);
    reports_[number][rank] = std::move(bytes);
  }
  /// The reports of all ranks, one after the other; nothing before all have come.
  std::optional<std::vector<char>> all(std::size_t number) {
    const std::lock_guard lock(guard_);
    if (reports_[number].size() < count) return std::nullopt;
    std::vector<char> bytes;
    for (const auto& [rank, own] : reports_[number]) bytes.insert(bytes.end(), own.begin(), own.end());
    return bytes;
  }

  const std::size_t count;

 private:
  std::mutex guard_;
  std::map<Address, std::deque<std::shared_ptr<Post>>> posts_;
  std::map<std::size_t, std::map<std::size_t, std::vector<char>>> reports_;
};

/// Reads what is sent no earlier, and spoils what is to be received no later, than a transport may.
class ThreadTransport : public Transport {
 public:
  ThreadTransport(Hub& hub, std::size_t index) : hub_(hub), index_(index) {}

  std::size_t count() const override { return hub_.count; }
  std::size_t index() const override { return index_; }
  Request send(const Real* numbers, std::size_t count, std::size_t to, std::size_t label) override {
    return begin(
        [&hub = hub_, post = hub_.post({index_, to, label}, numbers, count)] { return hub.is_received(*post); });
  }
  Request receive(Real* numbers, std::size_t count, std::size_t from, std::size_t label) override {
    std::fill_n(numbers, count, std::numeric_limits<Real>::quiet_NaN());
    return begin([=] { return hub_.receive({from, index_, label}, numbers, count); });
  }
  Request all_gather(const char* send, char* receive, std::size_t size) override {
    hub_.report(reports_, index_, {send, send + size});
    return begin([=, number = reports_++] {
      const auto all = hub_.all(number);
      if (all) std::copy(all->begin(), all->end(), receive);
      return all.has_value();
    });
  }
  bool done(Request request) override {
    const bool arrived = pending_.at(request)();
    if (arrived) pending_.erase(request);
    return arrived;
  }

 protected:
  Hub& hub() { return hub_; }

 private:
  Request begin(std::function<bool()> arrived) {
    pending_[++last_] = std::move(arrived);
    return last_;
  }

  Hub& hub_;
  std::size_t index_, reports_ = 0;
  std::map<Request, std::function<bool()>> pending_;
  Request last_ = 0;
};

constexpr std::size_t small_bucket = 3000;  // bytes: so that there are several, with tensors cut in two

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
  return new Ranks(
      *transport, parameters, std::chrono::seconds(60), [] { return false; }, small_bucket);
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
  for (const std::size_t accumulate : {1, 3}) {
    TrainOptions training = train_options(2, accumulate);
    const std::vector<Trained> ranks = on_ranks(4, training);  // two of them have nothing to do
    training.replicas = 2;
    Recorder recorder;
    CHECK(ranks[0] == trained(training, alone, nullptr, recorder));
    for (const Trained& rank : ranks) CHECK(rank == ranks[0]);
  }
  const std::vector<Trained> both = on_ranks(2, train_options(9, 1)), threads = [] {
    TrainOptions options = train_options(9, 1);
    options.replicas = 2;
    return on_ranks(2, options);
  }();
  CHECK(threads[0] == threads[1]);
  CHECK_FALSE(threads[0] == both[0]);
}

TEST_CASE("each gradient becomes the sum of the ranks that have one, and stays empty where none has") {
  constexpr std::size_t count = 3;
  const std::vector<std::size_t> sizes{1, 7, 50, 3, 0, 2};
  const auto value = [](std::size_t rank, std::size_t parameter, std::size_t i) {
    return static_cast<Real>((rank + 1) * 100 + parameter * 10 + i % 7);
  };
  const auto has = [](std::size_t rank, std::size_t parameter) {
    return parameter == 1 ? rank == 2 : parameter == 3 ? false : parameter != 5 || rank == 0;
  };
  for (const std::size_t contributing : {1, 2, 3}) {
    Hub hub(count);
    std::vector<ParameterSet> sets(count);
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < count; ++rank)
      threads.emplace_back([&, rank] {
        ParameterSet& set = sets[rank];
        for (std::size_t p = 0; p < sizes.size(); ++p) {
          GradientSum& gradient = set.add(std::to_string(p), zeros({sizes[p]})).gradient;
          gradient.empty = rank >= contributing || !has(rank, p);
          for (std::size_t i = 0; i < sizes[p] && !gradient.empty; ++i) gradient.sum(i) = value(rank, p, i);
        }
        ThreadTransport transport(hub, rank);
        constexpr std::size_t small_bucket = 100;
        Ranks ranks(
            transport, set, std::chrono::seconds(60), [] { return false; }, small_bucket);
        ranks.begin(contributing);
        for (std::size_t p = sizes.size(); p-- > 0;) ranks.ready(p);
        const Ranks::Report all = ranks.finish({static_cast<double>(rank), rank == 1 ? "there" : "", false});
        CHECK(all.loss == 3);
        CHECK(all.non_finite == "there");
      });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t rank = 0; rank < count; ++rank)
      for (std::size_t p = 0; p < sizes.size(); ++p) {
        std::size_t having = 0;
        for (std::size_t from = 0; from < contributing; ++from) having += has(from, p) ? 1 : 0;
        CHECK(sets[rank][p].gradient.empty == (having == 0));
        for (std::size_t i = 0; i < sizes[p] && having > 0; ++i) {
          Real sum = 0;
          for (std::size_t from = 0; from < contributing; ++from)
            if (has(from, p)) sum += value(from, p, i);
          CHECK(sets[rank][p].gradient.sum(i) == sum);
        }
      }
  }
}

#ifdef __SSE__
TEST_CASE("a sum over ranks that is subnormal is zero, whenever it is made") {
  constexpr Real smallest = std::numeric_limits<Real>::min();
  Hub hub(2);
  std::vector<ParameterSet> sets(2);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      GradientSum& gradient = sets[rank].add("x", zeros({4})).gradient;
      gradient = {full({4}, rank == 0 ? Real(1.5) * smallest : Real(-1.25) * smallest), false};
      ThreadTransport transport(hub, rank);
      Ranks ranks(transport, sets[rank], std::chrono::seconds(60), [] { return false; });
      ranks.begin(2);
      ranks.ready(0);
      ranks.finish({0, "", false});
    });
  for (std::thread& thread : threads) thread.join();
  for (const ParameterSet& set : sets) CHECK(test::same_bits(set[0].gradient.sum, zeros({4})));
}
#endif

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
    if (left-- == 0) {
      hub().withdraw(index());
      throw RankLost("this rank dies");
    }
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
    return new Ranks(
        *way, parameters, std::chrono::milliseconds(200), [] { return false; }, small_bucket);
  };
  message = test::message_of([&] { trained(train_options(9, 1), impatient, &transport, recorder); });
  lost.join();
  CHECK(test::contains(message, "rank 0: the other ranks did not answer within"));
  CHECK(recorder.losses.size() == 3);
  CHECK(recorder.saved == 3);
}

}  // namespace
}  // namespace surd
