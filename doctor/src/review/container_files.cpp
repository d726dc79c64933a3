#include "container_files.h"

#include "lines.h"
#include "restart_loops.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

/// A value of a service, with its line.
struct Value {
    std::string text;
    Line line;
};

struct Service {
    Line name;
    std::map<std::string, std::vector<Value>> values; ///< key → its value, or the lines nested below it

    const Value* first(const std::string& key) const {
        const auto found = values.find(key);
        return found == values.end() || found->second.empty() ? nullptr : &found->second.front();
    }
    const Value* containing(const std::string& key, const char* pattern) const {
        const auto found = values.find(key);
        if (found == values.end())
            return nullptr;
        const auto value = std::ranges::find_if(
            found->second, [&](const Value& one) { return RE2::PartialMatch(one.text, pattern); });
        return value == found->second.end() ? nullptr : &*value;
    }
    bool has(const std::string& key, const char* pattern) const {
        return containing(key, pattern) != nullptr;
    }
};

/// "image: rocm/pytorch" → "image" and "rocm/pytorch".
std::pair<std::string, std::string> key_and_value(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos)
        return {};
    return {std::string(trim(text.substr(0, colon))), std::string(trim(text.substr(colon + 1)))};
}

/// Finds the services below each line "services:". Only indentation separates them: the document need not be
/// valid YAML.
class ServiceReader {
  public:
    std::vector<Service> read(std::string_view document) {
        for (const Line& line : lines_of(document))
            take(line);
        return std::move(services_);
    }

  private:
    void take(const Line& line) {
        const std::string_view text = trim(line.text.substr(0, line.text.find(" #")));
        const std::size_t depth = indentation(line.text);
        if (text.empty() || text.front() == '#')
            return;
        if (text == "services:") {
            begin_ = depth;
            service_depth_ = key_depth_ = 0;
        } else if (begin_ && (depth <= *begin_ || text.starts_with("```"))) {
            begin_.reset();
        } else if (begin_) {
            take_inside(line, text, depth);
        }
    }
    void take_inside(const Line& line, std::string_view text, std::size_t depth) {
        if (service_depth_ == 0)
            service_depth_ = depth;
        if (depth <= service_depth_) {
            services_.push_back({line, {}});
            key_depth_ = 0;
            return;
        }
        if (services_.empty())
            return;
        if (key_depth_ == 0)
            key_depth_ = depth;
        const auto [key, value] = key_and_value(text);
        if (depth <= key_depth_ && text.front() != '-' && !key.empty()) {
            key_ = key;
            std::vector<Value>& values = services_.back().values[key_];
            if (!value.empty())
                values.push_back({value, line});
        } else {
            services_.back().values[key_].push_back({std::string(text), line});
        }
    }

    std::vector<Service> services_;
    std::optional<std::size_t> begin_; ///< indentation of "services:", while inside
    std::size_t service_depth_ = 0;
    std::size_t key_depth_ = 0;
    std::string key_;
};

void mark_line(const Line& line, Verdict verdict, std::string reason, std::vector<Found>& found) {
    const std::size_t indent = indentation(line.text);
    Found one;
    one.begin = line.begin + indent;
    one.end = line.begin + line.text.size();
    one.mark = {line.number,
                "container",
                printable(line.text.substr(indent), mark_text_limit),
                verdict,
                std::move(reason),
                {{.kind = "documentation", .reference = "docs.docker.com/reference/compose-file/services"}}};
    found.push_back(std::move(one));
}

/// Converts "64m", "'64mb'", "1gb" or "67108864" (bytes) to MiB. Returns nothing for other texts, such as a
/// variable.
std::optional<double> mebibytes(std::string_view text) {
    double number = 0;
    std::string unit;
    if (!RE2::FullMatch(piece(text), R"(["']?(\d+(?:\.\d+)?) ?([kKmMgG]?)[iI]?[bB]?["']?)", &number, &unit))
        return std::nullopt;
    const char letter = unit.empty() ? 'b' : static_cast<char>(unit[0] | 0x20);
    return letter == 'g'   ? number * 1024
           : letter == 'm' ? number
           : letter == 'k' ? number / 1024
                           : number / (1024 * 1024);
}

constexpr double smallest_shared_memory = 256; ///< MiB; training needs at least this much

void mark_shared_memory(const Service& service, std::vector<Found>& found) {
    const Value* size = service.first("shm_size");
    if (size == nullptr || service.has("ipc", "host"))
        return;
    if (const auto amount = mebibytes(size->text); amount && *amount < smallest_shared_memory)
        mark_line(
            size->line, Verdict::harmful,
            "DataLoader workers and NCCL or RCCL exchange data through /dev/shm, and training ends with a "
            "bus error when it is full. Use ipc: host or shm_size: 8gb.",
            found);
}

