#pragma once
/// Where a test program finds its files. cmake/RekindleLibrary.cmake includes this header in every test file.

namespace rekindle::test {

/// The folder tests/<library>/data.
extern const char* const data_folder;
/// The built program.
extern const char* const program_path;

} // namespace rekindle::test

#define REKINDLE_TEST_DATA ::rekindle::test::data_folder
#define REKINDLE_PROGRAM ::rekindle::test::program_path
