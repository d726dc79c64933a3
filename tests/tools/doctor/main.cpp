/// A bridge for scripts: what the doctor reads from files, as JSON on stdout. Built with the tests only.
///
///     rekindle_doctor_tool scan FILE…          one JSON object per line and file: targets, bytes, unread
///     rekindle_doctor_tool scan-quickly FILE…  the same without checking headers of compressed code objects
///     rekindle_doctor_tool data PART FOLDER    a folder of rocBLAS, hipBLASLt, MIOpen, aotriton, kpack
///
/// Exit status 1 when a file could not be read; its line then has "error".

#include "python/pythons.h"

#include <rekindle/doctor/code_objects.h>
#include <rekindle/doctor/facts_json.h>
#include <rekindle/foundation/error.h>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace rekindle;
using namespace rekindle::doctor;
using nlohmann::json;

void print(const json& value) {
    std::puts(value.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
}

json describe(const LibraryTargets& library) {
    return {{"path", library.path},
            {"part", library.part},
            {"targets", library.targets},
            {"bytes", library.bytes},
            {"unread", library.unread}};
}

void print_pythons(const char* root, std::vector<std::string> named) {
    HostOptions options;
    options.root = root;
    options.pythons = std::move(named);
    Facts facts;
    const auto start = std::chrono::steady_clock::now();
    facts.pythons = collect_pythons(options);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    std::puts(to_json(facts).dump(2, ' ', false, json::error_handler_t::replace).c_str());
    std::fprintf(stderr, "%.3f seconds\n", elapsed.count());
}

bool scan(const char* path, const ScanOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    const Expected<LibraryTargets> library = read_code_objects(std::filesystem::path(path), options);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    json line = library ? describe(*library) : json{{"path", path}, {"error", library.error().render()}};
    line["seconds"] = elapsed.count();
    print(line);
    return library.has_value();
}

} // namespace

int main(int count, char** arguments) {
    const std::string_view action = count > 2 ? arguments[1] : "";
    bool good = true;
    if (action == "scan" || action == "scan-quickly") {
        for (int i = 2; i < count; ++i)
            good = scan(arguments[i], action == "scan" ? ScanOptions{} : ScanOptions{.verified_bytes = 0}) &&
                   good;
    } else if (action == "pythons") {
        print_pythons(arguments[2], {arguments + 3, arguments + count});
    } else if (action == "data" && count == 4) {
        print(describe(read_library_data(arguments[3], arguments[2])));
    } else {
        std::fputs("usage: rekindle_doctor_tool scan|scan-quickly FILE… | data PART FOLDER | pythons ROOT "
                   "[PYTHON…]\n",
                   stderr);
        return 2;
    }
    return good ? 0 : 1;
}
