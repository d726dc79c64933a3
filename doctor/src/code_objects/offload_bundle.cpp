#include "code_objects/offload_bundle.h"

#include "code_objects/compressed_bundle.h"
#include "code_objects/elf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace rekindle::doctor {

namespace {

constexpr std::uint64_t max_bundle_entries = 4096;
constexpr std::uint64_t longest_id = 1024;
constexpr std::uint64_t max_bundles = 200'000;
constexpr std::uint64_t max_compressed_bundles = 32'768;
constexpr std::uint64_t longest_header = 1 << 20;
constexpr std::uint64_t longest_search = 64 << 20;

/// Walks over one range; the members are what the steps share.
class BundleScan {
  public:
    BundleScan(const ByteSource& source, ByteRange range, const ScanOptions& options, TargetCollector& found)
        : source_(source), range_(range), verified_bytes_(options.verified_bytes), found_(found),
          unverified_bytes_left_(options.verified_bytes), deadline_(options.deadline) {}

    void run() {
        std::uint64_t at = next_bundle(range_.begin, true);
        for (std::uint64_t bundles = 0; at < range_.end; ++bundles) {
            if (bundles == max_bundles)
                return found_.note(fmt::format("more than {} bundles; the rest was not read", max_bundles));
            if (time_is_up(deadline_))
                return found_.note(time_is_up_note);
            const std::uint64_t end = read_bundle(at);
            at = end > at ? next_bundle(end, true) : next_bundle(at + 4, false);
        }
    }

  private:
    bool magic_at(std::uint64_t offset) const {
        const std::string start = read_text(source_, offset, bundle_magic.size());
        return start == bundle_magic || start.starts_with(compressed_bundle_magic);
    }

    /// Where the next bundle begins; range_.end when there is none. Only zeros may precede it, as padding:
    /// anything else is noted when `only_padding` says that the end of the previous bundle was certain.
    std::uint64_t next_bundle(std::uint64_t at, bool only_padding) {
        std::array<std::byte, 16'384> piece;
        while (at < range_.end) {
            if (searched_ > longest_search) {
                found_.note("too much padding between bundles; the rest was not searched");
                break;
            }
            const std::size_t size = source_.read(
                at, std::span(piece).first(std::min<std::uint64_t>(piece.size(), range_.end - at)));
            if (size == 0)
                break;
            const std::string_view text(reinterpret_cast<const char*>(piece.data()), size);
            const std::size_t begin = only_padding ? text.find_first_not_of('\0') : next_magic(text);
            searched_ += begin == std::string_view::npos ? size : begin;
            if (begin == std::string_view::npos) {
                // A magic may straddle two pieces.
                at += only_padding || size < bundle_magic.size() || at + size == range_.end
                          ? size
                          : size - bundle_magic.size() + 1;
                continue;
            }
            if (magic_at(at + begin))
                return at + begin;
            if (only_padding)
                found_.note(fmt::format("byte {}: data that is not a bundle", at + begin));
            only_padding = false;
            at += begin + 1;
        }
        return range_.end;
    }

    static std::size_t next_magic(std::string_view text) {
        return std::min(text.find(bundle_magic), text.find(compressed_bundle_magic));
    }

    /// Returns the end of the bundle, or `at` when it is unknown.
    std::uint64_t read_bundle(std::uint64_t at) {
        if (read_text(source_, at, compressed_bundle_magic.size()) == compressed_bundle_magic)
            return read_compressed(at);
        const Expected<BundleHeader> header = read_bundle_header(source_, {at, range_.end});
        if (!header) {
            found_.note(header.error().render());
            return at;
        }
        std::uint64_t end = at + header->size;
        for (const BundleEntry& entry : header->entries) {
            if (entry.offset > range_.end - at || entry.size > range_.end - at - entry.offset) {
                found_.note(fmt::format("byte {}: the bundle's entry {} lies outside the remaining bytes", at,
                                        entry.id));
                continue;
            }
            end = std::max(end, at + entry.offset + entry.size);
            add(entry, read_elf_header(source_, at + entry.offset), at);
        }
        return end;
    }

