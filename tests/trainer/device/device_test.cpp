/// Where a run trains: the CPU without a GPU, a GPU by name, and what is refused. A CPU driver stands in when
/// there is no GPU.

#include "../run_fixture.h"
#include "device/device_parts.h"
#include "fit/memory.h"

#include <rekindle/runtime/device.h>
#include <rekindle/trainer/device.h>
#include <rekindle/trainer/network.h>

#include <array>
#include <cmath>
#include <cstdlib>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

/// Sets an environment variable during a test.
class Variable {
  public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* old = std::getenv(name))
            old_ = old;
        ::setenv(name, value, 1);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }

  private:
    const char* name_;
    std::optional<std::string> old_;
};

class DeviceTest : public RunTest {
  protected:
    TrainConfig settings(std::int64_t population = 1) const {
        TrainConfig settings = config();
        settings.population = population;
        settings.dropout_rate = 0.2;
        return settings;
    }
    static std::string said_by(const TrainConfig& config) {
        Messages messages;
        train(config, {}, messages, CancellationToken());
        return messages.text;
    }
    static Json sessions(const TrainOutcome& outcome) {
        return Json::parse(read_file(outcome.run_folder / "device.json"));
    }
    /// The first device that can be used.
    static runtime::DeviceInfo any_device() {
        std::string reason;
        const auto devices = runtime::list_devices(&reason);
        for (const runtime::DeviceInfo& device : devices)
            if (device.unusable.empty())
                return device;
        throw std::runtime_error("these tests need a Vulkan driver (lavapipe does): " + reason);
    }
    /// Trained in float32 with a different order of sums: close, not equal.
    static void expect_close(const fs::path& run, const fs::path& other, const char* file) {
        const auto a = tensors_of(run / file), b = tensors_of(other / file);
        ASSERT_EQ(a.size(), b.size());
        double difference = 0, norm = 0;
        for (std::size_t t = 0; t < a.size(); ++t) {
            ASSERT_EQ(a[t].shape, b[t].shape);
            for (std::size_t i = 0; i < a[t].values.size(); ++i) {
                const double delta = static_cast<double>(a[t].values[i]) - b[t].values[i];
                difference += delta * delta;
                norm += static_cast<double>(b[t].values[i]) * b[t].values[i];
            }
        }
        EXPECT_LT(std::sqrt(difference), 1e-3 * std::sqrt(norm)) << file;
    }

  private:
    /// A CPU driver compiles a kernel at its first launch, which takes long on a busy machine.
    Variable patience_{"REKINDLE_WATCHDOG_SECONDS", "600"};
};

TEST_F(DeviceTest, AutoUsesTheCpuWithoutAGpuAndSaysWhy) {
    const Variable none("REKINDLE_VISIBLE_DEVICES", "");
    const std::string said = said_by(settings());
    EXPECT_TRUE(contains(said, "--device auto: cpu (")) << said;
    EXPECT_TRUE(contains(said, "no GPU can be used here")) << said;
    const TrainOutcome outcome = run(settings(3));
    ASSERT_EQ(sessions(outcome).size(), 1u);
    EXPECT_TRUE(contains(sessions(outcome)[0].at("device").get<std::string>(), "cpu"));
    EXPECT_EQ(sessions(outcome)[0].at("networks"), 3);
    EXPECT_TRUE(contains(read_file(outcome.report), "no GPU can be used here"));
    for (const char* device : {"gpu", "gpu:0", "cuda:0", "GPU-00000000-0000-0000-0000-000000000000"}) {
        TrainConfig named = settings();
        named.device = device;
        const std::string error = error_of([&] { run(named); });
        EXPECT_TRUE(contains(error, "there is no Vulkan device")) << error;
        EXPECT_TRUE(contains(error, "rekindle doctor")) << error;
    }
}

