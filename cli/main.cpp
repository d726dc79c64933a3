#include <rekindle/cli/cli.h>
#include <rekindle/doctor/probe.h>

int main(int argc, char** argv) {
    rekindle::doctor::run_probe_child(argc, argv);
    return rekindle::cli::run(argc, argv);
}
