#include "probes/python_probes.h"

#include "probes/find_program.h"
#include "probes/gpu_trouble.h"
#include "probes/library_folders.h"
#include "probes/probe_lines.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor_scripts/embedded.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace rekindle::doctor {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::array probes_of_pytorch{
    "python-import",
    "python-count",
};
constexpr std::array probes_of_device{
    "python-allocate",     "python-fill",        "python-add",       "python-matmul-fp32",
    "python-matmul-fp16",  "python-matmul-bf16", "python-addmm",     "python-conv2d-32",
    "python-conv2d-64",    "python-batch-norm",  "python-attention", "python-train-step",
    "python-two-gpu-copy", "python-all-reduce",  "python-compile",
};
constexpr const char* import_probe = "python-import";
constexpr int max_hangs = 2;

/// A folder for the caches of PyTorch's compilers, removed with everything in it, because a killed child
/// leaves its files behind.
class CacheFolder {
  public:
    CacheFolder() {
        std::error_code unset;
        std::string pattern = (fs::temp_directory_path(unset) / "rekindle-probe-XXXXXX").string();
        if (::mkdtemp(pattern.data()) != nullptr)
            path_ = pattern;
    }
    CacheFolder(const CacheFolder&) = delete;
    CacheFolder& operator=(const CacheFolder&) = delete;
    ~CacheFolder() {
        std::error_code ignored; // files left in the temporary folder are not a failure of the probe
        if (!path_.empty())
            fs::remove_all(path_, ignored);
    }

    /// Without a temporary folder the compilers choose their own.
    void add_to(std::map<std::string, std::string>& environment) const {
        if (path_.empty())
            return;
        environment["TORCHINDUCTOR_CACHE_DIR"] = path_ / "inductor";
        environment["TRITON_CACHE_DIR"] = path_ / "triton";
    }

  private:
    fs::path path_;
};

/// RDNA1 under an override to RDNA2: convolutions above 42×42 have hung such GPUs.
std::string reason_against_large_convolution(const ProbeSession& session) {
    const Facts& facts = session.facts();
    const Fact<std::map<std::string, std::string>>& variables = facts.environment.variables;
    if (session.options().level == ProbeLevel::all || !variables.known())
        return {};
    const auto overridden = variables->find("HSA_OVERRIDE_GFX_VERSION");
    if (overridden == variables->end() || overridden->second.starts_with("10.1"))
        return {};
    const bool rdna1 = std::ranges::any_of(
        facts.gpus, [](const Gpu& gpu) { return gpu.gfx.known() && gpu.gfx->starts_with("gfx101"); });
    return rdna1 ? fmt::format(
                       "convolutions of this size have hung RDNA1 GPUs with HSA_OVERRIDE_GFX_VERSION={}; "
                       "--probe all tries it anyway",
                       overridden->second)
                 : std::string();
}

/// Which GPUs a PyTorch of this kind ("rocm", "cuda", "cpu", "" when unknown) may open.
GpuAccess access_of(const ProbeSession& session, const std::string& kind) {
    GpuAccess access;
    for (const auto& [vendor, wheel] : {std::pair{"amd", "rocm"}, std::pair{"nvidia", "cuda"}})
        if (kind.empty() || kind == wheel) {
            GpuAccess one = access_to(session.facts(), session.options().level, vendor);
            access.environment.merge(one.environment);
            std::ranges::move(one.skipped_gpus, std::back_inserter(access.skipped_gpus));
            if (access.refusal.empty())
                access.refusal = one.refusal;
        }
    return access;
}

/// The PCI address of "cuda:1", as reported earlier by HIP or the CUDA driver, "" when neither did.
std::string address_of(const ProbeSession& session, const std::string& device) {
    if (!device.starts_with("cuda:"))
        return {};
    for (const ProbeResult& result : session.results()) {
        const auto ordinal = result.values.find("ordinal");
        const bool lists = result.id == "hip-init" || result.id == "cuda-driver";
        if (lists && ordinal != result.values.end() &&
            ordinal->second.substr(ordinal->second.find(':')) == device.substr(device.find(':')))
            return result.device;
    }
    return {};
}

/// The probes of one device, in as many children as needed.
class DeviceRun {
  public:
    /// `device`: "" lets PyTorch choose.
    DeviceRun(ProbeSession& session, ChildCommand command, std::string device,
              std::vector<std::string> probes)
        : session_(session), command_(std::move(command)), device_(std::move(device)),
          pending_(std::move(probes)) {}

    /// Returns the result of the import, if it was among the probes.
    std::optional<ProbeResult> run() {
        while (!pending_.empty()) {
            const std::size_t before = pending_.size();
            run_child();
            if (pending_.size() == before)
                give_up_on(pending_.front(), "the child ended without a result for it");
            if (hangs_ >= max_hangs || !import_works_)
                skip_rest();
        }
        return imported_;
    }

  private:
    void run_child() {
        ChildCommand command = command_;
        command.arguments = {"-B", "-", device_,
                             session_.options().level == ProbeLevel::all ? "together" : "apart",
                             fmt::format("{}", fmt::join(pending_, ","))};
        current_.clear();
        step_.clear();
        step_start_ = Clock::now();
        const ChildOutcome outcome =
            run_children({&command, 1}, [&](std::size_t, std::string_view line) { hear(line); }).front();
        const bool orderly = outcome.end == ChildOutcome::End::exited && outcome.exit_status == 0;
        if (!orderly && !pending_.empty())
            conclude_current(outcome);
    }

