# rekindle_library(NAME DEPENDENCY...)
# One folder is one library: public headers in include/, sources in src/. Makes the static library rekindle_NAME.
function(rekindle_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/src/.*\\.isa\\.cpp$")
  add_library(rekindle_${name} STATIC ${sources})
  add_library(rekindle::${name} ALIAS rekindle_${name})
  target_include_directories(rekindle_${name} PUBLIC include PRIVATE src)
  target_link_libraries(rekindle_${name} PUBLIC ${ARGN} PRIVATE rekindle_compiler)
endfunction()

# rekindle_test(NAME LIBRARY...)
# Every *.cpp below tests/NAME makes the test program rekindle_NAME_tests, one ctest entry labelled NAME.
function(rekindle_test name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp")
  if(NOT sources)
    return()
  endif()
  add_executable(rekindle_${name}_tests ${sources})
  target_include_directories(rekindle_${name}_tests PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/support" "${name}")
  target_compile_definitions(rekindle_${name}_tests PRIVATE
    REKINDLE_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/${name}/data"
    REKINDLE_PROGRAM="$<$<TARGET_EXISTS:rekindle>:$<TARGET_FILE:rekindle>>")
  target_link_libraries(rekindle_${name}_tests PRIVATE ${ARGN} rekindle_compiler rekindle::gtest)
  add_test(NAME ${name} COMMAND rekindle_${name}_tests)
  set_tests_properties(${name} PROPERTIES LABELS "${name}")
endfunction()
