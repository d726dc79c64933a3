#include "group.h"

#include "between_hosts.h"
#include "device/allocator.h"
#include "device/promised.h"
#include "failures.h"
#include "host_threads.h"
#include "one_host.h"
#include "packed.h"
#include "pieces.h"
#include "python_calls.h"

#include <algorithm>
#include <array>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <c10/util/Exception.h>
#include <pthread.h>
#include <set>
#include <span>
#include <thread>
#include <utility>

namespace rvk::distributed {

namespace {

constexpr std::size_t most_unfinished = 64;

/// The names of the collectives, in the order of the enumeration.
constexpr std::array<std::string_view, 9> names{"barrier",   "all_reduce",     "reduce",
                                                "broadcast", "all_gather",     "gather",
                                                "scatter",   "reduce_scatter", "all_to_all"};

std::vector<at::Tensor> aliases(const std::vector<at::Tensor>& tensors) {
    std::vector<at::Tensor> result;
    result.reserve(tensors.size());
    for (const at::Tensor& tensor : tensors)
        result.push_back(alias_memory(tensor).detach());
    return result;
}

/// Returns flat views of the tensors, or flat copies of those that are not contiguous.
std::vector<at::Tensor> flat(const std::vector<at::Tensor>& tensors) {
    std::vector<at::Tensor> result;
    result.reserve(tensors.size());
    for (const at::Tensor& tensor : tensors)
        result.push_back(tensor.contiguous().view(-1));
    return result;
}

/// Returns the memory that the call uses: that of its tensors, or all memory if it is a barrier.
std::vector<runtime::Access> ranges_of(const Call& call) {
    if (call.collective == Collective::barrier)
        return {runtime::all_memory};
    std::vector<runtime::Access> ranges;
    for (const std::vector<at::Tensor>* const tensors : {&call.outputs, &call.inputs})
        for (const at::Tensor& tensor : *tensors)
            if (const c10::Storage& storage = tensor.storage(); storage.nbytes() != 0)
                ranges.push_back({device_pointer(storage.data()), storage.nbytes(), true});
    return ranges;
}

/// Returns whether the call is an all_reduce of one tensor that is contiguous and not empty.
bool has_pieces(const Call& call) {
    return call.collective == Collective::all_reduce && call.outputs.size() == 1 &&
           call.outputs[0].is_contiguous() && call.outputs[0].numel() > 0;
}

/// Returns the events to wait for before the call reads or writes the memory that it uses.
Ready ready_of(const Call& call, std::span<const runtime::Access> used) {
    runtime::Stream& stream = current_stream(call.device);
    if (!has_pieces(call))
        return {stream.record_uses(used)};
    const Pieces pieces = pieces_of(call.outputs[0].view(-1));
    Ready ready;
    for (std::int64_t number = 0; number < pieces.count(); ++number) {
        const at::Tensor piece = pieces[number];
        ready.push_back(stream.record_uses(
            std::array{runtime::Access{device_pointer(piece.mutable_data_ptr()), piece.nbytes(), true}}));
    }
    return ready;
}

/// Whether the transport runs the call as one operation.
bool is_one_operation(const Call& call) {
    switch (call.collective) {
    case Collective::all_to_all: // exchanges sizes first
        return false;
    case Collective::all_gather:
        return call.inputs.size() == 1;
    default:
        return call.outputs.size() <= 1 || call.collective == Collective::gather;
    }
}

/// Whether `call` may use memory that `earlier` writes.
bool reads_results_of(const Call& call, const Call& earlier) {
    std::set<const void*> written;
    for (const at::Tensor& tensor : earlier.outputs)
        written.insert(tensor.storage().data());
    return std::ranges::any_of(std::array{&call.outputs, &call.inputs}, [&](const auto* tensors) {
        return std::ranges::any_of(
            *tensors, [&](const at::Tensor& tensor) { return written.contains(tensor.storage().data()); });
    });
}

void write_back(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& flat_outputs) {
    for (std::size_t number = 0; number < outputs.size(); ++number)
        if (!outputs[number].is_contiguous())
            outputs[number].copy_(flat_outputs[number].view(outputs[number].sizes()));
}

} // namespace

Collective collective_of(std::string_view name) {
    const auto* const found = std::ranges::find(names, name);
    TORCH_CHECK_VALUE(found != names.end(), "There is no collective ", name, ".");
    return static_cast<Collective>(found - names.begin());
}

Group::Group(std::int64_t number, int rank, std::vector<std::int64_t> ranks)
    : number_(number), rank_(rank), ranks_(std::move(ranks)) {}

void Group::use_one_host(std::vector<Descriptor> peers, std::vector<at::Tensor> memories) {
    transport_ = std::make_unique<OneHost>(
        std::make_unique<Links>(rank_, std::move(peers), std::move(memories), ranks_),
        [this](std::chrono::microseconds patience) { return following(patience); });
}

void Group::use_several_hosts() {
    transport_ = std::make_unique<BetweenHosts>(number_);
}

std::optional<std::string> Group::failure() const {
    const std::scoped_lock lock(mutex_);
    return failure_;
}

c10::intrusive_ptr<c10d::Work> Group::start(Call call) {
    if (const auto sentence = failure())
        C10_THROW_ERROR(DistBackendError, *sentence);
    std::vector<at::Tensor> tensors = call.outputs;
    tensors.insert(tensors.end(), call.inputs.begin(), call.inputs.end());
    const std::vector<at::Tensor> passed = std::exchange(call.passed, {});
    call.outputs = aliases(call.outputs);
    call.inputs = aliases(call.inputs);
    const c10::Device device(c10::kPrivateUse1, call.device);
    const std::vector<runtime::Access> used = ranges_of(call);
    Ready ready = ready_of(call, used);
    auto promised =
        c10::make_intrusive<PromisedWork>(names[static_cast<std::size_t>(call.collective)], passed,
                                          next_promise(call.device, used), std::move(tensors), device, -1);
    Job job{std::move(call), promised, std::move(ready)};
    const WithoutPythonLock unlocked;
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return jobs_.size() < most_unfinished || closed_; });
    if (closed_)
        C10_THROW_ERROR(DistBackendError, "The process group has been destroyed.");
    start_thread();
    jobs_.push_back(std::move(job));
    added_.notify_one();
    lock.unlock();
    promised->end_range();
    return promised;
}

