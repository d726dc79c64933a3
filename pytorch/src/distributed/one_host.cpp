#include "one_host.h"

#include "failures.h"

#include <rekindle/foundation/text.h>
#include <rekindle/kernels/ceil_div.h>

#include <ATen/ops/tensor.h>
#include <algorithm>
#include <array>
#include <c10/util/Exception.h>
#include <utility>

namespace rvk::distributed {

namespace {

using kernels::ceil_div;

/// Every rank reduces tensors of at most this many bytes as a whole; three or more ranks divide the reduction
/// of larger tensors.
constexpr std::int64_t small_tensor = 64 << 10;
/// The host often queues the next call before the device has reached the current one. The thread looks for
/// the next call this many times, with pauses of this length.
constexpr int most_attempts = 20;
constexpr std::chrono::microseconds pause{50};

std::int64_t bytes_of(const at::Tensor& tensor) {
    return static_cast<std::int64_t>(tensor.nbytes());
}

std::vector<Pieces> pieces_of(Tensors tensors, std::int64_t bytes) {
    std::vector<Pieces> pieces;
    for (const at::Tensor& tensor : tensors)
        pieces.emplace_back(tensor, bytes);
    return pieces;
}

std::int64_t most_bytes(Tensors tensors) {
    std::int64_t most = 0;
    for (const at::Tensor& tensor : tensors)
        most = std::max(most, bytes_of(tensor));
    return most;
}

std::int64_t most_pieces(const std::vector<Pieces>& tensors) {
    std::int64_t most = 0;
    for (const Pieces& pieces : tensors)
        most = std::max(most, pieces.count());
    return most;
}

/// Returns the events to wait for before the piece is read; none if `ready` is empty.
std::vector<runtime::Event> events_before(const Ready& ready, std::int64_t piece) {
    return ready.empty() ? std::vector<runtime::Event>() : ready[static_cast<std::size_t>(piece)];
}

} // namespace

OneHost::OneHost(std::unique_ptr<Links> links, FollowingOf following)
    : links_(std::move(links)), rank_(links_->rank()), size_(links_->size()),
      following_(std::move(following)) {}

SharedMemory& OneHost::memory_for(Staging& staging) {
    std::unique_ptr<SharedMemory>& memory = memories_[staging.device()];
    if (!memory)
        memory = fastest_shared_memory(links_->memories(), rank_, links_->slot(), staging);
    return *memory;
}

void OneHost::run_rounds(const Operation& operation, Staging& staging, const Posts& posts,
                         const Consume& consume) {
    if (size_ == 1) {
        for (std::size_t number = 0; consume && number < posts.size(); ++number)
            consume(static_cast<std::int64_t>(number));
        return;
    }
    memory_ = &memory_for(staging);
    memory_->wait_for_results();
    std::deque<Wait> writes = std::exchange(begun_, {});
    for (std::size_t number = 0; number < posts.size(); ++number) {
        for (std::size_t next = number + writes.size(); next < std::min(number + rounds_ahead, posts.size());
             ++next) {
            if (posts[next] && posts[next]->after.value_or(-1) >= static_cast<std::int64_t>(number))
                break;
            writes.push_back(write(posts[next], next - number));
        }
        if (number + 1 == posts.size())
            begin_following(writes.front(), staging.device(), static_cast<bool>(consume));
        writes.front()();
        writes.pop_front();
        for (; reads_.size() >= rounds_ahead; reads_.pop_front())
            reads_.front()();
        links_->meet(operation, number == 0);
        if (consume)
            consume(static_cast<std::int64_t>(number));
        reads_.push_back(memory_->reads());
        links_->advance();
    }
}

void OneHost::begin_following(const Wait& own, DeviceIndex device, bool reads) {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        if (const auto next = following_(attempt == 0 ? std::chrono::microseconds(0) : pause)) {
            const bool may_begin = next->call && next->call->device == device;
            const auto tensor = may_begin ? first_post(*next->call) : std::nullopt;
            // This round's reads may use the same queue as the write below, and would then wait for `ready`,
            // too.
            if (!tensor || !std::ranges::all_of(next->ready, [&](const runtime::Event& event) {
                    return reads ? event.done() : event.submit();
                }))
                return;
            for (const runtime::Event& event : next->ready)
                memory_->write_after(event);
            begun_.push_back(memory_->write(rank_, links_->slot(1), std::array{*tensor}));
            return;
        }
        if (own.device_is_done())
            return;
    }
}

