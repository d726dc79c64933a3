# Third-party libraries, all from the distribution. Static archives are preferred to make the program self-contained.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so) # .so only where a distribution has no archive; tests/package then reports it
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)

# Only declarations: the Vulkan loader is opened at run time, in a child process.
find_path(REKINDLE_vulkan_INCLUDE vulkan/vulkan_core.h REQUIRED)
add_library(rekindle_vulkan_headers INTERFACE)
target_include_directories(rekindle_vulkan_headers SYSTEM INTERFACE "${REKINDLE_vulkan_INCLUDE}")
add_library(rekindle::vulkan_headers ALIAS rekindle_vulkan_headers)

# volk opens the Vulkan loader at run time; Debian packages only its source.
find_path(REKINDLE_volk_INCLUDE volk.c REQUIRED)
add_library(rekindle_volk STATIC "${REKINDLE_volk_INCLUDE}/volk.c")
target_compile_definitions(rekindle_volk PUBLIC VK_NO_PROTOTYPES)
target_include_directories(rekindle_volk SYSTEM PUBLIC "${REKINDLE_volk_INCLUDE}")
target_link_libraries(rekindle_volk PUBLIC rekindle::vulkan_headers ${CMAKE_DL_LIBS})
add_library(rekindle::volk ALIAS rekindle_volk)

# The rest is needed only by the program.
if(NOT REKINDLE_BUILD_PROGRAM)
  return()
endif()

# fmt 9 is compiled once into a library here; other versions are used header-only, which takes longer to compile.
find_path(REKINDLE_fmt_INCLUDE fmt/core.h REQUIRED)
file(STRINGS "${REKINDLE_fmt_INCLUDE}/fmt/core.h" REKINDLE_fmt_version REGEX "^#define FMT_VERSION [0-9]+")
string(REGEX MATCH "[0-9]+" REKINDLE_fmt_version "${REKINDLE_fmt_version}")
if(REKINDLE_fmt_version GREATER_EQUAL 90000 AND REKINDLE_fmt_version LESS 100000)
  add_library(rekindle_fmt STATIC "${CMAKE_CURRENT_LIST_DIR}/fmt_library.cpp")
else()
  add_library(rekindle_fmt INTERFACE)
  target_compile_definitions(rekindle_fmt INTERFACE FMT_HEADER_ONLY=1)
endif()
add_library(rekindle::fmt ALIAS rekindle_fmt)

add_library(rekindle_static_runtime INTERFACE)
if(NOT REKINDLE_SANITIZE)
  # --gc-sections: libstdc++.a pulls in std::random_device, which nothing here uses and which needs arc4random of
  # glibc 2.36; the program must run on 2.35.
  target_link_options(rekindle_static_runtime INTERFACE -static-libstdc++ -static-libgcc -Wl,--gc-sections)
endif()

# rekindle_find_archive(NAME HEADER FILE): an imported library rekindle::NAME from the static archive FILE.
function(rekindle_find_archive name header file)
  find_path(REKINDLE_${name}_INCLUDE ${header} REQUIRED)
  find_library(REKINDLE_${name}_LIBRARY NAMES ${file} REQUIRED)
  # Imported instead of a plain path: the linker then gets an archive before the archives that it needs.
  add_library(rekindle_third_party_${name} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(rekindle_third_party_${name} PROPERTIES
    IMPORTED_LOCATION "${REKINDLE_${name}_LIBRARY}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${REKINDLE_${name}_INCLUDE}"
    INTERFACE_INCLUDE_DIRECTORIES "${REKINDLE_${name}_INCLUDE}")
  target_link_libraries(rekindle_third_party_${name} INTERFACE ${ARGN})
  add_library(rekindle::${name} ALIAS rekindle_third_party_${name})
endfunction()

rekindle_find_archive(zlib zlib.h z)
rekindle_find_archive(xxhash xxhash.h xxhash)
rekindle_find_archive(yaml_cpp yaml-cpp/yaml.h yaml-cpp)
rekindle_find_archive(zstd zstd.h zstd)
rekindle_find_archive(snappy snappy.h snappy)
rekindle_find_archive(lz4 lz4.h lz4)
rekindle_find_archive(brotli_common brotli/types.h brotlicommon)
rekindle_find_archive(brotli brotli/decode.h brotlidec rekindle::brotli_common)
rekindle_find_archive(re2 re2/re2.h re2)
rekindle_find_archive(sqlite sqlite3.h sqlite3 m ${CMAKE_DL_LIBS})
rekindle_find_archive(agg agg2/agg_basics.h agg)
rekindle_find_archive(png png.h png rekindle::zlib m)

# Abseil is used only for civil time and time zones. --start-group: the archives refer to each other.
find_path(REKINDLE_absl_INCLUDE absl/time/time.h REQUIRED)
add_library(rekindle_third_party_absl_time INTERFACE)
add_library(rekindle::absl_time ALIAS rekindle_third_party_absl_time)
set(absl_archives "")
foreach(part time civil_time time_zone strings strings_internal int128 base raw_logging_internal
             throw_delegate spinlock_wait log_severity)
  find_library(REKINDLE_absl_${part}_LIBRARY NAMES absl_${part} REQUIRED)
  list(APPEND absl_archives "${REKINDLE_absl_${part}_LIBRARY}")
endforeach()
target_include_directories(rekindle_third_party_absl_time SYSTEM INTERFACE "${REKINDLE_absl_INCLUDE}")
target_link_libraries(rekindle_third_party_absl_time INTERFACE
  -Wl,--start-group ${absl_archives} -Wl,--end-group)

if(REKINDLE_BUILD_TESTS)
  find_package(GTest REQUIRED)
  add_library(rekindle_gtest INTERFACE)
  target_link_libraries(rekindle_gtest INTERFACE GTest::gtest GTest::gmock GTest::gtest_main)
  add_library(rekindle::gtest ALIAS rekindle_gtest)
endif()