constexpr const char* amd_image = R"((?i)(^|/)rocm\b|\brocm\d|[-_:]rocm)";
constexpr const char* nvidia_image = R"((?i)(^|/)nvidia/|nvcr\.io|[-_:]cu(da)?\d)";

void mark_amd_service(const Service& service, std::vector<Found>& found) {
    const Value* kfd = service.containing("devices", "/dev/kfd");
    const bool dri = service.has("devices", "/dev/dri");
    const bool everything = service.has("privileged", "true");
    if (kfd != nullptr && dri)
        mark_line(kfd->line, Verdict::holds, "ROCm needs both /dev/kfd and /dev/dri in the container.",
                  found);
    else if (kfd != nullptr && !everything)
        mark_line(kfd->line, Verdict::wrong, "ROCm also needs /dev/dri in the container.", found);
    else if (const Value* image = service.containing("image", amd_image);
             image != nullptr && kfd == nullptr && !everything)
        mark_line(image->line, Verdict::wrong,
                  "No device reaches the container: ROCm needs devices: /dev/kfd and /dev/dri.", found);
    for (const char* key : {"deploy", "runtime", "gpus"})
        if (const Value* request = service.containing(key, key == std::string_view("gpus") ? "." : "nvidia"))
            mark_line(
                request->line, Verdict::wrong,
                "This requests an NVIDIA GPU; an AMD GPU reaches the container through devices: /dev/kfd and "
                "/dev/dri.",
                found);
}

/// A service that trains: judged by its command, or by its name if the image decides what runs.
bool trains(const Service& service) {
    static const RE2 name("(?i)^(.*[-_])?(train(er|ing)?|fine-?tun\\w*|pretrain\\w*)([-_].*)?:$");
    std::string command;
    for (const char* key : {"entrypoint", "command"})
        if (const auto values = service.values.find(key); values != service.values.end())
            for (const Value& value : values->second)
                command += value.text + ' ';
    return command.empty() ? RE2::FullMatch(piece(trim(service.name.text)), name) : is_training(command);
}

void mark_restart(const Service& service, std::vector<Found>& found) {
    const Value* restart = service.containing("restart", "^[\"']?(always|unless-stopped)\\b");
    if (restart != nullptr && trains(service))
        mark_line(
            restart->line, Verdict::harmful,
            "It starts training again after every failure without a limit, which hides the cause, and again "
            "after a run that has finished. Use restart: \"on-failure:3\", or \"no\".",
            found);
}

void mark_service(const Service& service, std::vector<Found>& found) {
    mark_restart(service, found);
    mark_shared_memory(service, found);
    const bool nvidia = service.has("image", nvidia_image);
    const Value* kfd = service.containing("devices", "/dev/kfd");
    if (nvidia && kfd != nullptr)
        mark_line(kfd->line, Verdict::wrong, "The image is for NVIDIA's GPUs, which do not use /dev/kfd.",
                  found);
    else if (!nvidia && (kfd != nullptr || service.has("image", amd_image)))
        mark_amd_service(service, found);
}

/// Replaces the separator after the name by "=".
void assign(std::string& document, const Line& line, std::string_view name, char separator) {
    const std::size_t end =
        static_cast<std::size_t>(name.data() - line.text.data()) + line.begin + name.size();
    if (document[end] == separator)
        document[end] = '=';
}

} // namespace

ContainerFile container_file_in(std::string_view document) {
    static const RE2 service(R"((?m)^ *services:\s*$)");
    static const RE2 image(R"((?m)^ +(image|build|devices|deploy):)");
    if (RE2::PartialMatch(piece(document), service) && RE2::PartialMatch(piece(document), image))
        return ContainerFile::compose;
    for (const Line& line : lines_of(document)) {
        const std::string_view text = trim(line.text);
        if (text.empty() || text.front() == '#')
            continue;
        if (!text.starts_with("ARG "))
            return text.starts_with("FROM ") ? ContainerFile::dockerfile : ContainerFile::none;
    }
    return ContainerFile::none;
}

std::string with_assignments(std::string_view document, ContainerFile kind) {
    static const RE2 instruction(R"(^\s*ENV\s+([A-Z][A-Z0-9_]+)\s)");
    static const RE2 entry(R"(^\s+([A-Z][A-Z0-9_]*_[A-Z0-9_]+):\s)");
    std::string text(document);
    if (kind == ContainerFile::none)
        return text;
    const bool compose = kind == ContainerFile::compose;
    re2::StringPiece name;
    for (const Line& line : lines_of(document))
        if (RE2::PartialMatch(piece(line.text), compose ? entry : instruction, &name))
            assign(text, line, {name.data(), name.size()}, compose ? ':' : ' ');
    return text;
}

void mark_services(std::string_view document, std::vector<Found>& found) {
    for (const Service& service : ServiceReader().read(document))
        mark_service(service, found);
}

} // namespace rekindle::doctor
