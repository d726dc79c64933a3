#include "shared_memory.h"

#include "device/allocator.h"
#include "device/imported.h"
#include "device/log.h"
#include "host_threads.h"

#include <ATen/ops/add.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <array>
#include <c10/core/StreamGuard.h>
#include <c10/util/Exception.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace rvk::distributed {

namespace {

/// Kernels that wait for the host's memory take compute units from the training. The measurement on an idle
/// device does not show this cost, so copies are preferred unless they take this many times longer.
constexpr double kernels_must_gain = 1.3;

std::span<std::byte> host_bytes(const at::Tensor& host) {
    return {static_cast<std::byte*>(host.mutable_data_ptr()), host.nbytes()};
}

/// The device copies from and to pinned buffers, and the CPU copies between those and the shared memory.
class Staged final : public SharedMemory {
  public:
    Staged(std::span<const at::Tensor> memories, Staging& staging)
        : memories_(memories.begin(), memories.end()), staging_(staging) {}

    void wait_for_results() override {} // there is only one stream
    void write_after(const runtime::Event& event) override { rvk::stream(staging_.stream()).wait(event); }
    Wait write(int rank, std::int64_t begin, std::span<const at::Tensor> tensors) override {
        const std::int64_t number = staging_.download(tensors);
        return Wait(staging_.event_of(number), [this, rank, begin, number] {
            const std::span filled = host_bytes(staging_.wait_for(number));
            copy_host(memory(rank, begin, filled.size()), filled);
        });
    }
    void copy_to(const at::Tensor& target, int rank, std::int64_t begin) override {
        const at::Tensor host = staging_.host_for(target);
        copy_host(host_bytes(host), memory(rank, begin, target.nbytes()));
        staging_.upload(target, host);
    }
    at::Tensor read(int rank, std::int64_t begin, const at::Tensor& like) override {
        at::Tensor own = at::empty_like(like);
        copy_to(own, rank, begin);
        return own;
    }
    Wait reads() override { return {}; } // the CPU has read already

  private:
    std::span<std::byte> memory(int rank, std::int64_t begin, std::size_t bytes) const {
        return host_bytes(memories_[static_cast<std::size_t>(rank)])
            .subspan(static_cast<std::size_t>(begin), bytes);
    }

    const std::vector<at::Tensor> memories_;
    Staging& staging_;
};

Wait after(c10::Stream stream) {
    return Wait(rvk::stream(stream).record());
}

/// Makes later work on `stream` wait for the work that is on `other` now.
void follow(c10::Stream stream, c10::Stream other) {
    rvk::stream(stream).wait(rvk::stream(other).record());
}

void copy_bytes(c10::Stream stream, const at::Tensor& to, const at::Tensor& from) {
    if (to.numel() != 0)
        rvk::stream(stream).copy(device_pointer(to.mutable_data_ptr()), device_pointer(from.const_data_ptr()),
                                 to.nbytes());
}

/// The driver has imported the memory, and kernels read it where it is.
class Imported : public SharedMemory {
  public:
    Imported(std::vector<at::Tensor> views, const Staging& staging, std::shared_ptr<const OwnStream> writing)
        : views_(std::move(views)), reading_(staging.stream()), writing_(std::move(writing)) {}

    void wait_for_results() override { follow(writing_->id(), reading_); }
    void write_after(const runtime::Event& event) override { rvk::stream(writing_->id()).wait(event); }
    Wait write(int rank, std::int64_t begin, std::span<const at::Tensor> tensors) override {
        for (const at::Tensor& tensor : tensors) {
            copy_bytes(writing_->id(), view(rank, begin, tensor), tensor);
            begin += static_cast<std::int64_t>(tensor.nbytes());
        }
        return after(writing_->id());
    }
    void copy_to(const at::Tensor& target, int rank, std::int64_t begin) override {
        target.copy_(view(rank, begin, target));
    }
    at::Tensor read(int rank, std::int64_t begin, const at::Tensor& like) override {
        return view(rank, begin, like);
    }
    Wait reads() override { return after(reading_); }

  protected:
    at::Tensor view(int rank, std::int64_t begin, const at::Tensor& like) const {
        return views_[static_cast<std::size_t>(rank)]
            .slice(0, begin, begin + static_cast<std::int64_t>(like.nbytes()))
            .view(like.scalar_type());
    }
    c10::Stream reading() const { return reading_; }

