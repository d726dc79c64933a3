#include "gpu/member_arrays.h"

#include "gpu/launch.h"

#include <rekindle/base/thread_pool.h>
#include <rekindle/foundation/error.h>

#include <algorithm>

namespace rekindle::mlp::gpu {

MemberArrays::MemberArrays(runtime::Device& device, runtime::Stream& stream, const cpu::Plan& plan,
                           const Layout& layout, std::size_t members)
    : device_(device), stream_(stream), host_floats_(plan.parameter_floats()),
      device_floats_(layout.floats()), members_(members) {
    const auto parameters = plan.parameters();
    const auto tensors = layout.tensors();
    if (parameters.size() != tensors.size())
        throw internal_error("the layouts of the engines have different tensors");
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        if (parameters[t].name != tensors[t].name || parameters[t].size() != tensors[t].size())
            throw internal_error("the layouts of the engines differ in " + parameters[t].name);
        for (std::size_t i = 0; i < tensors[t].size(); ++i)
            positions_.push_back({static_cast<std::uint32_t>(parameters[t].position(i)),
                                  static_cast<std::uint32_t>(tensors[t].position(i))});
    }
}

void MemberArrays::require(Array array) {
    if (exists(array))
        return;
    const std::uint64_t bytes = members_ * member_bytes();
    runtime::Buffer made = device_.allocator().allocate(bytes, runtime::MemoryKind::device, &stream_);
    stream_.fill(made.pointer(), bytes, 0);
    buffers_[static_cast<std::size_t>(array)] = std::move(made);
}

runtime::DevicePointer MemberArrays::at(Array array, std::size_t member) const {
    return exists(array) ? buffer(array).pointer() + member * member_bytes() : runtime::DevicePointer{};
}

std::vector<float> MemberArrays::read(Array array, std::size_t member) const {
    return exists(array) ? read(at(array, member)) : std::vector<float>(host_floats_);
}

std::vector<float> MemberArrays::read(runtime::DevicePointer from) const {
    std::vector<float> raw(device_floats_), values(host_floats_);
    stream_.download(std::as_writable_bytes(std::span(raw)), from);
    for (const Position& p : positions_)
        values[p.host] = raw[p.device];
    return values;
}

void MemberArrays::to_device(std::span<const float> values, std::span<float> out) const {
    std::ranges::fill(out, 0.0f);
    for (const Position& p : positions_)
        out[p.device] = values[p.host];
}

void MemberArrays::write(Array array, std::size_t member, std::span<const float> values) {
    require(array);
    std::vector<float> raw(device_floats_);
    to_device(values, raw);
    stream_.upload(at(array, member), std::as_bytes(std::span(raw)));
}

void MemberArrays::write_all(Array array, const Values& values) {
    require(array);
    const std::size_t floats = device_floats_;
    const std::size_t at_once = staged_at_once(floats);
    const bool much = members_ * floats > (std::size_t{1} << 18);
    ThreadPool pool(much ? 0 : 1);
    std::vector<float> part(std::min(at_once, members_) * floats);
    for (std::size_t first = 0; first < members_; first += at_once) {
        const std::size_t count = std::min(at_once, members_ - first);
        pool.for_each(count, [&](std::size_t m) {
            std::vector<float> out(host_floats_);
            values(first + m, out);
            to_device(out, std::span(part).subspan(m * floats, floats));
        });
        stream_.upload(at(array, first), std::as_bytes(std::span(part).first(count * floats)));
    }
}

void MemberArrays::clear(Array array, std::size_t first_member, std::size_t members) {
    if (exists(array))
        stream_.fill(at(array, first_member), members * member_bytes(), 0);
}

void MemberArrays::copy(Array to, Array from, std::size_t first_member, std::size_t members) {
    stream_.copy(at(to, first_member), at(from, first_member), members * member_bytes());
}

} // namespace rekindle::mlp::gpu
