#include "data/lines.hpp"

#include "autograd/base/error.hpp"
#include "autograd/base/utf8.hpp"
#include "data/text.hpp"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace surd {
namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 16;

bool named_gzip(std::string_view path) { return path.size() >= 3 && path.substr(path.size() - 3) == ".gz"; }

}  // namespace

void LineReader::Close::operator()(gzFile_s* file) const { gzclose(file); }

LineReader::LineReader(std::string path) : path_(std::move(path)), buffer_(buffer_size) {
  errno = 0;
  file_.reset(gzopen(path_.c_str(), "rb"));  // reads plain files as they are
  if (!file_) throw Error(fmt::format("cannot read '{}': {}", path_, std::strerror(errno == 0 ? ENOMEM : errno)));
  fill();
  if (named_gzip(path_) && gzdirect(file_.get()) == 1)
    throw Error(fmt::format("cannot read '{}': it is not a gzip file", path_));
  if (std::string_view(buffer_.data(), end_).substr(0, byte_order_mark.size()) == byte_order_mark)
    begin_ = byte_order_mark.size();
}

void LineReader::fail() const {
  int code = Z_OK;
  const char* message = gzerror(file_.get(), &code);
  const char* what = code == Z_ERRNO ? std::strerror(errno) : code == Z_BUF_ERROR ? "the file is truncated" : message;
  throw Error(fmt::format("cannot read '{}': {}", path_, what));
}

/// Reads the next part of the file into the buffer; false at its end.
bool LineReader::fill() {
  const int count = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  if (count < 0) fail();
  if (static_cast<std::size_t>(count) < buffer_.size()) {
    // A truncated stream gives what there is and then looks like an end, but for this code.
    int code = Z_OK;
    gzerror(file_.get(), &code);
    if (code != Z_OK && code != Z_STREAM_END) fail();
  }
  begin_ = 0;
  end_ = static_cast<std::size_t>(count);
  return count > 0;
}

/// Reads up to the next newline or the end of the file; false when there is nothing left.
bool LineReader::read_line(std::string& line) {
  line.clear();
  if (begin_ == end_ && !fill()) return false;
  ++line_number_;
  do {
    const std::string_view unread(buffer_.data() + begin_, end_ - begin_);
    const std::size_t newline = unread.find('\n');
    line.append(unread.substr(0, newline));
    if (line.size() > longest_line)
      throw Error(fmt::format("{}:{}: the line is longer than {} bytes", path_, line_number_, longest_line));
    if (newline != std::string_view::npos) {
      begin_ += newline + 1;
      return true;
    }
  } while (fill());
  return true;
}

bool LineReader::next(std::string& line) {
  if (!read_line(line)) return false;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (const auto invalid = find_invalid_utf8(line)) {
    throw Error(fmt::format("{}:{}:{}: invalid UTF-8 (byte {:#04x})", path_, line_number_, *invalid + 1,
                            static_cast<unsigned char>(line[*invalid])));
  }
  return true;
}

std::string read_bytes(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  std::array<char, 65536> buffer;
  while (file.read(buffer.data(), buffer.size()) || file.gcount() > 0)
    bytes.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad()) throw Error(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  return bytes;
}

void write_bytes(const std::string& path, const std::string& bytes) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (!file) throw Error(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
}

std::vector<std::string> read_lines(const std::string& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

}  // namespace surd
