#include "packed.h"

#include <rekindle/foundation/error.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rekindle::doctor {
namespace {

/// Writes numbers in groups of seven bits, the lowest first, and texts as their length and their bytes.
class PackWriter {
  public:
    void number(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7U)
            out_ += static_cast<char>(value | 0x80U);
        out_ += static_cast<char>(value);
    }
    void text(const std::string& value) {
        number(value.size());
        out_ += value;
    }
    /// Writes a name that occurs often: its bytes the first time, afterwards only its number.
    void name(const std::string& value) {
        const auto [place, added] = names_.try_emplace(value, names_.size());
        number(place->second);
        if (added)
            text(value);
    }
    std::string take() { return std::move(out_); }

  private:
    std::string out_;
    std::unordered_map<std::string, std::size_t> names_;
};

class PackReader {
  public:
    explicit PackReader(std::string_view bytes) : rest_(bytes) {}

    std::uint64_t number() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(take(1).front());
            value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
            if (byte < 0x80)
                return value;
        }
        damaged();
    }
    /// Reads how many values follow. Each takes at least a byte, so a larger count means that the data is
    /// damaged.
    std::size_t count() {
        const std::uint64_t value = number();
        if (value > rest_.size())
            damaged();
        return static_cast<std::size_t>(value);
    }
    std::string text() { return std::string(take(count())); }
    std::string name() {
        const std::uint64_t index = number();
        if (index > names_.size())
            damaged();
        if (index == names_.size())
            names_.push_back(text());
        return names_[static_cast<std::size_t>(index)];
    }
    bool at_end() const noexcept { return rest_.empty(); }
    [[noreturn]] static void damaged() { throw internal_error("the built-in knowledge is damaged"); }

  private:
    std::string_view take(std::size_t count) {
        if (count > rest_.size())
            damaged();
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }

    std::string_view rest_;
    std::vector<std::string> names_;
};

/// Stands for a member of any type.
struct AnyMember {
    template <class T>
    operator T() const; // NOLINT(google-explicit-constructor)
};

/// The number of members of a structure; the bases count as one.
template <class T, class... Counted>
consteval std::size_t member_count() {
    if constexpr (requires { T{Counted{}..., AnyMember{}}; })
        return member_count<T, Counted..., AnyMember>();
    else
        return sizeof...(Counted);
}

/// Calls `pass` with the members of a T. Does not compile if a member is left out.
template <class T, class Pass, class... Members>
void pass_all(Pass& pass, Members&... members) {
    constexpr std::size_t bases = std::is_base_of_v<Entry, T> ? 1 : 0;
    static_assert(sizeof...(Members) + bases == member_count<T>(), "a member of the knowledge is missing");
    pass(members...);
}

/// Visits every member of a structure of the knowledge. Packing and unpacking share it, so they agree.
template <class Pass, class Structure>
void pass_members(Pass& pass, Structure& it) {
    using T = std::remove_const_t<Structure>;
    if constexpr (std::is_base_of_v<Entry, T>)
        pass(it.origin, it.evidence, it.checked);
    if constexpr (std::is_same_v<T, Origin>) {
        static_assert(member_count<T>() == 2);
        pass.name(it.file);
        pass(it.line);
    } else if constexpr (std::is_same_v<T, Backing>) {
        pass_all<T>(pass, it.kind, it.reference, it.note);
    } else if constexpr (std::is_same_v<T, Condition>) {
        pass_all<T>(pass, it.key, it.values, it.parts, it.origin);
    } else if constexpr (std::is_same_v<T, GfxTarget>) {
        pass_all<T>(pass, it.name, it.architecture, it.kfd_version, it.gc_versions, it.generic, it.integrated,
                    it.last_rocm, it.note, it.overrides);
    } else if constexpr (std::is_same_v<T, GfxTarget::Override>) {
        pass_all<T>(pass, it.value, it.verdict, it.reason);
    } else if constexpr (std::is_same_v<T, GpuModel>) {
        pass_all<T>(pass, it.name, it.vendor, it.pci, it.target, it.memory_gib, it.integrated);
    } else if constexpr (std::is_same_v<T, WheelIndex>) {
        pass_all<T>(pass, it.id, it.kind, it.url, it.rocm, it.cuda, it.minimum_driver, it.needs_kernel,
                    it.releases, it.targets, it.systems, it.files_only, it.device_packages, it.linux_only,
                    it.untested_linux, it.untested_windows, it.note);
    } else if constexpr (std::is_same_v<T, WheelIndex::Release>) {
        pass_all<T>(pass, it.torch, it.python, it.targets, it.checked);
    } else if constexpr (std::is_same_v<T, TorchRelease>) {
        pass_all<T>(pass, it.torch, it.released, it.torchvision, it.torchaudio, it.numpy, it.note);
    } else if constexpr (std::is_same_v<T, Distribution>) {
        pass_all<T>(pass, it.name, it.os_id, it.release, it.kernel, it.mesa, it.vulkan, it.rocm, it.nvidia,
                    it.python, it.glibc, it.note);
    } else if constexpr (std::is_same_v<T, Cause>) {
        pass_all<T>(pass, it.slug, it.code, it.title, it.sentence, it.detail, it.severity, it.remedies,
                    it.unless, it.vendors, it.distinguishing_checks, it.wrong_advice);
    } else if constexpr (std::is_same_v<T, EnvironmentVariable>) {
        pass_all<T>(pass, it.name, it.component, it.status, it.meaning, it.effect_when, it.effective_on,
                    it.advice, it.worth_reporting, it.misuses);
    } else if constexpr (std::is_same_v<T, EnvironmentVariable::Misuse>) {
        pass_all<T>(pass, it.value, it.claimed, it.unless, it.verdict, it.correction);
    } else if constexpr (std::is_same_v<T, VariableFamily>) {
        pass_all<T>(pass, it.prefix, it.component, it.what, it.shared, it.names);
    } else if constexpr (std::is_same_v<T, Applicability>) {
        pass_all<T>(pass, it.systems, it.vendors, it.distributions, it.containers, it.environments, it.rocm,
                    it.place, it.vulkan, it.requires_known);
    } else if constexpr (std::is_same_v<T, Remedy>) {
        pass_all<T>(pass, it.id, it.applies, it.otherwise, it.title, it.changes, it.commands, it.verify,
                    it.expect, it.undo, it.minutes, it.risk, it.root, it.reboot, it.reversible, it.automatic,
                    it.cost);
    } else if constexpr (std::is_same_v<T, Alternative>) {
        pass_all<T>(pass, it.id, it.title, it.kind, it.detail, it.price_per_hour, it.price_once, it.priced,
                    it.targets);
    } else if constexpr (std::is_same_v<T, ContainerImage>) {
        pass_all<T>(pass, it.tag, it.rocm, it.torch, it.python, it.os);
    } else if constexpr (std::is_same_v<T, Claim>) {
        pass_all<T>(pass, it.id, it.kind, it.patterns, it.about, it.under, it.where, it.says, it.verdict,
                    it.correction);
    } else if constexpr (std::is_same_v<T, Signature>) {
        pass_all<T>(pass, it.id, it.title, it.patterns, it.means, it.harmless, it.lasting, it.last_error,
                    it.unless, it.candidates, it.ask);
    } else if constexpr (std::is_same_v<T, Signature::Candidate>) {
        pass_all<T>(pass, it.cause, it.strength, it.when, it.because, it.origin);
    } else {
        static_assert(std::is_same_v<T, Knowledge>, "a structure of the knowledge is missing");
        pass_all<T>(pass, it.gfx_targets, it.gpus, it.indexes, it.torch_releases, it.causes, it.signatures,
                    it.variables, it.variable_families, it.remedies, it.alternatives, it.images,
                    it.distributions, it.claims, it.needed_texts);
    }
}