TEST_F(DeviceTest, KeepsItsChoiceAndItsDevices) {
    const std::array<std::size_t, 1> hidden{8};
    const mlp::ModelDescription model = mlp::ModelDescription::plain(4, hidden);
    const std::vector<mlp::TrainingSpec> members(2);
    const TrainingJob job{model, members, 8, 1, 1, 1};
    const auto said_by_two_jobs = [&](const std::string& device, bool keep) {
        TrainConfig config = settings(2);
        config.device = device;
        Messages messages;
        DeviceChoice choice(config, messages);
        const PreparedPopulation first = choice.prepare(job, messages);
        if (keep)
            choice.keep_choice();
        const PreparedPopulation second = choice.prepare(job, messages);
        EXPECT_EQ(first.use.device, second.use.device);
        EXPECT_TRUE(!keep || first.use.why == second.use.why) << second.use.why;
        return messages.text;
    };
    const auto decisions = [](const std::string& text) {
        std::size_t found = 0;
        const std::string words = "--device auto: ";
        for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
            ++found;
        return found;
    };
    EXPECT_EQ(decisions(said_by_two_jobs("auto", false)), 2u);
    EXPECT_EQ(decisions(said_by_two_jobs("auto", true)), 1u);
    EXPECT_EQ(decisions(said_by_two_jobs(any_device().address(), true)), 0u);
}

TEST_F(DeviceTest, CpuDriverIsUsedOnlyWhenNamed) {
    const runtime::DeviceInfo device = any_device();
    if (device.type != runtime::DeviceType::cpu) {
        SUCCEED() << "the first device is a GPU: " << device.name;
        return;
    }
    TrainConfig named = settings();
    named.device = "gpu";
    const std::string error = error_of([&] { run(named); });
    EXPECT_TRUE(contains(error, "only the CPU driver")) << error;
    EXPECT_TRUE(contains(error, "--device " + device.address())) << error;
}

TEST_F(DeviceTest, OldCommandLinesTrainAndSayWhatDiffers) {
    TrainConfig old = settings();
    old.device_ids = "0,1";
    old.no_distributed = true;
    const std::string said = said_by(old);
    EXPECT_TRUE(contains(said, "--device-ids 0: ")) << said;
    EXPECT_TRUE(contains(said, "--no-distributed: the first device")) << said;
    old.no_distributed = false;
    EXPECT_TRUE(contains(said_by(old), "--device-ids 0,1: one network trains on one device"));
    old.device_ids.clear();
    old.distributed_strategy = DistributedStrategy::fsdp;
    EXPECT_TRUE(contains(said_by(old), "--distributed-strategy fsdp: there is one process"));
}

TEST_F(DeviceTest, OneNetworkOverSeveralDevicesIsRefused) {
    for (const auto strategy : {DistributedStrategy::dataparallel, DistributedStrategy::fsdp}) {
        TrainConfig split = settings();
        split.device_ids = "0,1";
        split.distributed_strategy = strategy;
        const std::string error = error_of([&] { run(split); });
        for (const std::string_view text :
             {name_of(strategy), std::string_view("PCIe"), std::string_view("µs"),
              std::string_view("nothing to shard"), std::string_view("--population N")})
            EXPECT_TRUE(contains(error, text)) << text << ": " << error;
        EXPECT_FALSE(fs::exists(output()));
    }
}

TEST_F(DeviceTest, NamedGpuMatchesTheCpuAndAnotherDeviceResumes) {
    const runtime::DeviceInfo device = any_device();
    for (const std::int64_t population : {1, 5}) {
        SCOPED_TRACE(population);
        TrainConfig on_cpu = settings(population), on_gpu = settings(population);
        on_cpu.device = "cpu";
        on_gpu.device = device.address();
        const TrainOutcome expected = run(on_cpu), trained = run(on_gpu);
        expect_close(trained.run_folder, expected.run_folder, "model_final.safetensors");
        EXPECT_TRUE(contains(sessions(trained)[0].at("device").get<std::string>(), device.name));
        EXPECT_FALSE(sessions(trained)[0].at("driver").get<std::string>().empty());
        EXPECT_TRUE(contains(read_file(trained.report), device.name));
        expect_same_weights(run(on_gpu).run_folder, trained.run_folder,
                            "the same device gives the same bits");
        if (population > 1)
            expect_close(trained.run_folder, expected.run_folder, "population.safetensors");

        const TrainOutcome stopped = interrupted(on_gpu, 1);
        Messages messages;
        TrainConfig elsewhere;
        elsewhere.device = "cpu";
        elsewhere.resume_from_checkpoint = stopped.run_folder.string();
        const TrainOutcome rest =
            train(elsewhere, {"resume_from_checkpoint", "device"}, messages, CancellationToken());
        EXPECT_FALSE(rest.interrupted);
        EXPECT_TRUE(contains(messages.text, "to rounding, not bit for bit")) << messages.text;
        EXPECT_EQ(sessions(rest).size(), 2u);
        expect_close(rest.run_folder, expected.run_folder, "model_final.safetensors");
    }
}

