#include "autograd/huge_pages.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <mutex>
#include <new>

namespace surd::huge_pages {
namespace {

constexpr std::size_t alignment = 64;
#if defined(__SANITIZE_ADDRESS__)  // no sharing: the sanitizer has to see the bounds of every piece
constexpr std::size_t page = alignment, shared_size = 0;
#else
constexpr std::size_t page = std::size_t{2} << 20;
constexpr std::size_t shared_size = 4 * page;  // size of a stretch that small pieces share
#endif
constexpr std::size_t largest_shared = shared_size / 4;  // a larger piece would waste much at the end of a stretch

/// Stands at the beginning of every stretch of memory from the system: how many of its pieces are in use, and how many
/// of its bytes have been handed out.
struct alignas(alignment) Origin {
  std::size_t pieces = 0, used = sizeof(Origin);
};

std::mutex mutex;
Origin* current = nullptr;  // the stretch that small pieces are taken from

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

Origin* from_system(std::size_t bytes) {
  void* start = std::aligned_alloc(page, round_up(bytes, page));
  if (start == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  madvise(start, bytes / page * page, MADV_HUGEPAGE);  // a wish: without it the pages are small
#endif
  return new (start) Origin;
}

void* take(Origin& origin, std::size_t bytes) {
  void* piece = reinterpret_cast<std::byte*>(&origin) + origin.used;
  origin.used += bytes;
  ++origin.pieces;
  return piece;
}

}  // namespace

Piece allocate(std::size_t bytes) {
  bytes = round_up(bytes, alignment);
  if (bytes > largest_shared) {
    Origin* alone = from_system(sizeof(Origin) + bytes);
    return {take(*alone, bytes), alone};
  }
  const std::lock_guard<std::mutex> lock(mutex);
  if (current == nullptr || current->used + bytes > shared_size) current = from_system(shared_size);
  return {take(*current, bytes), current};
}

void release(void* memory) noexcept {
  auto* origin = static_cast<Origin*>(memory);
  const std::lock_guard<std::mutex> lock(mutex);
  if (--origin->pieces > 0) return;
  if (origin == current) current = nullptr;
  std::free(origin);
}

}  // namespace surd::huge_pages