    std::uint64_t read_compressed(std::uint64_t at) {
        const Expected<CompressedBundle> bundle = read_compressed_bundle(source_, {at, range_.end});
        if (!bundle) {
            found_.note(bundle.error().render());
            return at;
        }
        if (++compressed_bundles_ > max_compressed_bundles) {
            found_.note(fmt::format("more than {} compressed bundles; the rest was not read",
                                    max_compressed_bundles));
            return range_.end;
        }
        const bool verify = bundle->uncompressed_size <= unverified_bytes_left_;
        if (!decompressor_)
            decompressor_ = std::make_unique<BundleDecompressor>(std::max(longest_header, verified_bytes_));
        decompressor_->begin(source_, *bundle);
        // The first block almost always has the whole header.
        Expected<std::span<const std::byte>> content = decompressor_->extend(1);
        Expected<BundleHeader> header = read_decompressed_header();
        if (content && !header) {
            content = decompressor_->extend(longest_header);
            header = read_decompressed_header();
        }
        if (!content || !header)
            found_.note(
                fmt::format("byte {}: {}", at, (content ? header.error() : content.error()).render()));
        if (header)
            add_compressed(at, *bundle, *header, verify);
        return bundle->end;
    }

    Expected<BundleHeader> read_decompressed_header() const {
        const std::span<const std::byte> content = decompressor_->content();
        return read_bundle_header(MemorySource(content), {0, content.size()});
    }

    void add_compressed(std::uint64_t at, const CompressedBundle& bundle, const BundleHeader& header,
                        bool verify) {
        for (const BundleEntry& entry : header.entries) {
            if (entry.offset > bundle.uncompressed_size ||
                entry.size > bundle.uncompressed_size - entry.offset) {
                found_.note(
                    fmt::format("byte {}: the bundle's entry {} lies outside the bundle", at, entry.id));
                continue;
            }
            std::optional<ElfHeader> elf;
            if (verify && entry.size >= 64) {
                const Expected<std::span<const std::byte>> content = decompressor_->extend(entry.offset + 64);
                if (!content) {
                    found_.note(content.error().render());
                    verify = false;
                } else {
                    elf = read_elf_header(MemorySource(*content), entry.offset);
                }
            }
            add(entry, elf, at);
        }
        if (verify)
            unverified_bytes_left_ -= std::min(unverified_bytes_left_, bundle.uncompressed_size);
    }

    void add(const BundleEntry& entry, const std::optional<ElfHeader>& elf, std::uint64_t at) {
        const std::string target = target_of_bundle_id(entry.id);
        if (target.empty())
            return;
        found_.add(target, entry.size);
        if (!elf || elf->machine != elf_machine_amdgpu)
            return;
        const std::string by_flags = target_of_elf_flags(elf->flags, elf->abi_version);
        if (!by_flags.empty() && !same_target(target, by_flags))
            found_.note(fmt::format("byte {}: the bundle calls a code object {}, but its own header says {}",
                                    at, target, by_flags));
    }

    const ByteSource& source_;
    ByteRange range_;
    std::uint64_t verified_bytes_;
    TargetCollector& found_;
    std::uint64_t unverified_bytes_left_;
    std::optional<std::chrono::steady_clock::time_point> deadline_;
    std::unique_ptr<BundleDecompressor> decompressor_;
    std::uint64_t searched_ = 0;
    std::uint64_t compressed_bundles_ = 0;
};

} // namespace

Expected<BundleHeader> read_bundle_header(const ByteSource& source, ByteRange range) {
    const auto cut_off = [&] { return damaged(range.begin, "the header of a bundle is cut off"); };
    if (read_text(source, range.begin, bundle_magic.size()) != bundle_magic)
        return damaged(range.begin, "not a bundle");
    const auto count = read_value<std::uint64_t>(source, range.begin + bundle_magic.size());
    if (!count)
        return cut_off();
    if (*count > max_bundle_entries)
        return damaged(range.begin, fmt::format("a bundle claims {} entries", *count));
    BundleHeader header;
    std::uint64_t at = range.begin + bundle_magic.size() + sizeof *count;
    for (std::uint64_t i = 0; i < *count; ++i) {
        const auto numbers = read_value<std::array<std::uint64_t, 3>>(source, at);
        if (!numbers)
            return cut_off();
        const auto [offset, size, id_size] = *numbers;
        if (id_size > longest_id)
            return damaged(at, fmt::format("a bundle's entry claims an id of {} bytes", id_size));
        at += sizeof *numbers;
        std::string id = read_text(source, at, id_size);
        at += id_size;
        if (id.size() != id_size || at > range.end)
            return cut_off();
        header.entries.push_back({std::move(id), offset, size});
    }
    header.size = at - range.begin;
    return header;
}

void read_bundles(const ByteSource& source, ByteRange range, const ScanOptions& options,
                  TargetCollector& found) {
    BundleScan(source, range, options, found).run();
}

} // namespace rekindle::doctor
