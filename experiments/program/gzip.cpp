#include "experiments/program/gzip.hpp"

#include "autograd/base/error.hpp"

#include <zlib.h>

#include <array>
#include <limits>

namespace surd {
namespace {

constexpr int window_bits_of_gzip = 15 + 16;  // the largest window; 16 asks for gzip's header, which has no time then

Bytef* input_of(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib does not write to it
}

}  // namespace

std::string gzip(std::string_view bytes) {
  constexpr int memory_level = 9;
  expect(bytes.size() <= std::numeric_limits<uInt>::max(), "gzip", "takes less than 4 GiB");
  z_stream stream{};
  expect(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits_of_gzip, memory_level, Z_DEFAULT_STRATEGY) ==
             Z_OK,
         "gzip", "zlib has no memory");
  std::string file(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = input_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(file.data());
  stream.avail_out = static_cast<uInt>(file.size());
  const int ended = deflate(&stream, Z_FINISH);
  file.resize(stream.total_out);
  deflateEnd(&stream);
  expect(ended == Z_STREAM_END, "gzip", "zlib stopped with {}", ended);
  return file;
}

std::string gunzip(std::string_view file, const std::string& name) {
  z_stream stream{};
  expect(inflateInit2(&stream, window_bits_of_gzip) == Z_OK, name, "zlib has no memory");
  stream.next_in = input_of(file);
  stream.avail_in = static_cast<uInt>(file.size());
  std::string bytes;
  std::array<char, 1 << 16> part{};
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    state = inflate(&stream, Z_NO_FLUSH);
    bytes.append(part.data(), part.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  expect(state == Z_STREAM_END && stream.avail_in == 0, name, "is no gzip file, or a damaged one; fetch it again");
  return bytes;
}

}  // namespace surd
