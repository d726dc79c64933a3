# rekindle_write_device_checks(HEADER)
# Writes PyTorch's list of operators whose CUDA kernels are called without a check that their arguments are on one device
# (`device_check: NoCheck` in native_functions.yaml, which is in the package torchgen next to torch) as a sorted array of
# names, rvk::without_device_check.
function(rekindle_write_device_checks header)
  set(list "${REKINDLE_TORCH_FOLDER}/../torchgen/packaged/ATen/native/native_functions.yaml")
  if(NOT EXISTS "${list}")
    message(FATAL_ERROR "PyTorch's list of operators is missing: ${list}. It is part of PyTorch's wheel; unpack the "
      "complete wheel, or reinstall PyTorch.")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
  file(STRINGS "${list}" lines REGEX "^- func: |^  device_check: NoCheck")
  set(names "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^- func: ([A-Za-z0-9_.]+)")
      set(name "${CMAKE_MATCH_1}")
    else()
      list(APPEND names "${name}")
    endif()
  endforeach()
  list(SORT names)
  list(LENGTH names count)
  if(count LESS 100)
    message(FATAL_ERROR "${list} lists only ${count} operators without a device check; at least 100 were expected. "
      "Its format may have changed.")
  endif()
  list(JOIN names "\",\n    \"" text)
  file(CONFIGURE OUTPUT "${header}" CONTENT "#pragma once
#include <array>
#include <string_view>

namespace rvk {
inline constexpr std::array<std::string_view, ${count}> without_device_check{
    \"${text}\"};
} // namespace rvk
" @ONLY)
endfunction()
