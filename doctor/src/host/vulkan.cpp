#include "collectors.h"
#include "library_search.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace rekindle::doctor {

namespace {

using Names = std::vector<std::string>;

std::string value_of(const Variables& variables, const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? "" : found->second;
}

void add_folders(std::string_view list, std::string_view below, Names& folders) {
    for (const std::string_view folder : split(list, ':')) {
        std::string path = fmt::format("{}{}", folder, below);
        if (folder.starts_with('/') && std::find(folders.begin(), folders.end(), path) == folders.end())
            folders.push_back(std::move(path));
    }
}

/// Folders of manifests in the loader's order. Source: Vulkan-Loader, LoaderDriverInterface.md, "Driver
/// Discovery on Linux"; confirmed with the loader's own log (VK_LOADER_DEBUG=driver).
Names manifest_folders(const Variables& variables, const char* kind) {
    const std::string below = fmt::format("/vulkan/{}", kind), home = value_of(variables, "HOME");
    const auto either = [&](const char* name, const std::string& otherwise) {
        const std::string value = value_of(variables, name);
        return value.empty() ? otherwise : value;
    };
    Names folders;
    add_folders(either("XDG_CONFIG_HOME", home.empty() ? "" : home + "/.config"), below, folders);
    add_folders(either("XDG_CONFIG_DIRS", "/etc/xdg"), below, folders);
    add_folders("/usr/local/etc:/etc", below, folders);
    add_folders(either("XDG_DATA_HOME", home.empty() ? "" : home + "/.local/share"), below, folders);
    add_folders(either("XDG_DATA_DIRS", "/usr/local/share:/usr/share"), below, folders);
    add_folders("/run/opengl-driver/share", below, folders); // NixOS
    return folders;
}

void add_manifests(HostFiles& files, const std::string& place, Names& manifests) {
    const auto add = [&](const std::string& path) {
        if (path.ends_with(".json") && std::find(manifests.begin(), manifests.end(), path) == manifests.end())
            manifests.push_back(path);
    };
    if (place.ends_with(".json"))
        return add(place);
    for (const std::string& name : files.names(place))
        add(fmt::format("{}/{}", place, name));
}

/// VK_DRIVER_FILES (older name VK_ICD_FILENAMES) replaces the search; VK_ADD_DRIVER_FILES comes before it.
Names driver_manifests(HostFiles& files, const Variables& variables) {
    Names manifests;
    std::string instead = value_of(variables, "VK_DRIVER_FILES");
    if (instead.empty())
        instead = value_of(variables, "VK_ICD_FILENAMES");
    if (!instead.empty()) {
        for (const std::string_view place : split(instead, ':'))
            add_manifests(files, std::string(place), manifests);
        return manifests;
    }
    const std::string before = value_of(variables, "VK_ADD_DRIVER_FILES");
    for (const std::string_view place : split(before, ':'))
        if (!place.empty())
            add_manifests(files, std::string(place), manifests);
    for (const std::string& folder : manifest_folders(variables, "icd.d"))
        add_manifests(files, folder, manifests);
    return manifests;
}

VulkanDriver read_driver(HostFiles& files, LibrarySearch& libraries, const std::string& manifest) {
    VulkanDriver driver;
    driver.manifest = manifest;
    const Fact<std::string> text = files.read(manifest);
    const Fact<VulkanManifest> parsed = derive<VulkanManifest>(text, parse_vulkan_driver);
    driver.api_version = derive<std::string>(
        parsed, [](const VulkanManifest& content) { return std::optional(content.api_version); });
    if (!parsed) {
        driver.library = Fact<std::string>::failed(parsed.unread, manifest);
        return driver;
    }
    std::string name = parsed->library;
    if (name.find('/') != std::string::npos && !name.starts_with('/')) // relative to the manifest
        name = fmt::format("{}/{}", manifest.substr(0, manifest.rfind('/')), name);
    const std::string path = libraries.find(name);
    driver.library_exists = {!path.empty(), manifest};
    if (path.empty()) {
        driver.library = Fact<std::string>::failed(fmt::format("{} was not found", name), manifest);
        return driver;
    }
    driver.library = {path, manifest};
    driver.missing_libraries = libraries.missing(path);
    return driver;
}

bool would_load(const VulkanLayer& layer, const Variables& variables) {
    for (const auto& [name, value] : layer.disable)
        if (variables.contains(name))
            return false;
    return std::all_of(layer.enable.begin(), layer.enable.end(), [&](const auto& entry) {
        return value_of(variables, entry.first.c_str()) == entry.second;
    });
}

void read_layers(HostFiles& files, const Variables& variables, Vulkan& vulkan) {
    Names manifests;
    for (const std::string& folder : manifest_folders(variables, "implicit_layer.d"))
        add_manifests(files, folder, manifests);
    for (const std::string& manifest : manifests)
        for (const VulkanLayer& layer : parse_vulkan_layers(files.read(manifest).value_or("")))
            if (would_load(layer, variables))
                vulkan.layers.push_back(fmt::format("{} ({})", layer.name, manifest));
}

std::string text_of(const nlohmann::json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Variables texts_of(const nlohmann::json& object, const char* key) {
    Variables texts;
    if (const auto found = object.find(key); found != object.end() && found->is_object())
        for (const auto& [name, value] : found->items())
            texts.emplace(name, value.is_string() ? value.get<std::string>() : "");
    return texts;
}

/// Manifests are small and flat; text that nests deeper is not one.
nlohmann::json parse_manifest(std::string_view text) {
    constexpr int deepest = 16;
    const auto shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        return depth < deepest;
    };
    return nlohmann::json::parse(text, shallow, false, true);
}

} // namespace

std::optional<VulkanManifest> parse_vulkan_driver(std::string_view text) {
    const nlohmann::json json = parse_manifest(text);
    if (!json.is_object() || !json.contains("ICD"))
        return std::nullopt;
    VulkanManifest manifest{text_of(json["ICD"], "library_path"), text_of(json["ICD"], "api_version")};
    return manifest.library.empty() ? std::nullopt : std::optional(manifest);
}

std::vector<VulkanLayer> parse_vulkan_layers(std::string_view text) {
    const nlohmann::json json = parse_manifest(text);
    std::vector<VulkanLayer> layers;
    const auto add = [&](const nlohmann::json& layer) {
        if (const std::string name = text_of(layer, "name"); !name.empty())
            layers.push_back(
                {name, texts_of(layer, "enable_environment"), texts_of(layer, "disable_environment")});
    };
    if (!json.is_object())
        return layers;
    if (json.contains("layer"))
        add(json["layer"]);
    if (json.contains("layers") && json["layers"].is_array())
        for (const nlohmann::json& layer : json["layers"])
            add(layer);
    return layers;
}

void read_vulkan(HostFiles& files, LibrarySearch& libraries, const Variables& variables, Vulkan& vulkan) {
    const std::string loader = libraries.find("libvulkan.so.1");
    vulkan.loader = loader.empty()
                        ? Fact<std::string>::failed("no libvulkan.so.1 in the linker's folders", "")
                        : Fact<std::string>(loader, loader);
    for (const std::string& manifest : driver_manifests(files, variables))
        vulkan.drivers.push_back(read_driver(files, libraries, manifest));
    read_layers(files, variables, vulkan);
}

} // namespace rekindle::doctor
