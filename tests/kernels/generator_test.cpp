#include "family.h"
#include "spirv_builder.h"

#include <rekindle/kernels/kernel.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <sys/wait.h>

using namespace rekindle::kernels;
using namespace rekindle::kernels::generator;
using rekindle::test::SpirvBuilder;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

const RegistryEntry kernel_entry{"family", "family", "float32", "kernel", "Does something", 64, {}};

Reflection reflection_of_kernel() {
    return {.fields = {{"words", "std::uint64_t", 0, 8}},
            .parameter_bytes = 8,
            .constants = {},
            .entries = {{"kernel", {64, 1, 1}}}};
}

SpirvBuilder module_of_kernel() {
    return SpirvBuilder().capability(1).entry(4, "kernel").name(4, "kernel");
}

std::string family_refusal(const SpirvBuilder& module, RegistryEntry entry = kernel_entry,
                           Reflection reflection = reflection_of_kernel()) {
    try {
        checked_family("family", module.words(), std::move(reflection), {entry}, {});
    } catch (const Refused& e) {
        return e.what();
    }
    return "not refused";
}

/// A temporary folder with slangc's results for the family `fill`.
class GeneratorProgram : public testing::Test {
  protected:
    GeneratorProgram() {
        std::string name = testing::TempDir() + "rekindle_generator_XXXXXX";
        folder_ = mkdtemp(name.data());
    }
    ~GeneratorProgram() override { fs::remove_all(folder_); }

    void SetUp() override {
        if (!fs::exists(REKINDLE_KERNEL_GENERATOR))
            GTEST_SKIP() << "the kernel generator of this build is not on this machine";
    }
    void write(const std::vector<std::uint32_t>& module) {
        std::ofstream(folder_ / "fill.spv", std::ios::binary)
            .write(reinterpret_cast<const char*>(module.data()),
                   static_cast<std::streamsize>(module.size() * sizeof(std::uint32_t)));
        fs::copy_file(REKINDLE_COMPILED_KERNELS "/fill.json", folder_ / "fill.json");
    }
    /// Returns the exit status; error_ receives its error output.
    int run() {
        const std::string command = std::string("'" REKINDLE_KERNEL_GENERATOR "' '") + folder_.string() +
                                    "' /nonexistent '" + (folder_ / "out").string() + "' 1.0 fill 2> '" +
                                    (folder_ / "error").string() + "'";
        const int status = std::system(command.c_str());
        std::ifstream stream(folder_ / "error");
        error_.assign(std::istreambuf_iterator<char>(stream), {});
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    fs::path folder_;
    std::string error_;
};

TEST(CheckedFamily, AcceptsAValidFamilyAndStripsIt) {
    const Family family =
        checked_family("family", module_of_kernel().words(), reflection_of_kernel(), {kernel_entry}, {});
    EXPECT_EQ(family.module, SpirvBuilder().capability(1).entry(4, "kernel").words());
}

TEST(CheckedFamily, RefusesOpCopyLogicalWithTheFunctionsName) {
    EXPECT_THAT(family_refusal(module_of_kernel().function(4).copy_logical().end_function()),
                HasSubstr("OpCopyLogical in kernel"));
}

TEST(CheckedFamily, RefusesFloat64ThatTheRegistryDoesNotName) {
    EXPECT_THAT(family_refusal(module_of_kernel().capability(10)), HasSubstr("needs float64"));
    RegistryEntry with_float64 = kernel_entry;
    with_float64.needs = Feature::float64;
    EXPECT_EQ(family_refusal(module_of_kernel().capability(10), with_float64), "not refused");
}

TEST(CheckedFamily, RefusesWhatDiffersFromTheRegistry) {
    RegistryEntry entry = kernel_entry;
    entry.name = "absent";
    EXPECT_THAT(family_refusal(module_of_kernel(), entry), HasSubstr("entry point 'absent'"));
    entry = kernel_entry;
    entry.threads = 128;
    EXPECT_THAT(family_refusal(module_of_kernel(), entry), HasSubstr("does not have the 128 threads"));
    EXPECT_THAT(family_refusal(module_of_kernel().entry(5, "other")), HasSubstr("not in registry.def"));
    Reflection without_block = reflection_of_kernel();
    without_block.fields.clear();
    EXPECT_THAT(family_refusal(module_of_kernel(), kernel_entry, without_block),
                HasSubstr("no push-constant block"));
}

TEST(Registry, HasAnEntryForEachDtypeOfAFamily) {
    std::map<std::string_view, std::set<std::string_view>> dtypes;
    std::set<std::string_view> names;
    for (const RegistryEntry& entry : registry()) {
        dtypes[entry.base].insert(entry.dtype);
        EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
        const std::string suffix = entry.dtype == "float64"    ? "_float64"
                                   : entry.dtype == "int64"    ? "_integer"
                                   : entry.dtype == "bfloat16" ? "_bfloat16"
                                                               : "";
        EXPECT_EQ(entry.family, std::string(entry.base) + suffix) << entry.name;
        EXPECT_TRUE(entry.dtype != "float64" || entry.needs.contains(Feature::float64)) << entry.name;
    }
    EXPECT_EQ(dtypes["fill"], (std::set<std::string_view>{"float32"}));
    EXPECT_EQ(dtypes["softmax"], (std::set<std::string_view>{"float32", "float64"}));
    EXPECT_EQ(dtypes["product"], (std::set<std::string_view>{"float32", "float64", "int64"}));
    EXPECT_EQ(dtypes["product_units"], (std::set<std::string_view>{"float16", "bfloat16"}));
    EXPECT_TRUE(names.contains("product_integer_32"));
    EXPECT_FALSE(names.contains("product_integer_64")); // in float32 only
}

TEST_F(GeneratorProgram, FailsOnOpCopyLogical) {
    write(SpirvBuilder()
              .capability(1)
              .entry(4, "fill_words")
              .name(4, "fill_words")
              .function(4)
              .copy_logical()
              .end_function()
              .words());
    EXPECT_EQ(run(), 1);
    EXPECT_THAT(error_, HasSubstr("the family fill: OpCopyLogical in fill_words"));
    EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(GeneratorProgram, FailsWithoutCompiledFiles) {
    EXPECT_EQ(run(), 1);
    EXPECT_THAT(error_, HasSubstr("fill.json"));
}

} // namespace