class Packing {
  public:
    template <class... T>
    void operator()(const T&... values) {
        (value(values), ...);
    }
    void name(const std::string& text) { writer_.name(text); }
    std::string take() { return writer_.take(); }

  private:
    void value(const std::string& text) { writer_.text(text); }
    void value(double number) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &number, sizeof(bits));
        writer_.number(bits);
    }
    template <class T>
    void value(const std::vector<T>& items) {
        writer_.number(items.size());
        for (const T& item : items)
            value(item);
    }
    template <class T>
    void value(const std::map<std::string, T, std::less<>>& items) {
        writer_.number(items.size());
        for (const auto& [key, item] : items) {
            value(key);
            value(item);
        }
    }
    template <class T>
    void value(const T& it) {
        if constexpr (std::is_enum_v<T> || std::is_integral_v<T>)
            writer_.number(static_cast<std::uint64_t>(it));
        else
            pass_members(*this, it);
    }

    PackWriter writer_;
};

class Unpacking {
  public:
    explicit Unpacking(std::string_view bytes) : reader_(bytes) {}

    template <class... T>
    void operator()(T&... values) {
        (value(values), ...);
    }
    void name(std::string& text) { text = reader_.name(); }
    bool at_end() const noexcept { return reader_.at_end(); }

  private:
    void value(std::string& text) { text = reader_.text(); }
    void value(double& number) {
        const std::uint64_t bits = reader_.number();
        std::memcpy(&number, &bits, sizeof(number));
    }
    /// A damaged count can claim a million items, so memory is allocated only as items are read.
    template <class T>
    void value(std::vector<T>& items) {
        const std::size_t count = reader_.count();
        items.reserve(std::min(count, most_reserved));
        for (std::size_t i = 0; i < count; ++i)
            value(items.emplace_back());
    }
    template <class T>
    void value(std::map<std::string, T, std::less<>>& items) {
        for (std::size_t left = reader_.count(); left > 0; --left) {
            std::string key = reader_.text();
            value(items.emplace_hint(items.end(), std::move(key), T{})->second);
        }
    }
    template <class T>
    void value(T& it) {
        if constexpr (std::is_enum_v<T> || std::is_integral_v<T>)
            it = static_cast<T>(reader_.number());
        else if constexpr (std::is_same_v<T, Condition>) {
            if (++depth_ > deepest_condition)
                PackReader::damaged();
            pass_members(*this, it);
            --depth_;
        } else
            pass_members(*this, it);
    }

    static constexpr std::size_t most_reserved = 4096;
    static constexpr std::size_t deepest_condition =
        64; ///< conditions nest, and each level takes stack space
    PackReader reader_;
    std::size_t depth_ = 0;
};

} // namespace

std::string pack(const Knowledge& knowledge) {
    Packing packing;
    pass_members(packing, knowledge);
    return packing.take();
}

Knowledge unpack(std::string_view bytes) {
    Knowledge knowledge;
    Unpacking unpacking(bytes);
    pass_members(unpacking, knowledge);
    if (!unpacking.at_end())
        PackReader::damaged();
    return knowledge;
}

} // namespace rekindle::doctor
