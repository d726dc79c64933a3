# rekindle_embed(TARGET NAMESPACE FILE...)
# Puts files into TARGET's read-only data. A file data/style.css becomes
#   std::string_view rekindle::NAMESPACE::embedded_file("style.css")
# declared in the generated header <rekindle/NAMESPACE/embedded.h>; an unknown name gives an empty view.
# embedded_names() returns the names.
function(rekindle_embed target namespace)
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/embedded")
  set(assembly "${directory}/${namespace}_embedded.S")
  set(source "${directory}/${namespace}_embedded.cpp")
  set(header "${directory}/include/rekindle/${namespace}/embedded.h")
  set(asm_text ".section .rodata\n")
  set(declarations "")
  set(table "")
  set(names "")
  set(index 0)
  set(paths "")
  foreach(file IN LISTS ARGN)
    get_filename_component(name "${file}" NAME)
    get_filename_component(path "${file}" ABSOLUTE)
    string(APPEND names "    \"${name}\",\n")
    set(symbol "rekindle_${namespace}_embedded_${index}")
    string(APPEND asm_text
      ".global ${symbol}_begin\n.global ${symbol}_end\n.balign 64\n"
      "${symbol}_begin:\n.incbin \"${path}\"\n${symbol}_end:\n.byte 0\n")
    string(APPEND declarations "extern const char ${symbol}_begin[];\nextern const char ${symbol}_end[];\n")
    string(APPEND table
      "    if (name == \"${name}\")\n        return {${symbol}_begin, static_cast<std::size_t>(${symbol}_end - ${symbol}_begin)};\n")
    list(APPEND paths "${path}")
    math(EXPR index "${index} + 1")
  endforeach()
  string(APPEND asm_text ".section .note.GNU-stack,\"\",@progbits\n")
  file(CONFIGURE OUTPUT "${assembly}" CONTENT "${asm_text}" @ONLY)
  file(CONFIGURE OUTPUT "${header}" CONTENT
"#pragma once
#include <span>
#include <string_view>

namespace rekindle::${namespace} {
/// The content of an embedded file, or an empty view when no file has that name. Valid until the process ends.
std::string_view embedded_file(std::string_view name) noexcept;
/// The names of all embedded files, in the order of their paths.
std::span<const std::string_view> embedded_names() noexcept;
} // namespace rekindle::${namespace}
" @ONLY)
  file(CONFIGURE OUTPUT "${source}" CONTENT
"#include <rekindle/${namespace}/embedded.h>

#include <cstddef>

extern \"C\" {
${declarations}}

namespace rekindle::${namespace} {
std::string_view embedded_file(std::string_view name) noexcept {
${table}    return {};
}

std::span<const std::string_view> embedded_names() noexcept {
    static constexpr std::string_view names[] = {
${names}    };
    return names;
}
} // namespace rekindle::${namespace}
" @ONLY)
  set_source_files_properties("${assembly}" PROPERTIES OBJECT_DEPENDS "${paths}")
  target_sources(${target} PRIVATE "${assembly}" "${source}")
  target_include_directories(${target} PUBLIC "${directory}/include")
endfunction()
