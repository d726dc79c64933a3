#pragma once

#include <string>
#include <string_view>

namespace rekindle::test {

/// Ends, or does not end, in the way that the name says; see misbehave.cpp. Returns the exit status; 2 for
/// an unknown name.
int misbehave(std::string_view how, const std::string& argument);

} // namespace rekindle::test
