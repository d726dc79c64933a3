#include "python_reader.h"

#include "host_files.h"
#include "python/pythons.h"

#include <rekindle/doctor/facts_json.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <string>
#include <sys/socket.h>

namespace rekindle::doctor {

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

void send_pythons(int socket, const HostOptions& options) {
    Facts facts;
    facts.pythons = collect_pythons(options);
    const std::string text = to_json(facts).dump(-1, ' ', false, Json::error_handler_t::replace);
    for (std::size_t sent = 0; sent < text.size();) {
        const ssize_t count = ::send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (count < 0 && errno != EINTR)
            return;
        sent += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    }
}

/// The data that the child sends until it ends; nullopt when it does not end in time.
std::optional<std::string> receive_all(int socket, Clock::time_point deadline) {
    std::string text;
    std::array<char, 65536> block{};
    while (true) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        pollfd readable{.fd = socket, .events = POLLIN, .revents = 0};
        const int ready = ::poll(&readable, 1, std::max<int>(0, static_cast<int>(left.count())));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return std::nullopt;
        const ssize_t count = ::recv(socket, block.data(), block.size(), 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return text;
        text.append(block.data(), static_cast<std::size_t>(count));
    }
}

} // namespace

PythonReader::PythonReader(const HostOptions& options) : begin_(Clock::now()) {
    if (options.find_pythons || !options.pythons.empty())
        child_.emplace([&options](int socket) { send_pythons(socket, options); });
}

void PythonReader::finish(Facts& facts, std::chrono::milliseconds patience) {
    if (!child_)
        return;
    if (child_->error() != 0) {
        facts.notes.push_back("Python environments were not read: " + reason_text(child_->error()));
        return;
    }
    const auto text = receive_all(child_->socket(), begin_ + patience);
    child_.reset();
    if (!text) {
        facts.notes.push_back(
            fmt::format("Python environments were not read: no response within {} ms", patience.count()));
        return;
    }
    const Json json = Json::parse(*text, nullptr, false);
    if (json.is_discarded()) {
        facts.notes.emplace_back(
            "Python environments were not read: the reading process ended before it responded");
        return;
    }
    facts.pythons = facts_from_json(json, "Python environments").pythons;
}

} // namespace rekindle::doctor
