#include "file_builders.h"

#include <rekindle/doctor/code_objects.h>
#include <rekindle/foundation/error.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rekindle::doctor {
namespace {

using namespace fixtures;
using Targets = std::vector<std::string>;

TEST(LibraryData, RocBlasTargetsNeedAnIndex) {
    const ScratchFolder folder;
    folder.add("library/TensileLibrary_lazy_gfx1100.dat", "index");
    folder.add("library/TensileLibrary_lazy_gfx90a.dat", "index");
    folder.add("library/Kernels.so-000-gfx1100.hsaco", "kernels");
    folder.add("library/Kernels.so-000-gfx90a-xnack-.hsaco", "kernels");
    folder.add("library/Kernels.so-000-gfx90a-xnack+.hsaco", "kernels!");
    folder.add("library/TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk_fallback_gfx1031.co",
               "kernels");
    folder.add("library/TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk_gfx1031.dat", "part");
    const LibraryTargets library = read_library_data(folder.path() / "library", "rocblas");
    EXPECT_EQ(library.targets, (Targets{"gfx1100", "gfx90a", "gfx90a:xnack+", "gfx90a:xnack-"}));
    EXPECT_EQ(library.bytes.at("gfx1100"), 12u);
    EXPECT_EQ(library.bytes.at("gfx90a:xnack+"), 8u);
    EXPECT_EQ(library.bytes.at("gfx1031"), 11u);
    EXPECT_NE(library.unread.find("without their index (TensileLibrary_lazy_*.dat): gfx1031"),
              std::string::npos);
    EXPECT_EQ(library.part, "rocblas");
}

TEST(LibraryData, AnOlderIndexForAllTargets) {
    const ScratchFolder folder;
    folder.add("TensileLibrary.dat", "index");
    folder.add("Kernels.so-000-gfx803.hsaco", "kernels");
    folder.add("TensileLibrary_gfx906.co", "kernels");
    const LibraryTargets library = read_library_data(folder.path(), "rocblas");
    EXPECT_EQ(library.targets, (Targets{"gfx803", "gfx906"}));
    EXPECT_EQ(library.unread, "");
}

TEST(LibraryData, ATargetsOwnFolder) {
    const ScratchFolder folder;
    folder.add("gfx942/TensileLibrary_lazy.dat", "index");
    folder.add("gfx942/TensileLibrary_Type_BB.co", "kernels");
    EXPECT_EQ(read_library_data(folder.path(), "hipblaslt").targets, (Targets{"gfx942"}));
}

TEST(LibraryData, GenericTargetsInNames) {
    const ScratchFolder folder;
    folder.add("TensileLibrary_lazy_gfx11-generic.dat", "index");
    folder.add("TensileLibrary_lazy_gfx10-3-generic.dat", "index");
    EXPECT_EQ(read_library_data(folder.path(), "rocblas").targets,
              (Targets{"gfx10-3-generic", "gfx11-generic"}));
}

TEST(LibraryData, MiopenNamesCarryTheComputeUnits) {
    const ScratchFolder folder;
    for (const char* name :
         {"gfx90878.HIP.fdb.txt", "gfx90a68.kdb", "gfx942130.db", "gfx1030_36.kdb",
          "gfx906_60.HIP.2_20_0.ufdb.txt", "gfx110060.db", "gfx908_ConvAsm1x1U.ktn.model", "perf.txt"})
        folder.add(name, "data");
    const LibraryTargets library = read_library_data(folder.path(), "miopen");
    EXPECT_EQ(library.targets, (Targets{"gfx1030", "gfx1100", "gfx906", "gfx908", "gfx90a", "gfx942"}));
    EXPECT_EQ(library.bytes.at("gfx908"), 8u);
}

TEST(LibraryData, AotritonFamiliesStayAsTheyAre) {
    const ScratchFolder folder;
    folder.add("amd-gfx90a/flash/attn_fwd/a.aks2", "image");
    folder.add("amd-gfx11xx/flash/attn_fwd/a.aks2", "image");
    EXPECT_EQ(read_library_data(folder.path(), "aotriton").targets, (Targets{"gfx11xx", "gfx90a"}));
}

TEST(LibraryData, AMissingFolderIsReported) {
    const LibraryTargets library = read_library_data("/nowhere/at/all", "rocblas");
    EXPECT_TRUE(library.targets.empty());
    EXPECT_EQ(library.unread, "No such file or directory");
    EXPECT_THROW(read_library_data("/", "something"), Error);
}

TEST(LibraryData, ALinkToItsOwnFolderEnds) {
    const ScratchFolder folder;
    folder.add("gfx1100/TensileLibrary_lazy_gfx1100.dat", "index");
    folder.link("gfx1100/again", "..");
    EXPECT_EQ(read_library_data(folder.path(), "rocblas").bytes.at("gfx1100"), 5u);
}

TEST(Kpack, BytesPerTargetShowAnEmptyPack) {
    const std::string pack =
        make_kpack({{"gfx1030", "gfx1100", "gfx1201"},
                    {{"lib/librocblas.so.5", {{"gfx1100", std::string(1000, 'k')}, {"gfx1030", "k"}}},
                     {"lib/librocrand.so.1", {{"gfx1100", std::string(500, 'k')}}}}});
    const LibraryTargets library = read_code_objects(bytes_of(pack), "blas_gfx.kpack").value();
    EXPECT_EQ(library.targets, (Targets{"gfx1030", "gfx1100"}));
    EXPECT_EQ(library.bytes.at("gfx1100"), 1500u);
    EXPECT_EQ(library.bytes.at("gfx1030"), 1u);
    EXPECT_EQ(library.bytes.at("gfx1201"), 0u) << "it claims to be for gfx1201 but has no code for it";
    EXPECT_EQ(library.part, "kpack");
    EXPECT_EQ(library.unread, "");
}

TEST(Kpack, ALibraryNamesItsPacks) {
    const ScratchFolder folder;
    folder.add("torch/.kpack/torch_gfx1100.kpack",
               make_kpack({{"gfx1100"}, {{"lib/libtorch_hip.so", {{"gfx1100", "kernels"}}}}}));
    folder.add("torch/.kpack/torch_gfx1201.kpack",
               make_kpack({{"gfx1201"}, {{"lib/libother.so", {{"gfx1201", "kernels"}}}}}));
    const auto library = [&](const std::string& pattern) {
        return read_code_objects(
                   folder.add("torch/lib/libtorch_hip.so",
                              make_elf({{".rocm_kpack_ref",
                                         make_kpack_reference("lib/libtorch_hip.so", {pattern})}})))
            .value();
    };
    EXPECT_EQ(library("../.kpack/torch_@GFXARCH@.kpack").targets, (Targets{"gfx1100"}));
    EXPECT_EQ(library("../.kpack/torch_@GFXARCH@.kpack").unread, "");
    EXPECT_EQ(library("../.kpack/torch_gfx1100.kpack").bytes.at("gfx1100"), 7u);
    EXPECT_NE(library("../.kpack/torch_gfx1201.kpack").unread.find("in 1 kernel pack"), std::string::npos);
    const LibraryTargets missing = library("../.kpack/rocm_@GFXARCH@.kpack");
    EXPECT_TRUE(missing.targets.empty());
    EXPECT_NE(missing.unread.find("there is none at ../.kpack/rocm_@GFXARCH@.kpack"), std::string::npos)
        << missing.unread;
}

TEST(Kpack, AFolderOfPacks) {
    const ScratchFolder folder;
    folder.add("a_gfx1100.kpack", make_kpack({{"gfx1100"}, {{"lib/a", {{"gfx1100", "kernels"}}}}}));
    folder.add("b_gfx1030.kpack", "KPAK");
    const LibraryTargets library = read_library_data(folder.path(), "kpack");
    EXPECT_EQ(library.targets, (Targets{"gfx1100"}));
    EXPECT_NE(library.unread.find("b_gfx1030.kpack"), std::string::npos);
}

TEST(Kpack, SizesBeyondTheFile) {
    std::string pack = make_kpack({{"gfx1100"}, {{"lib/a", {{"gfx1100", "kernels"}}}}});
    const std::size_t at = pack.rfind("size") + 5;
    pack[at] = '\x7f';
    const LibraryTargets library = read_code_objects(bytes_of(pack), "a.kpack").value();
    EXPECT_TRUE(library.targets.empty());
    EXPECT_NE(library.unread.find("claims more code than the file has"), std::string::npos) << library.unread;
}

} // namespace
} // namespace rekindle::doctor
