#include "train/storage/files.hpp"

#include "autograd/base/error.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <list>
#include <optional>
#include <random>
#include <set>
#include <string_view>
#include <utility>

namespace surd {
namespace {

namespace fs = std::filesystem;

constexpr const char* temporary_suffix = ".tmp";

/// Thrown where a file was to be made that is there.
class FileExists : public Error {
 public:
  using Error::Error;
};

/// A name of this call's own, so that two processes, on whatever machines, that write a file at once do not write into
/// one temporary file.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> calls_so_far = 0;
  std::random_device chance;
  return fmt::format("{}.{:08x}-{}{}", path, chance(), ++calls_so_far, temporary_suffix);
}

std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

SystemCalls real_calls;
SystemCalls* calls = &real_calls;

/// `code` is the system's, as in errno.
[[noreturn]] void throw_refused(int code, const std::string& path, std::string_view what) {
  const std::string text = fmt::format("{}: {}: {}", path, what, std::strerror(code));
  if (code == ENOSPC || code == EDQUOT) throw NoSpace(text + "; make room");
  if (code == EEXIST) throw FileExists(text);
  throw Error(text);
}

fs::file_status status_of(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  // A path that leads nowhere is an answer, not an error.
  expect(status.type() != fs::file_type::none, path, "cannot be looked at: {}; mend its access rights, or name another",
         error.message());
  return status;
}

}  // namespace

int SystemCalls::open(const char* path, int flags) { return ::open(path, flags, 0666); }
ssize_t SystemCalls::write(int descriptor, const void* bytes, std::size_t count) {
  return ::write(descriptor, bytes, count);
}
int SystemCalls::truncate(int descriptor, off_t size) { return ::ftruncate(descriptor, size); }
int SystemCalls::sync(int descriptor) { return ::fsync(descriptor); }
int SystemCalls::close(int descriptor) { return ::close(descriptor); }
int SystemCalls::rename(const char* from, const char* to) { return std::rename(from, to); }
std::int64_t SystemCalls::available(const char* folder) {
  struct statvfs status;
  if (::statvfs(folder, &status) != 0) return -1;
  return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
}

ReplacedSystemCalls::ReplacedSystemCalls(SystemCalls& replacement) : Scoped(calls, &replacement) {}

File::File(std::string path, int flags, std::string shown)
    : path_(std::move(path)), shown_(shown.empty() ? path_ : std::move(shown)) {
  do descriptor_ = calls->open(path_.c_str(), flags | O_CLOEXEC);
  while (descriptor_ < 0 && errno == EINTR);
  check(descriptor_ >= 0, "open");
}

File::~File() {
  if (descriptor_ >= 0) calls->close(descriptor_);
}

void File::check(bool fine, const char* action) const {
  const int code = errno;
  if (!fine) throw_refused(code, shown_, fmt::format("cannot {}", action));
}

void File::write(std::string_view bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = calls->write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENOSPC;  // nothing was written and nothing said why
    check(count > 0, "write");
    done += static_cast<std::size_t>(count);
  }
}

