#include "probes/probe_lines.h"

#include <rekindle/base/philox.h>
#include <rekindle/doctor/probe_json.h>
#include <rekindle/foundation/error.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rekindle::doctor {
namespace {

ProbeResult some_result() {
    ProbeResult result;
    result.id = "blas-handle";
    result.device = "0000:03:00.0";
    result.status = ProbeStatus::timed_out;
    result.reason = "no response within 5.0 s, in hipblasCreate; killed";
    result.code = "HIPBLAS_STATUS_ALLOC_FAILED (2)";
    result.seconds = 5.25;
    result.signal = 9;
    result.errors = "line\nsecond \"line\"";
    result.values = {{"library", "/opt/rocm/lib/libhipblas.so.2"}};
    return result;
}

TEST(ProbeLines, AResultRoundTrips) {
    const ProbeLine line = parse_probe_line(line_of_result(some_result()));
    ASSERT_TRUE(line.result);
    EXPECT_EQ(*line.result, some_result());
    EXPECT_EQ(line_of_result(some_result()).find('\n'), std::string::npos);
    EXPECT_EQ(parse_probe_line(line_of_step("hipInit")).step, "hipInit");
}

TEST(ProbeLines, OtherLinesAreRefused) {
    for (const char* text : {
             "",
             "3",
             "[]",
             "{",
             R"({"result":{"id":"x"}})",
             R"({"result":{"status":"passed"}})",
             R"({"result":{"id":"x","status":"good"}})",
             R"({"result":{"id":"x","status":"passed","seconds":-1}})",
             R"({"result":{"id":"x","status":"passed","seconds":"1"}})",
             R"({"result":{"id":"x","status":"passed","signal":1e99}})",
             R"({"result":{"id":"x","status":"passed","exit_status":1000}})",
             R"({"result":{"id":"x","status":"passed","values":{"a":1}}})",
             R"({"result":{"id":"x","status":"passed","more":""}})",
             R"({"at":1})",
             R"({"other":"x"})",
             R"({"result":{"id":"x","status":"passed","values":{"a":[[[[[[1]]]]]]}}})",
         })
        EXPECT_THROW(parse_probe_line(text), Error) << text;
    EXPECT_THROW(parse_probe_line(std::string(60000, '[')), Error);
}

TEST(ProbeLines, MutatedAndTruncatedLinesAreParsedOrRefused) {
    const std::string good = line_of_result(some_result());
    PhiloxStream random(20261121, RandomPurpose::test);
    int accepted = 0;
    for (int i = 0; i < 4000; ++i) {
        std::string text = good.substr(0, i % 4 == 0 ? random.next_u32() % good.size() : good.size());
        for (unsigned changes = random.next_u32() % 4; changes > 0 && !text.empty(); --changes)
            text[random.next_u32() % text.size()] = static_cast<char>(random.next_u32());
        try {
            parse_probe_line(text);
            ++accepted;
        } catch (const Error&) {
        }
    }
    EXPECT_GT(accepted, 500) << "unchanged ones";
    EXPECT_LT(accepted, 3000) << "broken ones";
}

} // namespace
} // namespace rekindle::doctor
