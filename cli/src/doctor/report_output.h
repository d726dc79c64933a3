#pragma once
/// Prints the doctor's report and writes it to the file of --report.

#include "../commands/commands.h"

#include <rekindle/doctor/report.h>

namespace rekindle::cli {

/// Prints the report in the form that --json, --redact and -v select.
void print_report(Context& context, doctor::Report report, const doctor::Knowledge& knowledge);
/// Writes the file of --report, if it is given, and says so unless standard output is JSON.
void write_report_file(Context& context, doctor::Report report, const doctor::Knowledge& knowledge);

} // namespace rekindle::cli
