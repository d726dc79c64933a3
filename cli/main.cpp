#include <rekindle/cli/cli.h>

int main(int argc, char** argv) {
    return rekindle::cli::run(argc, argv);
}
