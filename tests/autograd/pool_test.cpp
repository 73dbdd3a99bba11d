#include "autograd/pool.hpp"

#include "autograd/kernels/elementwise.hpp"
#include "autograd/ops.hpp"
#include "tests/tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <future>
#include <set>
#include <thread>
#include <vector>

namespace surd {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool caching = false;  // the pool passes everything on to the sanitizer
#else
constexpr bool caching = true;
#endif

std::size_t requests() { return pool::statistics().system_requests; }

TEST_CASE("a block is aligned and holds what was asked for, at every size") {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size <= 1200; ++size) sizes.push_back(size);
  for (std::size_t size = 1024; size <= 1000000; size += size / 7)
    for (const std::size_t near : {size - 1, size, size + 1}) sizes.push_back(near);
  for (std::size_t power = 1024; power <= (1 << 20); power *= 2)
    for (const std::size_t near : {power - 1, power, power + 1}) sizes.push_back(near);
  // All alive at once, filled, then checked: an overlap or a block that is too small shows.
  std::vector<unsigned char*> blocks;
  bool aligned = true, intact = true;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    blocks.push_back(static_cast<unsigned char*>(pool::allocate(sizes[i])));
    aligned = aligned && reinterpret_cast<std::uintptr_t>(blocks.back()) % 64 == 0;
    std::memset(blocks.back(), static_cast<int>(i % 251), sizes[i]);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i)
    for (std::size_t j = 0; j < sizes[i]; ++j) intact = intact && blocks[i][j] == i % 251;
  CHECK(aligned);
  CHECK(intact);
  for (void* block : blocks) pool::release(block);
  pool::trim();
}

TEST_CASE("a new block is larger than asked for by less than a sixteenth, or less than 64 bytes") {
  for (std::size_t size = 1; size < 2000000; size += 1 + size / 50) {
    CAPTURE(size);
    pool::trim();
    const std::size_t before = pool::statistics().bytes_held;
    void* block = pool::allocate(size);
    const std::size_t held = pool::statistics().bytes_held - before;
    CHECK_UNARY(held >= size + 64);
    CHECK_UNARY(16 * (held - 64 - size) < std::max<std::size_t>(size, 16 * 64));
    pool::release(block);
  }
}

TEST_CASE("all sizes that share their last 64 bytes share a block" * doctest::skip(!caching)) {
  pool::trim();
  std::vector<void*> blocks;
  for (std::size_t end = 64; end <= 1024; end += 64) {
    void* block = pool::allocate(end);
    for (std::size_t size = end - 63; size <= end; ++size) {
      pool::release(block);
      CHECK_UNARY(pool::allocate(size) == block);
    }
    blocks.push_back(block);  // still in use, so that no other size can have it
  }
  for (void* block : blocks) pool::release(block);
}

TEST_CASE("nothing is released as nothing") { pool::release(nullptr); }

TEST_CASE("blocks are used again" * doctest::skip(!caching)) {
  pool::trim();
  void* first = pool::allocate(1000);
  const std::size_t after_first = requests();
  pool::release(first);
  CHECK(pool::allocate(1000) == first);
  pool::release(first);
  CHECK(pool::allocate(900) == first);  // a block that is somewhat too large is taken as well
  void* second = pool::allocate(1000);
  CHECK(second != first);
  CHECK(requests() == after_first + 1);
  pool::release(first);
  pool::release(second);
  void* large = pool::allocate(2176);
  pool::trim();
  pool::release(large);
  CHECK(pool::allocate(1024) == large);  // and one that is 2 1/8 times as large
  pool::release(large);
  void* small = pool::allocate(960);  // but no larger one
  CHECK(small != large);
  pool::release(small);
}

TEST_CASE("statistics count requests and bytes, and trim gives them back") {
  pool::trim();
  const pool::Statistics before = pool::statistics();
  void* block = pool::allocate(5000);
  const pool::Statistics during = pool::statistics();
  CHECK(during.system_requests == before.system_requests + 1);
  CHECK(during.bytes_held >= before.bytes_held + 5000);
  pool::release(block);
  CHECK(pool::statistics().bytes_held == (caching ? during.bytes_held : before.bytes_held));
  pool::trim();
  CHECK(pool::statistics().bytes_held == before.bytes_held);
  CHECK(pool::statistics().system_requests == during.system_requests);
}

TEST_CASE("a request beyond all memory is refused") {
  CHECK_THROWS_AS(pool::allocate(std::size_t{1} << 60), std::bad_alloc);
  CHECK_THROWS_AS(pool::allocate(~std::size_t{0}), std::bad_alloc);
}

