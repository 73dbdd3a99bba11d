#include "experiments/run/metrics_reader.hpp"

#include "autograd/base/error.hpp"

#include <cstdlib>

/// Every line that is read is one record.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  std::size_t lines = 0;
  for (const char c : text) lines += c == '\n';
  try {
    const surd::Metrics metrics = surd::decode_metrics(text, "fuzz");
    if (metrics.updates.size() + metrics.evaluations.size() != lines) std::abort();
  } catch (const surd::Error&) {
  }
  return 0;
}
