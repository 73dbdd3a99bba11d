#include "train/storage/average.hpp"

#include "autograd/base/error.hpp"
#include "train/storage/files.hpp"
#include "train/storage/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace surd {
namespace {

/// Sums of parameters by their names.
class Sums {
 public:
  void add(const TensorFile& file, const std::string& path) {
    std::size_t parameters = 0;
    for (const auto& [name, tensor] : file.tensors) {
      if (is_optimizer_slot(name)) continue;
      ++parameters;
      if (count_ == 0) sums_[name] = {tensor.shape(), std::vector<double>(tensor.size())};
      const auto found = sums_.find(name);
      expect(found != sums_.end() && found->second.shape == tensor.shape(), path,
             "'{}' {} is not in the other checkpoints; average those of one run", name, tensor.shape());
      for (std::size_t i = 0; i < tensor.size(); ++i) found->second.values[i] += static_cast<double>(tensor.data()[i]);
    }
    expect(parameters == sums_.size(), path, "has {} parameters, the others have {}; average checkpoints of one run",
           parameters, sums_.size());
    ++count_;
  }

  std::map<std::string, Tensor> means() const {
    std::map<std::string, Tensor> means;
    for (const auto& [name, sum] : sums_) {
      Tensor& mean = means[name] = Tensor(sum.shape);
      for (std::size_t i = 0; i < mean.size(); ++i)
        mean.data()[i] = static_cast<Real>(sum.values[i] / static_cast<double>(count_));
    }
    return means;
  }

 private:
  struct Sum {
    Shape shape;
    std::vector<double> values;
  };
  std::map<std::string, Sum> sums_;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<std::uint64_t> average_checkpoints(const std::vector<std::string>& paths, const std::string& to,
                                               const Checkpoints::Check& check, const Checkpoints::Metadata& more) {
  expect(!paths.empty(), "average", "there are no checkpoints");
  std::vector<std::uint64_t> updates;
  TensorFileView view;
  Sums sums;
  for (const std::string& path : paths) {
    const TensorFile file = read_safetensors(path);
    if (check) check(path, file.metadata);
    const std::uint64_t update = update_of(file, path);
    expect(std::find(updates.begin(), updates.end(), update) == updates.end(), path,
           "is of update {} like another one; name each once", update);
    sums.add(file, path);
    if (updates.empty()) view.metadata = added_metadata(file.metadata);
    updates.push_back(update);
  }
  const auto means = sums.means();
  view.metadata.insert(more.begin(), more.end());
  view.metadata["averaged_updates"] = fmt::format("{}", fmt::join(updates, ","));
  for (const auto& [name, mean] : means) view.tensors.emplace_back(name, &mean);
  write_file_atomically(to, encode_safetensors(view));
  return updates;
}

}  // namespace surd
