#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

struct z_stream_s;

namespace surd {

/// Reads a UTF-8 text file, plain or gzip, line by line. A byte order mark at the start and the carriage return of a
/// CRLF are dropped; the last line may lack its newline.
///
/// Every member throws Error naming the file: when it cannot be opened or read, is named .gz and is not gzip, or is a
/// gzip file that is damaged, truncated or followed by something else. next() also throws "file:line:byte: ..." on
/// invalid UTF-8 (both from 1) and "file:line: ..." on a line longer than `longest_line`.
class LineReader {
 public:
  static constexpr std::size_t longest_line = std::size_t{1} << 20;  ///< bytes

  explicit LineReader(std::string path);

  /// Puts the next line into `line`, without its end; false, and `line` unspecified, at the end of the file.
  bool next(std::string& line);

  /// Number of the line that next() read last, from 1; after the end, the number of lines.
  std::size_t line_number() const { return line_number_; }
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };
  struct EndInflate {
    void operator()(z_stream_s* stream) const;
  };

  std::size_t read(std::vector<char>& bytes);
  void begin_inflating();
  std::size_t inflate_next();
  bool fill();
  bool read_line(std::string& line);
  [[noreturn]] void fail(const char* why) const;

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::unique_ptr<z_stream_s, EndInflate> stream_;  // of a gzip file
  bool member_ended_ = false;                       // of such a file, and what follows is another one's head
  std::vector<char> packed_;                        // what is next of it
  std::vector<char> buffer_;                        // what is next of the text
  std::size_t begin_ = 0;                           // unread part of the buffer
  std::size_t end_ = 0;
  std::size_t line_number_ = 0;
};

/// The bytes of a file, and a file of these bytes. Throw Error with the system's reason.
std::string read_bytes(const std::string& path);
void write_bytes(const std::string& path, const std::string& bytes);

/// All lines of a file. Throws Error as LineReader does.
std::vector<std::string> read_lines(const std::string& path);

}  // namespace surd
