#include "code_objects/file_builders.h"
#include "python/packages.h"
#include "python/pythons.h"
#include "python/torch_files.h"

#include <rekindle/doctor/host.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace rekindle::doctor {
namespace {

using namespace fixtures;
using Texts = std::vector<std::string>;

/// A recorded host below a temporary folder, with the parts of Pythons that matter here.
class Host {
  public:
    void add(const std::string& path, const std::string& content = "") const {
        folder_.add("." + path, content);
    }
    void link(const std::string& path, const std::string& target) const { folder_.link("." + path, target); }

    /// Creates an interpreter and an empty site-packages; returns the latter.
    std::string add_python(const std::string& prefix, const std::string& version) const {
        add(prefix + "/bin/python" + version, "\x7f"
                                              "ELF");
        link(prefix + "/bin/python3", "python" + version);
        const std::string site = prefix + "/lib/python" + version + "/site-packages";
        add(site + "/README.txt");
        return site;
    }
    std::string add_venv(const std::string& prefix, const std::string& version = "3.10",
                         const std::string& more = "") const {
        link(prefix + "/bin/python3", "/usr/bin/python" + version);
        add(prefix + "/pyvenv.cfg", "home = /usr/bin\nversion = " + version + ".12\n" + more);
        const std::string site = prefix + "/lib/python" + version + "/site-packages";
        add(site + "/README.txt");
        return site;
    }
    void add_package(const std::string& site, const std::string& name, const std::string& version,
                     const std::string& entry_points = "") const {
        const std::string folder = site + "/" + name + "-" + version + ".dist-info";
        add(folder + "/METADATA",
            "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n\nText.\n");
        add(folder + "/INSTALLER", "pip\n");
        if (!entry_points.empty())
            add(folder + "/entry_points.txt", entry_points);
    }
    void add_torch(const std::string& site, const std::string& version, const std::string& hip,
                   const std::string& cuda) const {
        add_package(site, "torch", version);
        const auto quoted = [](const std::string& text) { return text.empty() ? "None" : "'" + text + "'"; };
        add(site + "/torch/version.py",
            "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', "
            "'xpu']\n__version__ = '" +
                version + "'\ndebug = False\ncuda: Optional[str] = " + quoted(cuda) +
                "\ngit_version = 'a8d6afb511a69687bbb2b7e88a3cf67917e1697e'\nhip: Optional[str] = " +
                quoted(hip) + "\nxpu: Optional[str] = None\n");
        add(site + "/torch/lib/libc10.so", make_library({"libc.so.6"}));
    }

    std::vector<PythonEnvironment> collect(PythonSearch search = {}) const {
        if (search.variables.empty())
            search.variables["PATH"] = "/usr/local/bin:/usr/bin";
        if (search.homes.empty())
            search.homes = {"/home/user"};
        return collect_pythons(HostTree(folder_.path()), search, std::chrono::seconds(30));
    }
    PythonEnvironment only(const std::string& path, bool others = false) const {
        PythonSearch search;
        search.named = {path};
        search.others = others;
        const std::vector<PythonEnvironment> all = collect(search);
        return all.empty() ? PythonEnvironment{} : all.front();
    }
    const std::filesystem::path& root() const { return folder_.path(); }

    Host() {
        add("/usr/lib/x86_64-linux-gnu/libc.so.6", make_library({}));
        add_python("/usr", "3.10");
    }

