#pragma once

#include <utility>

namespace surd {

/// While it lives, a place holds another value; then it holds the one before again.
template <class T>
class Scoped {
 public:
  Scoped(T& place, T value) : place_(place), before_(std::exchange(place, std::move(value))) {}
  ~Scoped() { place_ = std::move(before_); }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& place_;
  T before_;
};

}  // namespace surd
