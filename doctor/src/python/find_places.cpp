#include "python/find_places.h"

#include <rekindle/base/text.h>

#include <algorithm>
#include <optional>
#include <set>

namespace rekindle::doctor {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t max_places = 40;
constexpr std::size_t max_folders_searched = 300;
constexpr int max_links_to_places = 20;

bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Newest first: "python3.12" before "python3.9".
std::vector<std::string> library_versions(const HostTree& tree, const fs::path& prefix) {
    std::vector<std::string> versions;
    for (const char* folder : {"lib", "lib64"})
        for (const std::string& name : tree.list(prefix / folder))
            if (const std::string version = short_python_version(name);
                !version.empty() && name == "python" + version &&
                std::ranges::find(versions, version) == versions.end())
                versions.push_back(version);
    std::ranges::sort(versions, std::greater{},
                      [](const std::string& version) { return std::pair(version.size(), version); });
    return versions;
}

class PlaceFinder {
  public:
    PlaceFinder(const HostTree& tree, const PythonSearch& search) : tree_(tree), search_(search) {}

    std::vector<PythonPlace> run() {
        for (const std::string& name : search_.named)
            add_named(name);
        if (search_.others)
            add_others();
        return std::move(places_);
    }

  private:
    // --- one place ---

    /// The interpreter's version, else the newest library folder's, else what pyvenv.cfg says.
    void tell_version(PythonPlace& place, const std::string& cfg) const {
        const auto real = tree_.resolve(place.interpreter);
        const std::vector<std::string> libraries = library_versions(tree_, place.prefix);
        const std::string by_name = real ? short_python_version(real->filename().string()) : "";
        const std::string by_cfg = short_python_version(pyvenv_value(cfg, "version_info").empty()
                                                            ? pyvenv_value(cfg, "version")
                                                            : pyvenv_value(cfg, "version_info"));
        if (real && !by_name.empty() && real->filename() == "python" + by_name) {
            place.version = by_name;
            place.version_source = real->string();
        } else if (!by_cfg.empty()) {
            place.version = by_cfg;
            place.version_source = (place.prefix / "pyvenv.cfg").string();
        } else if (!libraries.empty()) {
            place.version = libraries.front();
            place.version_source = (place.prefix / "lib" / ("python" + libraries.front())).string();
        }
    }

    void add_site_folder(PythonPlace& place, const fs::path& folder) const {
        const auto resolved = tree_.resolve(folder);
        if (!resolved || !tree_.is_folder(*resolved))
            return;
        const auto same = [&](const fs::path& other) { return tree_.resolve(other) == resolved; };
        if (std::ranges::none_of(place.site_folders, same))
            place.site_folders.push_back(folder);
    }

    void add_folders_of_prefix(PythonPlace& place, const fs::path& prefix) const {
        const std::string library = "python" + place.version;
        const bool of_system = prefix == "/usr" || prefix == "/";
        if (of_system)
            for (const char* kind : {"dist-packages", "site-packages"})
                for (const char* lib : {"lib", "lib64"})
                    add_site_folder(place, fs::path("/usr/local") / lib / library / kind);
        for (const char* lib : {"lib", "lib64"})
            add_site_folder(place, prefix / lib / library / "site-packages");
        if (of_system) {
            add_site_folder(place, "/usr/lib/python3/dist-packages");
            add_site_folder(place, fs::path("/usr/lib") / library / "dist-packages");
        }
    }

    void add_user_folders(PythonPlace& place) const {
        if (!search_.variable("PYTHONNOUSERSITE").empty())
            return;
        for (const fs::path& home : search_.homes)
            add_site_folder(place, home / ".local/lib" / ("python" + place.version) / "site-packages");
    }

    /// Folders that the .pth files of the others name.
    void add_pth_folders(PythonPlace& place) const {
        const std::vector<fs::path> folders = place.site_folders;
        for (const fs::path& folder : folders)
            for (const std::string& name : tree_.list(folder)) {
                if (!name.ends_with(".pth"))
                    continue;
                const std::string text = tree_.read(folder / name, 16 << 10).value_or("");
                for (const std::string_view line : split(text, '\n'))
                    if (trim(line).starts_with("/") && place.site_folders.size() < 20)
                        add_site_folder(place, fs::path(trim(line)));
            }
    }

