#pragma once

#include <cstddef>
#include <new>

/// Caching allocator behind every Tensor. A training step asks for the same sizes as the steps before it, so blocks go
/// back to free lists, never to the system: once the threads of a run have seen its shapes, it asks the system for
/// nothing.
namespace surd::pool {

/// At least `bytes` bytes, aligned to 64. A new block is larger than asked for by less than a sixteenth, or less than
/// 64 bytes; a free one is taken if it is at most 2 1/8 times as large as a new one would be. Throws std::bad_alloc.
void* allocate(std::size_t bytes);

/// Returns a block from allocate(); any thread may return it.
void release(void* block) noexcept;

struct Statistics {
  std::size_t system_requests;  ///< blocks asked of the system since the process started
  std::size_t bytes_held;       ///< bytes in those blocks, in use or in free lists
};
Statistics statistics();

/// Gives every cached block of this thread and of the shared lists back to the system.
void trim();

}  // namespace surd::pool

namespace surd {

/// Standard allocator over the pool.
template <class T>
struct PoolAllocator {
  using value_type = T;

  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) {}  // NOLINT: implicit by the allocator requirements

  T* allocate(std::size_t count) { return static_cast<T*>(pool::allocate(count * sizeof(T))); }
  void deallocate(T* block, std::size_t) noexcept { pool::release(block); }

  template <class U>
  bool operator==(const PoolAllocator<U>&) const {
    return true;
  }
  template <class U>
  bool operator!=(const PoolAllocator<U>&) const {
    return false;
  }
};

}  // namespace surd
