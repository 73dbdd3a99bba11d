#include "train/replicas.hpp"

#include "tests/train/toy.hpp"

#include "train/probe/statistics.hpp"

#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>

namespace {

/// How many requests of this thread are still granted; below zero: all.
thread_local long requests_granted = -1;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (requests_granted == 0) throw std::bad_alloc();
  if (requests_granted > 0) --requests_granted;
  if (void* block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
/// std::stable_sort asks this one. It must come from where delete gives back to, which a sanitizer's own does not.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept try {
  return operator new(bytes);
} catch (const std::bad_alloc&) {
  return nullptr;
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace surd {
namespace {

using test::copy_pairs;
using test::gradients_of;
using test::large_toy_options;
using test::message_of;
using test::rounding;
using test::same_bits;
using test::Toy;

constexpr std::size_t toy_vocabulary = 9;

std::vector<SentencePair> pairs() { return copy_pairs(7, 1, 6, toy_vocabulary - Vocabulary::specials); }

Batch batch_of(std::size_t rows) {
  std::vector<std::size_t> indices(rows);
  for (std::size_t i = 0; i < rows; ++i) indices[i] = i;
  return make_batch(pairs(), indices);
}

std::vector<SentencePair> texts() {
  std::vector<SentencePair> texts = pairs();
  for (SentencePair& text : texts) text.source.clear();
  for (int i = 0; i < 4; ++i) texts[1].target.insert(texts[1].target.end(), 5, Vocabulary::specials + i);
  return texts;
}

/// Rows of one to three texts, of which one is long.
Batch packed_batch() { return make_packed_batch(texts(), {{3, 0}, {1}, {5, 6, 2}, {4}}); }

PassArguments pass(const Batch& whole, std::uint64_t step = 3) {
  return {Real(0.1), static_cast<Real>(whole.target_tokens()), 7, step, nullptr};
}

/// Options of a model with dropout, in attention too.
TransformerOptions dropping(ModelKind kind = ModelKind::encoder_decoder) {
  TransformerOptions options = test::toy_options(0.3);
  options.kind = kind;
  MultiHeadOptions attention;
  attention.dropout = 0.2;
  options.attention = test::attention(attention);
  return options;
}

/// Loss and gradients of one pass.
struct Result {
  explicit Result(std::size_t replicas, const Batch& batch, std::uint64_t step = 3,
                  const TransformerOptions& options = dropping()) {
    Toy toy(toy_vocabulary, options);
    test::perturb(toy.parameters);
    Replicas threads(toy.transformer, toy.parameters, replicas);
    loss = threads.accumulate(batch, pass(batch, step));
    for (const Parameter& parameter : toy.parameters) {
      CHECK_FALSE(parameter.gradient.empty);
      names.push_back(parameter.name);
    }
    gradients = gradients_of(toy.parameters);
    non_finite = threads.non_finite();
  }
  double loss = 0;
  std::vector<std::string> names;
  std::vector<Tensor> gradients;
  std::string non_finite;
};

/// Largest distance of two gradients of one parameter, relative to its norm. Those of key biases are zero but for
/// rounding (softmax does not see them), so they are judged by the keys' weight.
double distance(const std::vector<std::string>& names, const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool key_bias = names[i].find(".key.bias") != std::string::npos;
    if (key_bias) REQUIRE(names[i - 1].find(".key.weight") != std::string::npos);
    worst = std::max(worst, norm(a[i] - b[i]) / norm(a[key_bias ? i - 1 : i]));
  }
  return worst;
}

TEST_CASE("any number of replicas gives the loss and gradients of one, dropout included") {
  const Batch batch = batch_of(7);
  for (const ModelKind kind : {ModelKind::encoder_decoder, ModelKind::decoder_only}) {
    const Result one(1, batch, 3, dropping(kind));
    CHECK(one.non_finite.empty());
    for (const std::size_t count : {2, 3, 7, 10}) {
      CAPTURE(count);
      const Result several(count, batch, 3, dropping(kind));
      CHECK(several.loss == doctest::Approx(one.loss).epsilon(rounding));
      CHECK(distance(one.names, one.gradients, several.gradients) <= rounding);
    }
    // The masks matter: those of another step give another loss.
    CHECK(std::fabs(Result(1, batch, 4, dropping(kind)).loss / one.loss - 1) > 1e-3);
  }
}

TEST_CASE("of packed rows, too, any number of replicas gives the loss and gradients of one") {
  const Batch batch = packed_batch();
  const Result one(1, batch, 3, dropping(ModelKind::decoder_only));
  for (const std::size_t count : {2, 3, 4}) {
    CAPTURE(count);
    const Result several(count, batch, 3, dropping(ModelKind::decoder_only));
    CHECK(several.loss == doctest::Approx(one.loss).epsilon(rounding));
    CHECK(distance(one.names, one.gradients, several.gradients) <= rounding);
  }
  CHECK(std::fabs(Result(1, batch, 4, dropping(ModelKind::decoder_only)).loss / one.loss - 1) > 1e-3);
}

TEST_CASE("packed rows have the loss and gradients of their texts in rows of their own") {
  TransformerOptions options = test::toy_options();
  options.kind = ModelKind::decoder_only;
  const Result packed(1, packed_batch(), 3, options), alone(1, make_batch(texts(), {0, 1, 2, 3, 4, 5, 6}), 3, options);
  CHECK(packed.loss == doctest::Approx(alone.loss).epsilon(rounding));
  CHECK(distance(alone.names, alone.gradients, packed.gradients) <= rounding);
}

TEST_CASE("the same number of replicas always gives the same bits") {
  const Batch batch = batch_of(7);
  for (const std::size_t count : {1, 2, 3}) {
    const Result first(count, batch);
    for (int i = 0; i < 5; ++i) {
      const Result again(count, batch);
      CHECK(again.loss == first.loss);
      CHECK(same_bits(again.gradients, first.gradients));
    }
  }
}

TEST_CASE("a batch may have fewer rows than there are replicas") {
  for (const std::size_t rows : {1, 2}) {
    const Batch batch = batch_of(rows);
    const Result one(1, batch), four(4, batch);
    CHECK(four.loss == doctest::Approx(one.loss).epsilon(rounding));
    CHECK(distance(one.names, one.gradients, four.gradients) <= rounding);
  }
}

TEST_CASE("batches of different size follow each other") {
  Toy toy(toy_vocabulary, dropping());
  test::perturb(toy.parameters);
  Replicas replicas(toy.transformer, toy.parameters, 3);
  for (const std::size_t rows : {7, 1, 5, 2, 7}) {
    CAPTURE(rows);
    const Batch batch = batch_of(rows);
    toy.parameters.clear_gradients();
    const double loss = replicas.accumulate(batch, pass(batch));
    const Result fresh(3, batch);
    CHECK(loss == fresh.loss);
    CHECK(same_bits(gradients_of(toy.parameters), fresh.gradients));
  }
}

TEST_CASE("two half batches accumulate to the whole") {
  const Batch batch = batch_of(7);
  const Result whole(1, batch);
  for (const std::size_t count : {1, 2}) {
    Toy toy(toy_vocabulary, dropping());
    test::perturb(toy.parameters);
    Replicas replicas(toy.transformer, toy.parameters, count);
    double loss = replicas.accumulate(batch.slice(0, 3), pass(batch));
    loss += replicas.accumulate(batch.slice(3, 7), pass(batch));
    CHECK(loss == doctest::Approx(whole.loss).epsilon(rounding));
    CHECK(distance(whole.names, whole.gradients, gradients_of(toy.parameters)) <= rounding);
  }
}

TEST_CASE("an error in any thread reaches the caller, and the next batch is as if it had not been") {
  const Batch good = batch_of(7);
  for (std::size_t row = 0; row < good.size; ++row) {
    CAPTURE(row);
    Toy toy(toy_vocabulary, dropping());
    test::perturb(toy.parameters);
    Replicas replicas(toy.transformer, toy.parameters, 3);
    Batch bad = good;
    bad.source[row * bad.source_length] = toy_vocabulary;                           // no such token
    if (row == 0) bad.source[(bad.size - 1) * bad.source_length] = toy_vocabulary;  // errors in two threads
    const std::string error = message_of([&] { replicas.accumulate(bad, pass(bad)); });
    CHECK(error.find("embedding") != std::string::npos);

    toy.parameters.clear_gradients();
    const double loss = replicas.accumulate(good, pass(good));
    const Result fresh(3, good);
    CHECK(loss == fresh.loss);
    CHECK(same_bits(gradients_of(toy.parameters), fresh.gradients));
  }
}

TEST_CASE("a loss that is not finite comes with the first value that is not") {
  const Batch batch = batch_of(7);
  for (const std::size_t count : {1, 3}) {
    Toy toy(toy_vocabulary);
    Replicas replicas(toy.transformer, toy.parameters, count);
    Parameter& gain = toy.parameters.find("encoder.0.feed_forward.outer.bias");
    const Real before = gain.value[1];
    gain.value[1] = std::numeric_limits<Real>::quiet_NaN();
    CHECK_FALSE(std::isfinite(replicas.accumulate(batch, pass(batch))));
    CHECK(replicas.non_finite() == "encoder.0.feed_forward.outer.bias: parameter");
    gain.value[1] = before;
    toy.parameters.clear_gradients();
    CHECK(std::isfinite(replicas.accumulate(batch, pass(batch))));
    CHECK(replicas.non_finite().empty());
  }
}

TEST_CASE("only the first replica is watched") {
  const Batch batch = batch_of(6);
  Toy toy(toy_vocabulary);
  Replicas replicas(toy.transformer, toy.parameters, 2);
  test::Recorder recorder;
  PassArguments watched = pass(batch);
  watched.observer = &recorder;
  replicas.accumulate(batch, watched);
  const Shape& scores = recorder.only("encoder.0.self_attention: scores").shape();
  CHECK(scores[0] == 3);
  recorder.values.clear();
  replicas.accumulate(batch, pass(batch));
  CHECK(recorder.values.empty());
}

/// The address space that is in use.
rlim_t address_space() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

TEST_CASE("where the system has not so many threads, it is an error that says how many there are") {
  // Room for the stack of one thread more, not of two.
  constexpr std::size_t stack = std::size_t{1} << 30;
  pthread_attr_t before, large;
  REQUIRE(pthread_getattr_default_np(&before) == 0);
  REQUIRE(pthread_attr_init(&large) == 0);
  REQUIRE(pthread_attr_setstacksize(&large, stack) == 0);
  rlimit limit = {};
  REQUIRE(::getrlimit(RLIMIT_AS, &limit) == 0);
  Toy toy(toy_vocabulary, test::toy_options(0));
  REQUIRE(pthread_setattr_default_np(&large) == 0);
  const rlimit narrow = {address_space() + stack + stack / 2, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_AS, &narrow) == 0);
  std::string message;
  try {
    const Replicas replicas(toy.transformer, toy.parameters, 8);
  } catch (const Error& error) {
    message = error.what();
  }
  REQUIRE(::setrlimit(RLIMIT_AS, &limit) == 0);
  REQUIRE(pthread_setattr_default_np(&before) == 0);
  CAPTURE(message);
  CHECK(test::contains(message, "replicas: the system gave 2 of 8 threads"));
  CHECK(test::contains(message, "set train.replicas to at most 2"));
}

TEST_CASE("wherever memory runs out, the threads that run already are ended") {
  Toy toy(toy_vocabulary, test::toy_options(0));
  const Batch batch = batch_of(7);
  bool built = false;
  long refused = 0;
  while (!built) {
    REQUIRE(refused < 10000);
    requests_granted = refused;
    try {
      const Replicas replicas(toy.transformer, toy.parameters, 4);
      built = true;
    } catch (const std::bad_alloc&) {
      ++refused;
    }
    requests_granted = -1;
  }
  CHECK(refused > 3);  // at least one for each thread
  Replicas replicas(toy.transformer, toy.parameters, 4);
  CHECK(std::isfinite(replicas.accumulate(batch, {0, 1, 1, 1})));
}

struct LargeToy : Toy {
  LargeToy() : Toy(toy_vocabulary, large_toy_options()) {
    REQUIRE(parameters.element_count() >= Replicas::least_shared);
  }
};

TEST_CASE("every parameter has its turn once, and what one of them throws arrives") {
  for (const TransformerOptions& options : {test::toy_options(), large_toy_options()})
    for (const std::size_t count : {1, 2, 3}) {
      Toy toy(toy_vocabulary, options);
      Replicas replicas(toy.transformer, toy.parameters, count);
      std::vector<int> turns(toy.parameters.size(), 0);
      replicas.each_parameter([&](const Parameter& parameter) { ++turns[parameter.index]; });
      CHECK(turns == std::vector<int>(toy.parameters.size(), 1));
      const std::size_t last = toy.parameters.size() - 1;
      CHECK(message_of([&] {
              replicas.each_parameter(
                  [&](const Parameter& parameter) { expect(parameter.index != last, "parameter", "has no turn"); });
            }) == "parameter: has no turn");
      const Batch batch = batch_of(6);
      CHECK(std::isfinite(replicas.accumulate(batch, pass(batch))));
    }
}

TEST_CASE("replicas that share the parameters add the same bits as one after the other") {
  const Batch batch = batch_of(7);
  LargeToy toy;
  Replicas replicas(toy.transformer, toy.parameters, 3);
  replicas.accumulate(batch, pass(batch));
  const std::vector<Tensor> together = gradients_of(toy.parameters);

  // The three slices on one replica each, added here: they are even in tokens, and not in rows.
  const std::vector<std::size_t> cuts = batch.even_cuts(3);
  REQUIRE(cuts != std::vector<std::size_t>{0, 2, 4, 7});
  LargeToy alone;
  Replicas one(alone.transformer, alone.parameters, 1);
  std::vector<Tensor> sums;
  for (std::size_t i = 0; i < 3; ++i) {
    alone.parameters.clear_gradients();
    one.accumulate(batch.slice(cuts[i], cuts[i + 1]), pass(batch));
    const std::vector<Tensor> part = gradients_of(alone.parameters);
    for (std::size_t p = 0; p < part.size(); ++p) {
      if (i == 0)
        sums.push_back(part[p]);
      else
        for (std::size_t e = 0; e < part[p].size(); ++e) sums[p].data()[e] += part[p].data()[e];
    }
  }
  CHECK(same_bits(together, sums));
}

TEST_CASE("there must be a replica") {
  Toy toy(toy_vocabulary);
  CHECK_THROWS_AS(Replicas(toy.transformer, toy.parameters, 0), Error);
}

}  // namespace
}  // namespace surd
