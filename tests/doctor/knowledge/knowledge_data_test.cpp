#include "knowledge/packed.h"

#include <rekindle/doctor/code_objects.h>
#include <rekindle/doctor/knowledge.h>
#include <rekindle/doctor/pages.h>
#include <rekindle/foundation/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace rekindle::doctor {
namespace {

const std::filesystem::path source_folder =
    (std::filesystem::path(REKINDLE_TEST_DATA) / "../../../knowledge").lexically_normal();

const GfxTarget::Override* override_of(std::string_view gfx, std::string_view value) {
    const GfxTarget* target = embedded_knowledge().gfx(gfx);
    if (target == nullptr)
        return nullptr;
    const auto found = std::find_if(target->overrides.begin(), target->overrides.end(),
                                    [&](const GfxTarget::Override& tried) { return tried.value == value; });
    return found == target->overrides.end() ? nullptr : &*found;
}

bool has_release(std::string_view index, std::string_view torch) {
    const WheelIndex* known = embedded_knowledge().index(index);
    return known != nullptr &&
           std::any_of(known->releases.begin(), known->releases.end(),
                       [&](const WheelIndex::Release& release) { return release.torch == torch; });
}

bool wheel_covers(std::string_view index, std::string_view torch, std::string_view gfx) {
    const Knowledge& knowledge = embedded_knowledge();
    return knowledge.covers(knowledge.index(index)->targets_of(torch), gfx);
}

TEST(KnowledgeData, TheFolderHasNoMistakes) {
    for (const std::string& mistake : check_knowledge(source_folder))
        ADD_FAILURE() << mistake;
}

TEST(KnowledgeData, TheEmbeddedKnowledgeEqualsTheFolder) {
    Knowledge folder = load_knowledge(source_folder);
    const Knowledge& embedded = embedded_knowledge();
    folder.needed_texts = embedded.needed_texts;
    EXPECT_TRUE(pack(embedded) == pack(folder));
    EXPECT_GT(embedded.gpus.size(), 200U);
}

/// The pages show nearly every member and do not go through the packed form.
TEST(KnowledgeData, PackingLosesNothing) {
    const std::map<std::string, std::string> pages = knowledge_pages(load_knowledge(source_folder));
    EXPECT_FALSE(pages.empty());
    EXPECT_EQ(knowledge_pages(embedded_knowledge()), pages);
}

TEST(KnowledgeData, DamagedPackedKnowledgeIsRefused) {
    const std::string whole = pack(embedded_knowledge());
    for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 97)
        EXPECT_THROW(unpack(std::string_view(whole).substr(0, size)), Error) << size;
    EXPECT_THROW(unpack(whole + "x"), Error);
    for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 97) {
        std::string damaged = whole;
        damaged[at] = '\xff'; // a length that is too large, or just another byte of a text
        try {
            unpack(damaged);
        } catch (const Error&) {
            continue;
        }
    }
}

TEST(KnowledgeData, AChecksSuccessIsMoreThanAVariablesValue) {
    for (const Remedy& remedy : embedded_knowledge().remedies)
        for (const char* shown : {"printenv", "echo $", "echo %"})
            EXPECT_EQ(remedy.verify.find(shown), std::string::npos) << remedy.id << ": " << remedy.verify;
}

TEST(KnowledgeData, KernelVersionNumbersNameTheTargets) {
    for (const GfxTarget& target : embedded_knowledge().gfx_targets)
        EXPECT_EQ(gfx_of_kfd_version(target.kfd_version), target.name);
}

TEST(KnowledgeData, TheRevisionDistinguishesModelsWithOnePciId) {
    const Knowledge& knowledge = embedded_knowledge();
    EXPECT_EQ(knowledge.gpu("1002:731f", "ca")->name, "Radeon RX 5600 XT");
    EXPECT_EQ(knowledge.gpu("1002:731f", "c4")->name, "Radeon RX 5700");
    EXPECT_EQ(knowledge.gpu("1002:731f", ""), nullptr);
    EXPECT_EQ(knowledge.gpu("1002:744c", "cc")->name, "Radeon RX 7900 XT");
    EXPECT_EQ(knowledge.gpu("1002:744c", "cc")->memory_gib, 20);
    EXPECT_EQ(knowledge.gpu("1002:164e", "c1")->target, "gfx1036");
    EXPECT_TRUE(knowledge.gpu("1002:164e", "c1")->integrated);
    EXPECT_EQ(knowledge.gpu("10de:2684", "a1")->target, "sm_89");
}

