#include <rekindle/foundation/error.h>
#include <rekindle/trainer/verify.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>
#include <unistd.h>

namespace rekindle::trainer {
namespace {

using Outcome = mlp::VerifyRow::Outcome;

mlp::VerifyRow row(std::string name, Outcome outcome, std::optional<double> value = {},
                   std::string detail = {}) {
    mlp::VerifyRow row;
    row.part = "training";
    row.name = std::move(name);
    row.outcome = outcome;
    row.value = value;
    row.detail = std::move(detail);
    return row;
}

VerifiedDevice device_of(std::uint32_t vendor, runtime::DeviceType type = runtime::DeviceType::discrete) {
    VerifiedDevice device;
    device.info.name = "GPU 9000";
    device.info.type = type;
    device.info.vendor_id = vendor;
    device.info.driver_name = "Driver";
    device.info.driver_info = "1.2.3";
    device.info.api_version = 1u << 22 | 3u << 12 | 230u;
    device.info.uuid.fill(0xab);
    device.rows = {row("16-32-16-1: gradients of 20 steps", Outcome::passed, 2.5e-7)};
    device.rows[0].bound = 1e-5;
    return device;
}

std::string report_of(const VerifiedDevice& device) {
    return verify_report(std::span(&device, 1)).dump();
}

constexpr std::string_view audited = "# Machine code\n\n| family | cards | pipelines |\n|---|---|---|\n"
                                     "| navi10 | RX 5700 | 9 |\n| navi21 | RX 6800, 6900 | 9 |\n"
                                     "| navi10-newest | RX 5700 | 9 |\n\n"
                                     "| case | LDS |\n|---|---|\n| other | 5 |\n";

TEST(WithoutNames, RemovesPathsAndNamesAndKeepsTheRest) {
    const std::vector<std::string> names{"ada", "tower"};
    EXPECT_EQ(without_names("cannot write /home/ada/.cache/x (full)", names), "cannot write <path> (full)");
    EXPECT_EQ(without_names("\"/tmp/a b\"", names), "\"<path> b\"");
    EXPECT_EQ(without_names("tower: ada's disk", names), "<name>: <name>'s disk");
    EXPECT_EQ(without_names("12 GFLOP/s, 1/256, a / b", names), "12 GFLOP/s, 1/256, a / b");
}

TEST(VerifyReport, HoldsVersionsAndRowsButNoIdentity) {
    std::array<char, 256> host{};
    ASSERT_EQ(::gethostname(host.data(), host.size() - 1), 0);
    VerifiedDevice device = device_of(0x1002);
    device.rows.push_back(
        row("wide", Outcome::failed, {}, "lost on " + std::string(host.data()) + ", see /var/log/x"));
    const nlohmann::json report = nlohmann::json::parse(report_of(device));
    const nlohmann::json& found = report.at("devices").at(0);
    EXPECT_EQ(report.at("version"), 1);
    EXPECT_EQ(found.at("vulkan"), "1.3.230");
    EXPECT_EQ(found.at("vendor_id"), "0x1002");
    EXPECT_EQ(found.at("passed"), false);
    EXPECT_EQ(found.at("rows").at(0).at("value"), 2.5e-7);
    const std::string text = report.dump();
    EXPECT_EQ(text.find("abab"), std::string::npos) << "the UUID is in the report";
    EXPECT_EQ(text.find("/var/log"), std::string::npos);
    if (std::string_view(host.data()).size() > 1) {
        EXPECT_EQ(found.at("rows").at(1).at("detail").get<std::string>().find(host.data()),
                  std::string::npos);
    }
}

TEST(HardwarePage, ListsWhatRanAndWhatIsOnlyCompiled) {
    const std::vector<HardwareReport> reports{
        {"nvidia.json", report_of(device_of(0x10de))},
        {"cpu.json", report_of(device_of(0x10005, runtime::DeviceType::cpu))}};
    const std::string page = hardware_page(reports, audited);
    EXPECT_NE(page.find("Nothing has run on an AMD or Intel GPU yet."), std::string::npos);
    EXPECT_NE(page.find("2.5e-07 (≤ 1e-05)"), std::string::npos) << page;
    EXPECT_NE(page.find("[nvidia.json](hardware/nvidia.json)"), std::string::npos);
    EXPECT_LT(page.find("nvidia.json"), page.find("## CPU drivers"));
    EXPECT_LT(page.find("## CPU drivers"), page.find("cpu.json"));
    EXPECT_NE(page.find("| navi10 | RX 5700 |"), std::string::npos);
    EXPECT_NE(page.find("| navi21 | RX 6800, 6900 |"), std::string::npos);
    EXPECT_EQ(page.find("navi10-newest"), std::string::npos) << "the same cards were listed twice";
    EXPECT_EQ(page.find("other"), page.find("other device")) << "a row of another table was taken";
}

TEST(HardwarePage, NamesTheMissingVendors) {
    const std::vector<HardwareReport> reports{{"amd.json", report_of(device_of(0x1002))}};
    const std::string page = hardware_page(reports, audited);
    EXPECT_NE(page.find("Nothing has run on an Intel GPU yet."), std::string::npos);
    EXPECT_EQ(page.find("AMD or Intel"), std::string::npos);
    EXPECT_NE(hardware_page({}, audited).find("Nothing has run on a GPU yet."), std::string::npos);
}

TEST(HardwarePage, RefusesOtherFiles) {
    for (const char* text :
         {"", "{", "{}", R"({"report": "rekindle verify", "version": 2, "devices": []})"}) {
        const std::vector<HardwareReport> reports{{"odd.json", text}};
        try {
            hardware_page(reports, audited);
            FAIL() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.where(), "odd.json");
        }
    }
    EXPECT_THROW(hardware_page({}, "# no table"), Error);
}

TEST(DevicesToVerify, RefusesTheCpuAndUnknownDevices) {
    EXPECT_THROW(devices_to_verify("cpu"), Error);
    try {
        devices_to_verify("gpu:4711");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        EXPECT_EQ(error.where(), "--device");
    }
}

} // namespace
} // namespace rekindle::trainer
