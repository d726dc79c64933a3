/// The child of the doctor's probe tests: what `rekindle` is for `rekindle doctor`, without the rest of it.
///
///     rekindle_doctor_probe_child misbehave HOW        misbehaves in a certain way (misbehave.cpp)
///     rekindle_doctor_probe_child run LEVEL [PYTHON]   runs the probes (none, safe, all) without facts
///                                                      about the host; prints one result per line, as JSON

#include "misbehave.h"

#include <rekindle/doctor/probe_json.h>

#include <nlohmann/json.hpp>

#include <iostream>
#include <string_view>

namespace {

int run_and_print(std::string_view level, const char* python) {
    using namespace rekindle::doctor;
    ProbeOptions options;
    options.level = level == "all" ? ProbeLevel::all : level == "safe" ? ProbeLevel::safe : ProbeLevel::none;
    options.python = python;
    options.python_deadline = std::chrono::minutes(10); // compilers on a busy machine
    for (const ProbeResult& result : run_probes({}, options))
        std::cout << to_json(result).dump() << std::endl;
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    rekindle::doctor::run_probe_child(argc, argv);
    const std::string_view command = argc > 2 ? argv[1] : "";
    if (command == "misbehave")
        return rekindle::test::misbehave(argv[2], argc > 3 ? argv[3] : "");
    if (command == "run")
        return run_and_print(argv[2], argc > 3 ? argv[3] : "");
    return 2;
}
