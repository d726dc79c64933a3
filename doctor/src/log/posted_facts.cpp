#include "log/posted_entries.h"
#include "log/posted_values.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/diagnosis.h>
#include <rekindle/doctor/recording.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <nlohmann/json.hpp>

#include <filesystem>

namespace rekindle::doctor {
namespace {

constexpr std::uintmax_t size_limit = std::uintmax_t{64}
                                      << 20; ///< bytes; recordings of large hosts have a few MiB

std::string read_limited(const std::filesystem::path& path) {
    std::error_code problem;
    const auto status = std::filesystem::status(path, problem);
    if (std::filesystem::is_directory(status) || std::filesystem::is_character_file(status) ||
        std::filesystem::is_block_file(status))
        throw usage_error("is a folder or a device, not a file")
            .at(path.string())
            .expected("a file of facts");
    const std::uintmax_t size = std::filesystem::file_size(path, problem);
    if (!problem && size > size_limit)
        throw usage_error("has " + format_bytes(size) + ", too large for a file of facts").at(path.string());
    return read_file(path);
}

bool is_json(std::string_view text) {
    const std::size_t start = text.find_first_not_of(" \t\r\n");
    return start != std::string_view::npos && text[start] == '{';
}

void read_entries(const std::vector<PostedEntry>& entries, const Knowledge& knowledge, Facts& facts) {
    PythonEnvironment python;
    python.found_by = posted_source;
    python.active = true;
    std::string gpu;
    std::string gfx;
    for (const PostedEntry& entry : entries) {
        const std::string& value = entry.value;
        if (entry.key == "gpu")
            gpu += (gpu.empty() ? "" : " and ") + value;
        else if (entry.key == "gfx")
            gfx += (gfx.empty() ? "" : " and ") + value;
        else if (entry.key == "torch")
            read_posted_torch(value, python);
        else if (entry.key == "python")
            read_posted_python(value, python);
        else if (entry.key == "rocm")
            read_posted_rocm(value, facts, python);
        else if (entry.key == "os")
            read_posted_os(value, facts.system);
        else if (entry.key == "kernel")
            read_posted_kernel(value, facts.system);
        else if (entry.key == "container")
            read_posted_container(value, facts.system);
        else if (entry.key == "driver")
            read_posted_driver(value, facts.drivers);
        else if (entry.key == "env")
            read_posted_environment(value, facts.environment);
        if (!is_unstated(value))
            facts.notes.push_back(entry.key + ": " + value);
    }
    read_posted_gpus(gpu, gfx, knowledge, facts);
    for (const PostedEntry& entry : entries)
        if (!is_unstated(entry.value))
            read_posted_notes(entry.value, facts, python);
    if (python.torch || python.torch_kind || python.version || python.torch_hip || !python.packages.empty())
        facts.pythons.push_back(std::move(python));
}

} // namespace

Facts read_posted_facts(const std::filesystem::path& path, const Knowledge& knowledge) {
    const std::string text = read_limited(path);
    if (is_json(text))
        if (const auto json = nlohmann::ordered_json::parse(text, nullptr, false); !json.is_discarded())
            return recording_from_json(json, path.string()).facts;
    Facts facts;
    facts.origin = "a posted case";
    read_entries(posted_entries(text, path.string()), knowledge, facts);
    return facts;
}

} // namespace rekindle::doctor
