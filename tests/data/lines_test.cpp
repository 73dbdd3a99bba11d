#include "data/lines.hpp"

#include "autograd/base/error.hpp"
#include "tests/data/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

namespace surd {
namespace {

using test::TemporaryDirectory;
using Lines = std::vector<std::string>;

Lines read_lines(const std::string& path) {
  LineReader reader(path);
  Lines lines;
  std::string line;
  while (reader.next(line)) lines.push_back(line);
  CHECK(reader.line_number() == lines.size());
  CHECK_FALSE(reader.next(line));  // the end stays the end
  CHECK(reader.line_number() == lines.size());
  return lines;
}

std::string write_gzip(const TemporaryDirectory& directory, const std::string& name, const std::string& content) {
  const std::string path = directory.path(name);
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
  return path;
}

TEST_CASE("lines end at a newline, at \\r\\n, or at the end of the file") {
  const TemporaryDirectory directory;
  CHECK(read_lines(directory.write("empty", "")).empty());
  CHECK(read_lines(directory.write("unix", "a\n\nb c\n")) == Lines{"a", "", "b c"});
  CHECK(read_lines(directory.write("windows", "a\r\n\r\nb\r\n")) == Lines{"a", "", "b"});
  CHECK(read_lines(directory.write("open", "a\nb")) == Lines{"a", "b"});
  CHECK(read_lines(directory.write("mark", "\xef\xbb\xbfgrüß\n\xef\xbb\xbf")) == Lines{"grüß", "\xef\xbb\xbf"});
  CHECK(read_lines(directory.write("nothing_but_mark", "\xef\xbb\xbf")).empty());
  CHECK(read_lines(directory.write("zero", std::string("a\0b\n", 4))) == Lines{std::string("a\0b", 3)});
}

TEST_CASE("long files are read whole, plain or gzip") {
  const TemporaryDirectory directory;
  Lines lines;
  std::string content;
  for (std::size_t i = 0; i < 3000; ++i) {
    lines.push_back(std::string(i % 257, 'x') + std::to_string(i));
    content += lines.back() + "\n";
  }
  lines.push_back(std::string(LineReader::longest_line, 'y'));
  content += lines.back();
  CHECK(read_lines(directory.write("plain", content)) == lines);
  CHECK(read_lines(write_gzip(directory, "packed.gz", content)) == lines);
  CHECK(read_lines(write_gzip(directory, "packed_by_another_name", content)) == lines);
}

TEST_CASE("a gzip file of several members is read whole") {
  const TemporaryDirectory directory;
  const std::string a = TemporaryDirectory::read(write_gzip(directory, "a.gz", "one\ntwo\n"));
  const std::string b = TemporaryDirectory::read(write_gzip(directory, "b.gz", "three\n"));
  CHECK(read_lines(directory.write("both.gz", a + b)) == Lines{"one", "two", "three"});
}

TEST_CASE("a gzip file cut at any byte, or damaged, is an error") {
  const TemporaryDirectory directory;
  std::string content;
  for (int i = 0; i < 40; ++i) content += "line " + std::to_string(i * i) + "\n";
  const std::string packed = TemporaryDirectory::read(write_gzip(directory, "whole.gz", content));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    CAPTURE(size);
    CHECK_THROWS_AS(read_lines(directory.write("cut.gz", packed.substr(0, size))), Error);
  }
  const std::string cut = directory.write("cut.gz", packed.substr(0, packed.size() / 2));
  CHECK_THROWS_WITH_AS(read_lines(cut), ("cannot read '" + cut + "': the file is truncated").c_str(), Error);

  std::string damaged = packed;
  damaged[damaged.size() - 6] ^= 1;  // in the checksum
  CHECK_THROWS_AS(read_lines(directory.write("damaged.gz", damaged)), Error);

  std::string damaged_head = packed;
  damaged_head[0] ^= 1;
  for (const std::string& behind : {damaged_head, std::string("more")}) {
    const std::string followed = directory.write("followed.gz", packed + behind);
    CHECK_THROWS_WITH_AS(read_lines(followed),
                         ("cannot read '" + followed + "': what follows a gzip file in it is none").c_str(), Error);
  }

  const std::string plain = directory.write("plain.gz", content);
  CHECK_THROWS_WITH_AS(read_lines(plain), ("cannot read '" + plain + "': it is not a gzip file").c_str(), Error);
}

TEST_CASE("what cannot be read says so") {
  const TemporaryDirectory directory;
  const std::string missing = directory.path("missing");
  CHECK_THROWS_WITH_AS(LineReader{missing}, ("cannot read '" + missing + "': No such file or directory").c_str(),
                       Error);
  CHECK_THROWS_WITH_AS(LineReader{directory.path()}, ("cannot read '" + directory.path() + "': Is a directory").c_str(),
                       Error);
}

TEST_CASE("invalid UTF-8 is reported by file, line and byte") {
  const TemporaryDirectory directory;
  const std::string path = directory.write("latin1", "gut\ngr\xfc\xdf\n");
  CHECK_THROWS_WITH_AS(read_lines(path), (path + ":2:3: invalid UTF-8 (byte 0xfc)").c_str(), Error);
}

TEST_CASE("a line without end is refused before it fills the memory") {
  const TemporaryDirectory directory;
  const std::string path =
      write_gzip(directory, "long.gz", "a\n" + std::string(8 * LineReader::longest_line, ' ') + "\n");
  CHECK_THROWS_WITH_AS(read_lines(path), (path + ":2: the line is longer than 1048576 bytes").c_str(), Error);
}

}  // namespace
}  // namespace surd
