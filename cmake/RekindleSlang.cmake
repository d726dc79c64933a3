# Compiles the families of kernels/kernels.json and embeds the modules.
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

# rekindle_modules(TABLE RESULT): the names of the modules, sorted: FAMILY for the first dtype of each family, and
# FAMILY_DTYPE for the others. The generator checks everything else that the table says.
function(rekindle_modules table result)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${table}")
  file(READ "${table}" json)
  string(JSON count LENGTH "${json}")
  math(EXPR last "${count} - 1")
  set(modules "")
  foreach(i RANGE ${last})
    string(JSON family GET "${json}" ${i} family)
    list(APPEND modules "${family}")
    string(JSON dtypes ERROR_VARIABLE none LENGTH "${json}" ${i} dtypes)
    if(none OR dtypes LESS 2)
      continue()
    endif()
    math(EXPR last_dtype "${dtypes} - 1")
    foreach(d RANGE 1 ${last_dtype})
      string(JSON dtype GET "${json}" ${i} dtypes ${d})
      list(APPEND modules "${family}_${dtype}")
    endforeach()
  endforeach()
  list(SORT modules)
  set(${result} "${modules}" PARENT_SCOPE)
endfunction()

# rekindle_compile_module(SOURCE FOLDER): compiles SOURCE, a file NAME.slang, to FOLDER/NAME.spv and FOLDER/NAME.json.
function(rekindle_compile_module source folder)
  get_filename_component(name "${source}" NAME_WE)
  # -O0: slangc does not include the optimizer, and the drivers optimize; measurements show the same machine code.
  # Warning 41012: the profile is extended by the capabilities that a kernel uses; the generator compares them with the
  # table.
  add_custom_command(OUTPUT "${folder}/${name}.spv" "${folder}/${name}.json"
    COMMAND "${REKINDLE_SLANGC}" "${source}" -I "${CMAKE_CURRENT_SOURCE_DIR}" -O0 -target spirv -profile spirv_1_5
      -fvk-use-entrypoint-name -warnings-as-errors all -Wno-41012
      -o "${folder}/${name}.spv" -reflection-json "${folder}/${name}.json" -depfile "${folder}/${name}.d"
    DEPENDS "${source}" "${REKINDLE_SLANGC}" DEPFILE "${folder}/${name}.d" COMMENT "slangc ${name}.slang" VERBATIM)
endfunction()

# rekindle_kernels(TARGET TABLE AUDIT_FILES): compiles, checks and embeds the families of the table.
function(rekindle_kernels target table audit_files)
  rekindle_modules("${table}" families)
  set(compiled "${REKINDLE_SPIRV_DIR}")
  if(NOT compiled)
    set(compiled "${CMAKE_CURRENT_BINARY_DIR}/slang")
    file(MAKE_DIRECTORY "${compiled}")
    file(CONFIGURE OUTPUT "${compiled}/slang-version.txt" CONTENT "${REKINDLE_SLANG_VERSION}\n" @ONLY)
    set(entries "${CMAKE_CURRENT_BINARY_DIR}/entries")
    list(TRANSFORM families REPLACE "(.+)" "${entries}/\\1.slang" OUTPUT_VARIABLE sources)
    # The generator does not rewrite unchanged files: only the families whose kernels changed are compiled again.
    add_custom_command(OUTPUT ${sources} COMMAND rekindle_kernel_generator entries "${table}" "${entries}"
      DEPENDS rekindle_kernel_generator "${table}" COMMENT "Writing the kernels' entry points" VERBATIM)
    foreach(source IN LISTS sources)
      rekindle_compile_module("${source}" "${compiled}")
    endforeach()
  endif()
  set(REKINDLE_COMPILED_KERNELS "${compiled}" CACHE INTERNAL "Folder of slangc's results")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/generated")
  set(inputs ${audit_files})
  set(modules "")
  foreach(family IN LISTS families)
    list(APPEND inputs "${compiled}/${family}.spv" "${compiled}/${family}.json")
    list(APPEND modules "${output}/${family}.spv")
  endforeach()
  set(sources "${output}/table.cpp" "${output}/modules.S")
  set(headers "${output}/include/rekindle/kernels/launchers.h")
  foreach(family IN LISTS families)
    list(APPEND headers "${output}/include/rekindle/kernels/families/${family}.h")
  endforeach()
  # The generator does not rewrite unchanged files, so that Ninja does not recompile what depends on them.
  add_custom_command(OUTPUT ${sources} ${headers} ${modules}
    COMMAND rekindle_kernel_generator index "${table}" "${compiled}" "${CMAKE_CURRENT_SOURCE_DIR}/audit" "${output}"
      "${REKINDLE_SLANG_VERSION}"
    DEPENDS rekindle_kernel_generator "${table}" ${inputs} COMMENT "Checking and indexing the kernels" VERBATIM)
  set_source_files_properties("${output}/modules.S" PROPERTIES OBJECT_DEPENDS "${modules}")
  target_sources(${target} PRIVATE ${sources} ${headers})
  target_include_directories(${target} PUBLIC "${output}/include")
endfunction()