std::string File::read() {
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

void File::truncate(std::uint64_t size) { check(calls->truncate(descriptor_, static_cast<off_t>(size)) == 0, "cut"); }

bool File::is_at_its_path() const {
  struct stat own = {}, there = {};
  return ::fstat(descriptor_, &own) == 0 && ::stat(path_.c_str(), &there) == 0 && own.st_dev == there.st_dev &&
         own.st_ino == there.st_ino;
}

std::uint64_t File::size() const {
  struct stat status = {};
  check(::fstat(descriptor_, &status) == 0, "measure");
  return static_cast<std::uint64_t>(status.st_size);
}

void File::sync() { check(calls->sync(descriptor_) == 0, "sync"); }

void File::close() { check(calls->close(std::exchange(descriptor_, -1)) == 0, "close"); }

bool File::lock() {
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return true;
  check(errno == EWOULDBLOCK, "lock");
  return false;
}

std::string read_file(const std::string& path) {
  struct stat status {};
  // Opening a pipe that nobody writes to would wait for ever.
  const bool pipe = ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
  expect(!pipe, path, "is a pipe, where a file belongs; remove it");
  return File(path, O_RDONLY).read();
}

void write_file_atomically(const std::string& path, const std::string& bytes) {
  write_files_atomically({{path, bytes}});
}

void write_files_atomically(const std::map<std::string, std::string_view>& files) {
  std::vector<std::string> temporaries;
  std::list<File> written;
  std::set<std::string> folders;
  try {
    for (const auto& [path, bytes] : files) {
      temporaries.push_back(temporary_name(path));
      written.emplace_back(temporaries.back(), O_WRONLY | O_CREAT | O_TRUNC, path).write(bytes);
    }
    for (File& file : written) {  // the first one may bring the others to the disk as well
      file.sync();
      file.close();
    }
    auto temporary = temporaries.cbegin();
    for (const auto& [path, bytes] : files) {
      if (calls->rename((temporary++)->c_str(), path.c_str()) != 0)
        throw_refused(errno, path, "cannot be put in its place");
      folders.insert(folder_of(path));
    }
  } catch (...) {
    for (const std::string& temporary : temporaries) std::remove(temporary.c_str());
    throw;
  }
  for (const std::string& folder : folders) sync_folder(folder);
}

bool create_file(const std::string& path, const std::string& bytes) {
  std::optional<File> file;
  try {
    file.emplace(path, O_WRONLY | O_CREAT | O_EXCL);
  } catch (const FileExists&) {
    return false;
  }
  try {
    file->write(bytes);
    file->close();
  } catch (...) {
    std::remove(path.c_str());
    throw;
  }
  return true;
}

bool create_whole_file(const std::string& path, const std::string& bytes) {
  const std::string temporary = temporary_name(path);
  try {
    File file(temporary, O_WRONLY | O_CREAT | O_EXCL, path);
    file.write(bytes);
    file.sync();
    file.close();
  } catch (...) {
    std::remove(temporary.c_str());
    throw;
  }
  const bool linked = ::link(temporary.c_str(), path.c_str()) == 0;
  const int code = errno;
  std::remove(temporary.c_str());
  if (linked) {
    sync_folder(folder_of(path));
    return true;
  }
  // The answer to a call that succeeded may have been lost on the way from a server, and the call repeated.
  return code == EEXIST ? read_file(path) == bytes : create_file(path, bytes);
}

bool rename_folder(const std::string& from, const std::string& to) {
  if (calls->rename(from.c_str(), to.c_str()) != 0) {
    const int code = errno;
    if (code == EEXIST || code == ENOTEMPTY) return false;
    // Some file systems say no more than that it failed (sshfs).
    if ((code == EPERM || code == EIO) && path_exists(from) && !names_in(to).empty()) return false;
    // The answer to a call that succeeded may have been lost on the way from a server, and the call repeated.
    if (path_exists(from) || !path_exists(to)) throw_refused(code, from, fmt::format("cannot be renamed to {}", to));
  }
  sync_folder(folder_of(to));
  return true;
}

void make_folders(const std::string& path) {
  const auto made = [&] { return ::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST; };
  bool done = made();
  if (const std::string folder = folder_of(path); !done && errno == ENOENT && folder != path) {
    make_folders(folder);
    done = made();
  }
  const int code = errno;
  if (!done && code == ENOTDIR)
    for (std::string above = folder_of(path); folder_of(above) != above; above = folder_of(above))
      expect(!is_file(above), above, "is a file where a folder is to be made; remove it, or name another folder");
  if (!done) throw_refused(code, path, "cannot be made");
  // A file server may say for a while that what is there is not; that it is a file it does not make up.
  expect(!is_file(path), path, "is a file where a folder is to be made; remove it, or name another folder");
}

std::string without_end_slash(const std::string& path) {
  const fs::path named = fs::path(path).lexically_normal();
  return (named.has_filename() ? named : named.parent_path()).string();
}

bool make_whole_folder(const std::string& path, const std::function<void(const std::string& unfinished)>& fill) {
  const std::string folder = without_end_slash(path), unfinished = temporary_name(folder);
  try {
    make_folders(unfinished);
    fill(unfinished);
    if (rename_folder(unfinished, folder)) return true;
  } catch (...) {
    remove_quietly(unfinished);
    throw;
  }
  remove_quietly(unfinished);
  return false;
}

void remove_quietly(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

void sync_folder(const std::string& folder) {
  File directory(folder, O_RDONLY | O_DIRECTORY);
  directory.sync();
  directory.close();
}

bool is_temporary_file(const std::string& name, const std::string& path) {
  const std::string begin = fs::path(path).filename().string() + ".";
  return name.rfind(begin, 0) == 0 && fs::path(name).extension() == temporary_suffix;
}

void remove_temporary_files(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == temporary_suffix && entry.is_regular_file(error)) found.push_back(entry.path());
  for (const fs::path& path : found) fs::remove(path, error);
}

bool path_exists(const std::string& path) { return fs::exists(status_of(path)); }

bool is_folder(const std::string& path) { return fs::is_directory(status_of(path)); }

bool is_file(const std::string& path) { return fs::is_regular_file(status_of(path)); }

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  if (!path_exists(folder)) return names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  expect(!error, folder, "cannot be listed: {}; mend its access rights, or name another", error.message());
  std::sort(names.begin(), names.end());
  return names;
}

std::uint64_t available_bytes(const std::string& folder) {
  const std::int64_t bytes = calls->available(folder.c_str());
  return bytes < 0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(bytes);
}

}  // namespace surd
