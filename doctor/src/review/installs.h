#pragma once
/// Parses `pip install torch …`.

#include "found.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// One install command that names torch.
struct TorchInstall {
    std::size_t at = 0; ///< where the command begins in the text
    std::size_t size = 0;
    std::string torch;     ///< "2.5.1", "2.5", "" when no version is named
    bool or_later = false; ///< ">="
    std::string local;     ///< "rocm6.0" of "2.3.1+rocm6.0"
    std::string device;    ///< "gfx1010" of "torch[device-gfx1010]"
    std::string vision;    ///< version of torchvision, "" when not named
    std::string audio;
    std::string index; ///< URL of --index-url (or -i), or "rocm6.3" of --torch-backend
    std::string extra_index;
    std::string links; ///< URL of -f
    bool conda = false;
};

/// Every install command in the text that names torch. Linear in its length.
std::vector<TorchInstall> torch_installs(std::string_view text);

/// The index id that a URL names: ".../whl/nightly/rocm6.3" → {"rocm6.3", nightly}. No id: not an index of
/// PyTorch or of the knowledge.
struct NamedIndex {
    std::string id;
    bool nightly = false;
};
std::optional<NamedIndex> index_of(std::string_view address, const Knowledge& knowledge);

} // namespace rekindle::doctor
