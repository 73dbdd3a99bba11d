#include "experiments/run/system_info.hpp"

#include "autograd/base/machine_memory.hpp"
#include "autograd/blas.hpp"
#include "autograd/kernels/simd.hpp"
#include "autograd/product_rules.hpp"
#include "experiments/program/version.hpp"
#include "train/storage/hash.hpp"

#include <fmt/format.h>
#include <strings.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

namespace surd {
namespace {

/// The value of the first line "key : value" of a file under /proc.
std::string proc_value(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (line.compare(0, key.size(), key) != 0 || colon == std::string::npos) continue;
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "unknown";
}

/// Of the program's file, which is read once; "unknown" where it cannot be.
const std::string& hash_of_program() {
  static const std::string hash = [] {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    std::vector<char> piece(1 << 20);
    Hash hash;
    std::streamsize size = 0;
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
      hash.add({piece.data(), static_cast<std::size_t>(file.gcount())});
      size += file.gcount();
    }
    return size == 0 ? "unknown" : hash.digits();
  }();
  return hash;
}

/// OpenBLAS passes over a name that it does not know.
std::string core_chosen_by() {
  const char* const named = std::getenv("OPENBLAS_CORETYPE");
  return named != nullptr && strcasecmp(named, blas::core_name().c_str()) == 0 ? "OPENBLAS_CORETYPE" : "the library";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> system_info() {
  const blas::ProductRules products = blas::rules_for(blas::this_processor());
  return {
      {"surd", version()},
      {"git_commit", git_commit()},
      {"program", hash_of_program()},
      {"real", sizeof(Real) == 4 ? "float" : "double"},
      {"compiler", compiler()},
      {"blas", blas::description()},
      {"blas_core", blas::core_name()},
      {"blas_core_from", core_chosen_by()},
      {"products", blas::described(products)},
      {"products_are", blas::evidence_of(products)},
      {"cpu", proc_value("/proc/cpuinfo", "model name")},
      {"simd_width", fmt::format("{} bits", 8 * sizeof(kernels::Batch))},
      {"cores", std::to_string(std::thread::hardware_concurrency())},
      {"memory", fmt::format("{:.1f} GiB", machine_memory_bytes() / (1 << 30))},
      {"libraries",
       fmt::format("xtensor {}.{}.{}, xsimd {}.{}.{}, fmt {}", XTENSOR_VERSION_MAJOR, XTENSOR_VERSION_MINOR,
                   XTENSOR_VERSION_PATCH, XSIMD_VERSION_MAJOR, XSIMD_VERSION_MINOR, XSIMD_VERSION_PATCH, FMT_VERSION)},
  };
}

std::size_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

}  // namespace surd
