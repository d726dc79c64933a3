/// Usage: rekindle_kernel_tool matrix [FAMILY] | audit [PATTERN | @FILE] | compile | list | docs |
///        modules FOLDER | specialized FOLDER
///
/// Nothing runs on the device, so it need not be present (RADV_FORCE_FAMILY).
///
/// matrix: creates the pipeline of every kernel and audit case on the first device. Prints each one that the
/// driver rejects, and "N pipelines, M failed, K not for this device (it lacks …)". Status 1: one failed, or
/// none was created.
///
/// audit: creates the pipelines whose "kernel (case)" matches the regular expression PATTERN, or those that
/// FILE lists: a heading, then "kernel", tab, "case" in each line. Prints what the driver reports about their
/// machine code, one line of tab-separated columns for each. On standard error, it prints "compiled", the
/// kernel, the case and the lanes of a subgroup, separated by tabs, after the driver's own output for a
/// pipeline; the last line is the count. Status 1: a pipeline failed, the driver left out a column, or
/// nothing matches PATTERN.
///
/// compile: compiles the pipelines that a log on standard input names (compile_times.h), and prints how long
/// each takes.
///
/// list: prints one line of tab-separated columns for each kernel and audit case: module, kernel, case, a
/// digest of the code that the driver receives, the bytes of shared memory that it may use, and the features
/// that it needs.
///
/// docs: prints docs/reference/kernels.md.
///
/// modules: writes each embedded module as FOLDER/<family>.spv.
///
/// specialized: writes the code that the driver receives for each kernel and audit case as
/// FOLDER/<kernel>-<number>.spv.

#include "audit_row.h"
#include "compile_times.h"
#include "documentation.h"
#include "pipeline/pipeline_identity.h"
#include "pipeline/specialized_module.h"

