#include "compile_times.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <istream>
#include <ostream>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rekindle::kernel_tool {
namespace {

const kernels::Kernel& kernel_named(const std::string& name) {
    const auto all = kernels::all();
    const auto found = std::ranges::find(all, std::string_view(name), &kernels::Kernel::name);
    if (found == all.end())
        throw std::runtime_error("there is no kernel " + name);
    return *found;
}

/// From "a = 1, b = 2".
std::vector<kernels::ConstantValue> constants_in(const kernels::Kernel& kernel, const std::string& text) {
    static const std::regex pair("(\\w+) = (\\d+)");
    std::vector<kernels::ConstantValue> values;
    for (std::sregex_iterator i(text.begin(), text.end(), pair), end; i != end; ++i) {
        const std::string name = (*i)[1];
        const auto known = std::ranges::find(kernel.constants, std::string_view(name),
                                             &kernels::SpecializationConstant::name);
        if (known == kernel.constants.end())
            throw std::runtime_error(std::string(kernel.name) + " has no constant " + name);
        values.push_back({known->name, static_cast<std::uint32_t>(std::stoul((*i)[2]))});
    }
    return values;
}

} // namespace

int compile_times(runtime::Device& device, std::istream& log, std::ostream& out) {
    static const std::regex compiled("compiled (\\w+)( \\((.*)\\))? in \\d+ ms");
    std::vector<std::pair<double, std::string>> times;
    std::set<std::string> seen;
    int not_for_device = 0;
    double sum = 0;
    for (std::string line; std::getline(log, line);) {
        std::smatch match;
        if (!std::regex_search(line, match, compiled) || !seen.insert(match[1].str() + match[3].str()).second)
            continue;
        const kernels::Kernel& kernel = kernel_named(match[1]);
        const auto constants = constants_in(kernel, match[3]);
        const auto begin = std::chrono::steady_clock::now();
        try {
            device.prepare(kernel, constants);
        } catch (const runtime::Unsupported&) {
            ++not_for_device;
            continue;
        }
        const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
        times.emplace_back(taken.count(), match[1].str() + match[2].str());
        sum += taken.count();
    }
    std::ranges::sort(times, std::greater<>());
    for (const auto& [milliseconds, text] : times)
        out << static_cast<int>(milliseconds) << " ms  " << text << '\n';
    out << device.info().name << ": " << times.size() << " pipelines, " << static_cast<int>(sum) << " ms, "
        << not_for_device << " not for this device\n";
    return times.empty() ? 1 : 0;
}

} // namespace rekindle::kernel_tool
