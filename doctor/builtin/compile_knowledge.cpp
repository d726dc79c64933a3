/// Packs the knowledge, with the texts that its patterns need, for the build of Rekindle:
///
///     rekindle_knowledge_compiler KNOWLEDGE_FOLDER OUTPUT

#include "knowledge/packed.h"
#include "log/log_diagnoser.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <cstdio>

int main(int count, char** arguments) {
    using namespace rekindle;
    if (count != 3) {
        std::fputs("usage: rekindle_knowledge_compiler KNOWLEDGE_FOLDER OUTPUT\n", stderr);
        return 2;
    }
    try {
        doctor::Knowledge knowledge = doctor::load_knowledge(arguments[1]);
        knowledge.needed_texts = doctor::LogDiagnoser(knowledge).needed_texts();
        write_file_atomically(arguments[2], doctor::pack(knowledge));
    } catch (const Error& error) {
        std::fputs((error.render() + "\n").c_str(), stderr);
        return 1;
    }
    return 0;
}