#include <rekindle/foundation/fnv1a.h>
#include <rekindle/kernels/kernel.h>
#include <rekindle/runtime/device.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <regex>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rekindle::kernel_tool {
namespace {

struct Counts {
    int made = 0, failed = 0, not_for_device = 0;
    std::set<std::string> lacking; ///< features
};

std::shared_ptr<runtime::Device> open_without_running(bool statistics) {
    std::string reason;
    const auto devices = runtime::list_devices(&reason);
    if (devices.empty())
        throw std::runtime_error("there is no Vulkan device: " + reason);
    runtime::DeviceOptions options;
    options.log = [](rekindle::LogLevel, std::string_view text) { std::cerr << text << '\n'; };
    options.compile_only = true;
    options.pipeline_statistics = statistics;
    options.self_test = false;
    return runtime::Device::open(devices.front(), options);
}

std::string title(const kernels::Kernel& kernel, const kernels::AuditCase& one) {
    return std::string(kernel.name) + " (" + std::string(one.name) + ")";
}

/// Calls make(kernel, audit case) for each selected one whose features the device has.
Counts
for_each_pipeline(const runtime::Device& device,
                  const std::function<bool(const kernels::Kernel&, const kernels::AuditCase&)>& selects,
                  const std::function<void(const kernels::Kernel&, const kernels::AuditCase&)>& make) {
    Counts counts;
    for (const kernels::Kernel& kernel : kernels::all()) {
        for (const kernels::AuditCase& one : kernel.audit) {
            if (!selects(kernel, one))
                continue;
            const kernels::Features missing = (kernel.needs | one.needs).without(device.usable_features());
            if (!missing.empty()) {
                ++counts.not_for_device;
                for_each_feature(missing, [&](kernels::Feature feature) {
                    counts.lacking.insert(std::string(name(feature)));
                });
                continue;
            }
            if (one.name.ends_with(", divided") && device.info().can.minimum_subgroup > 32) {
                ++counts.not_for_device; // the host divides products only with small subgroups (mlp)
                counts.lacking.insert("subgroups of 32");
                continue;
            }
            try {
                make(kernel, one);
                ++counts.made;
            } catch (const std::exception& e) {
                ++counts.failed;
                std::cerr << "FAILED: " << title(kernel, one) << ": " << e.what() << '\n';
            }
        }
    }
    return counts;
}

void print(const Counts& counts, std::ostream& out) {
    out << counts.made + counts.failed << " pipelines, " << counts.failed << " failed, "
        << counts.not_for_device << " not for this device";
    std::string_view separator = " (it lacks ";
    for (const std::string& feature : counts.lacking) {
        out << separator << feature;
        separator = ", ";
    }
    out << (counts.lacking.empty() ? "" : ")") << '\n';
}

int status_of(const Counts& counts) {
    return counts.failed == 0 && counts.made > 0 ? 0 : 1;
}

int matrix(std::string_view family) {
    const auto device = open_without_running(false);
    const Counts counts = for_each_pipeline(
        *device, [&](const auto& kernel, const auto&) { return family.empty() || kernel.family == family; },
        [&](const auto& kernel, const auto& one) { device->prepare(kernel, one.constants); });
    std::cout << device->info().name << ", " << device->info().driver_info << ": ";
    print(counts, std::cout);
    return status_of(counts);
}

using Selection = std::function<bool(const kernels::Kernel&, const kernels::AuditCase&)>;

Selection matching(std::string_view pattern) {
    return [expression = std::regex{std::string(pattern)}](const auto& kernel, const auto& one) {
        return std::regex_search(title(kernel, one), expression);
    };
}

Selection named_in(const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::string line;
    if (!std::getline(stream, line))
        throw std::runtime_error("cannot read " + file.string());
    std::set<std::string> rows;
    while (std::getline(stream, line))
        rows.insert(line);
    return [rows = std::move(rows)](const auto& kernel, const auto& one) {
        return rows.contains(std::string(kernel.name) + '\t' + std::string(one.name));
    };
}

Counts audit(const Selection& selects) {
    const auto device = open_without_running(true);
    write_header(std::cout);
    const Counts counts = for_each_pipeline(*device, selects, [&](const auto& kernel, const auto& one) {
        const auto statistics = device->pipeline_statistics(kernel, one.constants);
        std::cerr << "compiled\t" << kernel.name << '\t' << one.name << '\t'
                  << value_of("subgroupSize", statistics) << std::endl;
        write_row(std::cout, kernel, one, statistics);
    });
    print(counts, std::cerr);
    return counts;
}

void write_words(const std::filesystem::path& path, std::span<const std::uint32_t> words) {
    std::ofstream stream(path, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(words.data()),
                 static_cast<std::streamsize>(words.size_bytes()));
    stream.close();
    if (!stream)
        throw std::runtime_error("cannot write " + path.string());
}

int write_modules(const std::filesystem::path& folder) {
    for (const kernels::Kernel& kernel : kernels::all())
        write_words(folder / (std::string(kernel.family) + ".spv"), kernel.module);
    return 0;
}

int write_specialized_modules(const std::filesystem::path& folder) {
    for (const kernels::Kernel& kernel : kernels::all())
        for (std::size_t i = 0; i < kernel.audit.size(); ++i) {
            const runtime::PipelineIdentity identity(kernel, kernel.audit[i].constants);
            write_words(folder / (std::string(kernel.name) + "-" + std::to_string(i) + ".spv"),
                        runtime::specialized_module(kernel, identity.values));
        }
    return 0;
}

/// The bytes that a workgroup may use on a device with these features.
int shared_bytes(kernels::Features needs) {
    if (needs.contains(kernels::Feature::shared_64k))
        return 65'536;
    return needs.contains(kernels::Feature::shared_48k) ? 49'152 : 32'768;
}

std::string digest_of(const kernels::Kernel& kernel, const kernels::AuditCase& one) {
    const runtime::PipelineIdentity identity(kernel, one.constants);
    const std::vector<std::uint32_t> module = runtime::specialized_module(kernel, identity.values);
    Fnv1a digest;
    digest.add(std::as_bytes(std::span(module)));
    digest.add(std::as_bytes(std::span(identity.values)));
    std::ostringstream text;
    text << std::hex << std::setw(16) << std::setfill('0') << digest.value();
    return text.str();
}

int list() {
    for (const kernels::Kernel& kernel : kernels::all())
        for (const kernels::AuditCase& one : kernel.audit)
            std::cout << kernel.family << '\t' << kernel.name << '\t' << one.name << '\t'
                      << digest_of(kernel, one) << '\t' << shared_bytes(kernel.needs | one.needs) << '\t'
                      << names_of(kernel.needs | one.needs) << '\n';
    return 0;
}

} // namespace
} // namespace rekindle::kernel_tool

int main(int argc, char** argv) {
    using namespace rekindle::kernel_tool;
    const std::string_view command = argc > 1 ? argv[1] : "";
    const std::string_view argument = argc > 2 ? argv[2] : "";
    try {
        if (command == "matrix" && argc <= 3)
            return matrix(argument);
        if (command == "audit" && argc <= 3)
            return argument.starts_with('@') ? audit(named_in(argument.substr(1))).failed != 0
                                             : status_of(audit(matching(argument)));
        if (command == "compile" && argc == 2)
            return compile_times(*open_without_running(false), std::cin, std::cout);
        if (command == "list" && argc == 2)
            return list();
        if (command == "modules" && argc == 3)
            return write_modules(argument);
        if (command == "specialized" && argc == 3)
            return write_specialized_modules(argument);
        if (command == "docs" && argc == 2) {
            write_documentation(std::cout);
            return 0;
        }
    } catch (const std::exception& e) {
        std::cerr << "error: " << e.what() << '\n';
        return 1;
    }
    std::cerr << "usage: rekindle_kernel_tool matrix [FAMILY] | audit [PATTERN | @FILE] | compile | list | "
                 "docs | modules FOLDER | specialized FOLDER\n";
    return 2;
}
