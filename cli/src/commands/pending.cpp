#include "commands.h"

#include <fmt/format.h>

namespace rekindle::cli {

namespace {
ExitStatus not_yet(const Context& context) {
    throw Error(fmt::format("rekindle {} is not part of this version yet", context.line.command->name));
}
} // namespace

ExitStatus run_train(Context& context) {
    return not_yet(context);
}
ExitStatus run_predict(Context& context) {
    return not_yet(context);
}
ExitStatus run_inspect(Context& context) {
    return not_yet(context);
}
ExitStatus run_volume_profile(Context& context) {
    return not_yet(context);
}
ExitStatus run_features(Context& context) {
    return not_yet(context);
}

} // namespace rekindle::cli
