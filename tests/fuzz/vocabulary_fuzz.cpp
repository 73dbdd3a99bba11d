#include "data/vocabulary.hpp"

#include "autograd/base/error.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace {

/// A file that exists in memory only.
struct MemoryFile {
  MemoryFile(const void* bytes, std::size_t size) : descriptor(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (descriptor < 0 || ::write(descriptor, bytes, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { ::close(descriptor); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }
  int descriptor;
};

}  // namespace

/// What is read is read the same again after it was written.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using surd::Vocabulary;
  const MemoryFile file(bytes, size);
  Vocabulary vocabulary;
  try {
    vocabulary = Vocabulary::load(file.path());
  } catch (const surd::Error&) {
    return 0;
  }
  const std::string text = vocabulary.text();
  const MemoryFile written(text.data(), text.size());
  if (Vocabulary::load(written.path()) != vocabulary) std::abort();
  for (std::size_t id = Vocabulary::specials; id < vocabulary.size(); ++id) {
    const auto token = static_cast<surd::TokenId>(id);
    if (vocabulary.id(vocabulary.token(token)) != token) std::abort();
  }
  return 0;
}
