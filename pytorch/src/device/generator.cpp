#include "generator.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/TensorBase.h>
#include <c10/core/GeneratorImpl.h>
#include <cstring>
#include <deque>
#include <mutex>

namespace rvk {

namespace {

constexpr std::size_t state_bytes =
    2 * sizeof(std::uint64_t); ///< seed, offset: the layout of CUDA's generator

class PhiloxGenerator final : public c10::GeneratorImpl {
  public:
    explicit PhiloxGenerator(DeviceIndex index)
        : GeneratorImpl(c10::Device(c10::kPrivateUse1, index),
                        c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}

    void set_current_seed(std::uint64_t seed) override { state_ = {seed, 0}; }
    std::uint64_t current_seed() const override { return state_.seed; }
    std::uint64_t seed() override {
        set_current_seed(c10::detail::getNonDeterministicRandom(true));
        return state_.seed;
    }
    void set_offset(std::uint64_t offset) override {
        TORCH_CHECK(offset % 4 == 0, "The offset of a generator must be a multiple of 4, but got ", offset,
                    ".");
        state_.offset = offset;
    }
    std::uint64_t get_offset() const override { return state_.offset; }

    c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
        const std::array<std::uint64_t, 2> words{state_.seed, state_.offset};
        at::TensorBase bytes = at::detail::empty_cpu({static_cast<std::int64_t>(state_bytes)}, at::kByte);
        std::memcpy(bytes.mutable_data_ptr(), words.data(), state_bytes);
        return bytes.getIntrusivePtr();
    }
    void set_state(const c10::TensorImpl& state) override {
        TORCH_CHECK_TYPE(state.device().is_cpu() && state.dtype() == caffe2::TypeMeta::Make<std::uint8_t>() &&
                             state.numel() == static_cast<std::int64_t>(state_bytes) && state.is_contiguous(),
                         "The state of a generator must be a CPU tensor of ", state_bytes,
                         " bytes (torch.uint8).");
        std::array<std::uint64_t, 2> words{};
        std::memcpy(words.data(), state.data(), state_bytes);
        set_current_seed(words[0]);
        set_offset(words[1]);
    }

    PhiloxState take(std::uint64_t numbers) {
        const PhiloxState taken = state_;
        state_.offset += (numbers + 3) / 4 * 4;
        return taken;
    }

  private:
    PhiloxGenerator* clone_impl() const override {
        auto* const copy =
            new PhiloxGenerator(device().index()); // owned by the caller, as GeneratorImpl::clone requires
        copy->state_ = state_;
        return copy;
    }

    PhiloxState state_{c10::default_rng_seed_val, 0};
};

/// The default generators of all devices, each created at first use.
class DefaultGenerators {
  public:
    static DefaultGenerators& instance() {
        static auto* const generators = new DefaultGenerators; // lives as long as the process
        return *generators;
    }
    const at::Generator& get(DeviceIndex index) {
        const std::lock_guard lock(mutex_);
        while (generators_.size() <= static_cast<std::size_t>(index)) {
            generators_.push_back(make_generator(static_cast<DeviceIndex>(generators_.size())));
            generators_.back().set_current_seed(seed_);
        }
        return generators_[static_cast<std::size_t>(index)];
    }
    void seed_all(std::uint64_t seed) {
        const std::lock_guard lock(mutex_);
        seed_ = seed;
        for (at::Generator& generator : generators_)
            set_seed(generator, seed);
    }
    static void set_seed(at::Generator generator, std::uint64_t seed) {
        const std::lock_guard lock(generator.mutex());
        generator.set_current_seed(seed);
    }

  private:
    std::mutex mutex_;
    std::deque<at::Generator> generators_;           ///< never moved
    std::uint64_t seed_ = c10::default_rng_seed_val; ///< of generators that do not exist yet
};

} // namespace

PhiloxState reserve_random(const std::optional<at::Generator>& generator, DeviceIndex index,
                           std::uint64_t numbers) {
    const at::Generator chosen = generator && generator->defined() ? *generator : default_generator(index);
    TORCH_CHECK(chosen.device().is_privateuseone(), "Expected a 'rvk' device type for generator but found '",
                chosen.device().type(),
                "': create it with torch.Generator(device=\"rvk\") (a DataLoader that shuffles under "
                "set_default_device(\"rvk\") takes it as generator=)");
    const std::lock_guard lock(chosen.unsafeGetGeneratorImpl()->mutex_);
    return static_cast<PhiloxGenerator*>(chosen.unsafeGetGeneratorImpl())->take(numbers);
}

const at::Generator& default_generator(DeviceIndex index) {
    const DeviceIndex wanted = index < 0 ? current_device() : index;
    index_of(c10::Device(c10::kPrivateUse1, wanted));
    return DefaultGenerators::instance().get(wanted);
}

void seed_current_device(std::uint64_t seed) {
    DefaultGenerators::set_seed(DefaultGenerators::instance().get(current_device()), seed);
}

void seed_all_devices(std::uint64_t seed) {
    DefaultGenerators::instance().seed_all(seed);
}

at::Generator make_generator(DeviceIndex index) {
    return at::Generator(c10::make_intrusive<PhiloxGenerator>(index < 0 ? current_device() : index));
}

} // namespace rvk
