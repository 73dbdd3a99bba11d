#include "data/lines.hpp"

#include "autograd/base/error.hpp"
#include "autograd/base/utf8.hpp"
#include "data/text.hpp"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

namespace surd {
namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 16;
constexpr std::string_view gzip_magic = "\x1f\x8b";  // RFC 1952, section 2.3.1

bool named_gzip(std::string_view path) { return path.size() >= 3 && path.substr(path.size() - 3) == ".gz"; }

}  // namespace

void LineReader::Close::operator()(std::FILE* file) const { std::fclose(file); }
void LineReader::EndInflate::operator()(z_stream_s* stream) const {
  inflateEnd(stream);
  delete stream;
}

LineReader::LineReader(std::string path) : path_(std::move(path)), buffer_(buffer_size) {
  file_.reset(std::fopen(path_.c_str(), "rb"));
  if (!file_) fail(std::strerror(errno));
  end_ = read(buffer_);
  if (std::string_view(buffer_.data(), end_).substr(0, gzip_magic.size()) == gzip_magic)
    begin_inflating();
  else if (named_gzip(path_))
    fail("it is not a gzip file");
  if (std::string_view(buffer_.data(), end_).substr(0, byte_order_mark.size()) == byte_order_mark)
    begin_ = byte_order_mark.size();
}

void LineReader::fail(const char* why) const { throw Error(fmt::format("cannot read '{}': {}", path_, why)); }

/// The next bytes of the file as it is, as many as `bytes` takes, fewer at its end.
std::size_t LineReader::read(std::vector<char>& bytes) {
  const std::size_t count = std::fread(bytes.data(), 1, bytes.size(), file_.get());
  if (std::ferror(file_.get()) != 0) fail(std::strerror(errno));
  return count;
}

/// Takes what the buffer holds as the beginning of a gzip file.
void LineReader::begin_inflating() {
  constexpr int window_bits_of_gzip = 15 + 16;
  packed_ = std::exchange(buffer_, std::vector<char>(buffer_size));
  auto stream = std::make_unique<z_stream>();
  if (inflateInit2(stream.get(), window_bits_of_gzip) != Z_OK) throw std::bad_alloc();
  stream_.reset(stream.release());
  stream_->next_in = reinterpret_cast<Bytef*>(packed_.data());
  stream_->avail_in = static_cast<uInt>(end_);
  fill();
}

/// The next bytes of a gzip file's text, as zlib's gzread() would give them; but what follows its last member is an
/// error here: another one with a damaged head would be lost without a word.
std::size_t LineReader::inflate_next() {
  stream_->next_out = reinterpret_cast<Bytef*>(buffer_.data());
  stream_->avail_out = static_cast<uInt>(buffer_.size());
  while (stream_->avail_out > 0) {
    if (stream_->avail_in == 0) {
      stream_->next_in = reinterpret_cast<Bytef*>(packed_.data());
      stream_->avail_in = static_cast<uInt>(read(packed_));
    }
    if (stream_->avail_in == 0) {
      if (!member_ended_) fail("the file is truncated");
      break;
    }
    const bool at_head = member_ended_;
    if (at_head) inflateReset(stream_.get());
    const int state = inflate(stream_.get(), Z_NO_FLUSH);
    if (state == Z_MEM_ERROR) throw std::bad_alloc();
    if (state != Z_OK && state != Z_STREAM_END)
      fail(at_head                   ? "what follows a gzip file in it is none"
           : stream_->msg == nullptr ? "it is damaged"
                                     : stream_->msg);
    member_ended_ = state == Z_STREAM_END;
  }
  return buffer_.size() - stream_->avail_out;
}

/// Reads the next part of the text into the buffer; false at its end.
bool LineReader::fill() {
  begin_ = 0;
  end_ = stream_ ? inflate_next() : read(buffer_);
  return end_ > 0;
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
