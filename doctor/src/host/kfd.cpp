#include "collectors.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/code_objects.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rekindle::doctor {

namespace {

using Properties = std::map<std::string, std::uint64_t>;

const std::string topology = "/sys/class/kfd/kfd/topology/nodes";

/// Bits of the flags of io_links and p2p_links. Source: Linux 6.12, kfd_crat.h.
constexpr std::uint64_t link_no_atomics_32 = 1U << 2, link_no_atomics_64 = 1U << 3,
                        link_no_peer_to_peer = 1U << 4;
/// Kinds of memory banks. Source: Linux 6.12, kfd_crat.c; libhsakmt, hsakmttypes.h.
constexpr std::uint64_t heap_public = 1, heap_private = 2;

struct Node {
    int number = 0;
    std::string folder;
    std::uint64_t gpu_id = 0;
    Properties properties;
    std::string unread;

    std::uint64_t get(const char* key) const {
        const auto found = properties.find(key);
        return found == properties.end() ? 0 : found->second;
    }
    bool is_gpu() const { return gpu_id != 0; }
    std::string address() const {
        const std::uint64_t location = get("location_id");
        return fmt::format("{:04x}:{:02x}:{:02x}.{}", get("domain"), location >> 8 & 0xff,
                           location >> 3 & 0x1f, location & 7);
    }
};

Node read_node(HostFiles& files, int number) {
    Node node;
    node.number = number;
    node.folder = fmt::format("{}/{}", topology, number);
    const Fact<std::uint64_t> id = files.number<std::uint64_t>(node.folder + "/gpu_id");
    const Fact<std::string> text = files.read(node.folder + "/properties");
    node.gpu_id = id.value_or(0);
    if (text.known())
        node.properties = parse_kfd_properties(*text);
    if (!id || !text)
        node.unread = id ? text.unread : id.unread;
    else if (node.properties.empty()) // the device cgroup denies access to its render node
        node.unread = "empty";
    return node;
}

std::vector<Node> read_nodes(HostFiles& files) {
    std::vector<Node> nodes;
    for (const std::string& name : files.names(topology))
        if (const auto number = parse_number<int>(name))
            nodes.push_back(read_node(files, *number));
    return nodes;
}

std::vector<Properties> read_parts(HostFiles& files, const std::string& folder) {
    std::vector<Properties> parts;
    for (const std::string& name : files.names(folder))
        if (const auto text = files.read(fmt::format("{}/{}/properties", folder, name)); text.known())
            parts.push_back(parse_kfd_properties(*text));
    return parts;
}

std::uint64_t value_in(const Properties& properties, const char* key) {
    const auto found = properties.find(key);
    return found == properties.end() ? 0 : found->second;
}

void read_banks(HostFiles& files, const Node& node, Gpu& gpu) {
    const std::string folder = node.folder + "/mem_banks";
    std::uint64_t vram = 0, visible = 0;
    for (const Properties& bank : read_parts(files, folder)) {
        const std::uint64_t heap = value_in(bank, "heap_type");
        if (heap == heap_public || heap == heap_private)
            vram += value_in(bank, "size_in_bytes");
        if (heap == heap_public)
            visible += value_in(bank, "size_in_bytes");
    }
    if (vram == 0)
        return;
    if (!gpu.vram_total)
        gpu.vram_total = {vram, folder};
    if (!gpu.visible_vram_total && visible != 0)
        gpu.visible_vram_total = {visible, folder};
}

void read_links(HostFiles& files, const Node& node, const std::vector<Node>& nodes, Gpu& gpu) {
    const auto leads_to_gpu = [&](const Properties& link) {
        const auto target = std::find_if(nodes.begin(), nodes.end(), [&](const Node& other) {
            return static_cast<std::uint64_t>(other.number) == value_in(link, "node_to");
        });
        return target != nodes.end() && target->is_gpu();
    };
    std::vector<Properties> links = read_parts(files, node.folder + "/io_links");
    for (const Properties& link : links)
        if (!leads_to_gpu(link) && !gpu.atomics)
            gpu.atomics = {(value_in(link, "flags") & (link_no_atomics_32 | link_no_atomics_64)) == 0,
                           node.folder + "/io_links"};
    if (std::count_if(nodes.begin(), nodes.end(), [](const Node& other) { return other.is_gpu(); }) < 2)
        return;
    for (Properties& link : read_parts(files, node.folder + "/p2p_links"))
        links.push_back(std::move(link));
    const bool peers = std::any_of(links.begin(), links.end(), [&](const Properties& link) {
        return leads_to_gpu(link) && (value_in(link, "flags") & link_no_peer_to_peer) == 0;
    });
    gpu.peer_to_peer = {peers, node.folder + "/p2p_links"};
}

void read_gpu_node(HostFiles& files, const Node& node, const std::vector<Node>& nodes, Gpu& gpu) {
    const std::string source = node.folder + "/properties";
    gpu.kfd_node = {node.number, source};
    const std::uint64_t version = node.get("gfx_target_version");
    if (const std::string gfx = gfx_of_kfd_version(static_cast<int>(version)); !gfx.empty())
        gpu.gfx = {gfx, source};
    else if (!gpu.gfx)
        gpu.gfx = Fact<std::string>::failed(fmt::format("gfx_target_version {} is unknown", version), source);
    if (node.get("simd_per_cu") != 0)
        gpu.compute_units = {static_cast<int>(node.get("simd_count") / node.get("simd_per_cu")), source};
    if (node.get("wave_front_size") != 0)
        gpu.wavefront_size = {static_cast<int>(node.get("wave_front_size")), source};
    if (node.properties.contains("fw_version"))
        gpu.mec_firmware = {static_cast<int>(node.get("fw_version")), source};
    if (node.get("cpu_cores_count") != 0)
        gpu.integrated = {true, source};
    if (!gpu.uuid && node.get("unique_id") != 0)
        gpu.uuid = {fmt::format("GPU-{:016x}", node.get("unique_id")), source};
    read_banks(files, node, gpu);
    read_links(files, node, nodes, gpu);
}

Gpu& gpu_of(const Node& node, std::vector<Gpu>& gpus) {
    const std::string address = node.address();
    const std::string render = fmt::format("/dev/dri/renderD{}", node.get("drm_render_minor"));
    for (Gpu& gpu : gpus)
        if (gpu.address == address)
            return gpu;
    for (Gpu& gpu : gpus)
        if (gpu.vendor == "amd" && gpu.render_node.is(render))
            return gpu;
    Gpu& gpu = gpus.emplace_back(); // only KFD shows it
    gpu.address = address;
    gpu.vendor = "amd";
    gpu.pci_id = {fmt::format("{:04x}:{:04x}", node.get("vendor_id"), node.get("device_id")),
                  node.folder + "/properties"};
    gpu.render_node = {render, node.folder + "/properties"};
    return gpu;
}

/// CPUs whose integrated GPU has this gfx target, which no discrete GPU has. Source: B.1 of the targets in
/// Linux' amdkfd.
bool only_integrated(const std::string& gfx) {
    constexpr std::array targets{"gfx902",  "gfx909",  "gfx90c",  "gfx1013", "gfx1033", "gfx1035",
                                 "gfx1036", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"};
    return std::find(targets.begin(), targets.end(), gfx) != targets.end();
}

void finish_integrated(Gpu& gpu) {
    if (gpu.vendor != "amd" || gpu.integrated)
        return;
    if (gpu.gfx && only_integrated(*gpu.gfx))
        gpu.integrated = {true, fmt::format("{} exists only as an integrated GPU", *gpu.gfx)};
    else if (gpu.gfx)
        gpu.integrated = {false, fmt::format("nothing at {} suggests an integrated GPU", gpu.address)};
}

std::string why_not_listed(const std::vector<Node>& nodes) {
    for (const Node& node : nodes)
        if (!node.unread.empty())
            return fmt::format("not among the readable nodes; node {}: {}", node.number, node.unread);
    return "KFD lists no node for it";
}

} // namespace

std::map<std::string, std::uint64_t> parse_kfd_properties(std::string_view text) {
    Properties properties;
    for (const std::string_view line : split(text, '\n')) {
        const std::size_t space = line.find(' ');
        if (space == std::string_view::npos || space == 0)
            continue;
        if (const auto value = parse_number<std::uint64_t>(trim(line.substr(space))))
            properties.emplace(line.substr(0, space), *value);
    }
    return properties;
}

KfdIds read_kfd(HostFiles& files, Facts& facts) {
    KfdIds ids;
    const Fact<FileStatus> status = files.status("/sys/class/kfd");
    const bool sysfs = status.known() || files.exists("/sys/class");
    facts.kfd =
        sysfs ? Fact<bool>(status.known(), status.source) : Fact<bool>::failed(status.unread, status.source);

    const Fact<std::vector<FolderEntry>> folder = files.list(topology);
    const std::vector<Node> nodes = read_nodes(files);
    for (const Node& node : nodes) {
        if (!node.is_gpu() || !node.unread.empty())
            continue;
        Gpu& gpu = gpu_of(node, facts.gpus);
        if (gpu.kfd_node.known())
            continue; // a partition of the same chip
        read_gpu_node(files, node, nodes, gpu);
        ids.emplace(gpu.address, node.gpu_id);
    }
    for (Gpu& gpu : facts.gpus) {
        if (gpu.vendor == "amd" && !gpu.kfd_node)
            gpu.kfd_node =
                Fact<int>::failed(folder.known() ? why_not_listed(nodes) : folder.unread, topology);
        finish_integrated(gpu);
    }
    return ids;
}

} // namespace rekindle::doctor
