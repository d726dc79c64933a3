#include "process.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sstream>

namespace rekindle::cli {
namespace {

std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

/// A recorded host with one AMD GPU that reports its load and its power only.
class RecordedHost {
  public:
    RecordedHost() {
        const Finished made = run_process(
            {"sh", "-c",
             "cd \"$1\" && d=sys/bus/pci/devices/0000:03:00.0 && mkdir -p $d/hwmon/hwmon1 $d/drm/card0 && "
             "echo 0x1002 > $d/vendor && echo 0x731f > $d/device && echo 0x030000 > $d/class && "
             "echo 0xca > $d/revision && mkdir -p sys/bus/pci/drivers/amdgpu && "
             "ln -s ../../../../bus/pci/drivers/amdgpu $d/driver && echo 97 > $d/gpu_busy_percent && "
             "echo 148250000 > $d/hwmon/hwmon1/power1_average",
             "sh", folder_.path()});
        EXPECT_EQ(made.status, 0) << made.errors;
    }
    const std::string& root() const { return folder_.path(); }
    std::string file(const std::string& name) const { return folder_.path() + "/" + name; }

  private:
    TemporaryFolder folder_;
};

Finished watch(const Words& options) {
    return rekindle(joined({"doctor", "--watch"}, options));
}

TEST(DoctorWatch, PrintsLinesAndASummary) {
    const RecordedHost host;
    const Finished finished = watch({"--root", host.root(), "--count", "3", "--interval", "0.1"});
    EXPECT_EQ(finished.status, 0) << finished.errors;
    EXPECT_TRUE(contains(finished.output, " UTC GPU 0 Radeon RX 5600 XT: load 97 %, 148 W\n"))
        << finished.output;
    EXPECT_TRUE(contains(finished.output, "3 readings: load 97 % on average, 97 % at most, 148 W on average"))
        << finished.output;
    const std::size_t first = finished.errors.find("memory size");
    ASSERT_NE(first, std::string::npos) << finished.errors;
    EXPECT_EQ(finished.errors.find("memory size", first + 1), std::string::npos) << "said once";
}

TEST(DoctorWatch, WritesCsvWithEmptyFieldsForWhatIsUnknown) {
    const RecordedHost host;
    const std::string file = host.file("a.csv");
    const Finished finished =
        watch({"--root", host.root(), "--count", "2", "--interval", "0.1", "--csv", file});
    EXPECT_EQ(finished.status, 0) << finished.errors;
    std::istringstream lines(text_of(file));
    std::string header, row, second, third;
    std::getline(lines, header);
    std::getline(lines, row);
    std::getline(lines, second);
    EXPECT_FALSE(std::getline(lines, third)) << third;
    EXPECT_TRUE(header.starts_with("time,seconds,gpu,address,name,load_percent,memory_used_bytes,"))
        << header;
    EXPECT_TRUE(contains(row, "Z,0.000,0,0000:03:00.0,Radeon RX 5600 XT,97,,,,,148.25,,,,,,,")) << row;
    const Finished again = watch({"--root", host.root(), "--count", "1", "--csv", file});
    EXPECT_EQ(again.status, 2);
    EXPECT_TRUE(contains(again.errors, "the file already exists")) << again.errors;
    const Finished piped = watch({"--root", host.root(), "--count", "1", "--csv", "-"});
    EXPECT_TRUE(piped.output.starts_with(header + "\n")) << piped.output;
}

TEST(DoctorWatch, TheCommandKeepsItsOutputAndStatus) {
    const Finished finished =
        watch({"--interval", "0.1", "--", "sh", "-c", "echo output; sleep 0.3; echo errors >&2; exit 7"});
    EXPECT_EQ(finished.status, 7);
    EXPECT_EQ(finished.output, "output\n");
    EXPECT_TRUE(contains(finished.errors, "errors\n")) << finished.errors;
    EXPECT_TRUE(contains(finished.errors, "exited with status 7 after")) << finished.errors;
    EXPECT_EQ(watch({"--", "sh", "-c", "kill -KILL $$"}).status, 128 + SIGKILL);
    EXPECT_EQ(watch({"--", "there-is-no-such-program"}).status, 2);
}

TEST(DoctorWatch, EndsWithCtrlC) {
    const RecordedHost host;
    const Finished finished = run_process({"timeout", "-s", "INT", "2", REKINDLE_PROGRAM, "doctor", "--watch",
                                           "--interval", "0.1", "--root", host.root()});
    EXPECT_TRUE(contains(finished.output, "on average")) << finished.output << finished.errors;
}

TEST(DoctorWatch, AHostWithoutGpus) {
    const TemporaryFolder empty;
    const Finished finished = watch({"--root", empty.path()});
    EXPECT_EQ(finished.status, 1);
    EXPECT_TRUE(contains(finished.errors, "no GPU was found")) << finished.errors;
}

TEST(DoctorWatch, RefusesWhatHasNoEffect) {
    EXPECT_TRUE(contains(rekindle({"doctor", "--csv", "x"}).errors, "--csv needs --watch"));
    EXPECT_EQ(watch({"--json"}).status, 2);
    EXPECT_EQ(watch({"--interval", "0"}).status, 2);
    EXPECT_EQ(watch({"--root", "/nonexistent"}).status, 2);
    EXPECT_EQ(watch({"--csv", "-", "--", "true"}).status, 2);
    EXPECT_EQ(watch({"--root", "/", "--", "true"}).status, 2);
}

} // namespace
} // namespace rekindle::cli