std::optional<at::Tensor> OneHost::first_post(const Call& call) const {
    const bool gathers = call.collective == Collective::all_gather;
    const bool sends = gathers || call.collective == Collective::all_reduce ||
                       call.collective == Collective::reduce ||
                       (call.collective == Collective::broadcast && call.root == rank_);
    const std::vector<at::Tensor>& tensors = gathers ? call.inputs : call.outputs;
    if (!sends || tensors.size() != 1 || tensors[0].numel() == 0 || !tensors[0].is_contiguous())
        return std::nullopt;
    return Pieces(tensors[0].view(-1),
                  piece_bytes(gathers ? most_bytes(call.outputs) : bytes_of(tensors[0])))[0];
}

Wait OneHost::write(const std::optional<Post>& post, std::size_t ahead) {
    if (!post)
        return {};
    if (post->after)
        memory_->wait_for_results();
    for (const runtime::Event& event : post->ready)
        memory_->write_after(event);
    return memory_->write(rank_, links_->slot(ahead), post->tensors);
}

at::Tensor OneHost::read(int rank, const at::Tensor& like, std::int64_t offset) {
    return memory_->read(rank, links_->slot() + offset, like);
}

void OneHost::copy(const at::Tensor& target, int rank, std::int64_t offset) {
    if (target.numel() != 0)
        memory_->copy_to(target, rank, links_->slot() + offset);
}

void OneHost::barrier(const Operation& operation, Staging& staging) {
    run_rounds(operation, staging, Posts(1), {});
}

void OneHost::all_reduce(const Operation& operation, Staging& staging, const at::Tensor& tensor,
                         const Reduction& reduction, const Ready& ready) {
    if (size_ > 2 && bytes_of(tensor) > small_tensor)
        all_reduce_in_parts(operation, staging, tensor, reduction, ready);
    else
        reduce_on(operation, staging, tensor, reduction, ready, std::nullopt);
}

void OneHost::reduce(const Operation& operation, Staging& staging, const at::Tensor& tensor,
                     const Reduction& reduction, int root) {
    reduce_on(operation, staging, tensor, reduction, {}, root);
}

/// Every rank, or only the root, reduces the whole tensor.
void OneHost::reduce_on(const Operation& operation, Staging& staging, const at::Tensor& tensor,
                        const Reduction& reduction, const Ready& ready, std::optional<int> root) {
    const Pieces pieces = pieces_of(tensor);
    Posts posts;
    for (std::int64_t number = 0; number < pieces.count(); ++number)
        posts.emplace_back(Post{{pieces[number]}, {}, events_before(ready, number)});
    if (posts.empty())
        posts.emplace_back();
    run_rounds(operation, staging, posts, [&](std::int64_t number) {
        const at::Tensor piece = pieces[number];
        if (piece.numel() != 0 && root.value_or(rank_) == rank_)
            combine(
                piece, [](int) { return 0; }, reduction, piece);
    });
}

/// Reduces what all ranks have in their slots, offset_of(rank) bytes from the start, into `out`. `own` is
/// what this rank posted.
void OneHost::combine(const at::Tensor& own, const std::function<std::int64_t(int)>& offset_of,
                      const Reduction& reduction, const at::Tensor& out) {
    std::vector<at::Tensor> parts;
    parts.reserve(static_cast<std::size_t>(size_));
    for (int rank = 0; rank < size_; ++rank)
        parts.push_back(rank == rank_ ? own : read(rank, out, offset_of(rank)));
    reduction.combine(parts, out);
}

std::int64_t OneHost::part_begin(const at::Tensor& piece, int rank) const {
    return piece.numel() * rank / size_;
}
at::Tensor OneHost::part_of(const at::Tensor& piece, int rank) const {
    return piece.slice(0, part_begin(piece, rank), part_begin(piece, rank + 1));
}

void OneHost::reduce_part(const at::Tensor& piece, const Reduction& reduction) {
    const at::Tensor part = part_of(piece, rank_);
    if (part.numel() == 0)
        return;
    const auto offset = part_begin(piece, rank_) * static_cast<std::int64_t>(piece.element_size());
    combine(
        part, [offset](int) { return offset; }, reduction, part);
}

void OneHost::gather_parts(const at::Tensor& piece) {
    for (int rank = 0; rank < size_; ++rank)
        if (rank != rank_)
            copy(part_of(piece, rank), rank);
}

