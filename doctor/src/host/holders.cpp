#include "collectors.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unistd.h>

namespace rekindle::doctor {

namespace {

/// Inode of the initial PID namespace, whose pids KFD uses. Source: Linux, include/linux/proc_ns.h.
constexpr std::string_view first_pid_namespace = "pid:[4026531836]";

/// The holders found so far: GPU address → holders by pid.
using Holders = std::map<std::string, std::map<std::int64_t, MemoryHolder>>;

MemoryHolder& holder_of(Holders& holders, const std::string& address, std::int64_t pid) {
    MemoryHolder& holder = holders[address][pid];
    holder.pid = pid;
    return holder;
}

void read_kfd_processes(HostFiles& files, const KfdIds& ids, Holders& holders) {
    const std::string folder = "/sys/class/kfd/kfd/proc";
    for (const std::string& name : files.names(folder)) {
        const auto pid = parse_number<std::int64_t>(name);
        if (!pid)
            continue;
        for (const auto& [address, id] : ids) {
            const Fact<std::uint64_t> vram =
                files.number<std::uint64_t>(fmt::format("{}/{}/vram_{}", folder, name, id));
            if (vram.value_or(0) == 0)
                continue;
            MemoryHolder& holder = holder_of(holders, address, *pid);
            holder.vram = *vram;
            holder.source = vram.source;
        }
    }
}

/// File descriptors of a process that may belong to a GPU; nullopt when this process may not see them.
std::optional<std::vector<std::string>> graphics_descriptors(HostFiles& files, const std::string& process) {
    std::vector<std::string> numbers;
    if (!files.live()) { // a recording has fdinfo as files and rarely the links
        const auto entries = files.list(process + "/fdinfo");
        for (const FolderEntry& entry : entries.value_or({}))
            numbers.push_back(entry.name);
        return entries.known() ? std::optional(numbers) : std::nullopt;
    }
    const auto links = files.list(process + "/fd");
    if (!links)
        return std::nullopt;
    for (const FolderEntry& entry : *links)
        if (entry.target.starts_with("/dev/dri/"))
            numbers.push_back(entry.name);
    return numbers;
}

/// `clients` has the DRM clients that were already counted, because a forked child shares its parent's.
void read_process(HostFiles& files, std::int64_t pid, const std::vector<std::string>& descriptors,
                  Holders& holders, std::set<std::pair<std::string, std::uint64_t>>& clients,
                  EngineUses* uses) {
    std::map<std::string, DrmClient> sums;
    for (const std::string& number : descriptors) {
        const Fact<std::string> text = files.read(fmt::format("/proc/{}/fdinfo/{}", pid, number));
        const DrmClient client = text.known() ? parse_fdinfo(*text) : DrmClient{};
        if (client.address.empty() || !clients.emplace(client.address, client.id).second)
            continue;
        for (const auto& [engine, use] : client.engines)
            if (uses != nullptr)
                (*uses)[client.address][{client.id, engine}] = use;
        DrmClient& sum = sums[client.address];
        sum.vram += client.vram;
        sum.gtt += client.gtt;
        sum.address = text.source;
    }
    for (const auto& [address, sum] : sums) {
        if (sum.vram == 0 && sum.gtt == 0)
            continue;
        MemoryHolder& holder = holder_of(holders, address, pid);
        holder.gtt = sum.gtt;
        if (sum.vram > holder.vram ||
            holder.source.empty()) { // KFD's number may include this one, or be included in it
            holder.vram = std::max(holder.vram, sum.vram);
            holder.source = sum.address;
        }
    }
}

int read_processes(HostFiles& files, Holders& holders, EngineUses* uses) {
    int hidden = 0;
    std::set<std::pair<std::string, std::uint64_t>> clients;
    for (const std::string& name : files.names("/proc")) {
        const auto pid = parse_number<std::int64_t>(name);
        if (!pid)
            continue;
        if (const auto descriptors = graphics_descriptors(files, "/proc/" + name))
            read_process(files, *pid, *descriptors, holders, clients, uses);
        else
            ++hidden;
    }
    return hidden;
}

/// Parses "drm-engine-render: 9288864723 ns", "drm-cycles-rcs: 28257900" or "drm-total-cycles-rcs:
/// 7655183225".
void read_engine(std::string_view key, std::string_view value, std::map<std::string, EngineUse>& engines) {
    const std::uint64_t number = parse_number<std::uint64_t>(value.substr(0, value.find(' '))).value_or(0);
    const auto engine_after = [&](std::string_view prefix) {
        return key.starts_with(prefix) ? std::string(key.substr(prefix.size())) : std::string();
    };
    if (const std::string total = engine_after("drm-total-cycles-"); !total.empty())
        engines[total].total = number;
    else if (const std::string cycles = engine_after("drm-cycles-"); !cycles.empty())
        engines[cycles].busy = number;
    else if (const std::string engine = engine_after("drm-engine-");
             !engine.empty() && !engine.starts_with("capacity-"))
        engines[engine].busy = number;
}

} // namespace

DrmClient parse_fdinfo(std::string_view text) {
    DrmClient client;
    std::uint64_t resident = 0;
    const auto bytes = [](std::string_view value) -> std::uint64_t { // "1024 KiB"
        const std::vector<std::string_view> words = split(value, ' ');
        const std::uint64_t number = parse_number<std::uint64_t>(words.front()).value_or(0);
        const std::uint64_t unit = words.size() < 2    ? 1
                                   : words[1] == "KiB" ? 1 << 10
                                   : words[1] == "MiB" ? 1 << 20
                                                       : 1;
        return number > std::numeric_limits<std::uint64_t>::max() / unit ? 0 : number * unit;
    };
    for (const std::string_view line : split(text, '\n')) {
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos)
            continue;
        const std::string_view key = line.substr(0, colon), value = trim(line.substr(colon + 1));
        if (key == "drm-pdev")
            client.address = value;
        else if (key == "drm-client-id")
            client.id = parse_number<std::uint64_t>(value).value_or(0);
        else if (key == "drm-memory-vram")
            client.vram = bytes(value);
        else if (key == "drm-resident-vram" || key == "drm-resident-vram0" || key == "drm-resident-local0")
            resident = bytes(value);
        else if (key == "drm-memory-gtt")
            client.gtt = bytes(value);
        else
            read_engine(key, value, client.engines);
    }
    client.vram = std::max(client.vram, resident); // newer kernels print both names
    return client;
}

void read_holders(HostFiles& files, const KfdIds& ids, Facts& facts, EngineUses* uses) {
    if (facts.gpus.empty())
        return;
    Holders holders;
    read_kfd_processes(files, ids, holders);
    if (files.exists("/proc"))
        facts.system.hidden_processes = {read_processes(files, holders, uses), "/proc/*/fd"};
    const bool same_numbers =
        !files.live() || files.link("/proc/self/ns/pid").is(std::string(first_pid_namespace));
    for (Gpu& gpu : facts.gpus) {
        for (auto& [pid, holder] : holders[gpu.address]) {
            const std::string process = fmt::format("/proc/{}", pid);
            if (same_numbers || holder.source.starts_with("/proc")) {
                holder.command = files.line(process + "/comm").value_or("");
                const Fact<FileStatus> owner = files.live() ? files.status(process) : Fact<FileStatus>{};
                holder.own = owner.known() && facts.system.user_id.is(owner->owner);
            }
            gpu.holders.push_back(std::move(holder));
        }
        std::stable_sort(gpu.holders.begin(), gpu.holders.end(),
                         [](const MemoryHolder& a, const MemoryHolder& b) { return a.vram > b.vram; });
    }
}

} // namespace rekindle::doctor