  private:
    const std::vector<at::Tensor> views_;
    const c10::Stream reading_;
    const std::shared_ptr<const OwnStream> writing_;
};

/// The driver has imported the memory; the device copies from it before kernels read. Copies in both
/// directions use streams that only copy, so they overlap with each other and with kernels.
class Copied final : public Imported {
  public:
    Copied(std::vector<at::Tensor> views, const Staging& staging, std::shared_ptr<const OwnStream> writing)
        : Imported(std::move(views), staging, std::move(writing)),
          fetching_(staging.device(), OwnStream::Kind::copies) {}

    void wait_for_results() override {
        Imported::wait_for_results();
        follow(fetching_.id(), reading());
    }
    void copy_to(const at::Tensor& target, int rank, std::int64_t begin) override {
        copy_bytes(fetching_.id(), target, view(rank, begin, target));
        follow(reading(), fetching_.id());
    }
    at::Tensor read(int rank, std::int64_t begin, const at::Tensor& like) override {
        at::Tensor own;
        {
            // Makes the allocator take memory that this stream used before.
            const c10::StreamGuard guard(fetching_.id());
            own = at::empty_like(like);
        }
        copy_to(own, rank, begin);
        own.record_stream(reading());
        return own;
    }
    Wait reads() override { return after(fetching_.id()); }

  private:
    const OwnStream fetching_;
};

using Ways = std::map<std::string, std::unique_ptr<SharedMemory>>;

/// The ways that work on this device, by the names that REKINDLE_SHARED_MEMORY uses.
Ways ways_of(std::span<const at::Tensor> memories, Staging& staging) {
    Ways ways;
    ways["staged"] = std::make_unique<Staged>(memories, staging);
    std::vector<at::Tensor> views;
    try {
        for (const at::Tensor& memory : memories)
            views.push_back(import_host_memory(memory, staging.device()));
    } catch (const runtime::Unsupported& problem) {
        log_line(problem.what());
        return ways;
    }
    const auto writing = std::make_shared<const OwnStream>(staging.device(), OwnStream::Kind::copies);
    ways["imported"] = std::make_unique<Imported>(views, staging, writing);
    ways["copied"] = std::make_unique<Copied>(views, staging, writing);
    return ways;
}

const char* description_of(const std::string& way) {
    return way == "staged" ? "pinned buffers" : way == "copied" ? "copies" : "kernels that access it";
}

/// Measures the seconds that it takes to write a piece to this rank's own memory and to add it to a tensor
/// from there. Returns the median of three runs.
double seconds_of(SharedMemory& way, int rank, std::int64_t begin, const Staging& staging) {
    using Clock = std::chrono::steady_clock;
    at::Tensor tensor = at::zeros(
        {largest_piece / 4}, at::TensorOptions().device(c10::Device(c10::kPrivateUse1, staging.device())));
    const auto run = [&] {
        const auto start = Clock::now();
        way.wait_for_results();
        way.write(rank, begin, std::array{tensor})();
        at::add_out(tensor, tensor, way.read(rank, begin, tensor));
        way.reads()();
        rvk::stream(staging.stream()).synchronize();
        return std::chrono::duration<double>(Clock::now() - start).count();
    };
    run();
    std::array seconds{run(), run(), run()};
    std::ranges::sort(seconds);
    return seconds[1];
}

std::string names_of(const Ways& ways) {
    std::string names;
    for (const auto& [name, way] : ways)
        names += (names.empty() ? "" : ", ") + name;
    return names;
}

} // namespace

std::unique_ptr<SharedMemory> fastest_shared_memory(std::span<const at::Tensor> memories, int rank,
                                                    std::int64_t begin, Staging& staging) {
    Ways ways = ways_of(memories, staging);
    const std::string device = "rvk:" + std::to_string(staging.device());
    if (const char* const wish = std::getenv("REKINDLE_SHARED_MEMORY"); wish && *wish) {
        const auto found = ways.find(wish);
        TORCH_CHECK_VALUE(found != ways.end(), "REKINDLE_SHARED_MEMORY is '", wish, "'; on ", device,
                          " it can be ", names_of(ways), ".");
        return std::move(found->second);
    }
    std::map<std::string, double> seconds;
    std::ostringstream rates;
    rates.precision(3);
    for (const auto& [name, way] : ways) {
        seconds[name] = seconds_of(*way, rank, begin, staging);
        rates << (seconds.size() > 1 ? ", " : "") << name << " " << largest_piece / seconds[name] / 1e9
              << " GB/s";
    }
    std::string best =
        std::ranges::min_element(seconds, {}, [](const auto& each) { return each.second; })->first;
    if (best == "imported" && seconds["copied"] < kernels_must_gain * seconds["imported"])
        best = "copied";
    log_line(device + " uses shared memory through " + description_of(best) + " (" + rates.str() + ")");
    if (best != "staged")
        staging.release_buffers();
    return std::move(ways[best]);
}

} // namespace rvk::distributed
