/// Memory that ends at a protected page: host pages imported into the device.

#include "memory/source.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace rekindle::runtime {
namespace {

/// Pages between two protected pages. Thread-safe.
class GuardedPages {
  public:
    /// Throws Error when the system has no memory left. bytes, page: multiples of the system's page size;
    /// page: a power of two.
    GuardedPages(std::uint64_t bytes, std::uint64_t page) : page_(page), writable_(bytes / page, true) {
        // The start is aligned to `page`, with one page before it and one after the end.
        mapped_ = bytes + 3 * page;
        void* begin = ::mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (begin == MAP_FAILED)
            throw Error("mmap of " + readable_bytes(mapped_) + " for guard pages failed",
                        "Every guarded block is its own mapping; vm.max_map_count limits their number.");
        mapping_ = static_cast<std::byte*>(begin);
        const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
        pages_ = mapping_ + (round_up(address, page) - address) + page;
        if (::mprotect(pages_, bytes, PROT_READ | PROT_WRITE) != 0) {
            ::munmap(mapping_, mapped_);
            throw Error("mprotect of " + readable_bytes(bytes) + " for guard pages failed");
        }
    }
    ~GuardedPages() { ::munmap(mapping_, mapped_); }
    GuardedPages(const GuardedPages&) = delete;
    GuardedPages& operator=(const GuardedPages&) = delete;

    std::byte* begin() const { return pages_; }

    using Use = std::list<std::vector<ByteUse>>::iterator;
    Use add(std::vector<ByteUse> ranges) {
        const std::lock_guard lock(mutex_);
        const Use use = uses_.insert(uses_.end(), std::move(ranges));
        apply_locked();
        return use;
    }
    void remove(Use use) {
        const std::lock_guard lock(mutex_);
        uses_.erase(use);
        apply_locked();
    }

  private:
    void mark_locked(std::vector<bool>& pages, bool writes, bool value) const {
        for (const auto& ranges : uses_)
            for (const ByteUse& range : ranges)
                if (range.writes == writes && range.begin < range.end)
                    for (std::uint64_t p = range.begin / page_;
                         p <= (range.end - 1) / page_ && p < pages.size(); ++p)
                        pages[p] = value;
    }
    /// Pages that some launch reads and no launch writes are read-only.
    void apply_locked() {
        std::vector<bool> writable(writable_.size(), true);
        mark_locked(writable, false, false);
        mark_locked(writable, true, true);
        for (std::size_t from = 0; from < writable.size();) {
            std::size_t to = from + 1;
            if (writable[from] != writable_[from]) {
                while (to < writable.size() && writable[to] == writable[from] &&
                       writable[to] != writable_[to])
                    ++to;
                const int protection = writable[from] ? PROT_READ | PROT_WRITE : PROT_READ;
                if (::mprotect(pages_ + from * page_, (to - from) * page_, protection) != 0)
                    throw Error("mprotect of a guarded block failed");
            }
            from = to;
        }
        writable_ = std::move(writable);
    }

    std::uint64_t page_, mapped_ = 0;
    std::byte *mapping_ = nullptr, *pages_ = nullptr;
    std::mutex mutex_;
    std::list<std::vector<ByteUse>> uses_;
    std::vector<bool> writable_; // per page
};

/// The pages that a launch uses. While this object lives, those that the launch only reads are
/// write-protected.
class ProtectedPages {
  public:
    ProtectedPages(std::shared_ptr<GuardedPages> pages, std::vector<ByteUse> ranges)
        : pages_(std::move(pages)), use_(pages_->add(std::move(ranges))) {}
    // NOLINTNEXTLINE(bugprone-exception-escape): pages that stay protected must end the process
    ~ProtectedPages() { pages_->remove(use_); }
    ProtectedPages(const ProtectedPages&) = delete;
    ProtectedPages& operator=(const ProtectedPages&) = delete;

  private:
    std::shared_ptr<GuardedPages> pages_;
    GuardedPages::Use use_;
};

class GuardedMemory final : public DriverMemory {
  public:
    GuardedMemory(VulkanDevice& device, std::uint64_t bytes, std::uint64_t page)
        : device_(device), whole_(round_up(bytes, page)),
          pages_(std::make_shared<GuardedPages>(whole_, page)) {
        buffer_offset = whole_ - bytes;
        host = pages_->begin() + buffer_offset;
        before = {pages_->begin(), static_cast<std::size_t>(buffer_offset)};
    }
    ~GuardedMemory() override {
        device_.vk().vkDestroyBuffer(device_.handle(), buffer, nullptr);
        device_.vk().vkFreeMemory(device_.handle(), memory_, nullptr);
    }
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;

    std::shared_ptr<const void> protect(std::span<const ByteUse> used) override {
        std::vector<ByteUse> ranges(used.begin(), used.end());
        for (ByteUse& range : ranges) {
            range.begin += buffer_offset;
            range.end += buffer_offset;
        }
        return std::make_shared<const ProtectedPages>(pages_, std::move(ranges));
    }

    std::uint64_t whole() const { return whole_; }
    std::byte* pages() const { return pages_->begin(); }
    VkDeviceMemory& memory() { return memory_; }

  private:
    VulkanDevice& device_;
    std::uint64_t whole_;
    std::shared_ptr<GuardedPages> pages_;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
};

class GuardedSource final : public VulkanSource {
  public:
    explicit GuardedSource(VulkanDevice& device) : VulkanSource(device), page_(import_alignment()) {
        if (!device.enabled().external_host_memory)
            throw Unsupported(device_name() + ": guard pages need VK_EXT_external_memory_host",
                              "REKINDLE_GUARD_PAGES=1 is for CPU drivers such as lavapipe.");
    }

    std::uint64_t largest(MemoryKind kind) const override {
        return VulkanSource::largest(kind) / page_ * page_;
    }

    std::unique_ptr<DriverMemory> take(MemoryKind kind, std::uint64_t bytes) override {
        device_.throw_if_lost();
        auto memory = std::make_unique<GuardedMemory>(device_, bytes, page_);
        const VkResult imported =
            import_into(kind, {memory->pages(), static_cast<std::size_t>(memory->whole())}, memory->buffer,
                        memory->memory());
        if (BufferMaker::exhausted(imported))
            return nullptr;
        device_.check(imported, "vkAllocateMemory of imported pages");
        device_.check(device_.vk().vkBindBufferMemory(device_.handle(), memory->buffer, memory->memory(), 0),
                      "vkBindBufferMemory");
        memory->address = make_.address(memory->buffer) + memory->buffer_offset;
        return memory;
    }

  private:
    std::uint64_t page_;
};

} // namespace

std::unique_ptr<MemorySource> make_guarded_memory(VulkanDevice& device) {
    return std::make_unique<GuardedSource>(device);
}

} // namespace rekindle::runtime
