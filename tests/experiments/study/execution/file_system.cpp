/// Put before a program by LD_PRELOAD, this makes its file system worse, as the environment says:
///
///     STALE=SECONDS    a file that was not there stays so for the process that looked, for so long
///     FULL=FILE        as long as FILE is there, nothing can be written
///     ROOM=BYTES       there is none for more bytes at once
///     NOLINK=1         a file cannot have a second name
///     NOEXCL=1         of several that make one file, all are told that they did
///     COUNT=FILE       at its end the process writes there how many calls it made that go to the server
///
/// A lock is given to everybody.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;

std::atomic<long> calls = 0;

/// The system's own function of this name.
template <class Function>
Function* next(const char* name) {
  void* symbol = ::dlsym(RTLD_NEXT, name);
  Function* function = nullptr;
  std::memcpy(&function, &symbol, sizeof function);
  return function;
}

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The paths that were not there, and when that was seen.
struct Absent {
  std::mutex guard;
  std::map<std::string, Clock::time_point> since;
};
Absent& absent() {
  static auto* all = new Absent;  // processes that end still look
  return *all;
}

bool stale(const char* path) {
  const double seconds = std::atof(setting("STALE"));
  if (seconds == 0) return false;
  const std::lock_guard lock(absent().guard);
  const auto found = absent().since.find(path);
  return found != absent().since.end() && std::chrono::duration<double>(Clock::now() - found->second).count() < seconds;
}

template <class Call>
int looked_up(const char* path, Call call) {
  ++calls;
  if (stale(path)) {
    errno = ENOENT;
    return -1;
  }
  const int result = call();
  if (result < 0 && errno == ENOENT) {
    const std::lock_guard lock(absent().guard);
    absent().since[path] = Clock::now();
    errno = ENOENT;
  }
  return result;
}

/// What this process makes itself, it sees.
template <class Call>
int made(const char* path, Call call) {
  ++calls;
  const int result = call();
  const int code = errno;
  if (result >= 0) {
    const std::lock_guard lock(absent().guard);
    // With it all that lies in it, where a folder was renamed.
    auto& since = absent().since;
    const std::string name = path;
    for (auto at = since.lower_bound(name); at != since.end() && at->first.compare(0, name.size(), name) == 0;)
      at = since.erase(at);
  }
  errno = code;
  return result;
}

struct Counter {
  ~Counter() {
    if (*setting("COUNT") != '\0') std::ofstream(setting("COUNT"), std::ios::app) << calls << "\n";
  }
} counter;

template <class Function>
int opened(const char* name, const char* path, int flags, mode_t mode) {
  const int allowed = *setting("NOEXCL") == '\0' ? flags : flags & ~O_EXCL;
  const auto call = [&] { return next<Function>(name)(path, allowed, mode); };
  return (flags & O_CREAT) != 0 ? made(path, call) : looked_up(path, call);
}

mode_t mode_of(int flags, va_list more) { return (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0; }

}  // namespace

extern "C" {

int stat(const char* path, struct stat* status) {
  return looked_up(path, [&] { return next<int(const char*, struct stat*)>("stat")(path, status); });
}
int access(const char* path, int mode) {
  return looked_up(path, [&] { return next<int(const char*, int)>("access")(path, mode); });
}
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return opened<int(const char*, int, ...)>("open", path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return opened<int(const char*, int, ...)>("open64", path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  ++calls;
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return next<int(int, const char*, int, ...)>("openat")(folder, path, flags, mode);
}
int rename(const char* from, const char* to) {
  return made(to, [&] { return next<int(const char*, const char*)>("rename")(from, to); });
}
int link(const char* from, const char* to) {
  if (*setting("NOLINK") != '\0') return errno = EPERM, -1;
  return made(to, [&] { return next<int(const char*, const char*)>("link")(from, to); });
}
int mkdir(const char* path, mode_t mode) {
  return made(path, [&] { return next<int(const char*, mode_t)>("mkdir")(path, mode); });
}
int unlink(const char* path) {
  ++calls;
  return next<int(const char*)>("unlink")(path);
}
int granted(int descriptor, int operation) __asm__("flock");  // a structure has that name, too
int granted(int /*descriptor*/, int /*operation*/) { return 0; }
ssize_t write(int descriptor, const void* bytes, size_t count) {
  const auto real = next<ssize_t(int, const void*, size_t)>("write");
  const char *full = setting("FULL"), *room = setting("ROOM");
  const bool no_room = (*full != '\0' && next<int(const char*, int)>("access")(full, F_OK) == 0) ||
                       (*room != '\0' && count > std::strtoul(room, nullptr, 10));
  if (descriptor > STDERR_FILENO && no_room) {
    errno = ENOSPC;
    return -1;
  }
  return real(descriptor, bytes, count);
}
}
