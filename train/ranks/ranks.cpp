#include "train/ranks/ranks.hpp"

#include "autograd/base/subnormals.hpp"
#include "autograd/kernels/elementwise.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace surd {
namespace {

constexpr std::size_t longest_name = 200;
constexpr std::size_t head_bytes = sizeof(double) + 1 + longest_name;  // of a report, before a byte a parameter

/// Of a parameter's gradient: on its way to be summed, and as the sum.
std::size_t gradient_label(std::size_t parameter) { return 2 * parameter; }
std::size_t sum_label(std::size_t parameter) { return 2 * parameter + 1; }

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Ranks::Ranks(Transport& transport, ParameterSet& parameters, std::chrono::duration<double> timeout,
             std::function<bool()> stopped, std::size_t bucket_bytes)
    : transport_(transport),
      parameters_(parameters),
      timeout_(timeout),
      stopped_(std::move(stopped)),
      ready_(parameters.size()) {
  expect(sum_label(parameters.size()) < transport.most_labels(), "ranks",
         "{} parameters are more than there are labels for", parameters.size());
  std::size_t size = 0, end = parameters.size();
  for (std::size_t i = parameters.size(); i-- > 0;) {
    size += parameters[i].value.size();
    if (size * sizeof(Real) < bucket_bytes && i > 0) continue;
    buckets_.push_back(make_bucket(i, end, size));
    end = i;
    size = 0;
  }
}

Ranks::Bucket Ranks::make_bucket(std::size_t begin, std::size_t end, std::size_t size) const {
  const std::size_t share_size = (size + count() - 1) / count();
  Bucket bucket{begin, end, std::vector<std::vector<Piece>>(count()), {}, Stage::waiting, {}};
  std::size_t passed = 0;
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t first = 0, left = parameters_[i].value.size(); left > 0;) {
      const std::size_t rank = passed / share_size;
      const std::size_t length = std::min(left, (rank + 1) * share_size - passed);
      bucket.shares[rank].push_back({i, first, length});
      first += length;
      left -= length;
      passed += length;
    }
  }
  std::size_t own = 0;
  for (const Piece& piece : bucket.shares[index()]) own += piece.size;
  for (std::size_t rank = 0; rank < count(); ++rank) bucket.received.emplace_back(rank == index() ? 0 : own);
  return bucket;
}

void Ranks::begin(std::size_t contributing) {
  contributing_ = contributing;
  launched_ = 0;
  std::fill(ready_.begin(), ready_.end(), false);
  for (Bucket& bucket : buckets_) bucket.stage = Stage::waiting;
  begun_ = std::chrono::steady_clock::now();
}

void Ranks::ready(std::size_t parameter) {
  ready_[parameter] = true;
  launch_ready();
  progress();
}

void Ranks::launch_ready() {
  for (; launched_ < buckets_.size(); ++launched_) {
    Bucket& bucket = buckets_[launched_];
    for (std::size_t i = bucket.begin; i < bucket.end; ++i)
      if (!ready_[i]) return;
    scatter(bucket);
    bucket.stage = Stage::scattering;
  }
}

void Ranks::scatter(Bucket& bucket) {
  if (contributes(index()))
    for (std::size_t i = bucket.begin; i < bucket.end; ++i)
      if (GradientSum& gradient = parameters_[i].gradient; gradient.empty)  // which the report is yet to tell
        std::fill_n(gradient.sum.data(), gradient.sum.size(), Real(0));
  for (std::size_t rank = 0; rank < count(); ++rank) {
    if (rank == index()) continue;
    if (contributes(index()))
      for (const Piece& piece : bucket.shares[rank])
        bucket.requests.push_back(
            transport_.send(gradient_at(piece), piece.size, rank, gradient_label(piece.parameter)));
    if (!contributes(rank)) continue;
    Real* to = bucket.received[rank].data();
    for (const Piece& piece : bucket.shares[index()]) {
      bucket.requests.push_back(transport_.receive(to, piece.size, rank, gradient_label(piece.parameter)));
      to += piece.size;
    }
  }
}