  private:
    ScratchFolder folder_;
};

const LibraryTargets* find_part(const PythonEnvironment& environment, const std::string& part) {
    const auto found = std::ranges::find(environment.libraries, part, &LibraryTargets::part);
    return found == environment.libraries.end() ? nullptr : &*found;
}

Texts paths_of(const std::vector<PythonEnvironment>& environments) {
    Texts paths;
    for (const PythonEnvironment& environment : environments)
        paths.push_back(environment.path);
    return paths;
}

TEST(Pythons, ARocmWheelWithBundledRocm) {
    const Host host;
    const std::string site = host.add_venv("/home/user/my train/venv");
    host.add_torch(site, "2.5.1+rocm6.2", "6.2.41133-dd7f95766", "");
    const std::string lib = site + "/torch/lib";
    host.add(lib + "/libtorch_hip.so",
             make_library({"libamdhip64.so", "libc10.so"}, "libtorch_hip.so", "$ORIGIN",
                          {{".hip_fatbin", make_hip_bundle({"gfx1030", "gfx1100"})}}));
    host.add(lib + "/libamdhip64.so", make_library({"libc.so.6"}));
    host.add(lib + "/rocblas/library/TensileLibrary_lazy_gfx1100.dat", "index");
    host.add(lib + "/rocblas/library/Kernels.so-000-gfx1100.hsaco", "kernels");
    host.add(lib + "/hipblaslt/library/TensileLibrary_lazy_gfx90a.dat", "index");
    host.add(site + "/torch/share/miopen/db/gfx1030_36.kdb", "database");
    host.add(
        lib + "/librccl.so",
        make_library({}, "", "", {{".hip_fatbin", make_compressed_bundle(make_hip_bundle({"gfx1201"}), 3)}}));
    host.add_package(site, "pytorch_triton_rocm", "3.1.0");
    host.add_package(site, "numpy", "2.1.3");
    host.add_package(site, "requests", "2.32.0");

    const PythonEnvironment environment = host.only("/home/user/my train/venv");
    EXPECT_EQ(environment.kind, "venv");
    EXPECT_EQ(environment.found_by, "--python");
    EXPECT_TRUE(environment.active);
    EXPECT_EQ(environment.version.value_or(""), "3.10");
    EXPECT_EQ(environment.interpreter, "/home/user/my train/venv/bin/python3");
    EXPECT_EQ(environment.torch, (Fact<std::string>("2.5.1+rocm6.2", site + "/torch/version.py")));
    EXPECT_EQ(environment.torch_kind.value_or(""), "rocm");
    EXPECT_EQ(environment.torch_hip.value_or(""), "6.2.41133-dd7f95766");
    EXPECT_FALSE(environment.torch_cuda.known());
    EXPECT_EQ(environment.rocm_style.value_or(""), "bundled");
    EXPECT_EQ(environment.problems.value_or(Texts{"unread"}), Texts{});
    ASSERT_EQ(environment.packages.size(), 3u);
    EXPECT_EQ(environment.packages[1].name, "pytorch-triton-rocm");
    EXPECT_EQ(environment.packages[1].version, "3.1.0");
    EXPECT_EQ(environment.packages[1].installer, "pip");
    EXPECT_EQ(environment.packages[1].source, site + "/pytorch_triton_rocm-3.1.0.dist-info");
    ASSERT_TRUE(find_part(environment, "torch"));
    EXPECT_EQ(find_part(environment, "torch")->targets, (Texts{"gfx1030", "gfx1100"}));
    EXPECT_EQ(find_part(environment, "torch")->path, lib + "/libtorch_hip.so");
    ASSERT_TRUE(find_part(environment, "rocblas"));
    EXPECT_EQ(find_part(environment, "rocblas")->targets, Texts{"gfx1100"});
    EXPECT_EQ(find_part(environment, "rocblas")->path, lib + "/rocblas/library");
    EXPECT_EQ(find_part(environment, "hipblaslt")->targets, Texts{"gfx90a"});
    EXPECT_EQ(find_part(environment, "miopen")->targets, Texts{"gfx1030"});
    EXPECT_EQ(find_part(environment, "rccl")->targets, Texts{"gfx1201"});
    EXPECT_FALSE(find_part(environment, "aotriton"));
}

TEST(Pythons, ATheRockWheelWithItsPackages) {
    const Host host;
    const std::string site = host.add_venv("/opt/venv", "3.12");
    host.add("/usr/bin/python3.12");
    host.add_torch(site, "2.10.0+rocm7.13.0", "7.13.99004", "");
    host.add(site + "/torch/lib/libtorch_hip.so",
             make_library({"libamdhip64.so.7"}, "", "",
                          {{".rocm_kpack_ref", make_kpack_reference("lib/libtorch_hip.so",
                                                                    {"../.kpack/torch_@GFXARCH@.kpack"})}}));
    host.add(site + "/torch/.kpack/torch_gfx1201.kpack",
             make_kpack({{"gfx1201"}, {{"lib/libtorch_hip.so", {{"gfx1201", "kernels"}}}}}));
    host.add(site + "/_rocm_sdk_core/lib/libamdhip64.so.7", make_library({}));
    host.add(site + "/_rocm_sdk_libraries/lib/rocblas/library/TensileLibrary_lazy_gfx1201.dat", "index");
    for (const char* name : {"rocm", "rocm_sdk_core", "rocm_sdk_libraries", "amd_torch_device_gfx1201"})
        host.add_package(site, name, "7.13.0");

    const PythonEnvironment environment = host.only("/opt/venv/bin/python3");
    EXPECT_EQ(environment.path, "/opt/venv");
    EXPECT_EQ(environment.rocm_style, (Fact<std::string>("packages", site + "/_rocm_sdk_core")));
    ASSERT_TRUE(find_part(environment, "torch"));
    EXPECT_EQ(find_part(environment, "torch")->targets, Texts{"gfx1201"});
    EXPECT_EQ(find_part(environment, "kpack")->targets, Texts{"gfx1201"});
    EXPECT_EQ(find_part(environment, "rocblas")->targets, Texts{"gfx1201"});
    EXPECT_EQ(environment.problems.value_or(Texts{"unread"}), Texts{});
    EXPECT_EQ(environment.packages.size(), 5u);
    EXPECT_EQ(environment.packages.front().name, "amd-torch-device-gfx1201");
}

TEST(Pythons, ATheRockWheelWithoutItsDevicePackage) {
    const Host host;
    const std::string site = host.add_venv("/opt/venv");
    host.add_torch(site, "2.10.0+rocm7.13.0", "7.13.99004", "");
    host.add(site + "/torch/lib/libtorch_hip.so",
             make_library({}, "", "",
                          {{".rocm_kpack_ref", make_kpack_reference("lib/libtorch_hip.so",
                                                                    {"../.kpack/torch_@GFXARCH@.kpack"})}}));
    const PythonEnvironment environment = host.only("/opt/venv");
    ASSERT_TRUE(find_part(environment, "torch"));
    EXPECT_TRUE(find_part(environment, "torch")->targets.empty());
    EXPECT_NE(find_part(environment, "torch")->unread.find("there is none at"), std::string::npos);
}

TEST(Pythons, AWheelThatUsesTheSystemRocm) {
    const Host host;
    const std::string site = host.add_venv("/opt/venv");
    host.add_torch(site, "2.7.0", "6.4.43482-0f2d60242", "");
    host.add(site + "/torch/lib/libtorch_hip.so",
             make_library({"libamdhip64.so.6"}, "", "/opt/rocm/lib",
                          {{".hip_fatbin", make_hip_bundle({"gfx1030"})}}));
    host.add("/opt/rocm-6.4.0/lib/libamdhip64.so.6", make_library({}));
    host.add("/opt/rocm-6.4.0/lib/rocblas/library/TensileLibrary_lazy_gfx1030.dat", "index");
    host.link("/opt/rocm", "/opt/rocm-6.4.0");
    const PythonEnvironment environment = host.only("/opt/venv");
    EXPECT_EQ(environment.rocm_style.value_or(""), "system");
    ASSERT_TRUE(find_part(environment, "rocblas"));
    EXPECT_EQ(find_part(environment, "rocblas")->path, "/opt/rocm/lib/rocblas/library");
    EXPECT_EQ(environment.problems.value_or(Texts{"unread"}), Texts{});
}

TEST(Pythons, CpuAndCudaWheels) {
    const Host host;
    host.add_torch(host.add_venv("/home/user/cpu"), "2.13.0+cpu", "", "");
    const std::string site = host.add_venv("/home/user/cuda");
    host.add_torch(site, "2.6.0+cu124", "", "12.4");
    host.add(site + "/torch/lib/libtorch_cuda.so",
             make_library({"libcudart.so.12", "libcuda.so.1"}, "", "$ORIGIN/../../nvidia/cuda_runtime/lib",
                          {{".nv_fatbin", make_cuda_region({{2, 90, "code"}})}}));
    host.add(site + "/nvidia/cuda_runtime/lib/libcudart.so.12", make_library({}));
    const PythonEnvironment cpu = host.only("/home/user/cpu"), cuda = host.only("/home/user/cuda");
    EXPECT_EQ(cpu.torch_kind.value_or(""), "cpu");
    EXPECT_FALSE(cpu.rocm_style.known());
    EXPECT_TRUE(cpu.libraries.empty());
    EXPECT_EQ(cuda.torch_kind.value_or(""), "cuda");
    EXPECT_EQ(cuda.torch_cuda.value_or(""), "12.4");
    ASSERT_TRUE(find_part(cuda, "torch"));
    EXPECT_EQ(find_part(cuda, "torch")->targets, Texts{"sm_90"});
    EXPECT_EQ(cuda.problems.value_or(Texts{"unread"}), Texts{})
        << "the host provides the driver's own library";
}

TEST(Pythons, ACondaEnvironmentWithABrokenStandardLibrary) {
    const Host host;
    const std::string site = host.add_python("/home/user/miniconda3/envs/train", "3.11");
    host.add("/home/user/miniconda3/envs/train/conda-meta/history");
    host.add_torch(site, "2.4.0+rocm6.1", "6.1.40091-a8dbc0c19", "");
    host.link("/home/user/miniconda3/envs/train/lib/libstdc++.so.6", "libstdc++.so.6.0.29");
    host.add("/home/user/miniconda3/envs/train/lib/libgomp.so.1.0.0", make_library({}));
    host.link("/home/user/miniconda3/envs/train/lib/libgomp.so.1", "libgomp.so.1.0.0");
    host.add(site + "/torch/lib/libtorch_hip.so",
             make_library({"libstdc++.so.6", "libgomp.so.1", "libhipblas.so.2"}));
    const PythonEnvironment environment = host.only("/home/user/miniconda3/envs/train");
    EXPECT_EQ(environment.kind, "conda");
    EXPECT_EQ(
        environment.problems.value_or(Texts{}),
        (Texts{"/home/user/miniconda3/envs/train/lib/libstdc++.so.6 is a link to libstdc++.so.6.0.29, which "
               "does not exist",
               site + "/torch/lib/libtorch_hip.so needs libstdc++.so.6, which was not found",
               site + "/torch/lib/libtorch_hip.so needs libhipblas.so.2, which was not found"}));
}

TEST(Pythons, TwoPrivateBackends) {
    const Host host;
    const std::string site = host.add_venv("/opt/venv");
    host.add_package(site, "torchvulkan", "0.2.1", "[torch.backends]\ntorchvulkan = torchvulkan:_autoload\n");
    host.add_package(site, "my_npu", "1.0",
                     "[console_scripts]\na = b:c\n\n[torch.backends]\nnpu = my_npu:load\n");
    host.add_package(site, "intel_extension_for_pytorch", "2.5.0", "[torch.backends]\nipex = ipex:load\n");
    host.add_package(site, "not_one", "1.0", "[torch.backends]\n\n[console_scripts]\na = b:c\n");
    EXPECT_EQ(host.only("/opt/venv").private_backends, (Texts{"my-npu", "torchvulkan"}));
}

TEST(Pythons, ExtensionsWithDeviceCode) {
    const Host host;
    const std::string site = host.add_venv("/opt/venv");
    host.add(
        site + "/bitsandbytes/libbitsandbytes_rocm64.so",
        make_library({}, "", "", {{".hip_fatbin", make_compressed_bundle(make_hip_bundle({"gfx1100"}), 2)}}));
    host.add(site + "/bitsandbytes/libbitsandbytes_cpu.so", make_library({}));
    host.add(site + "/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so",
             make_library({}, "", "", {{".hip_fatbin", make_hip_bundle({"gfx908"})}}));
    host.add(site + "/jax_plugins/xla_rocm7/lib/xla_rocm_plugin.so",
             make_library({}, "", "", {{".hip_fatbin", make_hip_bundle({"gfx1030"})}}));
    const PythonEnvironment environment = host.only("/opt/venv");
    Texts targets;
    for (const LibraryTargets& library : environment.libraries) {
        EXPECT_EQ(library.part, "extension");
        targets.insert(targets.end(), library.targets.begin(), library.targets.end());
    }
    std::ranges::sort(targets);
    EXPECT_EQ(targets, (Texts{"gfx1030", "gfx1100", "gfx908"}));
}

TEST(Pythons, DebianPackagesAndUserPackages) {
    const Host host;
    host.add("/usr/lib/python3/dist-packages/numpy-1.24.2.egg-info/PKG-INFO",
             "Name: numpy\nVersion: 1.24.2\n");
    host.add_package("/usr/local/lib/python3.10/dist-packages", "torchaudio", "2.5.1");
    host.add_torch("/home/user/.local/lib/python3.10/site-packages", "2.5.1+cu124", "", "12.4");
    host.add_package("/home/user/.local/lib/python3.9/site-packages", "numpy", "1.20.0");
    const std::vector<PythonEnvironment> all = host.collect();
    ASSERT_EQ(paths_of(all), (Texts{"/usr", "/home/user/.local"}));
    EXPECT_EQ(all[0].found_by, "PATH");
    EXPECT_TRUE(all[0].active);
    EXPECT_EQ(all[0].torch.value_or(""), "2.5.1+cu124");
    ASSERT_EQ(all[0].packages.size(), 3u);
    EXPECT_EQ(all[0].packages[0].version, "1.24.2");
    EXPECT_EQ(all[1].kind, "user");
    EXPECT_EQ(all[1].version.value_or(""), "3.9");
}

TEST(Pythons, TheActiveOneIsListedFirstAndOnce) {
    const Host host;
    host.add_venv("/home/user/project/.venv");
    host.add_venv("/home/user/other");
    host.add_python("/home/user/miniconda3", "3.12");
    host.add("/home/user/miniconda3/conda-meta/history");
    PythonSearch search;
    search.variables = {{"PATH", "/home/user/project/.venv/bin:/usr/bin"},
                        {"VIRTUAL_ENV", "/home/user/project/.venv"},
                        {"CONDA_PREFIX", "/home/user/miniconda3"}};
    search.working_folder = "/home/user/project";
    const std::vector<PythonEnvironment> all = host.collect(search);
    ASSERT_EQ(paths_of(all),
              (Texts{"/home/user/project/.venv", "/home/user/miniconda3", "/home/user/other", "/usr"}));
    EXPECT_TRUE(all[0].active);
    EXPECT_EQ(all[0].found_by, "VIRTUAL_ENV");
    EXPECT_FALSE(all[1].active);
    EXPECT_EQ(all[1].found_by, "CONDA_PREFIX");
    EXPECT_EQ(all[2].found_by, "home folder");
    host.add_venv("/home/user/ComfyUI/venv");
    EXPECT_EQ(host.collect(search).size(), 5u);
}

TEST(Pythons, AnEnvironmentThatPathContradictsIsNotActive) {
    const Host host;
    host.add_venv("/home/user/old");
    PythonSearch search;
    search.variables = {{"PATH", "/usr/bin"}, {"VIRTUAL_ENV", "/home/user/old"}};
    const std::vector<PythonEnvironment> all = host.collect(search);
    ASSERT_EQ(paths_of(all), (Texts{"/home/user/old", "/usr"}));
    EXPECT_FALSE(all[0].active);
    EXPECT_TRUE(all[1].active);
}

TEST(Pythons, APyenvShimIsFollowed) {
    const Host host;
    host.add("/home/user/.pyenv/shims/python3", "#!/usr/bin/env bash\n");
    host.add_python("/home/user/.pyenv/versions/3.11.7", "3.11");
    host.add_python("/home/user/.pyenv/versions/3.12.1", "3.12");
    host.add("/home/user/.pyenv/version", "3.11.7\n");
    PythonSearch search;
    search.variables = {{"PATH", "/home/user/.pyenv/shims:/usr/bin"}};
    search.working_folder = "/home/user/project/deep";
    EXPECT_EQ(host.collect(search).front().path, "/home/user/.pyenv/versions/3.11.7");
    host.add("/home/user/project/.python-version", "3.12\n");
    EXPECT_EQ(host.collect(search).front().path, "/home/user/.pyenv/versions/3.12.1");
    search.variables["PYENV_VERSION"] = "system";
    EXPECT_EQ(host.collect(search).front().path, "/usr");
}

TEST(Pythons, AVirtualEnvironmentMaySeeSystemPackages) {
    const Host host;
    host.add_package("/usr/lib/python3/dist-packages", "numpy", "1.24.2");
    host.add_venv("/home/user/closed");
    host.add_venv("/home/user/open", "3.10", "include-system-site-packages = true\n");
    EXPECT_TRUE(host.only("/home/user/closed").packages.empty());
    EXPECT_EQ(host.only("/home/user/open").packages.size(), 1u);
}

TEST(Pythons, ANamedPathThatIsNotAPython) {
    const Host host;
    host.add("/home/user/notes.txt", "text");
    const PythonEnvironment nothing = host.only("/nowhere/at/all");
    EXPECT_EQ(nothing.version.unread, "No such file or directory");
    EXPECT_EQ(nothing.found_by, "--python");
    EXPECT_EQ(host.only("/home/user").version.unread, "this is neither a Python nor an environment folder");
    EXPECT_EQ(host.only("python9.9").version.unread, "no such command in PATH and no such folder");
    EXPECT_EQ(host.only("python3").path, "/usr");
}

TEST(Pythons, AMissingBaseInterpreter) {
    const Host host;
    host.add_venv("/home/user/venv", "3.8");
    const PythonEnvironment environment = host.only("/home/user/venv");
    EXPECT_EQ(environment.version.value_or(""), "3.8");
    EXPECT_EQ(environment.problems.value_or(Texts{}),
              Texts{"/home/user/venv/bin/python3 is a link to /usr/bin/python3.8, which does not exist"});
}

TEST(Pythons, AnIncompleteInstallation) {
    const Host host;
    const std::string site = host.add_venv("/opt/venv");
    host.add_package(site, "torch", "2.5.1+rocm6.2");
    host.add_package(site, "numpy", "1.26.4");
    host.add_package(site, "numpy", "2.0.0");
    const PythonEnvironment environment = host.only("/opt/venv");
    EXPECT_EQ(environment.torch.value_or(""), "2.5.1+rocm6.2");
    EXPECT_EQ(environment.torch_kind.value_or(""), "rocm");
    EXPECT_EQ(environment.problems.value_or(Texts{}).size(), 2u);
}

TEST(Pythons, CircularLinksEnd) {
    const Host host;
    host.link("/home/user/a", "b");
    host.link("/home/user/b", "a");
    host.link("/home/user/up", "..");
    const std::string site = host.add_venv("/home/user/venv");
    host.link(site + "/bitsandbytes", ".");
    host.add(site + "/loop.pth", "/home/user/a\n" + site + "\n");
    EXPECT_EQ(paths_of(host.collect()), (Texts{"/usr", "/home/user/venv"}));
    EXPECT_EQ(host.only("/home/user/a").version.unread, "No such file or directory");
}

TEST(Pythons, WithARootNothingOfThisProcessIsUsed) {
    const Host host;
    host.add_torch(host.add_venv("/home/user/venv"), "2.5.1+cpu", "", "");
    ASSERT_EQ(::setenv("VIRTUAL_ENV", "/usr", 1), 0);
    HostOptions options;
    options.root = host.root();
    const std::vector<PythonEnvironment> all = collect_pythons(options);
    ::unsetenv("VIRTUAL_ENV");
    ASSERT_EQ(paths_of(all), (Texts{"/usr", "/home/user/venv"}));
    EXPECT_EQ(all[0].found_by, "PATH");
    EXPECT_EQ(all[1].torch.source, "/home/user/venv/lib/python3.10/site-packages/torch/version.py")
        << "as on the host itself";
}

TEST(Pythons, TheVariablesOfAnotherProcessAreUsed) {
    const ScratchFolder folder;
    folder.add("venv/pyvenv.cfg", "version = 3.10.12\n");
    const std::string program = "/bin/sleep", seconds = "30", path = "PATH=/nowhere";
    const std::string venv = (std::filesystem::canonical(folder.path()) / "venv").string(),
                      active = "VIRTUAL_ENV=" + venv;
    char* const arguments[] = {const_cast<char*>(program.c_str()), const_cast<char*>(seconds.c_str()),
                               nullptr};
    char* const variables[] = {const_cast<char*>(path.c_str()), const_cast<char*>(active.c_str()), nullptr};
    pid_t child = 0;
    ASSERT_EQ(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, variables), 0);
    // The parent continues a moment before the kernel has put the variables in place.
    const std::string file = "/proc/" + std::to_string(child) + "/environ";
    for (int i = 0; i < 5000 && std::ifstream(file).peek() == std::ifstream::traits_type::eof(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    HostOptions options;
    options.pid = child;
    const std::vector<PythonEnvironment> all = collect_pythons(options);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.front().path, venv);
    EXPECT_EQ(all.front().found_by, "VIRTUAL_ENV");
}

TEST(Pythons, AnExhaustedBudgetIsReported) {
    const Host host;
    host.add_torch(host.add_venv("/home/user/venv"), "2.5.1+cpu", "", "");
    PythonSearch search;
    search.homes = {"/home/user"};
    const std::vector<PythonEnvironment> all =
        collect_pythons(HostTree(host.root()), search, std::chrono::milliseconds(0));
    ASSERT_FALSE(all.empty());
    EXPECT_NE(all.front().problems.unread.find("the time limit was reached"), std::string::npos);
}

TEST(Pythons, AtMostForty) {
    const Host host;
    for (int i = 0; i < 45; ++i)
        host.add("/home/user/venv" + std::to_string(i) + "/pyvenv.cfg", "version = 3.10.12\n");
    PythonSearch search;
    search.homes = {"/home/user"};
    EXPECT_EQ(find_places(HostTree(host.root()), search).size(), 40u);
}

TEST(TorchVersionFile, OldAndNewForms) {
    EXPECT_EQ(parse_torch_version("__version__ = '1.13.1'\ndebug = False\ncuda = '11.7'\nhip = None\n").cuda,
              "11.7");
    EXPECT_EQ(parse_torch_version("hip: Optional[str] = \"6.2.41133\"  # x\n").hip, "6.2.41133");
    EXPECT_EQ(parse_torch_version("hip: Optional[str] = None\n").hip, "");
    EXPECT_EQ(parse_torch_version("__version__ = 'cut off").version, "");
    EXPECT_EQ(parse_torch_version(std::string("\0\xff=='", 5)).version, "");
}

TEST(PackageNames, AreNormalized) {
    EXPECT_EQ(normalized_package_name("PyTorch_Triton.ROCm"), "pytorch-triton-rocm");
    EXPECT_EQ(normalized_package_name("a-_.b"), "a-b");
    EXPECT_TRUE(package_matters("rocm-sdk-device-gfx1201"));
    EXPECT_FALSE(package_matters("requests"));
}

TEST(Packages, TheUrlThatAWheelCameFrom) {
    const Host host;
    const std::string site = host.add_venv("/opt/venv");
    host.add_package(site, "torch", "2.5.1");
    host.add(site + "/torch-2.5.1.dist-info/direct_url.json",
             R"({"archive_info": {}, "url": "https://example.org/torch.whl"})");
    EXPECT_EQ(host.only("/opt/venv").packages.at(0).origin, "https://example.org/torch.whl");
}

} // namespace
} // namespace rekindle::doctor
