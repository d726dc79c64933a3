#include "family.h"
#include "spirv_builder.h"

#include <rekindle/kernels/kernel.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/wait.h>

using namespace rekindle::kernels;
using namespace rekindle::kernels::generator;
using rekindle::test::SpirvBuilder;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

TableModule table_of_kernel() {
    TableEntry entry;
    entry.module = entry.family = "family";
    entry.dtype = "float32";
    entry.name = "kernel";
    entry.brief = "Does something";
    entry.threads = 64;
    return {"family", "family", "folder/family.slang", "float32", {}, {entry}};
}

Reflection reflection_of_kernel() {
    return {.fields = {{"words", "std::uint64_t", 0, 8}},
            .parameter_bytes = 8,
            .constants = {},
            .entries = {{"kernel", {64, 1, 1}}}};
}

SpirvBuilder module_of_kernel() {
    return SpirvBuilder().capability(1).entry(4, "kernel").name(4, "kernel");
}

std::string family_refusal(const SpirvBuilder& module, TableModule table = table_of_kernel(),
                           Reflection reflection = reflection_of_kernel()) {
    try {
        checked_family(std::move(table), module.words(), std::move(reflection), {});
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
        std::ofstream(folder_ / "kernels.json")
            << R"json([{"family": "fill", "source": "fill/fill.slang", "kernels": [
                    {"name": "fill_words", "threads": 256, "brief": "Fills", "body": "fill(thread)"}]}])json";
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
        const std::string command = "'" REKINDLE_KERNEL_GENERATOR "' index '" +
                                    (folder_ / "kernels.json").string() + "' '" + folder_.string() +
                                    "' /nonexistent '" + (folder_ / "out").string() + "' 1.0 2> '" +
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
        checked_family(table_of_kernel(), module_of_kernel().words(), reflection_of_kernel(), {});
    EXPECT_EQ(family.module, SpirvBuilder().capability(1).entry(4, "kernel").words());
}

TEST(CheckedFamily, RefusesOpCopyLogicalWithTheFunctionsName) {
    EXPECT_THAT(family_refusal(module_of_kernel().function(4).copy_logical().end_function()),
                HasSubstr("OpCopyLogical in kernel"));
}

TEST(CheckedFamily, ComparesTheFeaturesThatTheTableNames) {
    EXPECT_THAT(family_refusal(module_of_kernel().capability(10)),
                HasSubstr("needs float64, which kernels.json"));
    TableModule with_float64 = table_of_kernel();
    with_float64.needs = Feature::float64;
    EXPECT_EQ(family_refusal(module_of_kernel().capability(10), with_float64), "not refused");
    EXPECT_THAT(family_refusal(module_of_kernel(), with_float64),
                HasSubstr("which the module does not need"));
    TableModule sized = table_of_kernel(); // no code shows this one
    sized.needs = Feature::subgroup_size_control;
    EXPECT_EQ(family_refusal(module_of_kernel(), sized), "not refused");
}

TEST(CheckedFamily, AddsWhatTheCodeNeeds) {
    const Family family = checked_family(table_of_kernel(), module_of_kernel().capability(39).words(),
                                         reflection_of_kernel(), {});
    EXPECT_EQ(family.entries.front().needs, Features(Feature::int8_arithmetic));
}

/// A kernel whose shared array has as many 32-bit words as the specialization constant 7 says, with one more.
SpirvBuilder module_with_shared_words() {
    return SpirvBuilder()
        .capability(1)
        .add(15, {5, 4}, "kernel", true, {30}) // OpEntryPoint with the variable %30 in its interface
        .name(4, "kernel")
        .add(71, {20, 1, 7})            // OpDecorate %20 SpecId 7
        .add(21, {10, 32, 0})           // OpTypeInt
        .add(50, {10, 20, 100})         // OpSpecConstant
        .add(43, {10, 21, 1})           // OpConstant
        .add(52, {10, 22, 128, 20, 21}) // OpSpecConstantOp IAdd
        .add(28, {11, 10, 22})          // OpTypeArray
        .add(32, {12, 4, 11})           // OpTypePointer Workgroup
        .add(59, {12, 30, 4});          // OpVariable
}

TEST(CheckedFamily, DerivesWhatSharedMemoryNeedsFromEachCase) {
    Reflection reflection = reflection_of_kernel();
    reflection.constants = {{"words", 7}};
    const auto family_with = [&](std::vector<std::uint32_t> words) {
        std::vector<Case> cases;
        for (const std::uint32_t count : words)
            cases.push_back({"kernel", std::to_string(count), {{"words", count}}, {}});
        return checked_family(table_of_kernel(), module_with_shared_words().words(), reflection,
                              std::move(cases));
    };
    const Family small = family_with({8191});
    EXPECT_TRUE(small.entries.front().needs.empty()) << "32 KiB";
    const Family both = family_with({8191, 8192});
    EXPECT_TRUE(both.entries.front().needs.empty());
    EXPECT_EQ(both.cases[1].needs, Features(Feature::shared_48k));
    const Family large = family_with({8192, 16383});
    EXPECT_EQ(large.entries.front().needs, Features(Feature::shared_48k)) << "every case needs it";
    EXPECT_EQ(large.cases[1].needs, Features(Feature::shared_64k));
    EXPECT_THROW(family_with({16384}), Refused);
}

TEST(CheckedFamily, RefusesWhatDiffersFromTheTable) {
    TableModule table = table_of_kernel();
    table.entries.front().name = "absent";
    EXPECT_THAT(family_refusal(module_of_kernel(), table), HasSubstr("entry point 'absent'"));
    table = table_of_kernel();
    table.entries.front().threads = 128;
    EXPECT_THAT(family_refusal(module_of_kernel(), table), HasSubstr("does not have the 128 threads"));
    EXPECT_THAT(family_refusal(module_of_kernel().entry(5, "other")), HasSubstr("not in kernels.json"));
    Reflection without_block = reflection_of_kernel();
    without_block.fields.clear();
    EXPECT_THAT(family_refusal(module_of_kernel(), table_of_kernel(), without_block),
                HasSubstr("no push-constant block"));
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
