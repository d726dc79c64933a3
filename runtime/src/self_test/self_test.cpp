#include "self_test/self_test.h"

#include "self_test/known_answer.h"

#include <rekindle/kernels/families/selftest.h>

#include <chrono>

namespace rekindle::runtime {

namespace {

using Outcome = SelfTestRow::Outcome;

/// A row whose kernel is queued; its results are checked after all rows are queued.
struct Running {
    const KnownAnswer* answer;
    std::size_t row;
    Buffer input, output;
};

std::string names_of(kernels::Features features) {
    std::string names;
    for (std::uint32_t bit = 1; bit != 0; bit <<= 1)
        if ((features.bits() & bit) != 0)
            names += (names.empty() ? "" : ", ") + std::string(name(static_cast<kernels::Feature>(bit)));
    return names;
}

Running start(Device& device, Stream& stream, const KnownAnswer& answer, std::size_t row) {
    Running running{&answer, row, {}, {}};
    Allocator& allocator = device.allocator();
    running.input = allocator.allocate(answer.input.size(), MemoryKind::device, &stream);
    running.output = allocator.allocate(answer.output.size(), MemoryKind::device, &stream);
    stream.upload(running.input.pointer(), answer.input);
    stream.upload(running.output.pointer(), answer.output);
    const std::uint64_t input = running.input.pointer().address, output = running.output.pointer().address;
    kernels::SelftestParameters usual;
    usual.input = input;
    usual.output = output;
    usual.count = answer.count;
    const std::vector<std::byte> own =
        answer.parameters ? answer.parameters(input, output) : std::vector<std::byte>();
    const Access accesses[] = {reads(running.input), writes(running.output)};
    stream.launch(*answer.kernel, answer.groups,
                  answer.parameters ? own : std::as_bytes(std::span(&usual, 1)), accesses, answer.constants);
    return running;
}

void finish(Stream& stream, const Running& running, const std::function<bool()>& wrong_answer,
            SelfTestRow& row) {
    std::vector<std::byte> output(running.answer->output.size());
    stream.download(output, running.output.pointer());
    if (wrong_answer())
        output[output.size() / 2 + 3] ^= std::byte{0x40}; // too large to be rounding
    row.detail = running.answer->mistake(output);
    row.outcome = row.detail.empty()            ? Outcome::passed
                  : running.answer->is_property ? Outcome::absent
                                                : Outcome::failed;
}

} // namespace

SelfTestResult run_known_answers(Device& device, const std::function<bool()>& wrong_answer) {
    const auto begin = std::chrono::steady_clock::now();
    SelfTestResult result;
    const std::vector<KnownAnswer> answers = known_answers(device.info().can);
    const std::unique_ptr<Stream> stream = device.make_stream();
    std::vector<Running> queued;
    for (const KnownAnswer& answer : answers) {
        SelfTestRow row{answer.name, Outcome::unsupported, {}, answer.disables};
        const kernels::Features lacking = answer.kernel->needs.without(device.info().can.features);
        if (!lacking.empty())
            row.detail = "the device has no " + names_of(lacking);
        else
            try {
                queued.push_back(start(device, *stream, answer, result.rows.size()));
            } catch (const DeviceLost&) {
                throw;
            } catch (const Error& error) { // a driver that cannot compile it
                row.outcome = Outcome::failed;
                row.detail = error.what();
            }
        result.rows.push_back(std::move(row));
    }
    for (const Running& running : queued)
        finish(*stream, running, wrong_answer, result.rows[running.row]);
    result.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

std::string failures_of(const SelfTestResult& result) {
    std::string text;
    for (const SelfTestRow& row : result.rows)
        if (row.outcome == Outcome::failed)
            text += (text.empty() ? "" : "; ") + row.name + ": " + row.detail;
    return text;
}

std::vector<std::string> warnings_of(const SelfTestResult& result, const std::string& device_name) {
    std::vector<std::string> lines;
    for (const SelfTestRow& row : result.rows)
        if (row.outcome == Outcome::failed)
            lines.push_back(device_name + " computes wrong answers: " + row.name + ": " + row.detail +
                            (row.disables.empty() ? "; the device is not used"
                                                  : "; not used: " + names_of(row.disables)));
    return lines;
}

bool SelfTestResult::usable() const {
    for (const SelfTestRow& row : rows)
        if (row.outcome == Outcome::failed && row.disables.empty())
            return false;
    return true;
}

kernels::Features SelfTestResult::disabled() const {
    kernels::Features features;
    for (const SelfTestRow& row : rows)
        if (row.outcome == Outcome::failed || row.outcome == Outcome::absent)
            features = features | row.disables;
    return features;
}

} // namespace rekindle::runtime