TEST_F(DeviceTest, UnsupportedNetworkIsRefusedWithTheReason) {
    TrainConfig wide = settings();
    wide.device = any_device().address();
    wide.hidden_layers = {600};
    const std::string error = error_of([&] { run(wide); });
    EXPECT_TRUE(contains(error, "512")) << error;
    EXPECT_TRUE(contains(error, "--device cpu")) << error;
    EXPECT_FALSE(fs::exists(output()));
}

TEST_F(DeviceTest, RunResumesAfterADeviceIsLost) {
    TrainConfig on_gpu = settings(3);
    on_gpu.device = any_device().address();
    on_gpu.checkpoint_interval = 1;
    on_gpu.epochs = 30;
    std::string error;
    {
        const Variable fault("REKINDLE_FAULT", "device-lost:60+");
        error = error_of([&] { run(on_gpu); }, ExitStatus::failed);
    }
    EXPECT_TRUE(contains(error, "--resume-from-checkpoint")) << error;
    ASSERT_TRUE(fs::exists(output())) << error;
    const fs::path run_folder = fs::directory_iterator(output())->path();
    ASSERT_FALSE(fs::is_empty(run_folder / "checkpoints"));
    TrainConfig elsewhere;
    elsewhere.device = "cpu";
    const TrainOutcome rest = resume(run_folder, elsewhere, {"device"});
    on_gpu.device = "cpu";
    expect_close(rest.run_folder, run(on_gpu).run_folder, "model_final.safetensors");
}

// ---------------------------------------------------------------------------------------------- arithmetic

TEST(Shares, FollowTheSpeedsAndAreNeverEmpty) {
    const auto shares = [](std::size_t members, std::vector<double> speeds) {
        return shares_of(members, speeds);
    };
    EXPECT_EQ(shares(100, {1, 3}), (std::vector<std::size_t>{25, 75}));
    EXPECT_EQ(shares(3, {1000, 1, 1}), (std::vector<std::size_t>{1, 1, 1}));
    EXPECT_EQ(shares(10, {0, 0}), (std::vector<std::size_t>{5, 5}));
    for (const std::size_t members : {3u, 7u, 1000u, 999'999u}) {
        std::size_t sum = 0;
        for (const std::size_t share : shares(members, {1e6, 3.7e5, 2.2e6})) {
            EXPECT_GE(share, 1u);
            sum += share;
        }
        EXPECT_EQ(sum, members);
    }
}

TEST(Memory, RefusesAPopulationThatDoesNotFit) {
    const std::array<std::size_t, 2> hidden{128, 64};
    const auto model = mlp::ModelDescription::default_network(54, hidden, 0.4);
    constexpr std::uint64_t gigabyte = 1'000'000'000;
    EXPECT_NO_THROW(require_memory(model, 1000, 10, TrainingDevice::cpu, 2 * gigabyte));
    EXPECT_NO_THROW(require_memory(model, 1'000'000, 10, TrainingDevice::cpu, std::nullopt));
    EXPECT_NO_THROW(require_memory(model, 10'000, 10, TrainingDevice::gpu, 4 * gigabyte));
    try {
        require_memory(model, 10'000, 10, TrainingDevice::cpu, 4 * gigabyte);
        FAIL() << "10,000 networks in 4 GB";
    } catch (const Error& error) {
        const std::uint64_t fitting = 4 * gigabyte / host_bytes_per_network(model, 10, TrainingDevice::cpu);
        EXPECT_EQ(error.where(), "--population");
        EXPECT_NE(error.advice().find("About " + std::to_string(fitting / 1000) + ","), std::string::npos)
            << error.render();
    }
}

TEST(Memory, ParameterCountMatchesTheEngine) {
    const std::array<std::size_t, 3> hidden{12, 7, 5};
    const auto model = mlp::ModelDescription::default_network(9, hidden, 0.1);
    mlp::Engine engine(model, {});
    std::size_t count = 0;
    for (const auto& tensor : engine.parameters())
        count += tensor.values.size();
    EXPECT_EQ(parameter_count(model), count);
}

} // namespace
} // namespace rekindle::trainer
