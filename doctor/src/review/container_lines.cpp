#include "container_lines.h"

#include "container_files.h"
#include "lines.h"

#include <rekindle/base/text.h>

#include <algorithm>
#include <optional>

namespace rekindle::doctor {
namespace {

/// An instruction that only a Dockerfile has.
bool is_instruction(std::string_view text) {
    for (const std::string_view word : {"RUN ", "CMD ", "ENTRYPOINT ", "FROM ", "HEALTHCHECK "})
        if (text.starts_with(word))
            return true;
    return false;
}

bool begins_containers(std::string_view text) {
    return text == "services:" || text == "containers:" || text == "initContainers:";
}

} // namespace

ContainerLines::ContainerLines(std::string_view document) {
    const std::vector<Line> lines = lines_of(document);
    if (container_file_in(document) == ContainerFile::dockerfile) {
        ranges_.emplace_back(1, lines.size());
        return;
    }
    std::optional<std::size_t> depth; // of "services:", while inside
    bool continued = false;           // the line before is an instruction that goes on
    for (const Line& line : lines) {
        const std::string_view text = trim(line.text);
        if (depth && !text.empty() && indentation(line.text) <= *depth && !text.starts_with('-') &&
            !text.starts_with('#'))
            depth.reset();
        const bool instruction = continued || is_instruction(text);
        continued = instruction && text.ends_with('\\');
        if (depth || instruction) {
            if (!ranges_.empty() && ranges_.back().second + 1 == line.number)
                ranges_.back().second = line.number;
            else
                ranges_.emplace_back(line.number, line.number);
        }
        if (begins_containers(text))
            depth = indentation(line.text);
    }
}

bool ContainerLines::contains(std::size_t line) const {
    const auto after =
        std::ranges::upper_bound(ranges_, line, {}, &std::pair<std::size_t, std::size_t>::first);
    return after != ranges_.begin() && line <= std::prev(after)->second;
}

} // namespace rekindle::doctor
