#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace surd {

/// XXH3, 64 bits, of bytes that come in parts: tells damage and change, and is no defence against intent.
class Hash {
 public:
  Hash();
  Hash& add(std::string_view part);
  std::uint64_t value() const;
  /// The value as 16 hexadecimal digits.
  std::string digits() const;

 private:
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> state_;
};

/// The digits of a text's hash.
std::string hash_of(std::string_view text);

}  // namespace surd
