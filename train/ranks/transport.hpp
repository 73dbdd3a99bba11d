#pragma once

#include "autograd/base/error.hpp"
#include "autograd/tensor.hpp"

#include <cstddef>
#include <string>

namespace surd {

/// Thrown where another process that trains the same model did not answer in time, or ended. The parameters are those
/// after the last update.
class RankLost : public Error {
 public:
  using Error::Error;
};

/// How the processes that train one model reach each other. No call waits.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::size_t count() const = 0;  ///< of processes
  virtual std::size_t index() const = 0;  ///< of this one
  virtual std::size_t most_labels() const { return 32'768; }

  /// A transfer that was begun; the numbers must stay where they are until it is done. After a RankLost that may be
  /// never: then the process is to end, without another call.
  using Request = std::size_t;
  /// Sends numbers to another process, which receives as many of the same label, below most_labels(). Of several with
  /// one label the first sent is the first received.
  virtual Request send(const Real* numbers, std::size_t count, std::size_t to, std::size_t label) = 0;
  virtual Request receive(Real* numbers, std::size_t count, std::size_t from, std::size_t label) = 0;
  /// The `size` bytes of `send` go to all; those of process k become the k-th of `receive`. Called in the same order by
  /// all.
  virtual Request all_gather(const char* send, char* receive, std::size_t size) = 0;
  /// Whether a transfer is done. To be called until it is, and then no more. Throws RankLost.
  virtual bool done(Request request) = 0;
};

}  // namespace surd
