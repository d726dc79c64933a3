# Finds the PyTorch to build against, without importing it.
#   REKINDLE_PYTHON  the interpreter whose PyTorch is used; python3 of the PATH by default
#   REKINDLE_TORCH   the folder `torch` itself (with include/ and lib/), instead of the interpreter's
# Defines the target rekindle::torch (headers as system headers, libtorch_cpu.so, libc10.so), REKINDLE_TORCH_VERSION
# ("2.13.0+cpu"), REKINDLE_TORCH_MINOR ("2.13") and REKINDLE_TORCH_FOLDER. PyTorch's TorchConfig.cmake is not used: it takes seconds and looks for CUDA, MKL and Kineto.
set(REKINDLE_TORCH "" CACHE PATH "The folder of PyTorch; empty: that of REKINDLE_PYTHON")

if(REKINDLE_TORCH)
  set(torch_folder "${REKINDLE_TORCH}")
else()
  find_program(REKINDLE_PYTHON NAMES python3 DOC "The Python whose PyTorch is used for the build")
  execute_process(COMMAND "${REKINDLE_PYTHON}" "${PROJECT_SOURCE_DIR}/pytorch/packaging/torch_location.py"
    OUTPUT_VARIABLE torch_folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE torch_message RESULT_VARIABLE torch_status)
  if(NOT torch_status EQUAL 0)
    string(STRIP "${torch_message}" torch_message)
    message(FATAL_ERROR "${torch_message}")
  endif()
endif()

foreach(file version.py lib/libtorch_cpu.so lib/libc10.so include/ATen/core/Tensor.h)
  if(NOT EXISTS "${torch_folder}/${file}")
    message(FATAL_ERROR "${torch_folder} is not a complete PyTorch: ${file} is missing. Set REKINDLE_TORCH to the folder "
      "torch of an installation.")
  endif()
endforeach()
file(STRINGS "${torch_folder}/version.py" REKINDLE_TORCH_VERSION REGEX "^__version__")
string(REGEX REPLACE "^[^'\"]*['\"]([^'\"]*)['\"].*" "\\1" REKINDLE_TORCH_VERSION "${REKINDLE_TORCH_VERSION}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" REKINDLE_TORCH_MINOR "${REKINDLE_TORCH_VERSION}")
set(REKINDLE_TORCH_FOLDER "${torch_folder}")
message(STATUS "PyTorch ${REKINDLE_TORCH_VERSION}: ${torch_folder}")

add_library(rekindle_torch INTERFACE)
add_library(rekindle::torch ALIAS rekindle_torch)
target_include_directories(rekindle_torch SYSTEM INTERFACE
  "${torch_folder}/include" "${torch_folder}/include/torch/csrc/api/include")
target_compile_definitions(rekindle_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
# The checks in PyTorch's headers name their files: without the build machine's folders.
target_compile_options(rekindle_torch INTERFACE "-ffile-prefix-map=${torch_folder}=torch")
target_link_libraries(rekindle_torch INTERFACE "${torch_folder}/lib/libtorch_cpu.so" "${torch_folder}/lib/libc10.so")
