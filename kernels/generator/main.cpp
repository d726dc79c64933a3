/// Usage: rekindle_kernel_generator entries TABLE FOLDER
///        rekindle_kernel_generator index TABLE COMPILED AUDIT OUTPUT SLANG_VERSION
///
/// TABLE is kernels/kernels.json. `entries` writes FOLDER/<module>.slang, the files that slangc compiles.
/// `index` reads slangc's output: COMPILED holds <module>.spv and <module>.json, AUDIT the <family>.txt of
/// families with specialization constants. It writes into OUTPUT
/// include/rekindle/kernels/{families/<module>,launchers}.h, table.cpp, modules.S and the stripped
/// <module>.spv. Exit status 1: the table or a family was rejected; standard error gives the reason.

#include "writer.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>

namespace rekindle::kernels::generator {
namespace {

namespace fs = std::filesystem;

Family load_family(const TableModule& module, std::span<const TableModule> table, const fs::path& compiled,
                   const fs::path& audit) {
    Reflection reflection = read_reflection(compiled / (module.name + ".json"));
    AuditScope scope{module.family, module.dtype, kernel_names(module.entries), {}, reflection.constants};
    for (const TableModule& other : table)
        if (other.family == module.family && other.name != module.name)
            for (const TableEntry& entry : other.entries)
                scope.other_kernels.push_back(entry.name);
    std::vector<Case> cases = read_audit(audit / (module.family + ".txt"), scope);
    return checked_family(module, read_module(compiled / (module.name + ".spv")), std::move(reflection),
                          std::move(cases));
}

std::vector<Family> load_families(std::span<const TableModule> table, const fs::path& compiled,
                                  const fs::path& audit) {
    std::vector<Family> families;
    for (const TableModule& module : table) {
        try {
            families.push_back(load_family(module, table, compiled, audit));
        } catch (const Refused& e) {
            throw Refused("the family " + module.name + ": " + e.what());
        }
    }
    std::ranges::sort(families, {}, &Family::name);
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

int write_entries(const fs::path& table, const fs::path& folder) {
    for (const TableModule& module : read_table(table))
        write_file(folder / (module.name + ".slang"), module_source(module));
    return 0;
}

int write_index(const fs::path& table, const fs::path& compiled, const fs::path& audit,
                const fs::path& output, const std::string& slang_version) {
    const std::vector<Family> families = load_families(read_table(table), compiled, audit);
    write_all(families, output, slang_version);
    print_count(families);
    return 0;
}

} // namespace
} // namespace rekindle::kernels::generator

int main(int argc, char** argv) {
    using namespace rekindle::kernels::generator;
    const std::span<char*> words(argv, static_cast<std::size_t>(argc));
    try {
        if (argc == 4 && std::string_view(words[1]) == "entries")
            return write_entries(words[2], words[3]);
        if (argc == 7 && std::string_view(words[1]) == "index")
            return write_index(words[2], words[3], words[4], words[5], words[6]);
        std::fputs("usage: rekindle_kernel_generator entries TABLE FOLDER\n"
                   "       rekindle_kernel_generator index TABLE COMPILED AUDIT OUTPUT SLANG_VERSION\n",
                   stderr);
        return 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "error: %s\n", e.what());
        return 1;
    }
}
