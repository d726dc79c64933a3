"""How each name of torch.cuda without a counterpart in torch.rvk is handled."""

_GRAPHS = "torch-rvk has no CUDA graphs; run the same steps eagerly"
_NCCL = "NCCL needs NVIDIA GPUs; use torch.distributed, whose backend nccl becomes rvk"
_ALLOCATOR = "torch-rvk has its own memory allocator"
_RUNTIME = "there is no CUDA runtime"
_STORAGE = "GPUDirect Storage needs NVIDIA GPUs; read the file into CPU memory and copy it"
_PARTITIONS = "Vulkan cannot reserve a part of a GPU"

#: Scripts compare it before they use bfloat16 in torch.distributed; the backend rvk has what this version has.
NCCL_VERSION = (2, 27, 3)

MODULES = (
    "torch",
    "torch.cuda",
    "torch.cuda.gds",
    "torch.cuda.green_contexts",
    "torch.cuda.jiterator",
    "torch.cuda.memory",
    "torch.cuda.nccl",
    "torch.cuda.nvtx",
    "torch.cuda.profiler",
    "torch.cuda.tunable",
    "torch.backends.cuda",
)

# Functions that return a constant. Those with None do nothing, and scripts work without them.
ANSWERS = {
    "torch": {
        "_cufft_clear_plan_cache": None,
        "_cufft_get_plan_cache_max_size": 0,
        "_cufft_get_plan_cache_size": 0,
        "_cufft_set_plan_cache_max_size": None,
    },
    "torch.cuda": {
        "_sleep": None,
        "caching_allocator_enable": None,
        "check_error": None,
        "get_allocator_backend": "native",
        "get_arch_list": [],
        "get_gencode_flags": "",
        "get_per_process_memory_fraction": 1.0,
        "get_sync_debug_mode": 0,
        "host_memory_stats": {},
        "host_memory_stats_as_nested_dict": {},
        "ipc_collect": None,
        "is_current_stream_capturing": False,
        "is_tf32_supported": False,
        "list_gpu_processes": "Vulkan does not list the processes of a GPU.",
        "memory_snapshot": [],
        "reset_accumulated_host_memory_stats": None,
        "reset_peak_host_memory_stats": None,
        "set_per_process_memory_fraction": None,
        "set_sync_debug_mode": None,
    },
    "torch.cuda.green_contexts": {"get_num_locality_domains": 1, "is_localization_supported": False},
    "torch.cuda.memory": {
        "_dump_snapshot": None,
        "_record_memory_history": None,
        "_save_memory_usage": None,
        "_save_segment_usage": None,
        "_set_allocator_settings": None,
        "_snapshot": {"segments": [], "device_traces": []},
    },
    "torch.cuda.nccl": {"is_available": False, "version": NCCL_VERSION},
    "torch.cuda.nvtx": {"mark": None, "range_end": None, "range_pop": 0, "range_push": 0, "range_start": 0},
    "torch.cuda.profiler": {"start": None, "stop": None},
    "torch.cuda.tunable": {
        "enable": None,
        "get_cublaslt_requested_algo_count": 0,
        "get_filename": "",
        "get_max_tuning_duration": 0,
        "get_max_tuning_iterations": 0,
        "get_results": (),
        "get_rotating_buffer_size": 0,
        "get_validators": (),
        "is_enabled": False,
        "mgpu_tune_gemm_in_file": None,
        "read_file": False,
        "record_untuned_enable": None,
        "record_untuned_is_enabled": False,
        "set_cublaslt_requested_algo_count": None,
        "set_filename": None,
        "set_max_tuning_duration": None,
        "set_max_tuning_iterations": None,
        "set_numerical_check_tolerances": None,
        "set_rotating_buffer_size": None,
        "tune_gemm_in_file": None,
        "tuning_enable": None,
        "tuning_is_enabled": False,
    },
    "torch.backends.cuda": {
        "blas_workspace_size": 0,
        "can_use_cudnn_attention": False,
        "can_use_efficient_attention": False,
        "can_use_flash_attention": False,
        "cublas_workspace_size": 0,
        "cublaslt_workspace_size": 0,
        "is_ck_sdpa_available": False,
        "is_flash_attention_available": False,
    },
}

# Functions and classes whose call ends the program, and why.
REFUSED = {
    "torch.cuda": {
        "CUDAGraph": _GRAPHS,
        "CUDAPluggableAllocator": _ALLOCATOR,
        "CudaError": _RUNTIME,
        "ExternalStream": "there are no CUDA streams",
        "MemPool": _ALLOCATOR,
        "_compile_kernel": "there is no compiler for CUDA source; use the operation's PyTorch implementation",
        "caching_allocator_alloc": _ALLOCATOR,
        "caching_allocator_delete": _ALLOCATOR,
        "caching_allocator_disabled": _ALLOCATOR,
        "change_current_allocator": _ALLOCATOR,
        "cublas_handle": "there is no cuBLAS",
        "current_blas_handle": "there is no cuBLAS",
        "current_solver_handle": "there is no cuSOLVER",
        "get_stream_from_external": "there are no CUDA streams",
        "graph": _GRAPHS,
        "graph_pool_handle": _GRAPHS,
        "make_graphed_callables": _GRAPHS,
        "use_mem_pool": _ALLOCATOR,
    },
    "torch.cuda.gds": {
        "GdsFile": _STORAGE,
        "gds_deregister_buffer": _STORAGE,
        "gds_register_buffer": _STORAGE,
    },
    "torch.cuda.green_contexts": {"GreenContext": _PARTITIONS, "SMPartition": _PARTITIONS},
    "torch.cuda.jiterator": {
        "_create_jit_fn": "the jiterator compiles CUDA source; use the operation's PyTorch implementation",
        "_create_multi_output_jit_fn": "the jiterator compiles CUDA source; use the operation's PyTorch implementation",
    },
    "torch.cuda.nccl": dict.fromkeys(
        ("all_gather", "all_reduce", "broadcast", "init_rank", "reduce", "reduce_scatter", "unique_id"), _NCCL
    ),
}