    /// The environment whose prefix is this folder.
    std::optional<PythonPlace> place_of_prefix(const fs::path& prefix, fs::path interpreter) const {
        PythonPlace place;
        place.prefix = prefix;
        for (const char* name : {"bin/python3", "bin/python"})
            if (interpreter.empty() && (tree_.is_file(prefix / name) || tree_.link_target(prefix / name)))
                interpreter = prefix / name;
        place.interpreter = interpreter;
        const std::optional<std::string> cfg = tree_.read(prefix / "pyvenv.cfg", 16 << 10);
        const bool conda = tree_.is_folder(prefix / "conda-meta");
        if (!cfg && !conda && library_versions(tree_, prefix).empty())
            return std::nullopt;
        place.kind = cfg ? "venv" : conda ? "conda" : "system";
        tell_version(place, cfg.value_or(""));
        if (place.version.empty())
            return place;
        for (const std::string_view folder : split(search_.variable("PYTHONPATH"), ':'))
            if (folder.starts_with("/"))
                add_site_folder(place, fs::path(folder));
        if (!cfg)
            add_user_folders(place);
        add_folders_of_prefix(place, prefix);
        if (cfg && pyvenv_value(*cfg, "include-system-site-packages") == "true") {
            add_user_folders(place);
            add_folders_of_prefix(place, fs::path(pyvenv_value(*cfg, "home")).parent_path());
        }
        add_pth_folders(place);
        return place;
    }

    /// Follows the interpreter's links one by one, as Python does: the first folder above one of them with
    /// a pyvenv.cfg is the environment; if there is none, the last one is the installation's.
    std::optional<PythonPlace> place_of_interpreter(const fs::path& interpreter) const {
        fs::path at = interpreter.lexically_normal();
        for (int links = 0; links < max_links_to_places; ++links) {
            const fs::path prefix = at.parent_path().parent_path();
            if (tree_.is_file(prefix / "pyvenv.cfg") || tree_.is_folder(prefix / "conda-meta"))
                return place_of_prefix(prefix, interpreter);
            const auto target = tree_.link_target(at);
            if (!target)
                break;
            at = (at.parent_path() / *target).lexically_normal();
        }
        const auto real = tree_.resolve(interpreter);
        if (!real)
            return std::nullopt;
        const fs::path prefix = real->parent_path().parent_path();
        // "/bin/python3" where /bin is a link to /usr/bin, and where it is not.
        return place_of_prefix(prefix == "/" && tree_.is_folder("/usr/lib") ? fs::path("/usr") : prefix,
                               interpreter);
    }

    // --- pyenv ---

    std::string pyenv_version(const fs::path& pyenv) const {
        if (const std::string_view chosen = search_.variable("PYENV_VERSION"); !chosen.empty())
            return std::string(split(chosen, ':').front());
        for (fs::path folder = search_.working_folder; !folder.empty(); folder = folder.parent_path()) {
            if (const auto text = tree_.read(folder / ".python-version", 4096))
                return std::string(trim(split(*text, '\n').front()));
            if (folder == folder.parent_path())
                break;
        }
        return std::string(trim(split(tree_.read(pyenv / "version", 4096).value_or(""), '\n').front()));
    }

    /// The interpreter that a pyenv shim would start; nothing if it would search further in PATH.
    std::optional<fs::path> behind_shim(const fs::path& shim) const {
        const fs::path folder = shim.parent_path();
        const std::string root(search_.variable("PYENV_ROOT"));
        fs::path pyenv = root.empty() ? folder.parent_path() : fs::path(root);
        const std::string version = pyenv_version(pyenv);
        if (version.empty() || version == "system")
            return std::nullopt;
        for (const std::string& name : tree_.list(pyenv / "versions"))
            if (name == version || name.starts_with(version + "."))
                if (tree_.is_file(pyenv / "versions" / name / "bin" / shim.filename()))
                    return pyenv / "versions" / name / "bin" / shim.filename();
        return std::nullopt;
    }

