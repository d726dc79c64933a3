#pragma once
/// Extracts facts from what people write: "2.0.1+rocm5.4.2 fails; 1.13.1+rocm5.2 was in use before".

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

constexpr std::string_view posted_source = "the posted facts";

/// Whether the text says that the value is unknown: "not stated", "unknown", "n/a", "".
bool is_unstated(std::string_view text);

/// The part of a text that is about what fails, not about what works or was in use before.
std::string_view failing_part(std::string_view text);

/// Each function reads the value of one key into `facts`. What it does not understand it leaves alone; the
/// caller keeps the text as a note.
void read_posted_gpus(std::string_view gpu, std::string_view gfx, const Knowledge& knowledge, Facts& facts);
void read_posted_torch(std::string_view text, PythonEnvironment& python);
void read_posted_python(std::string_view text, PythonEnvironment& python);
void read_posted_rocm(std::string_view text, Facts& facts, PythonEnvironment& python);
void read_posted_os(std::string_view text, System& system);
void read_posted_kernel(std::string_view text, System& system);
void read_posted_container(std::string_view text, System& system);
void read_posted_driver(std::string_view text, Drivers& drivers);
void read_posted_environment(std::string_view text, ProcessEnvironment& environment);
/// Packages, limits, hypervisors and other things mentioned in free-form notes.
void read_posted_notes(std::string_view text, Facts& facts, PythonEnvironment& python);

} // namespace rekindle::doctor