std::unique_ptr<runtime::Promise> Group::next_promise(DeviceIndex device,
                                                      std::span<const runtime::Access> used) {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<runtime::PromiseSequence>& sequence = promises_[device];
    if (!sequence)
        sequence = rvk::device(device).make_promise_sequence();
    return sequence->next(used);
}

/// The caller holds the mutex.
void Group::start_thread() {
    if (std::exchange(started_, true))
        return;
    // Detached, because it may still be waiting for a peer when the process ends. It owns a reference to the
    // group.
    std::thread([self = c10::intrusive_ptr<Group>::reclaim_copy(this)] { self->run_jobs(); }).detach();
}

void Group::run_jobs() {
    ::pthread_setname_np(::pthread_self(), "rvk collectives");
    compute_alone();
    keep_promises_on_this_thread();
    const c10::InferenceMode guard; // only this mode may overwrite inference tensors
    while (const Job* const job = next_job()) {
        run(*job);
        remove_job();
    }
    transport_.reset();
    staging_.clear();
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    finished_.notify_all();
}

/// Waits for the next job. Null once the group is closed and all jobs have run.
const Group::Job* Group::next_job() {
    std::unique_lock lock(mutex_);
    added_.wait(lock, [this] { return !jobs_.empty() || closed_; });
    return jobs_.empty() ? nullptr : &jobs_.front();
}

void Group::remove_job() {
    std::optional<Job> finished; // destroyed after the lock is released
    const std::scoped_lock lock(mutex_);
    finished = std::move(jobs_.front());
    jobs_.pop_front();
    finished_.notify_all();
}

std::optional<Following> Group::following(std::chrono::microseconds patience) {
    std::unique_lock lock(mutex_);
    const Call& running = jobs_[0].call;
    if (!is_one_operation(running))
        return Following{};
    added_.wait_for(lock, patience, [this] { return jobs_.size() > 1 || closed_; });
    if (jobs_.size() < 2)
        return std::nullopt;
    const Job& next = jobs_[1];
    return reads_results_of(next.call, running) ? Following{} : Following{&next.call, next.ready.front()};
}

