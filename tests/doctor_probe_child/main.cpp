/// The child of the doctor's probe tests: what `rekindle` is for `rekindle doctor`, without the rest of it.
/// With "misbehave HOW" it is a child of a certain kind instead.

#include "misbehave.h"

#include <rekindle/doctor/probe.h>

#include <string_view>

int main(int argc, char** argv) {
    rekindle::doctor::run_probe_child(argc, argv);
    if (argc > 2 && std::string_view(argv[1]) == "misbehave")
        return rekindle::test::misbehave(argv[2], argc > 3 ? argv[3] : "");
    return 2;
}
