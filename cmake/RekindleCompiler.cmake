# Compiler settings shared by every target of the project.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR
    "Rekindle needs g++ 12 or newer; this is ${CMAKE_CXX_COMPILER_VERSION}. "
    "Install g++-12 and configure with -DCMAKE_CXX_COMPILER=g++-12 (./scripts/test does this).")
endif()

find_program(REKINDLE_CCACHE ccache)
if(REKINDLE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${REKINDLE_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${REKINDLE_CCACHE}")
endif()

add_library(rekindle_compiler INTERFACE)
target_compile_options(rekindle_compiler INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
    -Wnon-virtual-dtor -Woverloaded-virtual>
  # Keeps paths of the build machine out of the program.
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
# In a batch the names of one file's anonymous namespace are visible in the next file, so shadowing them is allowed.
target_compile_options(rekindle_compiler INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:$<IF:$<BOOL:${REKINDLE_UNITY_BUILD}>,-Wshadow=local,-Wshadow>>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:$<IF:$<BOOL:${REKINDLE_UNITY_BUILD}>,-Wshadow-uncaptured-local,-Wshadow>>)
# g++ 12 warns about overlapping copies inside std::string that cannot happen (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(rekindle_compiler INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(REKINDLE_WARNINGS_AS_ERRORS)
  target_compile_options(rekindle_compiler INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(REKINDLE_SANITIZE)
  target_compile_options(rekindle_compiler INTERFACE
    -fsanitize=${REKINDLE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    # Checking every pointer takes a third of the compile time; AddressSanitizer reports null and stray pointers, too.
    -fno-sanitize=null,alignment,object-size,vptr
    # After -fsanitize, which would switch them on again: a target's property REKINDLE_UNCHECKED names checks to leave out.
    $<$<BOOL:$<TARGET_PROPERTY:REKINDLE_UNCHECKED>>:-fno-sanitize=$<TARGET_PROPERTY:REKINDLE_UNCHECKED>>
    # With sanitizers g++ 12 reports members of std::regex and std::function as uninitialized (GCC bug 105562).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(rekindle_compiler INTERFACE -fsanitize=${REKINDLE_SANITIZE})
endif()
if(REKINDLE_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "The fuzz targets need clang 16 or newer (preset 'fuzz'); this is ${CMAKE_CXX_COMPILER_ID}.")
  endif()
  # Coverage feedback in every library; libFuzzer's main() only in the fuzz targets.
  target_compile_options(rekindle_compiler INTERFACE -fsanitize=fuzzer-no-link)
endif()