    bool is_script(const fs::path& file) const { return tree_.read(file, 2).value_or("") == "#!"; }

    std::optional<fs::path> find_command(const std::string& name) const {
        for (const std::string_view folder : split(search_.variable("PATH"), ':')) {
            if (!folder.starts_with("/") || !tree_.is_file(fs::path(folder) / name))
                continue;
            const fs::path file = fs::path(folder) / name;
            const auto real = tree_.resolve(file);
            // A link to something else is a shim of an unknown version manager.
            if (!is_script(file) && real && real->filename().string().starts_with("py"))
                return file;
            if (fs::path(folder).filename() != "shims")
                continue;
            if (auto found = behind_shim(file))
                return found;
        }
        return std::nullopt;
    }

    // --- all places ---

    void add(std::optional<PythonPlace> place, const std::string& found_by, bool active = false) {
        if (!place || places_.size() >= max_places)
            return;
        const fs::path key = tree_.resolve(place->prefix).value_or(place->prefix);
        const auto known = prefixes_.find(key);
        if (known != prefixes_.end()) {
            places_[known->second].active = places_[known->second].active || active;
            return;
        }
        prefixes_.emplace(key, places_.size());
        place->found_by = found_by;
        place->active = active;
        places_.push_back(std::move(*place));
    }

    void add_named(const std::string& name) {
        fs::path path = name;
        if (name.find('/') == std::string::npos && !tree_.is_folder(search_.working_folder / name))
            path = find_command(name).value_or(path);
        if (path.is_relative())
            path = search_.working_folder / path;
        path = path.lexically_normal();
        if (!path.has_filename())
            path = path.parent_path();
        std::optional<PythonPlace> place;
        if (tree_.is_folder(path))
            place = place_of_prefix(path, {});
        else if (tree_.is_file(path) && is_script(path) && path.parent_path().filename() == "shims")
            place = place_of_interpreter(behind_shim(path).value_or(path));
        else if (tree_.is_file(path))
            place = place_of_interpreter(path);
        if (!place) {
            place.emplace();
            place->prefix = path;
            place->kind = "system";
            place->error = tree_.resolve(path) ? "this is neither a Python nor an environment folder"
                           : name.find('/') == std::string::npos
                               ? "no such command in PATH and no such folder"
                               : "No such file or directory";
        }
        add(std::move(place), "--python", true);
    }

    void add_active() {
        const bool named = !search_.named.empty();
        if (!search_.running_interpreter.empty())
            add(place_of_interpreter(search_.running_interpreter), search_.variables_of, !named);
        const std::string virtual_env(search_.variable("VIRTUAL_ENV")),
            conda(search_.variable("CONDA_PREFIX"));
        std::optional<fs::path> command = find_command("python3");
        if (!command)
            command = find_command("python");
        const std::optional<PythonPlace> of_command = command ? place_of_interpreter(*command) : std::nullopt;
        const bool by_path = search_.running_interpreter.empty() && !named;
        const auto starts = [&](const std::string& prefix) {
            return by_path && of_command && tree_.resolve(of_command->prefix) == tree_.resolve(prefix);
        };
        if (!virtual_env.empty())
            add(place_of_prefix(virtual_env, {}), "VIRTUAL_ENV", starts(virtual_env));
        if (!conda.empty())
            add(place_of_prefix(conda, {}), "CONDA_PREFIX", starts(conda));
        add(of_command, "PATH", by_path);
    }

    void add_children(const fs::path& folder, const std::string& found_by) {
        std::size_t searched = 0;
        for (const std::string& name : tree_.list(folder)) {
            if (++searched > max_folders_searched)
                return;
            const fs::path prefix = folder / name;
            if (tree_.is_file(prefix / "pyvenv.cfg") || tree_.is_folder(prefix / "conda-meta") ||
                tree_.is_file(prefix / "bin/python3"))
                add(place_of_prefix(prefix, {}), found_by);
        }
    }

