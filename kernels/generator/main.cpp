/// Usage: rekindle_kernel_generator COMPILED AUDIT OUTPUT SLANG_VERSION FAMILY…
///
/// COMPILED holds slangc's <family>.spv and <family>.json, AUDIT the <family>.txt of families with
/// specialization constants. Writes into OUTPUT include/rekindle/kernels/{families/<family>,launchers}.h,
/// table.cpp, modules.S and the stripped <family>.spv. Exit status 1: a family was rejected; standard error
/// gives the reason.

#include "writer.h"

#include <cstdio>
#include <map>
#include <set>

namespace rekindle::kernels::generator {
namespace {

namespace fs = std::filesystem;

Family load_family(const std::string& name, const fs::path& compiled, const fs::path& audit) {
    std::vector<RegistryEntry> entries;
    for (const RegistryEntry& entry : registry())
        if (entry.family == name)
            entries.push_back(entry);
    if (entries.empty())
        throw Refused("the registry has no kernel of this family");
    Reflection reflection = read_reflection(compiled / (name + ".json"));
    const std::string_view base = entries.front().base;
    AuditScope scope{base, entries.front().dtype, kernel_names(entries), {}, reflection.constants};
    for (const RegistryEntry& entry : registry())
        if (entry.base == base && entry.family != name)
            scope.other_kernels.push_back(entry.name);
    std::vector<Case> cases = read_audit(audit / (std::string(base) + ".txt"), scope);
    return checked_family(name, read_module(compiled / (name + ".spv")), std::move(reflection),
                          std::move(entries), std::move(cases));
}

std::vector<Family> load_families(std::span<char* const> names, const fs::path& compiled,
                                  const fs::path& audit) {
    std::vector<Family> families;
    std::set<std::string_view> known;
    for (const char* name : names) {
        try {
            families.push_back(load_family(name, compiled, audit));
        } catch (const Refused& e) {
            throw Refused(std::string("the family ") + name + ": " + e.what());
        }
        known.insert(name);
    }
    for (const RegistryEntry& entry : registry())
        if (!known.contains(entry.family))
            throw Refused("the registry names '" + std::string(entry.name) + "' of the family '" +
                          std::string(entry.family) + "', which is not among those that were compiled");
    return families;
}

std::string named_family_header(const Family& family, std::span<const Family> families) {
    try {
        return family_header(family, families);
    } catch (const Refused& e) {
        throw Refused("the family " + family.name + ": " + e.what());
    }
}

void write_all(std::span<const Family> families, const fs::path& output, const std::string& slang_version) {
    const fs::path headers = output / "include" / "rekindle" / "kernels";
    std::map<fs::path, std::string> family_headers; // all of them before anything is written
    for (const Family& family : families)
        family_headers[headers / "families" / (family.name + ".h")] = named_family_header(family, families);
    for (const auto& [file, content] : family_headers)
        write_file(file, content);
    for (const Family& family : families)
        write_file(output / (family.name + ".spv"), {reinterpret_cast<const char*>(family.module.data()),
                                                     family.module.size() * sizeof(std::uint32_t)});
    write_file(headers / "launchers.h", launchers_header(families));
    write_file(output / "table.cpp", table_source(families, slang_version));
    write_file(output / "modules.S", modules_assembly(families, output));
}

void print_count(std::span<const Family> families) {
    std::size_t entries = 0, variants = 0, bytes = 0;
    for (const Family& family : families) {
        bytes += family.module.size() * sizeof(std::uint32_t);
        entries += family.entries.size();
        variants += family.cases.empty() ? family.entries.size() : family.cases.size();
    }
    std::printf("%zu kernels in %zu modules (%zu KiB of SPIR-V), %zu variants in the audit\n", entries,
                families.size(), bytes / 1024, variants);
}

} // namespace
} // namespace rekindle::kernels::generator

int main(int argc, char** argv) {
    using namespace rekindle::kernels::generator;
    if (argc < 6) {
        std::fputs("usage: rekindle_kernel_generator COMPILED AUDIT OUTPUT SLANG_VERSION FAMILY...\n",
                   stderr);
        return 2;
    }
    try {
        const auto families = load_families({argv + 5, static_cast<std::size_t>(argc - 5)}, argv[1], argv[2]);
        write_all(families, argv[3], argv[4]);
        print_count(families);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "error: %s\n", e.what());
        return 1;
    }
}
