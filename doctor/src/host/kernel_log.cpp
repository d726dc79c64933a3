#include "collectors.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rekindle::doctor {

namespace {

constexpr std::size_t max_lines = 2000;
constexpr std::int64_t tail_of_a_log = 8 << 20;

/// Words in lines from GPU drivers and IOMMU drivers, and in lines about killed processes.
constexpr std::array words{"amdgpu", "radeon",  "kfd",  "[drm",         " drm",     "NVRM",
                           "nvidia", "nouveau", "i915", " xe ",         "vfio",     "AMD-Vi",
                           "DMAR",   "iommu:",  "dxgk", "ut of memory", "oom-kill", "segfault"};

/// Replaces "\x0a" in a record's text by the byte.
std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool escaped = text.substr(i).starts_with("\\x") && i + 3 < text.size();
        const auto byte = escaped ? parse_number<unsigned char>(text.substr(i + 2, 2), 16) : std::nullopt;
        plain += byte ? (*byte >= ' ' ? static_cast<char>(*byte) : ' ') : text[i];
        i += byte ? 3 : 0;
    }
    return plain;
}

std::string printable_line(std::string_view line) {
    std::string text(line);
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < ' ' && c != '\t'; }, '?');
    return text;
}

/// A file has the log of many boots; the last one is the current one.
std::string_view since_last_boot(std::string_view log) {
    const std::size_t start = log.rfind("Linux version ");
    if (start == std::string_view::npos)
        return log;
    const std::size_t line = log.rfind('\n', start);
    return line == std::string_view::npos ? log : log.substr(line + 1);
}

std::vector<std::string> addresses_of(const std::vector<Gpu>& gpus) {
    std::vector<std::string> addresses;
    for (const Gpu& gpu : gpus) {
        addresses.push_back(gpu.address);
        for (const PciBridge& bridge : gpu.bridges)
            addresses.push_back(bridge.address);
    }
    return addresses;
}

std::vector<std::string> recorded_logs(bool live) {
    std::vector<std::string> paths{"/var/log/kern.log", "/var/log/dmesg", "/var/log/messages",
                                   "/var/log/syslog"};
    if (!live)
        paths.insert(paths.begin(), {"/dmesg.txt", "/dmesg"});
    return paths;
}

} // namespace

std::vector<std::string> parse_kernel_records(std::string_view records) {
    std::vector<std::string> lines;
    for (const std::string_view record : split(records, '\n')) {
        const std::size_t text = record.find(';');
        if (text == std::string_view::npos || record.starts_with(' ')) // the dictionary of a record
            continue;
        const std::vector<std::string_view> head = split(record.substr(0, text), ',');
        const auto micros = head.size() >= 3 ? parse_number<std::uint64_t>(head[2]) : std::nullopt;
        if (micros)
            lines.push_back(fmt::format("[{:5}.{:06}] {}", *micros / 1000000, *micros % 1000000,
                                        unescaped(record.substr(text + 1))));
    }
    return lines;
}

std::vector<std::string> graphics_lines(const std::vector<std::string>& lines, const std::vector<Gpu>& gpus) {
    const std::vector<std::string> addresses = addresses_of(gpus);
    std::vector<std::string> kept;
    for (const std::string& line : lines) {
        const auto in_line = [&](const auto& part) { return line.find(part) != std::string::npos; };
        if (std::any_of(words.begin(), words.end(), in_line) ||
            std::any_of(addresses.begin(), addresses.end(), in_line))
            kept.push_back(line);
    }
    if (kept.size() > max_lines)
        kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(max_lines));
    return kept;
}

void read_kernel_log(HostFiles& files, const std::vector<Gpu>& gpus, KernelLog& log) {
    using Lines = std::vector<std::string>;
    if (files.live()) {
        log.lines = derive<Lines>(files.kernel_log(), [&](const std::string& records) {
            return std::optional(graphics_lines(parse_kernel_records(records), gpus));
        });
        if (log.lines)
            return;
    }
    for (const std::string& path : recorded_logs(files.live())) {
        const Fact<std::string> text = files.read_part(path, -tail_of_a_log, tail_of_a_log);
        if (!text)
            continue;
        Lines lines;
        for (const std::string_view line : split(since_last_boot(*text), '\n'))
            lines.push_back(printable_line(line));
        log.lines = {graphics_lines(lines, gpus), path};
        return;
    }
    if (!files.live())
        log.lines = Fact<Lines>::failed("not recorded", "");
}

} // namespace rekindle::doctor
