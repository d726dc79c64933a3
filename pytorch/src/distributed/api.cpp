/// The interface of this folder for Python code in torch_rvk/distributed. It consists of PyTorch operators
/// and classes, because the library must not depend on one version of Python:
///
///   reduce_op(ReduceOp op) -> (int kind, Tensor? factor)
///       Reads a reduction: its number in c10d's enumeration, and the factor of a premultiplied sum.
///   combine(Tensor[] parts, Tensor(a!) out, int kind, float factor) -> ()
///       Reduces flat tensors (reduction.h).
///   promised_work(str operation, Tensor[] tensors, Device device, int source_rank) -> Work
///       Makes the Work of an operation on the tensors, which another thread is going to queue
///       (promised_work.h).
///   keep_work(Work work) -> ()
///       Keeps the promise: the operation is queued on the current stream of its device.
///   fail_work(Work work, str message) -> ()
///       Marks the operation as failed.
///   await_work(Work work) -> ()
///       Waits until the work is kept or has failed, and throws its error.
///   alias_memory(Tensor tensor) -> Tensor
///       Returns a tensor that keeps the memory of `tensor` (promised_work.h).
///   import_host_memory(Tensor host, Device device) -> Tensor?
///       The bytes of a host tensor as a tensor of the device, in the same memory; None if the driver cannot
///       import it (imported.h).
///       One of the device's streams that only copy, in turn.
///   copy_bytes(Tensor(a!) to, Tensor source, Stream stream) -> ()
///       Copies between contiguous tensors of a device that have the same size, on one of its streams.
///   keep_promises() -> ()
///       Declares that the calling thread will call keep_work or fail_work.
///   compute_alone() -> ()
///       Makes PyTorch's operators single-threaded on the calling thread.
///   ranks_are_gone(int[] ranks, str what) -> str
///       The sentence for ranks whose connections ended.
///   ranks_are_late(int[] ranks, str what, float timeout) -> str
///       The sentence for ranks that did not join in time.
///   classes.rvk.Group, classes.rvk.Staging
///       group.h, staging.h.
///
/// They are not registered if PyTorch was built without torch.distributed.

#include "device/allocator.h"
#include "device/imported.h"
#include "device/promised.h"
#include "failures.h"
#include "group.h"
#include "host_threads.h"
#include "promised_work.h"
#include "reduction.h"
#include "staging.h"

#include <ATen/ops/scalar_tensor.h>
#include <c10/util/Exception.h>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>
#include <torch/custom_class.h>
#include <torch/library.h>
#include <tuple>
#include <utility>
#include <vector>