void OneHost::all_reduce_in_parts(const Operation& operation, Staging& staging, const at::Tensor& tensor,
                                  const Reduction& reduction, const Ready& ready) {
    // Each piece is gathered one round later than possible, so that its reduction overlaps with the next
    // piece's round.
    const Pieces pieces = pieces_of(tensor);
    const std::int64_t total = pieces.count();
    Posts posts;
    std::vector<std::function<void()>> work;
    for (std::int64_t number = 0; number <= total; ++number) {
        if (number < total) {
            posts.emplace_back(Post{{pieces[number]}, {}, events_before(ready, number)});
            work.emplace_back([this, piece = pieces[number], &reduction] { reduce_part(piece, reduction); });
        }
        if (number > 0) {
            const auto here = static_cast<std::int64_t>(posts.size());
            const std::int64_t reduced = std::max<std::int64_t>(number == total ? here - 2 : here - 3, 0);
            posts.emplace_back(Post{{part_of(pieces[number - 1], rank_)}, reduced});
            work.emplace_back([this, piece = pieces[number - 1]] { gather_parts(piece); });
        }
    }
    run_rounds(operation, staging, posts,
               [&](std::int64_t number) { work[static_cast<std::size_t>(number)](); });
}

void OneHost::broadcast(const Operation& operation, Staging& staging, const at::Tensor& tensor, int root) {
    const Pieces pieces = pieces_of(tensor);
    Posts posts(static_cast<std::size_t>(std::max<std::int64_t>(pieces.count(), 1)));
    if (rank_ == root)
        for (std::size_t number = 0; number < posts.size(); ++number)
            posts[number] = Post{{pieces[static_cast<std::int64_t>(number)]}, {}};
    Consume consume;
    if (rank_ != root)
        consume = [&](std::int64_t number) { copy(pieces[number], root); };
    run_rounds(operation, staging, posts, consume);
}

void OneHost::all_gather(const Operation& operation, Staging& staging, Tensors outputs,
                         const at::Tensor& tensor) {
    gather_rounds(operation, staging, outputs, tensor, most_bytes(outputs));
}

void OneHost::gather(const Operation& operation, Staging& staging, Tensors outputs, const at::Tensor& tensor,
                     int) {
    gather_rounds(operation, staging, outputs, tensor, bytes_of(tensor));
}

/// most: the bytes of the largest tensor of any rank.
void OneHost::gather_rounds(const Operation& operation, Staging& staging, Tensors outputs,
                            const at::Tensor& tensor, std::int64_t most) {
    const std::int64_t bytes = piece_bytes(most);
    const Pieces own(tensor, bytes);
    const std::vector<Pieces> others = pieces_of(outputs, bytes);
    Posts posts;
    for (std::int64_t number = 0; number < std::max<std::int64_t>(ceil_div(most, bytes), 1); ++number)
        posts.emplace_back(Post{{own[number]}, {}});
    run_rounds(operation, staging, posts, [&](std::int64_t number) {
        for (int rank = 0; rank < static_cast<int>(others.size()); ++rank)
            if (rank != rank_)
                copy(others[static_cast<std::size_t>(rank)][number], rank);
    });
    if (!outputs.empty())
        outputs[static_cast<std::size_t>(rank_)].copy_(tensor);
}

void OneHost::scatter(const Operation& operation, Staging& staging, const at::Tensor& output, Tensors inputs,
                      int root) {
    // The root posts the tensors of all ranks, one after the other.
    const std::int64_t bytes = piece_bytes(bytes_of(output));
    const Pieces target(output, bytes);
    const std::int64_t rounds = std::max<std::int64_t>(target.count(), 1);
    Posts posts(static_cast<std::size_t>(rounds * size_));
    const std::vector<Pieces> sent = pieces_of(inputs, bytes);
    for (std::int64_t number = 0; number < (sent.empty() ? 0 : rounds * size_); ++number)
        posts[static_cast<std::size_t>(number)] =
            Post{{sent[static_cast<std::size_t>(number / rounds)][number % rounds]}, {}};
    run_rounds(operation, staging, posts, [&](std::int64_t number) {
        if (number / rounds == rank_ && rank_ != root)
            copy(target[number % rounds], root);
    });
    if (rank_ == root)
        output.copy_(inputs[static_cast<std::size_t>(root)]);
}