TEST_CASE("blocks move between threads") {
  // One thread allocates and another releases, for longer than a thread's own lists hold.
  constexpr int rounds = 20, count = 200;
  pool::trim();
  const std::size_t before = requests();
  bool intact = true;
  for (int round = 0; round < rounds; ++round) {
    std::vector<unsigned char*> blocks(count);
    std::thread([&] {
      for (int i = 0; i < count; ++i) {
        blocks[static_cast<std::size_t>(i)] = static_cast<unsigned char*>(pool::allocate(300));
        std::memset(blocks[static_cast<std::size_t>(i)], i % 256, 300);
      }
    }).join();
    for (int i = 0; i < count; ++i) intact = intact && blocks[static_cast<std::size_t>(i)][299] == i % 256;
    std::thread([&] {
      for (void* block : blocks) pool::release(block);
    }).join();
  }
  CHECK(intact);
  if (caching) CHECK(requests() == before + count);  // the first round's; ended threads leave theirs to the others
  pool::trim();
}

TEST_CASE("threads allocate and release at the same time") {
  const auto work = [](unsigned seed) {
    const random::Stream stream(seed, "pool", "test");
    std::vector<std::pair<unsigned char*, std::size_t>> held;
    bool intact = true;
    for (std::uint64_t i = 0; i < 20000; ++i) {
      const std::size_t size = 1 + stream.integer(i, 5000);
      auto* block = static_cast<unsigned char*>(pool::allocate(size));
      block[0] = block[size - 1] = static_cast<unsigned char>(seed);
      held.emplace_back(block, size);
      if (held.size() < 50) continue;
      const auto [old, old_size] = held[i % 50];
      intact = intact && old[0] == seed && old[old_size - 1] == seed;
      pool::release(old);
      held[i % 50] = held.back();
      held.pop_back();
    }
    for (const auto& [block, size] : held) pool::release(block);
    return intact;
  };
  std::vector<std::future<bool>> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.push_back(std::async(std::launch::async, work, seed));
  for (auto& thread : threads) CHECK(thread.get());
}

TEST_CASE("a training step asks the system for nothing after the second one" * doctest::skip(!caching)) {
  ParameterSet parameters;
  Parameter& w1 = parameters.add("w1", test::random_tensor({16, 8}, 1));
  Parameter& b1 = parameters.add("b1", zeros({16}));
  Parameter& w2 = parameters.add("w2", test::random_tensor({5, 16}, 2));
  const Tensor inputs = test::random_tensor({12, 8}, 3);
  std::vector<std::int32_t> targets;
  for (int i = 0; i < 12; ++i) targets.push_back(i % 5);

  pool::trim();
  Tape tape;
  std::vector<double> losses;
  std::size_t after_second = 0;
  for (int step = 1; step <= 50; ++step) {
    tape.reset({});
    const Variable hidden = linear(tape.constant(inputs), tape.parameter(w1), tape.parameter(b1), Activation::relu);
    const Variable loss = cross_entropy(linear(hidden, tape.parameter(w2)), targets, {0, -1, 12});
    losses.push_back(static_cast<double>(loss.value()(0)));
    tape.backward(loss);
    for (Parameter& parameter : parameters)
      kernels::axpy(Real(-0.1), parameter.gradient.sum.data(), parameter.value.data(), parameter.value.size());
    parameters.clear_gradients();
    if (step == 2) after_second = requests();
  }
  CHECK(requests() == after_second);
  CHECK(losses.back() < losses.front() / 2);
}

TEST_CASE("so does a step with attention, norms and dropout, on batches of two lengths" * doctest::skip(!caching)) {
  ParameterSet parameters;
  Parameter& table = parameters.add("table", test::random_tensor({30, 16}, 1));
  Parameter& weight = parameters.add("weight", test::random_tensor({16, 16}, 2));
  Parameter& gain = parameters.add("gain", full({16}, 1));
  Parameter& bias = parameters.add("bias", zeros({16}));
  pool::trim();
  Tape tape;
  std::size_t after_second = 0;
  for (int step = 1; step <= 40; ++step) {
    // Each length has had its two steps after the fourth.
    const std::size_t length = step % 2 == 0 ? 5 : 9;
    std::vector<std::int32_t> ids(4 * length);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 % 30);
    tape.reset({});
    AttentionArguments options{4, Real(0.5), true};
    options.dropout = 0.1;
    options.stream = tape.stream("dropout", "attention");
    Variable x = embedding_with_positions(tape.parameter(table), ids, 4, length, 4, {}, {});
    for (int layer = 0; layer < 3; ++layer) {
      const Variable y = layer_norm(x, tape.parameter(gain), tape.parameter(bias), Real(1e-5));
      x = add(x, dropout(attention(y, y, y, options), 0.1, options.stream));
      x = add(x, linear(x, tape.parameter(weight), tape.parameter(bias), Activation::gelu));
    }
    tape.backward(projection_cross_entropy(x, tape.parameter(table), {}, 1, ids, {Real(0.1), 0, 30}));
    if (step == 4) after_second = requests();
  }
  CHECK(requests() == after_second);
}

}  // namespace
}  // namespace surd