namespace rvk::distributed {

namespace {

std::tuple<std::int64_t, std::optional<at::Tensor>> reduce_op(const c10::intrusive_ptr<c10d::ReduceOp>& op) {
    if (op->op_ != c10d::ReduceOp::PREMUL_SUM)
        return {op->op_, std::nullopt};
    const auto* const supplement = dynamic_cast<const c10d::NCCLPreMulSumSupplement*>(op->supplement_.get());
    TORCH_CHECK_VALUE(supplement, "This premultiplied sum has no factor.");
    if (supplement->tensor_factor.defined())
        return {op->op_, supplement->tensor_factor};
    return {op->op_, at::scalar_tensor(supplement->double_factor, at::kDouble)};
}

Reduction reduction_of(std::int64_t kind, double factor) {
    return {static_cast<c10d::ReduceOp::RedOpType>(kind), factor};
}

void combine(at::TensorList parts, const at::Tensor& out, std::int64_t kind, double factor) {
    reduction_of(kind, factor).combine({parts.data(), parts.size()}, out);
}

using WorkPointer = c10::intrusive_ptr<c10d::Work>;

WorkPointer promised_work(const std::string& operation, const std::vector<at::Tensor>& tensors,
                          c10::Device device, std::int64_t source_rank) {
    auto promise = rvk::device(index_of(device)).make_promise();
    auto work = c10::make_intrusive<PromisedWork>(operation, tensors, std::move(promise), tensors, device,
                                                  static_cast<int>(source_rank));
    work->end_range();
    return work;
}

PromisedWork& promised(const WorkPointer& work) {
    auto* const found = dynamic_cast<PromisedWork*>(work.get());
    TORCH_INTERNAL_ASSERT(found, "this Work was not made by promised_work");
    return *found;
}

using GroupPointer = c10::intrusive_ptr<Group>;

WorkPointer start(const GroupPointer& group, const std::string& collective, std::string what, double timeout,
                  c10::Device device, std::vector<at::Tensor> outputs, std::vector<at::Tensor> inputs,
                  std::vector<at::Tensor> passed, std::int64_t root, std::int64_t reduction, double factor) {
    Call call{collective_of(collective), std::move(what),        timeout,
              index_of(device),          std::move(outputs),     std::move(inputs),
              std::move(passed),         static_cast<int>(root), reduction_of(reduction, factor)};
    return group->start(std::move(call));
}

void use_one_host(const GroupPointer& group, const std::vector<std::int64_t>& sockets,
                  std::vector<at::Tensor> memories) {
    std::vector<Descriptor> peers;
    peers.reserve(sockets.size());
    for (const std::int64_t socket : sockets)
        peers.emplace_back(static_cast<int>(socket));
    group->use_one_host(std::move(peers), std::move(memories));
}

std::optional<at::Tensor> imported(const at::Tensor& host, c10::Device device) {
    try {
        return import_host_memory(host, index_of(device));
    } catch (const runtime::Unsupported&) {
        return std::nullopt;
    }
}

void copy_bytes(const at::Tensor& to, const at::Tensor& source, c10::Stream stream) {
    TORCH_INTERNAL_ASSERT(to.device() == stream.device() && source.device() == stream.device() &&
                          to.is_contiguous() && source.is_contiguous() && to.nbytes() == source.nbytes());
    if (to.numel() != 0)
        rvk::stream(stream).copy(device_pointer(to.mutable_data_ptr()),
                                 device_pointer(source.const_data_ptr()), to.nbytes());
}

/// An OwnStream for Python.
struct StreamOwner : torch::CustomClassHolder {
    StreamOwner(c10::Device device, bool copies)
        : stream(index_of(device), copies ? OwnStream::Kind::copies : OwnStream::Kind::kernels) {}
    const OwnStream stream;
};

void register_classes(torch::Library& m) {
    m.class_<StreamOwner>("OwnStream")
        .def(torch::init<c10::Device, bool>())
        .def("stream", [](const c10::intrusive_ptr<StreamOwner>& self) { return self->stream.id(); });
    m.class_<Staging>("Staging")
        .def("download", [](const c10::intrusive_ptr<Staging>& self,
                            const std::vector<at::Tensor>& tensors) { return self->download(tensors); })
        .def("wait_for", &Staging::wait_for)
        .def("host_for", &Staging::host_for)
        .def("upload", &Staging::upload);
    m.class_<Group>("Group")
        .def(torch::init([](std::int64_t number, std::int64_t rank, std::vector<std::int64_t> ranks) {
            return c10::make_intrusive<Group>(number, static_cast<int>(rank), std::move(ranks));
        }))
        .def("start", &start)
        .def("use_one_host", &use_one_host) // takes ownership of the sockets
        .def("use_several_hosts", &Group::use_several_hosts)
        .def("close", &Group::close);
}

TORCH_LIBRARY_FRAGMENT(rvk, m) {
    if (!torch::getCustomClass("__torch__.torch.classes.c10d.ReduceOp"))
        return;
    m.def("reduce_op(__torch__.torch.classes.c10d.ReduceOp op) -> (int, Tensor?)", TORCH_FN(reduce_op));
    m.def("combine(Tensor[] parts, Tensor(a!) out, int kind, float factor) -> ()", TORCH_FN(combine));
    m.def("promised_work(str operation, Tensor[] tensors, Device device, int source_rank) -> "
          "__torch__.torch.classes.c10d.Work",
          promised_work);
    m.def("keep_work(__torch__.torch.classes.c10d.Work work) -> ()",
          [](const WorkPointer& work) { promised(work).keep(); });
    m.def("fail_work(__torch__.torch.classes.c10d.Work work, str message) -> ()",
          [](const WorkPointer& work, const std::string& message) { promised(work).fail(message); });
    m.def("await_work(__torch__.torch.classes.c10d.Work work) -> ()",
          [](const WorkPointer& work) { promised(work).await(); });
    m.def("alias_memory(Tensor tensor) -> Tensor", alias_memory);
    m.def("import_host_memory(Tensor host, Device device) -> Tensor?", imported);
    m.def("copy_bytes(Tensor(a!) to, Tensor source, Stream stream) -> ()", copy_bytes);
    m.def("keep_promises() -> ()", [] { keep_promises_on_this_thread(); });
    m.def("compute_alone() -> ()", [] { compute_alone(); });
    m.def("ranks_are_gone(int[] ranks, str what) -> str", [](at::IntArrayRef ranks, const std::string& what) {
        return is_gone({ranks.data(), ranks.size()}, what);
    });
    m.def("ranks_are_late(int[] ranks, str what, float timeout) -> str",
          [](at::IntArrayRef ranks, const std::string& what, double timeout) {
              return is_late({ranks.data(), ranks.size()}, what, timeout);
          });
    register_classes(m);
}

/// Gives DistributedDataParallel the host times at which it queued each step. Without a timer for the device,
/// it would print a warning.
class QueueTimer final : public c10d::Timer {
  public:
    explicit QueueTimer(c10::Device) {}
    std::optional<std::int64_t> measureDifference(Event start, Event end) override {
        const std::optional<std::int64_t> from = getTimestamp(start), to = getTimestamp(end);
        if (!from || !to || *to < *from) // not recorded in this iteration
            return std::nullopt;
        return *to - *from;
    }
};

} // namespace

} // namespace rvk::distributed

namespace c10d {
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::kPrivateUse1, rvk::distributed::QueueTimer)
}
