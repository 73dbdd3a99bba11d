#pragma once

#include <cstddef>

/// Memory of the system for the pool, in pages of 2 MB where the system has them: a training step walks through more
/// memory than the processor's page tables cover with small ones.
namespace surd::huge_pages {

/// A piece of memory, aligned to 64 bytes, and the origin that release() takes to give it back.
struct Piece {
  void* start;
  void* origin;
};

/// Small pieces share pages. Throws std::bad_alloc. Threads may call this at the same time.
Piece allocate(std::size_t bytes);
/// Memory goes back to the system when all pieces of the same origin were given back.
void release(void* origin) noexcept;

}  // namespace surd::huge_pages
