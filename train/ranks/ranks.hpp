#pragma once

#include "autograd/parameter.hpp"
#include "train/ranks/transport.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace surd {

/// Sums the gradients of several processes (ranks), each of which has its own part of every batch. A sum is taken in
/// the order of the ranks, whenever they arrive, so that a given number of ranks always gives the same bits: those of
/// as many replicas in one process.
///
/// Gradients travel in buckets, which leave as soon as backward is done with them: each rank receives its share of all
/// ranks' gradients, sums it, and sends the sum to all (Thakur, Rabenseifner and Gropp 2005, "Optimization of
/// collective communication operations in MPICH", section 4). So each of n ranks sends and receives 2 (n - 1) / n times
/// the bytes of the gradients. They are sent from where backward leaves them, and sums arrive there: for each other
/// rank a share is a message for each tensor that it has a part of.
class Ranks {
 public:
  /// After its own pass a rank waits for the others as long as that took, and `timeout` longer. `stopped` says whether
  /// this process was told to stop: then it waits for half a second, because others may be gone. `bucket_bytes`: of
  /// each bucket, at least, but for the last one. Throws Error where the transport has not labels enough for so many
  /// parameters.
  Ranks(Transport& transport, ParameterSet& parameters, std::chrono::duration<double> timeout,
        std::function<bool()> stopped, std::size_t bucket_bytes = usual_bucket_bytes);

  static constexpr std::size_t usual_bucket_bytes = 4 << 20;

  std::size_t count() const { return transport_.count(); }
  std::size_t index() const { return transport_.index(); }

  /// What a rank tells the others of its pass.
  struct Report {
    double loss = 0;         ///< its share of the loss
    std::string non_finite;  ///< names the first value that is not; "" where all are
    bool stop = false;       ///< it was told to stop
  };
  /// A pass over a batch begins; gradients of the first `contributing` ranks are summed.
  void begin(std::size_t contributing);
  /// The gradient of this parameter will not change any more in this pass.
  void ready(std::size_t parameter);
  /// Waits for the other ranks. Then each parameter's gradient is the sum over all ranks, and the result has their
  /// losses, the first name and whether anybody is to stop. Throws RankLost.
  Report finish(const Report& own);

 private:
  /// Consecutive numbers of a parameter's gradient.
  struct Piece {
    std::size_t parameter, begin, size;
  };
  enum class Stage { waiting, scattering, gathering, done };
  /// Parameters whose gradients leave together: those with an index in [begin, end).
  struct Bucket {
    std::size_t begin, end;
    std::vector<std::vector<Piece>> shares;   ///< what each rank sums
    std::vector<std::vector<Real>> received;  ///< of each other rank's gradients, what this one sums
    Stage stage = Stage::waiting;
    std::vector<Transport::Request> requests;  ///< not done yet
  };

  Bucket make_bucket(std::size_t begin, std::size_t end, std::size_t size) const;
  void launch_ready();
  void scatter(Bucket& bucket);
  void sum_share(Bucket& bucket);
  void gather(Bucket& bucket);
  /// Takes what has arrived a step further; true once everything has.
  bool progress();
  bool contributes(std::size_t rank) const { return rank < contributing_; }
  Real* gradient_at(const Piece& piece) { return parameters_[piece.parameter].gradient.sum.data() + piece.begin; }
  std::vector<char> encode(const Report& own) const;
  /// What all ranks have told together, and which parameters have a gradient.
  Report take_reports();

  Transport& transport_;
  ParameterSet& parameters_;
  std::chrono::duration<double> timeout_;
  std::function<bool()> stopped_;
  std::vector<Bucket> buckets_;  // the last parameters first, as backward is done with them
  std::vector<bool> ready_;
  std::vector<char> report_, reports_;  // on their way
  std::size_t launched_ = 0, contributing_ = 0;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace surd
