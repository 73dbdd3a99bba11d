#include "train/files.hpp"

#include "autograd/error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace surd {
namespace {

class File {
 public:
  File(const std::string& path, int flags) : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    check(descriptor_ >= 0, "open");
  }
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(const std::string& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      check(count > 0, "write");
      done += static_cast<std::size_t>(count);
    }
  }
  std::string read() {
    std::string bytes;
    char buffer[1 << 16];
    while (true) {
      const ssize_t count = ::read(descriptor_, buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      check(count >= 0, "read");
      if (count == 0) return bytes;
      bytes.append(buffer, static_cast<std::size_t>(count));
    }
  }
  void sync() { check(::fsync(descriptor_) == 0, "sync"); }
  void close() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    check(::close(descriptor) == 0, "close");
  }

 private:
  void check(bool fine, const char* action) const {
    expect(fine, path_, "cannot {}: {}", action, std::strerror(errno));
  }

  std::string path_;
  int descriptor_;
};

}  // namespace

std::string read_file(const std::string& path) { return File(path, O_RDONLY).read(); }

void write_file_atomically(const std::string& path, const std::string& bytes) {
  const std::string temporary = path + ".tmp";
  try {
    File file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    file.write(bytes);
    file.sync();
    file.close();
    expect(std::rename(temporary.c_str(), path.c_str()) == 0, path, "cannot rename: {}", std::strerror(errno));
  } catch (...) {
    std::remove(temporary.c_str());
    throw;
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  File directory(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY);
  directory.sync();
}

}  // namespace surd
