#include "train/storage/hash.hpp"

#include <doctest/doctest.h>

using namespace surd;

TEST_CASE("a hash does not go with the parts that its bytes come in, and is XXH3") {
  CHECK(hash_of("") == "2d06800538d394c2");
  const std::string text(1000, 'x');
  Hash hash;
  for (std::size_t begin = 0; begin < text.size(); begin += 7) hash.add(std::string_view(text).substr(begin, 7));
  CHECK(hash.digits() == hash_of(text));
  CHECK(hash_of(text + "y") != hash_of(text));
}
