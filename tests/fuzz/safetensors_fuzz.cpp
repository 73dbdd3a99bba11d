#include "train/storage/safetensors.hpp"

#include "autograd/base/error.hpp"

#include <cstdlib>
#include <cstring>

/// What is read can be written, and is then read as the same tensors.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace surd;
  TensorFile file;
  try {
    file = decode_safetensors(std::string(reinterpret_cast<const char*>(bytes), size), "fuzz");
  } catch (const Error&) {
    return 0;
  }
  TensorFileView view;
  view.metadata = file.metadata;
  for (const auto& [name, tensor] : file.tensors) view.tensors.emplace_back(name, &tensor);
  const TensorFile again = decode_safetensors(encode_safetensors(view), "again");
  if (again.tensors.size() != file.tensors.size()) std::abort();
  for (const auto& [name, tensor] : file.tensors) {
    const Tensor& other = again.tensors.at(name);
    if (other.shape() != tensor.shape()) std::abort();
    if (tensor.size() > 0 && std::memcmp(other.data(), tensor.data(), tensor.size() * sizeof(Real)) != 0) std::abort();
  }
  return 0;
}
