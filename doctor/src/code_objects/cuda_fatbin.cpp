#include "code_objects/cuda_fatbin.h"

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

constexpr std::uint32_t region_magic = 0xba55ed50;
constexpr std::uint16_t region_version = 1;
constexpr std::uint16_t kind_ptx = 1, kind_machine_code = 2;
constexpr std::uint64_t max_regions = 1'000'000;
constexpr std::uint64_t max_fatbin_entries = 4'000'000;
constexpr std::uint64_t max_padding = 16 << 20;
constexpr std::uint32_t newest_architecture = 999;

struct Region {
    std::uint32_t magic;
    std::uint16_t version, header_size;
    std::uint64_t size;
};

struct FatbinEntry {
    std::uint16_t kind, version;
    std::uint32_t header_size;
    std::uint64_t size;
    std::uint32_t compressed_size, reserved;
    std::uint16_t minor, major;
    std::uint32_t architecture;
};
static_assert(sizeof(Region) == 16 && sizeof(FatbinEntry) == 32);

/// Returns false when this cannot be an entry.
bool read_entries(const ByteSource& source, ByteRange region, std::uint64_t& entries,
                  TargetCollector& found) {
    for (std::uint64_t at = region.begin; at + sizeof(FatbinEntry) <= region.end;) {
        const auto entry = read_value<FatbinEntry>(source, at);
        if (!entry || ++entries > max_fatbin_entries || entry->header_size < sizeof(FatbinEntry) ||
            entry->header_size > region.end - at || entry->size > region.end - at - entry->header_size ||
            entry->architecture > newest_architecture)
            return false;
        if (entry->kind == kind_ptx || entry->kind == kind_machine_code)
            found.add(fmt::format("{}_{}", entry->kind == kind_ptx ? "compute" : "sm", entry->architecture),
                      entry->size);
        at += entry->header_size + entry->size;
    }
    return true;
}

} // namespace

void read_cuda_fatbin(const ByteSource& source, ByteRange range, const ScanOptions& options,
                      TargetCollector& found) {
    std::uint64_t entries = 0, regions = 0, padding = 0;
    for (std::uint64_t at = range.begin; at + sizeof(Region) <= range.end;) {
        const auto region = read_value<Region>(source, at);
        if (!region)
            break;
        if (region->magic == 0 && padding < max_padding) { // between regions
            padding += 8;
            at += 8;
            continue;
        }
        if (time_is_up(options.deadline))
            return found.note(time_is_up_note);
        const std::uint64_t left = range.end - at;
        if (region->magic != region_magic || region->version != region_version ||
            region->header_size < sizeof(Region) || region->header_size > left ||
            region->size > left - region->header_size || ++regions > max_regions)
            return found.note(
                fmt::format("byte {}: a CUDA fat binary with an unknown layout; the rest was not read", at));
        const ByteRange content{at + region->header_size, at + region->header_size + region->size};
        if (!read_entries(source, content, entries, found))
            found.note(fmt::format("byte {}: a CUDA fat binary with an entry of unknown layout", at));
        at = content.end;
    }
}

} // namespace rekindle::doctor
