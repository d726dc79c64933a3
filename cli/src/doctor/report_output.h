#pragma once
/// Prints the doctor's report and writes it to --report FILE.

#include "../commands/commands.h"

#include <rekindle/doctor/report.h>

namespace rekindle::cli {

/// Prints the report as --json, --redact and -v ask for it, and writes --report FILE. Returns `failed` if
/// there are findings or open questions about a log, otherwise `success`.
ExitStatus show_report(Context& context, doctor::Report report, const doctor::Knowledge& knowledge);

} // namespace rekindle::cli