/// In the order of the ranks: received[0] becomes the sum of those before this one; as a + b is b + a, that is then
/// added to this rank's own, and the later ones after it.
void Ranks::sum_share(Bucket& bucket) {
  const FlushSubnormals flush;  // always, as this may be called in a backward pass or after it
  std::vector<std::vector<Real>>& received = bucket.received;
  for (std::size_t rank = 1; rank < std::min(index(), contributing_); ++rank)
    kernels::accumulate(received[rank].data(), received[0].data(), received[0].size());
  std::size_t offset = 0;
  for (const Piece& piece : bucket.shares[index()]) {
    Real* sum = gradient_at(piece);
    if (!contributes(index()))
      std::copy_n(received[0].data() + offset, piece.size, sum);
    else if (index() > 0)
      kernels::accumulate(received[0].data() + offset, sum, piece.size);
    for (std::size_t rank = index() + 1; rank < contributing_; ++rank)
      kernels::accumulate(received[rank].data() + offset, sum, piece.size);
    offset += piece.size;
  }
}

void Ranks::gather(Bucket& bucket) {
  for (std::size_t rank = 0; rank < count(); ++rank) {
    if (rank == index()) continue;
    for (const Piece& piece : bucket.shares[index()])
      bucket.requests.push_back(transport_.send(gradient_at(piece), piece.size, rank, sum_label(piece.parameter)));
    for (const Piece& piece : bucket.shares[rank])
      bucket.requests.push_back(transport_.receive(gradient_at(piece), piece.size, rank, sum_label(piece.parameter)));
  }
}

bool Ranks::progress() {
  bool all = launched_ == buckets_.size();
  for (std::size_t i = 0; i < launched_; ++i) {
    Bucket& bucket = buckets_[i];
    const auto arrived = [&] {
      while (!bucket.requests.empty() && transport_.done(bucket.requests.back())) bucket.requests.pop_back();
      return bucket.requests.empty();
    };
    if (bucket.stage == Stage::scattering && arrived()) {
      sum_share(bucket);
      gather(bucket);
      bucket.stage = Stage::gathering;
    }
    if (bucket.stage == Stage::gathering && arrived()) bucket.stage = Stage::done;
    all = all && bucket.stage == Stage::done;
  }
  return all;
}

Ranks::Report Ranks::finish(const Report& own) {
  report_ = encode(own);
  reports_.resize(report_.size() * count());
  const Transport::Request request = transport_.all_gather(report_.data(), reports_.data(), report_.size());
  // A rank without a part of this batch, or whose loss is not finite, sends what it has, so that none waits for it.
  std::fill(ready_.begin(), ready_.end(), true);
  launch_ready();
  const double own_seconds = seconds_since(begun_);
  const auto waiting = std::chrono::steady_clock::now();
  for (bool reported = false, summed = false; !reported || !summed;) {
    reported = reported || transport_.done(request);
    summed = summed || progress();
    const double longest = stopped_() ? 0.5 : own_seconds + timeout_.count();
    if (seconds_since(waiting) > longest)
      throw RankLost(fmt::format(
          "rank {}: the other ranks did not answer within {:.1f} s; --resume goes on, with any number of ranks",
          index(), longest));
    std::this_thread::yield();
  }
  return take_reports();
}

std::vector<char> Ranks::encode(const Report& own) const {
  std::vector<char> bytes(head_bytes + parameters_.size());
  std::memcpy(bytes.data(), &own.loss, sizeof own.loss);
  bytes[sizeof own.loss] = own.stop ? 1 : 0;
  std::copy_n(own.non_finite.data(), std::min(own.non_finite.size(), longest_name - 1),
              bytes.data() + sizeof own.loss + 1);
  for (std::size_t i = 0; i < parameters_.size(); ++i) bytes[head_bytes + i] = parameters_[i].gradient.empty ? 0 : 1;
  return bytes;
}

Ranks::Report Ranks::take_reports() {
  Report report;
  parameters_.clear_gradients();
  const std::size_t size = head_bytes + parameters_.size();
  for (std::size_t rank = 0; rank < count(); ++rank) {
    const char* bytes = reports_.data() + rank * size;
    double loss = 0;
    std::memcpy(&loss, bytes, sizeof loss);
    report.loss += loss;
    report.stop = report.stop || bytes[sizeof loss] != 0;
    if (report.non_finite.empty()) report.non_finite = bytes + sizeof loss + 1;
    for (Parameter& parameter : parameters_)
      if (bytes[head_bytes + parameter.index] != 0) parameter.gradient.empty = false;
  }
  return report;
}

}  // namespace surd
