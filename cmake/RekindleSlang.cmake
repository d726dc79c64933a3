# Compiles kernels/*.slang and embeds the modules.
#   REKINDLE_SLANGC     the Slang compiler; by default that of ./scripts/set-up (build/tools/slang), otherwise slangc on
#                       the PATH
#   REKINDLE_SPIRV_DIR  a folder of precompiled kernels, for machines without slangc: the files that another build left
#                       in <build>/kernels/slang (<family>.spv, <family>.json and slang-version.txt)
# The environment variables with these names are the defaults.
set(REKINDLE_SPIRV_DIR "$ENV{REKINDLE_SPIRV_DIR}" CACHE PATH
  "Folder of precompiled SPIR-V, reflection files and slang-version.txt; empty: use slangc")

if(REKINDLE_SPIRV_DIR)
  if(NOT EXISTS "${REKINDLE_SPIRV_DIR}/slang-version.txt")
    message(FATAL_ERROR "REKINDLE_SPIRV_DIR=${REKINDLE_SPIRV_DIR} has no slang-version.txt; it must be the folder "
      "kernels/slang of a build of the same sources.")
  endif()
  file(READ "${REKINDLE_SPIRV_DIR}/slang-version.txt" REKINDLE_SLANG_VERSION)
  string(STRIP "${REKINDLE_SLANG_VERSION}" REKINDLE_SLANG_VERSION)
else()
  if(REKINDLE_SLANGC AND NOT EXISTS "${REKINDLE_SLANGC}")
    unset(REKINDLE_SLANGC CACHE)
  endif()
  if(NOT REKINDLE_SLANGC AND NOT "$ENV{REKINDLE_SLANGC}" STREQUAL "")
    set(REKINDLE_SLANGC "$ENV{REKINDLE_SLANGC}" CACHE FILEPATH "The Slang compiler" FORCE)
  endif()
  find_program(REKINDLE_SLANGC slangc HINTS "${PROJECT_SOURCE_DIR}/build/tools/slang/slangtorch/bin"
    DOC "The Slang compiler")
  if(NOT REKINDLE_SLANGC)
    message(FATAL_ERROR "The Slang compiler is missing: run ./scripts/set-up, which fetches it into build/tools/slang, or "
      "set -DREKINDLE_SLANGC=/path/to/slangc, or -DREKINDLE_SPIRV_DIR to a folder of precompiled SPIR-V "
      "(kernels/README.md).")
  endif()
  execute_process(COMMAND "${REKINDLE_SLANGC}" -v OUTPUT_VARIABLE slang_output ERROR_VARIABLE slang_output
    RESULT_VARIABLE slang_status)
  string(STRIP "${slang_output}" REKINDLE_SLANG_VERSION)
  if(NOT slang_status EQUAL 0 OR NOT REKINDLE_SLANG_VERSION MATCHES "^[0-9.]+$")
    message(FATAL_ERROR "${REKINDLE_SLANGC} -v should print a version, but printed '${REKINDLE_SLANG_VERSION}' (status "
      "${slang_status}). REKINDLE_SLANGC must be the path of slangc.")
  endif()
endif()

# rekindle_compile_family(NAME FOLDER): compiles NAME.slang to FOLDER/NAME.spv and FOLDER/NAME.json.
function(rekindle_compile_family name folder)
  set(source "${CMAKE_CURRENT_SOURCE_DIR}/${name}.slang")
  # -O0: slangc does not include the optimizer, and the drivers optimize; measurements show the same machine code.
  # Warning 15205: families that are not being built are undefined names. Warning 41012: the profile is extended by the
  # capabilities that a kernel uses; the generator compares them with the registry.
  add_custom_command(OUTPUT "${folder}/${name}.spv" "${folder}/${name}.json"
    COMMAND "${REKINDLE_SLANGC}" "${source}" -O0 -target spirv -profile spirv_1_5 -fvk-use-entrypoint-name
      -DREKINDLE_BUILDS_${name}=1 -warnings-as-errors all -Wno-41012 -Wno-15205
      -o "${folder}/${name}.spv" -reflection-json "${folder}/${name}.json" -depfile "${folder}/${name}.d"
    DEPENDS "${source}" "${REKINDLE_SLANGC}" DEPFILE "${folder}/${name}.d" COMMENT "slangc ${name}.slang" VERBATIM)
endfunction()

# rekindle_kernels(TARGET AUDIT_FILES FAMILY...): compiles, checks and embeds the families of this folder.
function(rekindle_kernels target audit_files)
  set(compiled "${REKINDLE_SPIRV_DIR}")
  if(NOT compiled)
    set(compiled "${CMAKE_CURRENT_BINARY_DIR}/slang")
    file(MAKE_DIRECTORY "${compiled}")
    file(CONFIGURE OUTPUT "${compiled}/slang-version.txt" CONTENT "${REKINDLE_SLANG_VERSION}\n" @ONLY)
    foreach(family IN LISTS ARGN)
      rekindle_compile_family(${family} "${compiled}")
    endforeach()
  endif()
  set(REKINDLE_COMPILED_KERNELS "${compiled}" CACHE INTERNAL "Folder of slangc's results")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/generated")
  set(inputs ${audit_files})
  set(modules "")
  foreach(family IN LISTS ARGN)
    list(APPEND inputs "${compiled}/${family}.spv" "${compiled}/${family}.json")
    list(APPEND modules "${output}/${family}.spv")
  endforeach()
  set(sources "${output}/table.cpp" "${output}/modules.S")
  set(headers "${output}/include/rekindle/kernels/launchers.h")
  foreach(family IN LISTS ARGN)
    list(APPEND headers "${output}/include/rekindle/kernels/families/${family}.h")
  endforeach()
  # The generator does not rewrite unchanged files, so that Ninja does not recompile what depends on them.
  add_custom_command(OUTPUT ${sources} ${headers} ${modules}
    COMMAND rekindle_kernel_generator "${compiled}" "${CMAKE_CURRENT_SOURCE_DIR}/audit" "${output}"
      "${REKINDLE_SLANG_VERSION}" ${ARGN}
    DEPENDS rekindle_kernel_generator ${inputs} COMMENT "Checking and indexing the kernels" VERBATIM)
  set_source_files_properties("${output}/modules.S" PROPERTIES OBJECT_DEPENDS "${modules}")
  target_sources(${target} PRIVATE ${sources} ${headers})
  target_include_directories(${target} PUBLIC "${output}/include")
endfunction()
