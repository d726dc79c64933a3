#pragma once
/// Large temporary arrays: in memory, or in unnamed files if they may not fit there.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace rekindle {

/// Where a job keeps its large arrays, and how many rows it processes before it releases their pages. The
/// default keeps everything in memory. Results must not depend on it.
struct Workspace {
    std::filesystem::path folder; ///< for the files that hold the arrays; empty: in memory
    std::size_t block_rows = 0;   ///< 0: no limit

    /// The number of rows per block, where `usual` is a good number for the task. Never 0.
    std::size_t rows_per_block(std::size_t usual) const noexcept {
        return block_rows == 0 ? usual : std::min(usual, block_rows);
    }
};

/// Zeroed bytes on the heap, or a shared mapping of an unnamed file that is deleted with the object. The
/// kernel writes the file's pages to disk if memory is short, so a mapping may be larger than the memory. All
/// blocks of the file are allocated up front: a full disk is an Error here and not a signal (SIGBUS) later.
/// Movable; empty after a move.
class ScratchMemory {
  public:
    ScratchMemory() noexcept = default;
    /// An empty folder means the heap. Throws Error naming the folder if the file cannot be created (full
    /// disk, file size limit, no permission), and std::bad_alloc if the heap is exhausted.
    ScratchMemory(std::size_t bytes, const std::filesystem::path& folder);
    ScratchMemory(ScratchMemory&& other) noexcept;
    ScratchMemory& operator=(ScratchMemory&& other) noexcept;
    ~ScratchMemory();

    std::byte* data() const noexcept { return data_; }
    /// Removes pages from this process's resident set, from the page of byte `begin` up to, but without, the
    /// page of byte `end`. Their content is kept and loaded again on access, so this is safe while others
    /// read and write it. Does nothing on the heap.
    void release(std::size_t begin, std::size_t end) const noexcept;

  private:
    std::byte* data_ = nullptr;
    std::size_t mapped_bytes_ = 0; ///< 0 on the heap
};

/// A fixed number of T, initially all bits zero. Movable, not copyable; different threads may write different
/// elements.
template <class T>
class ScratchArray {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  public:
    using value_type = T;
    using iterator = T*;
    using const_iterator = const T*;

    ScratchArray() noexcept = default;
    /// Throws like ScratchMemory.
    ScratchArray(std::size_t size, const std::filesystem::path& folder)
        : memory_(bytes_of(size), folder), size_(size) {}
    /// Copies into memory.
    ScratchArray(std::span<const T> values) : ScratchArray(values.size(), std::filesystem::path()) {
        std::copy(values.begin(), values.end(), begin());
    }
    ScratchArray(const std::vector<T>& values) : ScratchArray(std::span<const T>(values)) {}
    ScratchArray(std::initializer_list<T> values)
        : ScratchArray(std::span<const T>(values.begin(), values.size())) {}
    ScratchArray(ScratchArray&& other) noexcept
        : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
    ScratchArray& operator=(ScratchArray&& other) noexcept {
        memory_ = std::move(other.memory_);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T* data() noexcept { return reinterpret_cast<T*>(memory_.data()); }
    const T* data() const noexcept { return reinterpret_cast<const T*>(memory_.data()); }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size_; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size_; }
    /// Precondition of the next three: the element exists.
    T& operator[](std::size_t index) noexcept { return data()[index]; }
    const T& operator[](std::size_t index) const noexcept { return data()[index]; }
    const T& front() const noexcept { return data()[0]; }

    /// Drops the elements from `size` on. Precondition: size <= size().
    void truncate(std::size_t size) noexcept { size_ = size; }
    /// Gives back the memory of elements [first, first + count) until they are used again; see
    /// ScratchMemory::release().
    void release(std::size_t first, std::size_t count) const noexcept {
        memory_.release(first * sizeof(T), (first + count) * sizeof(T));
    }

    friend bool operator==(const ScratchArray& a, const ScratchArray& b) noexcept {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

  private:
    static std::size_t bytes_of(std::size_t size) {
        if (size > std::numeric_limits<std::size_t>::max() / sizeof(T))
            throw std::bad_array_new_length();
        return size * sizeof(T);
    }
    ScratchMemory memory_;
    std::size_t size_ = 0;
};

} // namespace rekindle
