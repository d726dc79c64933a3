/// report.json from arbitrary text: an accepted report must be written as it was read and become a page; all
/// others must be refused with an Error.

#include <rekindle/foundation/error.h>
#include <rekindle/trainer/combined_report.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle;
    trainer::ReportData report;
    try {
        report = trainer::parse_report_json({reinterpret_cast<const char*>(data), size});
    } catch (const Error&) {
        return 0;
    }
    const std::string text = trainer::report_json(report);
    if (trainer::report_json(trainer::parse_report_json(text)) != text)
        std::abort();
    trainer::render_report(report);
    trainer::CombinedReport combined;
    combined.stages.push_back({"report.html", report});
    trainer::render_combined_report(combined);
    return 0;
}
