#include "code_objects/byte_source.h"
#include "code_objects/compressed_bundle.h"
#include "code_objects/cuda_fatbin.h"
#include "code_objects/elf.h"
#include "code_objects/kpack.h"
#include "code_objects/offload_bundle.h"
#include "code_objects/targets.h"

#include <rekindle/doctor/code_objects.h>

#include <fmt/format.h>

#include <array>

namespace rekindle::doctor {

namespace {

struct PartOfName {
    std::string_view beginning, part;
};

constexpr std::array parts = std::to_array<PartOfName>({
    {"libtorch", "torch"},
    {"libc10", "torch"},
    {"libcaffe2", "torch"},
    {"libhipblaslt", "hipblaslt"},
    {"librocblas", "rocblas"},
    {"libMIOpen", "miopen"},
    {"librccl", "rccl"},
    {"libaotriton", "aotriton"},
    {"librocsparse", "rocsparse"},
    {"libhipsparselt", "hipsparselt"},
    {"librocsolver", "rocsolver"},
    {"librocfft", "rocfft"},
    {"librocrand", "rocrand"},
});

std::string part_of_file(const std::string& name) {
    const std::string file = std::filesystem::path(name).filename().string();
    for (const PartOfName& candidate : parts)
        if (file.starts_with(candidate.beginning))
            return std::string(candidate.part);
    return file.ends_with(".kpack") ? "kpack" : "extension";
}

void read_bare_code_object(const ByteSource& source, const ElfHeader& header, TargetCollector& found) {
    const std::string target = target_of_elf_flags(header.flags, header.abi_version);
    found.add(target.empty() ? fmt::format("amdgpu machine 0x{:02x}", header.flags & 0xff) : target,
              source.size());
}

/// `folder` is the library's, for code in other files; empty when those are not to be looked for.
void read_elf(const ByteSource& source, const ElfHeader& header, const std::filesystem::path& folder,
              const ScanOptions& options, TargetCollector& found) {
    if (header.machine == elf_machine_amdgpu)
        return read_bare_code_object(source, header, found);
    for (const ElfSection& section : read_elf_sections(source, header)) {
        const ByteRange range = section.range(source);
        const bool device_code =
            section.name == ".hip_fatbin" || section.name == ".nv_fatbin" || section.name == "__nv_relfatbin";
        if (device_code && range.size() < section.size && range.size() > 0)
            found.note(fmt::format("the file ends inside its section {}", section.name));
        if (section.name == ".hip_fatbin") {
            read_bundles(source, range, options, found);
        } else if (device_code) {
            read_cuda_fatbin(source, range, options, found);
        } else if (section.name == ".rocm_kpack_ref") {
            const Expected<KpackReference> reference = read_kpack_reference(source, range);
            if (!reference)
                found.note(reference.error().message());
            else if (folder.empty())
                found.note(
                    fmt::format("its code is in kernel packs: {}", fmt::join(reference->patterns, ", ")));
            else
                read_referenced_kpacks(*reference, folder, found);
        }
    }
}

Expected<LibraryTargets> read_source(const ByteSource& source, const std::string& name,
                                     const std::filesystem::path& folder, const ScanOptions& options) {
    TargetCollector found;
    const std::string start = read_text(source, 0, bundle_magic.size());
    if (const auto header = read_elf_header(source)) {
        read_elf(source, *header, folder, options, found);
    } else if (start == bundle_magic || start.starts_with(compressed_bundle_magic)) {
        read_bundles(source, {0, source.size()}, options, found);
    } else if (start.starts_with(kpack_magic)) {
        const Expected<Kpack> pack = read_kpack(source);
        if (!pack)
            return Error(pack.error()).at(name);
        for (const std::string& target : pack->targets)
            found.add(target, 0);
        for (const auto& [library, targets] : pack->libraries)
            for (const auto& [target, bytes] : targets)
                found.add(target, bytes);
        if (!pack->damage.empty())
            found.note(pack->damage);
    } else {
        return usage_error("not an ELF file (64-bit, little-endian), an offload bundle or a kernel pack")
            .at(name);
    }
    return found.finish(name, part_of_file(name));
}

} // namespace

Expected<LibraryTargets> read_code_objects(const std::filesystem::path& file, const ScanOptions& options) {
    try {
        return read_source(FileSource(file), file.string(), file.has_parent_path() ? file.parent_path() : ".",
                           options);
    } catch (const Error& error) {
        return error.where().empty() || error.where().starts_with("byte ")
                   ? Error(error).at(fmt::format("{}{}{}", file.string(), error.where().empty() ? "" : ": ",
                                                 error.where()))
                   : error;
    }
}

Expected<LibraryTargets> read_code_objects(std::span<const std::byte> file, std::string name,
                                           const ScanOptions& options) {
    try {
        return read_source(MemorySource(file), name, {}, options);
    } catch (const Error& error) {
        return Error(error).at(fmt::format("{}{}{}", name, error.where().empty() ? "" : ": ", error.where()));
    }
}

} // namespace rekindle::doctor