TEST(KnowledgeData, ModelsAreFoundByTheNamesThatPeopleWrite) {
    const std::pair<const char*, const char*> names[] = {
        {"2x AMD Radeon RX 7900 XT 20 GB", "gfx1100"},
        {"Radeon RX 7900 XTX", "gfx1100"},
        {"AMD Radeon RX 5600 XT [Navi 10]", "gfx1010"},
        {"rx6700xt? no: RX 6700 XT", "gfx1031"},
        {"Ryzen 7 7840U with Radeon 780M Graphics", "gfx1103"},
        {"Ryzen AI Max+ 395 (Strix Halo, Radeon 8060S)", "gfx1151"},
        {"AMD Instinct MI210", "gfx90a"},
        {"Instinct MI250X", "gfx90a"},
        {"Radeon VII", "gfx906"},
        {"NVIDIA GeForce RTX 3060 Ti", "sm_86"},
        {"GTX 1080 Ti", "sm_61"},
        {"Tesla P40", "sm_61"},
    };
    for (const auto& [text, target] : names) {
        const GpuModel* model = embedded_knowledge().gpu_named(text);
        ASSERT_NE(model, nullptr) << text;
        EXPECT_EQ(model->target, target) << text << " was taken for " << model->name;
    }
    EXPECT_EQ(embedded_knowledge().gpu_named("GeForce GTX 780M"), nullptr);
    EXPECT_EQ(embedded_knowledge().gpu_named("some card"), nullptr);
}

TEST(KnowledgeData, OverridesAreJudged) {
    ASSERT_NE(override_of("gfx1031", "10.3.0"), nullptr);
    EXPECT_EQ(override_of("gfx1031", "10.3.0")->verdict, "safe");
    EXPECT_EQ(override_of("gfx1036", "10.3.0")->verdict, "safe");
    for (const char* gfx : {"gfx1010", "gfx1011", "gfx1012", "gfx1013", "gfx1100"})
        EXPECT_EQ(override_of(gfx, "10.3.0")->verdict, "unsafe") << gfx;
    EXPECT_EQ(override_of("gfx1102", "11.0.0")->verdict, "risky");
    EXPECT_EQ(override_of("gfx1100", "11.0.0")->verdict, "unneeded");
}

TEST(KnowledgeData, ReleasesAreOnTheIndexesThatHaveThem) {
    EXPECT_TRUE(has_release("rocm6.2", "2.5.1"));
    EXPECT_FALSE(has_release("rocm6.3", "2.5.1"));
    EXPECT_FALSE(has_release("rocm6.2", "2.4.1"));
    EXPECT_TRUE(has_release("rocm6.0", "2.4.1"));
    EXPECT_FALSE(has_release("rocm7.0", "2.9.1"));
    EXPECT_TRUE(has_release("cu126", "2.14.0"));
    EXPECT_FALSE(has_release("cu128", "2.6.0"));
}

TEST(KnowledgeData, WheelsContainWhatWasMeasured) {
    EXPECT_TRUE(wheel_covers("rocm6.2", "2.5.1", "gfx1100"));
    EXPECT_FALSE(wheel_covers("rocm5.4.2", "2.0.1", "gfx1100"));
    EXPECT_FALSE(wheel_covers("rocm6.1", "2.5.1", "gfx1101"));
    EXPECT_TRUE(wheel_covers("rocm6.1", "2.6.0", "gfx1101"));
    EXPECT_FALSE(wheel_covers("rocm6.2.4", "2.6.0", "gfx1102"));
    EXPECT_TRUE(wheel_covers("rocm6.2.4", "2.7.1", "gfx1201"));
    EXPECT_TRUE(wheel_covers("rocm7.2", "2.11.0", "gfx1151"));
    EXPECT_FALSE(wheel_covers("rocm7.14", "2.14.0", "gfx906"));
    for (const char* never : {"gfx803", "gfx90c", "gfx1010", "gfx1012", "gfx1031", "gfx1036", "gfx1152"}) {
        for (const WheelIndex& index : embedded_knowledge().indexes) {
            if (index.device_packages)
                continue;
            for (const WheelIndex::Release& release : index.releases)
                EXPECT_FALSE(wheel_covers(index.id, release.torch, never)) << index.id << ' ' << never;
        }
    }
    EXPECT_TRUE(wheel_covers("therock", "2.11.0", "gfx1010"));
    EXPECT_TRUE(wheel_covers("cu126", "2.8.0", "sm_61"));
    EXPECT_FALSE(wheel_covers("cu128", "2.8.0", "sm_61"));
    EXPECT_TRUE(wheel_covers("cu128", "2.8.0", "sm_70"));
    EXPECT_FALSE(wheel_covers("cu128", "2.11.0", "sm_70"));
    EXPECT_FALSE(wheel_covers("cu126", "2.7.0", "sm_120"));
    EXPECT_TRUE(wheel_covers("cu128", "2.7.0", "sm_120"));
}

} // namespace
} // namespace rekindle::doctor
