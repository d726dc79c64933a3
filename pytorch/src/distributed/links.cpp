#include "links.h"

#include "failures.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace rvk::distributed {

namespace {

using Clock = std::chrono::steady_clock;

constexpr char round_message = 'r', failure_message = 'f';
constexpr std::size_t longest_message = 4096;
constexpr int patience_to_say_goodbye = 100; // milliseconds

/// A rank polls its sockets for this long before it sleeps. The peers' messages usually arrive within this
/// time, and Linux would take tens of microseconds to wake a sleeping thread.
constexpr std::chrono::microseconds longest_polling(100);

/// Waits for the socket. Returns whether it became ready before the deadline.
bool await(int socket, short events, Clock::time_point end) {
    const auto begin = Clock::now();
    for (;;) {
        const auto now = Clock::now();
        const bool sleeps = now - begin >= longest_polling;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now).count();
        pollfd polled{socket, events, 0};
        const int ready =
            ::poll(&polled, 1, sleeps ? static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)) : 0);
        if (ready > 0)
            return true;
        if (ready == 0 && Clock::now() >= end)
            return false;
        if (ready < 0 && errno != EINTR)
            return true; // the call that follows reports the error
        if (!sleeps)
            std::this_thread::yield();
    }
}

ssize_t send_bytes(int socket, const std::string& message) {
    return ::send(socket, message.data(), std::min(message.size(), longest_message),
                  MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// Receives a message. Empty if the connection has ended.
std::string receive_bytes(int socket) {
    std::array<char, longest_message> buffer;
    ssize_t bytes = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (bytes < 0 && errno == ECONNRESET) // the peer left messages unread; its own can still be read
        bytes = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0))};
}

} // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
}
Descriptor::~Descriptor() {
    if (number_ >= 0)
        ::close(number_);
}

Links::Links(int rank, std::vector<Descriptor> peers, std::vector<at::Tensor> memories,
             std::vector<std::int64_t> ranks)
    : rank_(rank), peers_(std::move(peers)), memories_(std::move(memories)), ranks_(std::move(ranks)) {}

std::int64_t Links::slot(std::size_t ahead) const noexcept {
    return (round_ + static_cast<std::int64_t>(ahead)) % slots * largest_piece;
}

void Links::meet(const Operation& operation, bool first) {
    const std::string message =
        (round_message + (first ? operation.what : std::string())).substr(0, longest_message);
    for (int peer = 0; peer < size(); ++peer)
        if (peer != rank_)
            send(peer, message, operation);
    for (int peer = 0; peer < size(); ++peer) {
        if (peer == rank_)
            continue;
        const std::string theirs = receive(peer, operation, first);
        if (theirs != message)
            throw PeerFailed("The ranks call different operations: rank " + std::to_string(ranks_[rank_]) +
                             " is in " + (first ? operation.what : "a longer operation") + ", and rank " +
                             std::to_string(ranks_[peer]) + " in " +
                             (theirs.size() > 1 ? theirs.substr(1) : "a longer operation") + ".");
    }
}

void Links::send(int peer, const std::string& message, const Operation& operation) {
    const int socket = peers_[peer].get();
    while (send_bytes(socket, message) < 0) {
        if (errno == EAGAIN && await(socket, POLLOUT, operation.end))
            continue;
        if (errno == EAGAIN)
            throw PeerFailed(is_late(std::array{ranks_[peer]}, operation.what, operation.timeout));
        if (errno != EINTR)
            explain(peer, operation);
    }
}

std::string Links::receive(int peer, const Operation& operation, bool first) {
    const std::string what = first ? operation.what : "an operation";
    if (!await(peers_[peer].get(), POLLIN, operation.end))
        throw PeerFailed(is_late(std::array{ranks_[peer]}, what, operation.timeout));
    std::string message = receive_bytes(peers_[peer].get());
    if (message.empty())
        throw PeerFailed(is_gone(std::array{ranks_[peer]}, what));
    if (message.front() == failure_message)
        throw PeerFailed(message.substr(1));
    return message;
}

void Links::explain(int peer, const Operation& operation) {
    const Operation goodbye{operation.what, 1, Clock::now() + std::chrono::seconds(1)};
    for (;;)
        receive(peer, goodbye, true);
}

void Links::fail(const std::string& sentence) noexcept {
    for (const Descriptor& peer : peers_)
        if (peer.get() >= 0 &&
            await(peer.get(), POLLOUT, Clock::now() + std::chrono::milliseconds(patience_to_say_goodbye)))
            send_bytes(peer.get(), failure_message + sentence);
    for (Descriptor& peer : peers_)
        peer = Descriptor();
}

} // namespace rvk::distributed
