#pragma once

#include "autograd/base/error.hpp"
#include "autograd/base/scoped.hpp"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace surd {

/// Thrown where the file system, or this user's share of it, is full.
class NoSpace : public Error {
 public:
  using Error::Error;
};

/// The system calls through which everything a run keeps is written. They return what the system's do, with errno.
/// A test replaces them to let one fail.
class SystemCalls {
 public:
  virtual ~SystemCalls() = default;
  virtual int open(const char* path, int flags);
  virtual ssize_t write(int descriptor, const void* bytes, std::size_t count);
  virtual int truncate(int descriptor, off_t size);
  virtual int sync(int descriptor);
  virtual int close(int descriptor);
  virtual int rename(const char* from, const char* to);
  /// Bytes this user may still write to the folder's file system; negative where it does not say.
  virtual std::int64_t available(const char* folder);
};

/// Uses other calls as long as it lives: in tests, and by runs of a study, which are synced as a whole at their end.
class ReplacedSystemCalls : Scoped<SystemCalls*> {
 public:
  explicit ReplacedSystemCalls(SystemCalls& calls);
};

/// An open file. Every member throws Error with the path and the system's reason.
class File {
 public:
  /// `flags` of open(2). Messages name `shown`, or else the path.
  File(std::string path, int flags, std::string shown = "");
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(std::string_view bytes);
  /// All bytes from here to the end.
  std::string read();
  void truncate(std::uint64_t size);
  /// Whether its path still leads to it, and its size in bytes.
  bool is_at_its_path() const;
  std::uint64_t size() const;
  /// Returns when what was written would survive a loss of power.
  void sync();
  void close();
  /// Whether this process now holds the file's lock (flock), until it closes the file or ends, however it ends.
  bool lock();

 private:
  void check(bool fine, const char* action) const;

  std::string path_, shown_;
  int descriptor_;
};

/// All bytes of a file. Throws Error with the system's reason, or where it is a pipe, which may never end.
std::string read_file(const std::string& path);

/// Replaces a file so that a reader, or a machine that loses power, sees the old content or the new, never a mixture:
/// writes a temporary file beside it, syncs it, renames it and syncs the folder. Throws Error with the system's reason;
/// the old file is then as it was, or, where only the last step failed, the new one stands in its place.
void write_file_atomically(const std::string& path, const std::string& bytes);
/// The same of several, by their paths, in less time than one after the other; none has its name before all are synced.
void write_files_atomically(const std::map<std::string, std::string_view>& files);

/// Makes a file that is not there yet; false where one is, which stays as it was. Of several processes, on machines
/// that share a file system too, one makes it. Throws Error with the system's reason.
bool create_file(const std::string& path, const std::string& bytes);

/// The same; where the file system has links, the file appears with all of its bytes, and true is returned as well
/// where one with these bytes is there: so the bytes must tell who makes it.
bool create_whole_file(const std::string& path, const std::string& bytes);

/// Gives a folder another name, under which there is nothing or an empty folder; false where there is more, and then
/// both stay as they were. Of several processes that give one name to folders of theirs, one succeeds. It has
/// its new name after a loss of power. Throws Error with the system's reason.
bool rename_folder(const std::string& from, const std::string& to);

/// Makes a folder, and those that it lies in, where they are not there. Throws Error with the system's reason.
void make_folders(const std::string& path);

/// A path in its shortest form ("a/./b" is "a/b"), without a '/' at its end.
std::string without_end_slash(const std::string& path);

/// Makes a folder that appears with all that fill(FOLDER) writes to it; nothing is left of it where that throws. False
/// where there is one that is not empty, which stays as it was. Throws Error with the system's reason.
bool make_whole_folder(const std::string& path, const std::function<void(const std::string& unfinished)>& fill);

/// Removes a file, or a folder with all it holds, as far as it is there and can be.
void remove_quietly(const std::string& path);

/// Makes what was created, renamed or removed in a folder survive a loss of power. Throws Error.
void sync_folder(const std::string& folder);

/// Whether write_file_atomically(path) may leave a file of this name in the folder of `path` when it is killed.
bool is_temporary_file(const std::string& name, const std::string& path);

/// Removes the temporary files that write_file_atomically left in a folder when it was killed.
void remove_temporary_files(const std::string& folder);

/// Whether there is a file or folder. Throws Error with the system's reason where that cannot be told.
bool path_exists(const std::string& path);
bool is_folder(const std::string& path);
bool is_file(const std::string& path);  ///< a regular one

/// Names of what a folder holds, sorted; none where there is no folder. Throws Error with the system's reason.
std::vector<std::string> names_in(const std::string& folder);

/// Bytes that can still be written to a folder's file system; the largest number where it does not say.
std::uint64_t available_bytes(const std::string& folder);

}  // namespace surd
