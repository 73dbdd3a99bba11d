#include "train/storage/hash.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace surd {

Hash::Hash() : state_(XXH3_createState(), [](XXH3_state_s* state) { XXH3_freeState(state); }) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(state_.get());
}

Hash& Hash::add(std::string_view part) {
  XXH3_64bits_update(state_.get(), part.data(), part.size());
  return *this;
}

std::uint64_t Hash::value() const { return XXH3_64bits_digest(state_.get()); }

std::string Hash::digits() const { return fmt::format("{:016x}", value()); }

std::string hash_of(std::string_view text) { return Hash().add(text).digits(); }

}  // namespace surd