    void add_environments_below(const fs::path& folder, const std::string& found_by) {
        if (tree_.is_file(folder / "pyvenv.cfg"))
            add(place_of_prefix(folder, {}), found_by);
        // "~/ComfyUI/venv": an environment is usually a folder of the project, or inside one.
        std::size_t searched = 0;
        for (const std::string& name : tree_.list(folder)) {
            if (++searched > max_folders_searched)
                return;
            for (const fs::path& prefix : {folder / name, folder / name / "venv", folder / name / ".venv"})
                if (tree_.is_file(prefix / "pyvenv.cfg"))
                    add(place_of_prefix(prefix, {}), found_by);
        }
    }

    void add_conda(const fs::path& root, const std::string& found_by) {
        if (tree_.is_folder(root / "conda-meta"))
            add(place_of_prefix(root, {}), found_by);
        add_children(root / "envs", found_by);
    }

    void add_others() {
        add_active();
        if (!search_.working_folder.empty())
            add_environments_below(search_.working_folder, "working folder");
        for (const fs::path& home : search_.homes) {
            add_environments_below(home, "home folder");
            for (const char* folder :
                 {".virtualenvs", ".local/share/virtualenvs", ".conda/envs", ".pyenv/versions"})
                add_children(home / folder, "home folder");
            for (const char* folder : {"miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba"})
                add_conda(home / folder, "home folder");
        }
        add_conda("/opt/conda", "/opt");
        add_environments_below("/opt", "/opt");
        for (const char* interpreter : {"/usr/local/bin/python3", "/usr/bin/python3"})
            if (tree_.is_file(interpreter) && !is_script(interpreter))
                add(place_of_interpreter(interpreter), fs::path(interpreter).parent_path().string());
        add_user_places();
    }

    /// User sites of versions for which no interpreter was found here.
    void add_user_places() {
        for (const fs::path& home : search_.homes)
            for (const std::string& version : library_versions(tree_, home / ".local")) {
                PythonPlace place;
                place.prefix = home / ".local";
                place.kind = "user";
                place.version = version;
                place.version_source = (place.prefix / "lib" / ("python" + version)).string();
                const fs::path folder = place.prefix / "lib" / ("python" + version) / "site-packages";
                const auto has_it = [&](const PythonPlace& other) {
                    return std::ranges::find(other.site_folders, folder) != other.site_folders.end();
                };
                if (tree_.list(folder).empty() || std::ranges::any_of(places_, has_it))
                    continue;
                place.site_folders = {folder};
                add(std::move(place), "home folder");
            }
    }

    const HostTree& tree_;
    const PythonSearch& search_;
    std::vector<PythonPlace> places_;
    std::map<fs::path, std::size_t> prefixes_;
};

} // namespace

std::string_view PythonSearch::variable(const std::string& name) const {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string_view{} : std::string_view(found->second);
}

std::string short_python_version(std::string_view text) {
    text = trim(text);
    if (text.starts_with("python"))
        text.remove_prefix(6);
    const std::vector<std::string_view> parts = split(text, '.');
    if (parts.size() < 2 || !is_number(parts[0]) || !is_number(parts[1]) || parts[0].size() > 2 ||
        parts[1].size() > 3)
        return {};
    return std::string(parts[0]) + "." + std::string(parts[1]);
}

std::string pyvenv_value(std::string_view text, std::string_view key) {
    for (const std::string_view line : split(text, '\n')) {
        const std::size_t at = line.find('=');
        if (at != std::string_view::npos && trim(line.substr(0, at)) == key)
            return std::string(trim(line.substr(at + 1)));
    }
    return {};
}

std::vector<PythonPlace> find_places(const HostTree& tree, const PythonSearch& search) {
    return PlaceFinder(tree, search).run();
}

} // namespace rekindle::doctor
