#pragma once
/// The program `rekindle`: arguments in, exit status out.

namespace rekindle::cli {

/// Runs one command and returns the exit status. Never throws; every Error is rendered on standard error.
int run(int argc, char** argv);

} // namespace rekindle::cli
