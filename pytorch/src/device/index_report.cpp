#include "index_report.h"

#include "promised.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <c10/core/ScalarType.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Exception.h>
#include <c10/util/Half.h>
#include <deque>
#include <map>
#include <mutex>
#include <string>

namespace rvk {

namespace {

constexpr std::size_t maximum_devices = 64;
constexpr std::size_t report_words = 3;

/// Memory of each device that its kernels write and the host reads. Like the devices, it lives as long as the
/// process.
class Reports {
  public:
    static Reports& instance() {
        static auto* const reports = new Reports;
        return *reports;
    }
    runtime::Buffer& of(DeviceIndex index) {
        const auto slot = static_cast<std::size_t>(index);
        TORCH_CHECK(slot < maximum_devices, "more than 64 devices");
        if (!ready_[slot].load(std::memory_order_acquire)) {
            const std::lock_guard lock(mutex_);
            if (!ready_[slot].load(std::memory_order_relaxed)) {
                buffers_[slot] = device(index).allocator().allocate(report_words * sizeof(std::int64_t),
                                                                    runtime::MemoryKind::readback);
                std::ranges::fill(buffers_[slot].host(), std::byte{0});
                ready_[slot].store(true, std::memory_order_release);
            }
        }
        return buffers_[slot];
    }
    bool has(DeviceIndex index) const noexcept {
        const auto slot = static_cast<std::size_t>(index);
        return slot < maximum_devices && ready_[slot].load(std::memory_order_acquire);
    }

  private:
    std::mutex mutex_;
    std::array<std::atomic<bool>, maximum_devices> ready_{};
    std::array<runtime::Buffer, maximum_devices> buffers_;
};

/// Maps numbers to the messages of assertions.
class Messages {
  public:
    static Messages& instance() {
        static auto* const messages = new Messages;
        return *messages;
    }
    std::int64_t number_of(std::string_view message) {
        const std::lock_guard lock(mutex_);
        const auto known = numbers_.find(message);
        if (known != numbers_.end())
            return known->second;
        if (texts_.size() == most) {
            numbers_.erase(texts_.front());
            texts_.pop_front();
            ++first_;
        }
        texts_.emplace_back(message);
        const auto number = first_ + static_cast<std::int64_t>(texts_.size()) - 1;
        numbers_.emplace(texts_.back(), number);
        return number;
    }
    std::string text_of(std::int64_t number) const {
        const std::lock_guard lock(mutex_);
        const auto at = static_cast<std::size_t>(number - first_);
        return number >= first_ && at < texts_.size() ? texts_[at] : "Assertion is failed";
    }

  private:
    static constexpr std::size_t most = 1024;
    mutable std::mutex mutex_;
    std::deque<std::string> texts_; ///< numbered consecutively from first_
    std::map<std::string, std::int64_t, std::less<>> numbers_;
    std::int64_t first_ = 0;
};

/// Interprets the bits as a number of that dtype.
double number_of(std::uint64_t bits, c10::ScalarType dtype) {
    switch (dtype) {
    case c10::ScalarType::Half:
        return c10::Half(static_cast<std::uint16_t>(bits), c10::Half::from_bits());
    case c10::ScalarType::BFloat16:
        return c10::BFloat16(static_cast<std::uint16_t>(bits), c10::BFloat16::from_bits());
    case c10::ScalarType::Float:
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    default:
        return std::bit_cast<double>(bits);
    }
}

[[noreturn]] void raise(Report kind, std::int64_t value, std::int64_t bound, DeviceIndex index) {
    const std::string where =
        " (reported by an operator queued earlier on rvk:" + std::to_string(static_cast<int>(index)) + "; ";
    const auto number = [&] {
        return number_of(static_cast<std::uint64_t>(value), static_cast<c10::ScalarType>(bound));
    };
    switch (kind) {
    case Report::target:
        TORCH_CHECK_INDEX(false, "Target ", value, " is out of bounds for ", bound, " classes", where,
                          "its loss is NaN)");
    case Report::bernoulli:
        TORCH_CHECK(false, "bernoulli: expected probabilities between 0 and 1, but got ", number(), where,
                    "its result there is meaningless)");
    case Report::binary_cross_entropy:
        TORCH_CHECK(false, "all elements of input should be between 0 and 1, but got ", number(), where,
                    "its loss is meaningless)");
    case Report::repeats:
        TORCH_CHECK(false, "repeats can not be negative", where, "its result is meaningless)");
    case Report::output_size:
        TORCH_CHECK(false, "allocated size does not match required size: output_size is ", bound,
                    ", but the repeats add up to ", value, where, "its result is meaningless)");
    case Report::assertion:
        TORCH_CHECK(false, Messages::instance().text_of(bound), where, "its results are meaningless)");
    default:
        TORCH_CHECK_INDEX(false, "index ", value, " is out of bounds for dimension with size ", bound, where,
                          "its result has zeros there)");
    }
}

} // namespace

std::int64_t number_of_message(std::string_view message) {
    return Messages::instance().number_of(message);
}

std::uint64_t index_report_address(DeviceIndex index) {
    return Reports::instance().of(index).pointer().address;
}

void check_index_report(DeviceIndex index) {
    if (!Reports::instance().has(index))
        return;
    const auto words = Reports::instance().of(index).host_as<volatile std::int64_t>();
    if (words[0] == 0)
        return;
    const auto kind = static_cast<Report>(words[0]);
    words[0] = 0;
    raise(kind, words[1], words[2], index);
}

void synchronize(DeviceIndex index) {
    index_of(c10::Device(c10::kPrivateUse1, index));
    if (!is_open(index))
        return;
    {
        const WithoutPythonLock unlocked;
        device(index).synchronize();
    }
    check_index_report(index);
    check_failed_promise();
}

} // namespace rvk
