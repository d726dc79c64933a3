#include "collectors.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unistd.h>

namespace rekindle::doctor {

namespace {

using Names = std::vector<std::string>;

/// A line of /etc/group: "render:x:109:anna,ben".
struct Group {
    std::string name;
    int id = 0;
    Names members;
};

std::vector<Group> parse_groups(std::string_view text) {
    std::vector<Group> groups;
    for (const std::string_view line : split(text, '\n')) {
        const std::vector<std::string_view> fields = split(line, ':');
        const auto id = fields.size() >= 3 ? parse_number<int>(fields[2]) : std::nullopt;
        if (!id || fields[0].empty())
            continue;
        Group& group = groups.emplace_back(Group{std::string(fields[0]), *id, {}});
        if (fields.size() >= 4)
            for (const std::string_view member : split(trim(fields[3]), ','))
                if (!member.empty())
                    group.members.emplace_back(member);
    }
    return groups;
}

struct Account {
    std::string name;
    int group = 0;
};

std::optional<Account> account_of(std::string_view passwd, int user) {
    for (const std::string_view line : split(passwd, '\n')) {
        const std::vector<std::string_view> fields = split(line, ':');
        if (fields.size() < 4 || parse_number<int>(fields[2]) != user)
            continue;
        return Account{std::string(fields[0]), parse_number<int>(fields[3]).value_or(-1)};
    }
    return std::nullopt;
}

Fact<std::vector<int>> own_groups() {
    const int count = ::getgroups(0, nullptr);
    std::vector<gid_t> ids(static_cast<std::size_t>(std::max(count, 0)));
    if (count < 0 || ::getgroups(count, ids.data()) < 0)
        return Fact<std::vector<int>>::failed(reason_text(errno), "getgroups");
    std::set<int> groups(ids.begin(), ids.end());
    groups.insert(static_cast<int>(::getegid()));
    return {std::vector<int>(groups.begin(), groups.end()), "getgroups"};
}

/// Numbers in a line of /proc/self/status: "Uid:\t1000\t1000\t1000\t1000".
std::optional<std::vector<int>> status_numbers(std::string_view text, std::string_view key) {
    for (std::string_view line : split(text, '\n')) {
        if (!line.starts_with(key))
            continue;
        std::string rest(line.substr(key.size()));
        std::replace(rest.begin(), rest.end(), '\t', ' ');
        std::vector<int> numbers;
        for (const std::string_view word : split(rest, ' '))
            if (const auto number = parse_number<int>(word))
                numbers.push_back(*number);
        return numbers;
    }
    return std::nullopt;
}

void read_process_user(HostFiles& files, System& system) {
    if (files.live()) {
        system.user_id = {static_cast<int>(::geteuid()), "geteuid"};
        system.groups = own_groups();
        return;
    }
    const std::string folder = own_process_folder(files);
    const Fact<std::string> status =
        folder.empty() ? Fact<std::string>::failed("not recorded", "") : files.read(folder + "/status");
    system.user_id = derive<int>(status, [](const std::string& text) -> std::optional<int> {
        const auto ids = status_numbers(text, "Uid:"); // real, effective, saved, file system
        return ids && ids->size() >= 2 ? std::optional((*ids)[1]) : std::nullopt;
    });
    system.groups =
        derive<std::vector<int>>(status, [](const std::string& text) -> std::optional<std::vector<int>> {
            const auto supplementary = status_numbers(text, "Groups:");
            const auto own = status_numbers(text, "Gid:");
            if (!supplementary || !own || own->size() < 2)
                return std::nullopt;
            std::set<int> all(supplementary->begin(), supplementary->end());
            all.insert((*own)[1]);
            return std::vector<int>(all.begin(), all.end());
        });
}

void read_account(HostFiles& files, const std::vector<Group>& groups, const std::string& source,
                  System& system) {
    const Fact<std::string> passwd = files.read("/etc/passwd");
    if (!system.user_id) {
        system.user_name = Fact<std::string>::failed(system.user_id.unread, system.user_id.source);
        system.account_groups = Fact<Names>::failed(system.user_id.unread, system.user_id.source);
        return;
    }
    const auto account = passwd.known() ? account_of(*passwd, *system.user_id) : std::nullopt;
    if (!account) {
        const std::string reason =
            passwd.known() ? fmt::format("there is no user {}", *system.user_id) : passwd.unread;
        system.user_name = Fact<std::string>::failed(reason, passwd.source);
        system.account_groups = Fact<Names>::failed(reason, passwd.source);
        return;
    }
    system.user_name = {account->name, passwd.source};
    Names names;
    for (const Group& group : groups)
        if (group.id == account->group ||
            std::find(group.members.begin(), group.members.end(), account->name) != group.members.end())
            names.push_back(group.name);
    system.account_groups = {std::move(names), source};
}

std::string group_name(const std::vector<Group>& groups, int id) {
    const auto found =
        std::find_if(groups.begin(), groups.end(), [id](const Group& group) { return group.id == id; });
    return found == groups.end() ? "" : found->name;
}

/// Every device node that a GPU program opens, whether it exists or not.
std::set<std::string> node_paths(HostFiles& files, const std::vector<Gpu>& gpus) {
    std::set<std::string> paths;
    bool amd = false;
    for (const Gpu& gpu : gpus) {
        amd = amd || gpu.vendor == "amd";
        for (const Fact<std::string>* node : {&gpu.card_node, &gpu.render_node})
            if (node->known())
                paths.insert(**node);
    }
    for (const std::string& name : files.names("/dev/dri"))
        if (name.starts_with("card") || name.starts_with("renderD"))
            paths.insert("/dev/dri/" + name);
    for (const FolderEntry& entry : files.list("/dev").value_or({}))
        if (entry.kind != 'd' &&
            (entry.name == "kfd" || entry.name == "dxg" || entry.name.starts_with("nvidia")))
            paths.insert("/dev/" + entry.name);
    if (amd || files.exists("/sys/class/kfd"))
        paths.insert("/dev/kfd");
    return paths;
}

DeviceNode read_node(HostFiles& files, const std::string& path, const std::vector<Group>& groups) {
    DeviceNode node;
    node.path = path;
    const Fact<FileStatus> status = files.status(path);
    node.exists = status.known();
    if (!status) {
        node.usable = Fact<bool>::failed(status.unread, path);
        return node;
    }
    const Fact<FileStatus> device =
        status->device ? status : Fact<FileStatus>::failed("the recorded file is not a device", path);
    node.mode = derive<int>(device, [](const FileStatus& of) { return std::optional(of.permissions); });
    node.owner = derive<int>(device, [](const FileStatus& of) { return std::optional(of.owner); });
    node.group = derive<int>(device, [](const FileStatus& of) { return std::optional(of.group); });
    if (node.group)
        if (const std::string name = group_name(groups, *node.group); !name.empty())
            node.group_name = {name, "/etc/group"};
    node.usable = files.live() ? files.usable(path) : Fact<bool>::failed("not recorded", "");
    return node;
}

std::vector<Group> read_groups(HostFiles& files) {
    return parse_groups(files.read("/etc/group").value_or(""));
}

} // namespace

void read_user(HostFiles& files, System& system) {
    const Fact<std::string> text = files.read("/etc/group");
    const std::vector<Group> groups = parse_groups(text.value_or(""));
    read_process_user(files, system);
    read_account(files, groups, text.source, system);
    system.known_groups = derive<std::map<std::string, int>>(text, [&](const std::string&) {
        std::map<std::string, int> known;
        for (const Group& group : groups)
            if (group.name == "render" || group.name == "video")
                known.emplace(group.name, group.id);
        return std::optional(known);
    });
    system.group_names = derive<Names>(system.groups, [&](const std::vector<int>& ids) {
        Names names;
        for (const int id : ids) {
            const std::string name = group_name(groups, id);
            names.push_back(name.empty() ? std::to_string(id) : name);
        }
        return std::optional(names);
    });
}

void read_device_nodes(HostFiles& files, const std::vector<Gpu>& gpus, System& system) {
    const std::vector<Group> groups = read_groups(files);
    for (const std::string& path : node_paths(files, gpus))
        system.device_nodes.push_back(read_node(files, path, groups));
}

} // namespace rekindle::doctor
