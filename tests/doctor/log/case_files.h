#pragma once
/// The posted logs of tests/doctor/cases (given) and tests/doctor/more_cases, each with its confirmed cause.

#include <rekindle/doctor/diagnosis.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

struct CaseFile {
    std::string name;   ///< "01-gfx1010-wheel-without-kernels"; variants end in "/2", "/3", …
    std::string thread; ///< where it was posted
    std::string log;
    std::string cause;
    bool given = false; ///< one of the 24 cases that must all be right
    Facts facts;        ///< from `environment:` alone
};

/// Every case and every variant of it, by name. Throws when a file does not have the form of a case.
std::vector<CaseFile> read_case_files(const Knowledge& knowledge);

/// The log with paths, versions, process numbers and addresses replaced by others.
std::string disguised(std::string_view log);

} // namespace rekindle::doctor
