#include "module.h"

#include <rekindle/kernels/kernel.h>
#include <rekindle/kernels/launchers.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>

using namespace rekindle::kernels;

TEST(KernelTable, IsNotEmptyAndNamesAreUnique) {
    std::set<std::string_view> names;
    for (const Kernel& kernel : all())
        EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
    EXPECT_FALSE(names.empty());
}

TEST(KernelTable, FindsEveryKernelAndNoOther) {
    for (const Kernel& kernel : all())
        EXPECT_EQ(find(kernel.name), &kernel);
    EXPECT_EQ(find("no_such_kernel"), nullptr);
    EXPECT_EQ(find(""), nullptr);
}

TEST(KernelTable, ModulesAreSpirvWithTheEntryPointAndWithoutLogicalCopies) {
    for (const Kernel& kernel : all()) {
        ASSERT_GE(kernel.module.size(), 5u) << kernel.name;
        EXPECT_EQ(kernel.module[0], 0x07230203u) << kernel.name;
        EXPECT_NO_THROW(generator::check_structure(kernel.module)) << kernel.name;
        const auto entries = generator::entry_points(kernel.module);
        EXPECT_EQ(std::ranges::count(entries, kernel.name), 1) << kernel.name;
        EXPECT_TRUE(generator::functions_with_logical_copies(kernel.module).empty()) << kernel.name;
        EXPECT_EQ(generator::stripped(kernel.module).size(), kernel.module.size()) << kernel.name;
    }
}

TEST(KernelTable, EveryKernelIsDescribedAndFitsEveryDevice) {
    for (const Kernel& kernel : all()) {
        EXPECT_FALSE(kernel.brief.empty()) << kernel.name;
        EXPECT_GE(kernel.threads, 1u) << kernel.name;
        EXPECT_LE(kernel.threads, 1024u) << kernel.name;
        EXPECT_GT(kernel.parameter_bytes, 0u) << kernel.name;
        EXPECT_LE(kernel.parameter_bytes, 128u) << kernel.name;
        EXPECT_TRUE(kernel.needs.contains(generator::needed_features(kernel.module))) << kernel.name;
    }
}

TEST(KernelTable, AuditCasesNameConstantsOfTheModule) {
    for (const Kernel& kernel : all()) {
        ASSERT_FALSE(kernel.audit.empty()) << kernel.name;
        std::set<std::string_view> cases;
        for (const AuditCase& one : kernel.audit) {
            EXPECT_TRUE(cases.insert(one.name).second) << kernel.name << ": " << one.name;
            for (const ConstantValue& value : one.constants)
                EXPECT_EQ(std::ranges::count(kernel.constants, value.name, &SpecializationConstant::name), 1)
                    << kernel.name << ": " << value.name;
        }
    }
}

TEST(KernelTable, LaunchersReferToTheTable) {
    EXPECT_EQ(&fill_words.kernel, find("fill_words"));
    EXPECT_EQ(fill_words.kernel.parameter_bytes, sizeof(FillParameters));
    EXPECT_EQ(fill_words.kernel.threads, 256u);
    EXPECT_EQ(fill_words.kernel.family, "fill");
}

TEST(KernelTable, StructsOfConstantsListThemAll) {
    const auto matches = [](const Kernel& kernel, std::span<const ConstantValue> list) {
        return std::ranges::equal(kernel.constants, list,
                                  [](const SpecializationConstant& declared, const ConstantValue& listed) {
                                      return declared.name == listed.name && declared.initial == listed.value;
                                  });
    };
    EXPECT_TRUE(matches(attention_forward.kernel, AttentionConstants{}.list()));
    EXPECT_TRUE(matches(softmax_forward_float64.kernel, SoftmaxConstants{}.list()));
    EXPECT_TRUE(matches(train_population_32.kernel, PopulationConstants{}.list()));
    const auto changed = AttentionConstants{.causal = 1}.list();
    EXPECT_FALSE(matches(attention_forward.kernel, changed));
    EXPECT_EQ(std::ranges::find(changed, "causal", &ConstantValue::name)->value, 1u);
}

TEST(KernelTable, DtypesOfAFamilyShareTheStructs) {
    static_assert(std::is_same_v<decltype(softmax_forward), decltype(softmax_forward_float64)>);
    static_assert(std::is_same_v<ProductParameters::Constants, ProductConstants>);
    static_assert(std::is_same_v<decltype(ProductConstants::dtype), RequiredConstant>);
    const auto list = ProductConstants{.dtype = 4, .edges = 0}.list();
    const auto names = product_32x32_int64.kernel.constants;
    EXPECT_TRUE(std::ranges::equal(list, names, {}, &ConstantValue::name, &SpecializationConstant::name));
    EXPECT_EQ(list[0].value, 4u);
    EXPECT_EQ(list[1].value, 0u);
}

TEST(KernelTable, NumberedConstantsAreElementsOfAnArray) {
    PopulationDeepConstants constants;
    constants.stage[11].input_at = 5;
    constants.slot[2].weights = 6;
    const auto list = constants.list();
    const auto value = [&](std::string_view name) {
        return std::ranges::find(list, name, &ConstantValue::name)->value;
    };
    EXPECT_EQ(value("stage11_input_at"), 5u);
    EXPECT_EQ(value("stage1_input_at"), 0u);
    EXPECT_EQ(value("slot2_weights"), 6u);
    EXPECT_TRUE(std::ranges::equal(list, train_deep_population_32.kernel.constants, {}, &ConstantValue::name,
                                   &SpecializationConstant::name));
}

TEST(KernelTable, SlangVersionIsANumber) {
    EXPECT_FALSE(slang_version().empty());
    EXPECT_EQ(slang_version().find_first_not_of("0123456789."), std::string_view::npos);
}

TEST(Features, NamesMatchTheRegistry) {
    EXPECT_EQ(name(Feature::float16_arithmetic), "float16_arithmetic");
    EXPECT_EQ(name(Feature::cooperative_matrix), "cooperative_matrix");
    EXPECT_EQ(name(Feature::shared_64k), "shared_64k");
    EXPECT_EQ(feature_named("shared_64k"), Features(Feature::shared_64k));
    EXPECT_EQ(feature_named("float64"), Features(Feature::float64));
    EXPECT_TRUE(feature_named("float65").empty());
    EXPECT_TRUE(feature_named("").empty());
}