    void hear(std::string_view text) {
        try {
            ProbeLine line = parse_probe_line(text);
            if (line.result) {
                take(std::move(*line.result));
            } else {
                current_ = line.probe;
                step_ = line.step;
                step_start_ = Clock::now();
                vram_before_ = vram_in_use(session_.facts(), address_of(session_, device_));
            }
        } catch (const Error& error) {
            session_.skip(current_.empty() ? import_probe : current_, device_, error.message());
        }
    }

    void take(ProbeResult result) {
        const bool was_pending = std::erase(pending_, result.id) > 0;
        if (result.id == import_probe) {
            import_works_ = result.status == ProbeStatus::passed;
            imported_ = result;
            if (device_.empty() && result.values.contains("device_list"))
                device_ = std::string(split(result.values.at("device_list"), ' ').front());
            if (!was_pending && import_works_)
                return;
        }
        finish(std::move(result));
    }

    /// Identifies the GPU by its address and adds what sysfs says about its memory.
    void finish(ProbeResult result) {
        std::string address = address_of(session_, result.device);
        if (const auto found = result.values.find("address"); found != result.values.end())
            address = found->second;
        if (!result.device.empty() && !address.empty()) {
            result.values["ordinal"] = result.device;
            result.values.erase("address");
            result.device = address;
        }
        if (const std::string vram = vram_in_use(session_.facts(), address); !vram.empty()) {
            result.values["vram_before"] = vram_before_;
            result.values["vram_after"] = vram;
        }
        session_.add(std::move(result));
    }

    void conclude_current(const ChildOutcome& outcome) {
        ProbeResult result;
        // If a later child dies while importing PyTorch, the result goes to the probe that it was started
        // for.
        const bool known = std::ranges::find(pending_, current_) != pending_.end();
        result.id = known ? current_ : pending_.front();
        result.device = result.id == import_probe ? std::string() : device_;
        conclude(result, outcome, step_, command_.deadline);
        result.seconds = std::chrono::duration<double>(Clock::now() - step_start_).count();
        hangs_ += result.status == ProbeStatus::timed_out ? 1 : 0;
        import_works_ = import_works_ && result.id != import_probe;
        std::erase(pending_, result.id);
        finish(std::move(result));
    }

    void give_up_on(const std::string& id, const std::string& reason) {
        ProbeResult result;
        result.id = id;
        result.device = device_;
        result.status = ProbeStatus::failed;
        result.reason = reason;
        std::erase(pending_, std::string(id));
        session_.add(std::move(result));
    }

    void skip_rest() {
        for (const std::string& id : pending_)
            session_.skip(id, device_,
                          import_works_
                              ? fmt::format("{} probes before this one hung on this device", max_hangs)
                              : "PyTorch could not be imported");
        pending_.clear();
    }

    ProbeSession& session_;
    ChildCommand command_;
    std::string device_;
    std::vector<std::string> pending_;
    std::string current_;
    std::string step_;
    Clock::time_point step_start_;
    std::string vram_before_;
    std::optional<ProbeResult> imported_;
    bool import_works_ = true;
    int hangs_ = 0;
};

template <std::size_t size>
std::vector<std::string> names(const std::array<const char*, size>& ids) {
    return {ids.begin(), ids.end()};
}

} // namespace

std::string find_interpreter(const std::string& named) {
    std::error_code unreadable;
    if (!fs::is_directory(named, unreadable))
        return find_program(named);
    for (const char* program : {"bin/python3", "bin/python"})
        if (const std::string found = find_program((fs::path(named) / program).string()); !found.empty())
            return found;
    return {};
}

void run_python_probes(ProbeSession& session) {
    const ProbeOptions& options = session.options();
    ChildCommand command;
    command.program = find_interpreter(options.python);
    if (command.program.empty())
        return session.skip(import_probe, "", fmt::format("there is no Python {}", options.python));
    const PythonEnvironment* python = python_that_trains(session.facts(), options.python);
    const bool on_cpu = options.python_device == "cpu";
    const GpuAccess access =
        on_cpu ? GpuAccess{} : access_of(session, python != nullptr ? python->torch_kind.value_or("") : "");
    if (!access.refusal.empty())
        return session.skip(import_probe, "", access.refusal);

    const CacheFolder cache;
    command.input = doctor_scripts::embedded_file("torch_probes.py");
    command.deadline = options.python_deadline;
    command.deadline_restarts = true;
    command.environment = access.environment;
    command.environment["PYTHONDONTWRITEBYTECODE"] = "1";
    cache.add_to(command.environment);

    std::vector<std::string> of_device = names(probes_of_device);
    if (const std::string reason = reason_against_large_convolution(session); !reason.empty() && !on_cpu) {
        session.skip("python-conv2d-64", "", reason);
        std::erase(of_device, "python-conv2d-64");
    }
    std::vector<std::string> of_first = names(probes_of_pytorch);
    of_first.insert(of_first.end(), of_device.begin(), of_device.end());
    const std::optional<ProbeResult> imported =
        DeviceRun(session, command, options.python_device, of_first).run();
    if (!options.python_device.empty() || !imported || !imported->values.contains("device_list"))
        return;
    const std::vector<std::string_view> devices = split(imported->values.at("device_list"), ' ');
    for (std::size_t i = 1; i < devices.size(); ++i)
        DeviceRun(session, command, std::string(devices[i]), of_device).run();
}

} // namespace rekindle::doctor
