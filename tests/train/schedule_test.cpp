#include "train/schedule.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace surd {
namespace {

using doctest::Approx;

const double pi = std::acos(-1.0);

TEST_CASE("constant") {
  const ConstantSchedule schedule(10, {});
  CHECK(schedule.factor(1) == 1);
  CHECK(schedule.factor(10) == 1);
  CHECK(schedule.state().empty());
}

TEST_CASE("linear: up to the warm-up's last update, then straight down to one update after the run's last") {
  const LinearSchedule schedule(10, {4, 0.1});
  CHECK(schedule.factor(1) == 0.25);
  CHECK(schedule.factor(3) == 0.75);
  CHECK(schedule.factor(4) == 1);
  CHECK(schedule.factor(5) == 1);
  CHECK(schedule.factor(6) == Approx(1 - 0.9 / 6));
  CHECK(schedule.factor(8) == Approx(0.55));
  CHECK(schedule.factor(10) == Approx(0.1 + 0.9 / 6));
  CHECK(schedule.factor(11) == Approx(0.1));
  CHECK(schedule.factor(12) == Approx(0.1));

  const LinearSchedule without(4, {0, 0});
  CHECK(without.factor(1) == 1);
  CHECK(without.factor(4) == 0.25);
  CHECK(without.factor(5) == 0);
}

TEST_CASE("linear and cosine with nothing but warm-up") {
  for (const std::size_t warmup : {10, 20}) {
    CHECK(LinearSchedule(10, {warmup, 0}).factor(10) == 10.0 / static_cast<double>(warmup));
    CHECK(CosineSchedule(10, {warmup, 0}).factor(10) == 10.0 / static_cast<double>(warmup));
  }
  CHECK(LinearSchedule(1, {1, 0}).factor(1) == 1);
  CHECK(LinearSchedule(1, {0, 0.5}).factor(1) == 1);
  CHECK(LinearSchedule(10, {9, 0}).factor(10) == 1);
}

TEST_CASE("cosine: up, then half a cosine down") {
  const CosineSchedule schedule(10, {4, 0.2});
  CHECK(schedule.factor(1) == 0.25);
  CHECK(schedule.factor(4) == 1);
  CHECK(schedule.factor(5) == 1);
  CHECK(schedule.factor(6) == Approx(1 - 0.8 * (1 - std::sqrt(0.75)) / 2));  // cos(pi / 6)
  CHECK(schedule.factor(7) == Approx(1 - 0.8 * 0.25));                       // cos(pi / 3) = 1/2
  CHECK(schedule.factor(8) == Approx(0.6));
  CHECK(schedule.factor(10) == Approx(0.2 + 0.8 * (1 - std::sqrt(0.75)) / 2));  // cos(5 pi / 6)
  CHECK(schedule.factor(11) == Approx(0.2));
  CHECK(schedule.factor(99) == Approx(0.2));
}

TEST_CASE("linear and cosine go down as other tools do, which count updates from 0") {
  constexpr std::size_t updates = 30;
  for (const std::size_t warmup : {0, 1, 7, 29})
    for (const double final_factor : {0.0, 0.2}) {
      const LinearSchedule linear(updates, {warmup, final_factor});
      const CosineSchedule cosine(updates, {warmup, final_factor});
      for (std::size_t step = warmup; step < updates; ++step) {
        CAPTURE(warmup);
        CAPTURE(step);
        const double share = static_cast<double>(step - warmup) / static_cast<double>(updates - warmup);
        // fairseq's polynomial_decay; transformers' get_linear_schedule_with_warmup, where final_factor is 0
        CHECK(linear.factor(step + 1) == Approx((1 - final_factor) * (1 - share) + final_factor));
        // PyTorch's CosineAnnealingLR; transformers' get_cosine_schedule_with_warmup, where final_factor is 0
        CHECK(cosine.factor(step + 1) == Approx(final_factor + (1 - final_factor) * (1 + std::cos(pi * share)) / 2));
      }
    }
}

TEST_CASE("inverse_sqrt: up, then with the root of the update") {
  const InverseSqrtSchedule schedule(1000, {4});
  CHECK(schedule.factor(1) == 0.25);
  CHECK(schedule.factor(3) == 0.75);
  CHECK(schedule.factor(4) == 1);
  CHECK(schedule.factor(5) == Approx(std::sqrt(0.8)));
  CHECK(schedule.factor(16) == 0.5);
  CHECK(schedule.factor(400) == Approx(0.1));
  CHECK(InverseSqrtSchedule(10, {1}).factor(1) == 1);
}

TEST_CASE("plateau: lower once `patience` evaluations brought nothing new") {
  PlateauSchedule schedule(100, {2, 0.5, 2, 0.2});
  CHECK(schedule.factor(1) == 0.5);
  CHECK(schedule.factor(2) == 1);
  schedule.observe(3);  // the first is the lowest so far
  schedule.observe(3);  // 1 without
  CHECK(schedule.factor(3) == 1);
  schedule.observe(2);  // new
  schedule.observe(2.5);
  CHECK(schedule.factor(3) == 1);
  schedule.observe(2);
  CHECK(schedule.factor(3) == 0.5);
  schedule.observe(2);  // counted anew
  CHECK(schedule.factor(3) == 0.5);
  schedule.observe(2);
  CHECK(schedule.factor(3) == 0.25);
  for (int i = 0; i < 10; ++i) schedule.observe(2);
  CHECK(schedule.factor(3) == 0.2);  // no lower
}

TEST_CASE("plateau goes on from its state") {
  const PlateauOptions options{0, 0.5, 2, 0.01};
  std::vector<double> losses{0.0, 3, -1, -1, 2, -1, -2, 5, 5, 5, 5};
  for (std::size_t stop = 0; stop <= losses.size(); ++stop) {
    CAPTURE(stop);
    PlateauSchedule first(100, options), expected(100, options);
    for (std::size_t i = 0; i < stop; ++i) first.observe(losses[i]);
    PlateauSchedule second(100, options);
    second.restore(first.state());
    for (std::size_t i = 0; i < stop; ++i) expected.observe(losses[i]);
    for (std::size_t i = stop; i < losses.size(); ++i) {
      second.observe(losses[i]);
      expected.observe(losses[i]);
      CHECK(second.factor(1) == expected.factor(1));
    }
    CHECK(second.state() == expected.state());
    CHECK(expected.factor(1) == 0.125);
  }
}

TEST_CASE("every schedule can be made by name and has a factor in (0, 1] from the first update to the last") {
  for (const std::string& name : schedules().names()) {
    CAPTURE(name);
    const auto schedule = ScheduleChoice(schedules(), name).make(1000);
    for (const std::uint64_t update : {1, 2, 399, 400, 401, 999, 1000}) {
      CHECK(schedule->factor(update) > 0);
      CHECK(schedule->factor(update) <= 1);
    }
  }
}

}  // namespace
}  // namespace surd
