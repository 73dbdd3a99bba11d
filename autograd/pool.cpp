#include "autograd/pool.hpp"

#include "autograd/huge_pages.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

namespace surd::pool {
namespace {

constexpr std::size_t alignment = 64;
// The sizes of blocks are the multiples of 64 up to 1024, then 16 to every doubling. So a new block is larger than what
// is asked for by less than a sixteenth, or less than 64 bytes.
constexpr std::size_t steps_per_doubling = 16;
constexpr std::size_t class_count = 48 * steps_per_doubling;
constexpr std::size_t blocks_per_thread = 64;  // of one size class; further ones go to the shared lists

/// Stands in the 64 bytes before each block, so that a block remembers its size class and whose it is.
struct Header {
  std::size_t size_class;
  void* origin;
};

std::size_t class_of(std::size_t bytes) {
  const std::size_t last = bytes == 0 ? 0 : (bytes - 1) / alignment;  // the block's last 64 bytes, counted from 0
  if (last < steps_per_doubling) return last;
  const auto doubling = static_cast<std::size_t>(63 - __builtin_clzll(last / steps_per_doubling));
  return doubling * steps_per_doubling + (last >> doubling);
}

std::size_t bytes_of(std::size_t size_class) {
  if (size_class < steps_per_doubling) return alignment * (size_class + 1);
  const std::size_t doubling = size_class / steps_per_doubling - 1;
  return (alignment * (steps_per_doubling + size_class % steps_per_doubling + 1)) << doubling;
}

using FreeLists = std::array<std::vector<void*>, class_count>;

/// The smallest free block that will do and is not too large; null where there is none. A pass over every other row of
/// a batch, which may hold somewhat less than half of its tokens, takes the blocks of the whole one.
void* take(FreeLists& lists, std::size_t size_class) {
  const std::size_t size = bytes_of(size_class);
  for (std::size_t c = size_class; c < class_count && bytes_of(c) <= 2 * size + size / 8; ++c) {
    if (lists[c].empty()) continue;
    void* block = lists[c].back();
    lists[c].pop_back();
    return block;
  }
  return nullptr;
}

struct Shared {
  std::mutex mutex;
  FreeLists lists;
};

/// Never destroyed: threads may end after static objects have been.
Shared& shared() {
  static auto* instance = new Shared;
  return *instance;
}

std::atomic<std::size_t> system_requests{0};
std::atomic<std::size_t> bytes_held{0};

void* allocate_from_system(std::size_t size_class) {
  const std::size_t bytes = alignment + bytes_of(size_class);
  const huge_pages::Piece piece = huge_pages::allocate(bytes);
  system_requests.fetch_add(1, std::memory_order_relaxed);
  bytes_held.fetch_add(bytes, std::memory_order_relaxed);
  new (piece.start) Header{size_class, piece.origin};
  return static_cast<std::byte*>(piece.start) + alignment;
}

Header* header_of(void* block) { return reinterpret_cast<Header*>(static_cast<std::byte*>(block) - alignment); }

void give_to_system(void* block) {
  bytes_held.fetch_sub(alignment + bytes_of(header_of(block)->size_class), std::memory_order_relaxed);
  huge_pages::release(header_of(block)->origin);
}

thread_local bool cache_destroyed = false;  // trivial, so it outlives the cache when a thread ends

struct ThreadCache {
  FreeLists lists;
  ~ThreadCache() {
    cache_destroyed = true;
    const std::lock_guard<std::mutex> lock(shared().mutex);
    for (std::size_t c = 0; c < class_count; ++c)
      shared().lists[c].insert(shared().lists[c].end(), lists[c].begin(), lists[c].end());
  }
};

/// Null once the thread's cache has been destroyed.
ThreadCache* thread_cache() {
  if (cache_destroyed) return nullptr;
  thread_local ThreadCache cache;
  return &cache;
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool caching = false;  // so that the sanitizer sees every use after release
#else
constexpr bool caching = true;
#endif

}  // namespace

void* allocate(std::size_t bytes) {
  const std::size_t size_class = class_of(bytes);
  if (size_class >= class_count) throw std::bad_alloc();
  if (caching) {
    ThreadCache* cache = thread_cache();
    if (cache != nullptr)
      if (void* block = take(cache->lists, size_class)) return block;
    const std::lock_guard<std::mutex> lock(shared().mutex);
    if (void* block = take(shared().lists, size_class)) return block;
  }
  return allocate_from_system(size_class);
}

void release(void* block) noexcept try {
  if (block == nullptr) return;
  if (!caching) return give_to_system(block);
  const std::size_t size_class = header_of(block)->size_class;
  ThreadCache* cache = thread_cache();
  if (cache != nullptr && cache->lists[size_class].size() < blocks_per_thread) {
    cache->lists[size_class].push_back(block);
    return;
  }
  const std::lock_guard<std::mutex> lock(shared().mutex);
  shared().lists[size_class].push_back(block);
} catch (const std::bad_alloc&) {  // no room to remember the block
  give_to_system(block);
}

Statistics statistics() { return {system_requests.load(), bytes_held.load()}; }

void trim() {
  const auto empty = [](FreeLists& lists) {
    for (auto& list : lists) {
      for (void* block : list) give_to_system(block);
      list.clear();
    }
  };
  if (ThreadCache* cache = thread_cache()) empty(cache->lists);
  const std::lock_guard<std::mutex> lock(shared().mutex);
  empty(shared().lists);
}

}  // namespace surd::pool
