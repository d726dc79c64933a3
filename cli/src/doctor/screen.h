#pragma once
/// The doctor's results as text for people. All functions are pure.

#include <rekindle/doctor/report.h>
#include <rekindle/doctor/review.h>

#include <string>
#include <vector>

namespace rekindle::cli {

struct ScreenOptions {
    std::size_t width = 80;
    bool verbose = false; ///< evidence, sources, probes and all steps
};

/// Verdict, devices, findings and plan: ten seconds of reading, or everything with `verbose`.
std::string render_report(const doctor::Report& report, const doctor::Knowledge& knowledge,
                          ScreenOptions options);
/// The words joined into a line, quoted for a shell where they need it.
std::string render_command(const std::vector<std::string>& words);
/// "python train.py exited with status 1 after 12.3 s."
std::string render_run(const doctor::RunResult& run);
/// The devices alone.
std::string render_devices(const std::vector<doctor::DeviceStatus>& devices, std::size_t width);
/// One step in full: why, what it changes, commands, check, undo.
std::string render_step(const doctor::Step& step, std::size_t width);
std::string render_marks(const std::vector<doctor::Mark>& marks, ScreenOptions options);
std::string render_matrix(const std::vector<doctor::MatrixRow>& rows, std::string_view gfx,
                          ScreenOptions options);
std::string render_options(const std::vector<doctor::Option>& options, std::size_t width);
/// The whole report as Markdown, for posting.
std::string report_markdown(const doctor::Report& report, const doctor::Knowledge& knowledge);

} // namespace rekindle::cli
