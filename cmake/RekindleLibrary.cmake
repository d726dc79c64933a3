# rekindle_unity(TARGET)
# Compiles sources in batches, which reads the headers once per batch and takes a third of the time of a build from
# scratch. -DREKINDLE_UNITY_BUILD=OFF compiles each source separately.
function(rekindle_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${REKINDLE_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE 12)
endfunction()

# rekindle_unity_by_folder(SOURCE...)
# Groups the sources of each folder into batches of at most 4 for a target whose UNITY_BUILD_MODE is GROUP, so that a name in
# an anonymous namespace need be unique only within its folder.
function(rekindle_unity_by_folder)
  foreach(source IN LISTS ARGN)
    get_filename_component(folder "${source}" DIRECTORY)
    file(RELATIVE_PATH name "${CMAKE_CURRENT_SOURCE_DIR}" "${folder}")
    string(MAKE_C_IDENTIFIER "${name}" name)
    if(NOT DEFINED count_${name})
      set(count_${name} 0)
    endif()
    math(EXPR batch "${count_${name}} / 4")
    math(EXPR count_${name} "${count_${name}} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${name}_${batch}")
  endforeach()
endfunction()

# rekindle_library(NAME DEPENDENCY...)
# Makes the static library rekindle_NAME from the current folder: public headers in include/, sources in src/.
function(rekindle_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/src/.*\\.isa\\.cpp$")
  add_library(rekindle_${name} STATIC ${sources})
  add_library(rekindle::${name} ALIAS rekindle_${name})
  target_include_directories(rekindle_${name} PUBLIC include PRIVATE src)
  target_link_libraries(rekindle_${name} PUBLIC ${ARGN} PRIVATE rekindle_compiler)
  rekindle_unity(rekindle_${name})
endfunction()

# rekindle_test(NAME LIBRARY...)
# Makes the test program rekindle_NAME_tests from every *.cpp below tests/NAME: one ctest entry labeled NAME. The sources
# are compiled in batches, so a name in an anonymous namespace is unique within tests/NAME.
function(rekindle_test name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp")
  if(NOT sources)
    return()
  endif()
  add_executable(rekindle_${name}_tests ${sources})
  target_include_directories(rekindle_${name}_tests PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/support" "${name}"
    "${PROJECT_SOURCE_DIR}/${name}/src") # tests of internals: #include "reading/number.h"
  # The paths are in one small file, so that all other files compile identically wherever the tree is (for ccache).
  set(paths "${CMAKE_CURRENT_BINARY_DIR}/${name}_paths.cpp")
  file(CONFIGURE OUTPUT "${paths}" CONTENT "#include <paths.h>

namespace rekindle::test {
const char* const data_folder = \"${CMAKE_CURRENT_SOURCE_DIR}/${name}/data\";
const char* const program_path = \"${CMAKE_BINARY_DIR}/bin/rekindle\";
} // namespace rekindle::test
" @ONLY)
  target_sources(rekindle_${name}_tests PRIVATE "${paths}")
  set_source_files_properties("${paths}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  rekindle_unity(rekindle_${name}_tests)
  target_compile_options(rekindle_${name}_tests PRIVATE -include "${CMAKE_CURRENT_SOURCE_DIR}/support/paths.h")
  # -O0, because compiling the tests takes longer than running them. Undefined behavior is checked in the libraries only.
  target_compile_options(rekindle_${name}_tests PRIVATE -O0)
  if(REKINDLE_SANITIZE)
    set_target_properties(rekindle_${name}_tests PROPERTIES REKINDLE_UNCHECKED undefined)
  endif()
  target_link_libraries(rekindle_${name}_tests PRIVATE ${ARGN} rekindle_compiler rekindle::gtest)
  add_test(NAME ${name} COMMAND rekindle_${name}_tests)
  # The limit only ends a hanging test: no test asserts how fast something is.
  set_tests_properties(${name} PROPERTIES LABELS "${name}" TIMEOUT 3600)
endfunction()