void OneHost::reduce_scatter(const Operation& operation, Staging& staging, const at::Tensor& output,
                             Tensors inputs, const Reduction& reduction) {
    // Each rank posts the inputs of all other ranks, in the order of the ranks.
    const std::int64_t others = std::max(size_ - 1, 1);
    const std::int64_t bytes = piece_bytes(most_bytes(inputs) * others) / others;
    const std::vector<Pieces> sent = pieces_of(inputs, bytes);
    const Pieces target(output, bytes);
    const auto offset_of = [&](std::int64_t number, int by) {
        std::int64_t offset = 0;
        for (int rank = 0; rank < rank_; ++rank)
            if (rank != by)
                offset += bytes_of(sent[static_cast<std::size_t>(rank)][number]);
        return offset;
    };
    Posts posts(static_cast<std::size_t>(std::max<std::int64_t>(most_pieces(sent), 1)));
    for (std::size_t number = 0; number < posts.size(); ++number) {
        posts[number].emplace();
        for (int rank = 0; rank < size_; ++rank)
            if (rank != rank_)
                posts[number]->tensors.push_back(
                    sent[static_cast<std::size_t>(rank)][static_cast<std::int64_t>(number)]);
    }
    run_rounds(operation, staging, posts, [&](std::int64_t number) {
        const at::Tensor piece = target[number];
        if (piece.numel() != 0)
            combine(
                sent[static_cast<std::size_t>(rank_)][number],
                [&](int rank) { return offset_of(number, rank); }, reduction, piece);
    });
}

/// A rank knows only the sizes that it sends and receives, so the ranks exchange all sizes: rank r sends
/// result[r][q] elements to rank q.
std::vector<std::vector<std::int64_t>> OneHost::exchange_sizes(const Operation& operation, Staging& staging,
                                                               Tensors inputs) {
    std::vector<std::int64_t> own;
    for (const at::Tensor& input : inputs)
        own.push_back(input.numel());
    const at::Tensor sizes = at::tensor(own, at::kLong).to(c10::Device(c10::kPrivateUse1, staging.device()));
    std::vector<std::vector<std::int64_t>> table;
    run_rounds(operation, staging, {Post{{sizes}, {}}}, [&](std::int64_t) {
        for (int rank = 0; rank < size_; ++rank) {
            const at::Tensor row = (rank == rank_ ? sizes : read(rank, sizes)).cpu();
            const auto* const begin = row.const_data_ptr<std::int64_t>();
            table.emplace_back(begin, begin + row.numel());
        }
    });
    return table;
}

void OneHost::all_to_all(const Operation& operation, Staging& staging, Tensors outputs, Tensors inputs) {
    const std::vector<std::vector<std::int64_t>> table = exchange_sizes(operation, staging, inputs);
    std::int64_t most = 0;
    for (const auto& row : table)
        most = std::max(most, *std::ranges::max_element(row));
    for (std::size_t rank = 0; rank < outputs.size(); ++rank) {
        const std::int64_t sent = table[rank][static_cast<std::size_t>(rank_)];
        TORCH_CHECK_VALUE(sent == outputs[rank].numel(), "all_to_all: rank ", rank, " sends ",
                          rekindle::counted(sent, "element"), ", but the output for it has ",
                          outputs[rank].numel(), ".");
    }
    const std::int64_t bytes = largest_piece / size_;
    const auto element_bytes = static_cast<std::int64_t>(inputs[0].element_size());
    const std::int64_t length = bytes / element_bytes;
    const std::vector<Pieces> sent = pieces_of(inputs, bytes), received = pieces_of(outputs, bytes);
    Posts posts;
    for (std::int64_t number = 0; number < ceil_div(most, length); ++number) {
        posts.emplace_back(Post{});
        for (const Pieces& each : sent)
            posts.back()->tensors.push_back(each[number]);
    }
    const auto offset_of = [&](const std::vector<std::int64_t>& row, std::int64_t number) {
        std::int64_t before = 0;
        for (int rank = 0; rank < rank_; ++rank)
            before +=
                std::clamp<std::int64_t>(row[static_cast<std::size_t>(rank)] - number * length, 0, length);
        return before * element_bytes;
    };
    run_rounds(operation, staging, posts, [&](std::int64_t number) {
        for (int rank = 0; rank < size_; ++rank)
            if (rank != rank_)
                copy(received[static_cast<std::size_t>(rank)][number], rank,
                     offset_of(table[static_cast<std::size_t>(rank)], number));
    });
    outputs[static_cast<std::size_t>(rank_)].copy_(inputs[static_cast<std::size_t>(rank_)]);
}

} // namespace rvk::distributed