void Group::run(const Job& job) noexcept {
    try {
        if (const auto sentence = failure()) {
            job.work->fail(*sentence);
            return;
        }
        const c10::intrusive_ptr<Staging> staging = staging_of(job.call.device);
        const c10::StreamGuard guard(staging->stream());
        connect(job.call.timeout);
        if (!waits_for_pieces(job))
            for (const std::vector<runtime::Event>& events : job.ready)
                for (const runtime::Event& event : events)
                    rvk::stream(staging->stream()).wait(event);
        for (const std::vector<at::Tensor>* const tensors : {&job.call.outputs, &job.call.inputs})
            for (const at::Tensor& tensor : *tensors)
                tensor.record_stream(staging->stream());
        run_call(job, *staging);
        job.work->keep();
    } catch (const std::exception& problem) {
        fail(job, message_of(problem));
    } catch (...) {
        fail(job, job.call.what + " failed with an unknown exception.");
    }
}

/// Makes this job and all later ones fail with the sentence, which wait() throws.
void Group::fail(const Job& job, const std::string& sentence) noexcept {
    {
        const std::scoped_lock lock(mutex_);
        failure_ = sentence;
    }
    if (transport_)
        transport_->fail(sentence);
    job.work->fail(sentence);
}

void Group::connect(double timeout) {
    if (transport_)
        return;
    const std::string failure = connect_in_python(number_, timeout);
    if (!failure.empty())
        throw PeerFailed(failure);
    TORCH_INTERNAL_ASSERT(transport_, "connect_group chose no transport");
}

c10::intrusive_ptr<Staging> Group::staging_of(DeviceIndex device) {
    c10::intrusive_ptr<Staging>& staging = staging_[device];
    if (!staging)
        staging = c10::make_intrusive<Staging>(device);
    return staging;
}

/// Returns whether the transport, and not run(), waits for job.ready. With a single rank, the transport
/// exchanges no pieces and waits for none.
bool Group::waits_for_pieces(const Job& job) const {
    return ranks_.size() > 1 && has_pieces(job.call) && transport_->waits_for_pieces();
}

void Group::run_call(const Job& job, Staging& staging) {
    const Call& call = job.call;
    const auto timeout = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(call.timeout));
    const Operation operation{call.what, call.timeout, std::chrono::steady_clock::now() + timeout};
    const std::vector<at::Tensor> outputs = flat(call.outputs), inputs = flat(call.inputs);
    const std::size_t size = ranks_.size();
    const auto of_call = [&](const std::vector<at::Tensor>& tensors, std::size_t number) {
        return Tensors(tensors).subspan(number * size, size);
    };
    switch (call.collective) {
    case Collective::barrier:
        transport_->barrier(operation, staging);
        return;
    case Collective::all_reduce:
        for (const at::Tensor& each : outputs)
            transport_->all_reduce(operation, staging, each, call.reduction,
                                   waits_for_pieces(job) ? job.ready : Ready());
        break;
    case Collective::reduce:
        for (const at::Tensor& each : outputs)
            transport_->reduce(operation, staging, each, call.reduction, call.root);
        break;
    case Collective::broadcast:
        broadcast(operation, staging, outputs, call.root);
        break;
    case Collective::all_gather:
        for (std::size_t number = 0; number < inputs.size(); ++number)
            transport_->all_gather(operation, staging, of_call(outputs, number), inputs[number]);
        break;
    case Collective::gather:
        transport_->gather(operation, staging, outputs, inputs.at(0), call.root);
        break;
    case Collective::scatter:
        transport_->scatter(operation, staging, outputs.at(0), inputs, call.root);
        break;
    case Collective::reduce_scatter:
        for (std::size_t number = 0; number < outputs.size(); ++number)
            transport_->reduce_scatter(operation, staging, outputs[number], of_call(inputs, number),
                                       call.reduction);
        break;
    case Collective::all_to_all:
        transport_->all_to_all(operation, staging, outputs, inputs);
        break;
    }
    write_back(call.outputs, outputs);
}

void Group::broadcast(const Operation& operation, Staging& staging, Tensors tensors, int root) {
    Packed packed(tensors);
    if (rank_ == root)
        packed.pack();
    for (const at::Tensor& each : packed.parts())
        transport_->broadcast(operation, staging, each, root);
    if (rank_ != root)
        packed.unpack();
}

void Group::close(double timeout) {
    const WithoutPythonLock unlocked;
    std::unique_lock lock(mutex_);
    closed_ = true;
    added_.notify_all();
    finished_.notify_all();
    if (started_)
        finished_.wait_for(lock, std::chrono::duration<double>(timeout), [this] { return ended_; });
}

} // namespace rvk::distributed
