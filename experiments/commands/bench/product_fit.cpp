#include "experiments/commands/bench/product_fit.hpp"

#include "autograd/base/error.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace surd {
namespace {

using blas::KernelShare;
using blas::ProductRules;

double seconds_by_rules(const TimedProduct& p, const ProductRules& rules) {
  return rules.by_kernel(p.product.a, p.product.b, p.product.m, p.product.n, p.product.k) ? p.kernel : p.library;
}

std::string without_blanks(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; }),
             text.end());
  return text;
}

template <class SecondsOf>
double sum_of(const TimedWork& work, SecondsOf seconds) {
  double sum = 0;
  for (const TimedProduct& p : work.products) sum += seconds(p) * static_cast<double>(p.product.count);
  return sum;
}

/// The simple ones first.
std::vector<KernelShare> candidates() {
  const std::vector<std::size_t> rows = {2, 4, 8, 12, 16, 32, 64, 128, 256};
  const std::vector<std::size_t> multiplications = {10'000,     100'000,    1'000'000,   3'200'000,
                                                    10'000'000, 32'000'000, 100'000'000, 320'000'000};
  std::vector<KernelShare> shares = {blas::all, blas::none};
  for (const std::size_t least : rows) shares.push_back({least, blas::unlimited});
  for (const std::size_t most : multiplications) shares.push_back({1, most});
  for (const std::size_t least : rows)
    for (const std::size_t most : multiplications) shares.push_back({least, most});
  return shares;
}

KernelShare fitted_share(KernelShare ProductRules::*kind, const std::vector<TimedWork>& works) {
  const auto cost = [&](const KernelShare& share) {
    ProductRules rules{};
    rules.*kind = share;
    const auto seconds = [&](const TimedProduct& timed) {
      const StepProduct& p = timed.product;
      return kind_of(p.a, p.b, p.m, p.k) == kind ? seconds_by_rules(timed, rules) : 0;
    };
    double sum = 0;
    for (const TimedWork& work : works) sum += sum_of(work, seconds) / work.seconds_by_faster();
    return sum;
  };
  constexpr double noise = 0.005;
  KernelShare best = blas::all;
  double least = cost(best);
  for (const KernelShare& share : candidates()) {
    const double seconds = cost(share);
    if (seconds < (1 - noise) * least) best = share, least = seconds;
  }
  return best;
}

}  // namespace

double TimedWork::seconds_by_library() const {
  return sum_of(*this, [](const TimedProduct& p) { return p.library; });
}
double TimedWork::seconds_by_kernel() const {
  return sum_of(*this, [](const TimedProduct& p) { return p.kernel; });
}
double TimedWork::seconds_by_faster() const {
  return sum_of(*this, [](const TimedProduct& p) { return std::min(p.library, p.kernel); });
}
double TimedWork::seconds_by(const ProductRules& rules) const {
  return sum_of(*this, [&](const TimedProduct& p) { return seconds_by_rules(p, rules); });
}

ProductRules fitted_rules(const blas::ProcessorKind& processor, const std::vector<TimedWork>& works) {
  return {processor, fitted_share(&ProductRules::nn, works), fitted_share(&ProductRules::nt, works),
          fitted_share(&ProductRules::tn, works), fitted_share(&ProductRules::few_rows, works)};
}

std::string with_rules(const std::string& path, const std::string& table, const ProductRules& rules) {
  expect(table.rfind("// Whose products are which, by processor", 0) == 0, path,
         "is not autograd/product_table.inc of surd's sources; name that file");
  const auto processor = [](const std::string& line) { return without_blanks(line.substr(0, line.find('}'))); };
  const std::string line = blas::table_line(rules);
  std::istringstream lines(table);
  std::string result;
  bool written = false;
  for (std::string old; std::getline(lines, old);) {
    const bool same = processor(old) == processor(line);
    written |= same;
    result += (same ? line : old) + "\n";
  }
  return written ? result : result + line + "\n";
}

}  // namespace surd
