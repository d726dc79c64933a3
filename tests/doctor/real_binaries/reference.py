"""An independent reader of the offload bundles in a library's .hip_fatbin, used to check the doctor's scanner.

    reference.py FILE…     one JSON object per file: target -> bytes of code objects, as the bundles' ids name them

It reads every bundle completely (so it is slow), checks each code object's EF_AMDGPU_MACH against the id, and needs the
package zstandard. Formats: clang/docs/ClangOffloadBundler.rst.
"""
import json
import struct
import sys
import zlib

import zstandard

MACH = {0x2A: "gfx803", 0x2C: "gfx900", 0x2F: "gfx906", 0x30: "gfx908", 0x32: "gfx90c", 0x3F: "gfx90a", 0x4C: "gfx942", 0x4F: "gfx950",
        0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012", 0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032",
        0x39: "gfx1033", 0x3E: "gfx1034", 0x3D: "gfx1035", 0x45: "gfx1036", 0x41: "gfx1100", 0x46: "gfx1101",
        0x47: "gfx1102", 0x44: "gfx1103", 0x43: "gfx1150", 0x4A: "gfx1151", 0x55: "gfx1152", 0x58: "gfx1153",
        0x48: "gfx1200", 0x4E: "gfx1201", 0x49: "gfx1250"}
PLAIN = b"__CLANG_OFFLOAD_BUNDLE__"


def fatbin(data):
    table, = struct.unpack_from("<Q", data, 40)
    _, count, names_index = struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQ", data, table + 64 * i) for i in range(count)]
    names = sections[names_index][4]
    for name, _, _, _, offset, size in sections:
        if data[names + name:].startswith(b".hip_fatbin\0"):
            return data[offset:offset + size]
    return b""


def bundles(section):
    at = 0
    while at < len(section):
        if section.startswith(PLAIN, at):
            end = max(at + offset + size for offset, size, _ in entries(section[at:]))
            yield section[at:end]
        elif section.startswith(b"CCOB", at):
            version, method = struct.unpack_from("<HH", section, at + 4)
            form, header = {2: ("<II", 24), 3: ("<QQ", 32)}[version]
            total, size = struct.unpack_from(form, section, at + 8)
            stream, end = section[at + header:at + total], at + total
            content = zstandard.ZstdDecompressor().decompress(stream) if method == 1 else zlib.decompress(stream)
            assert len(content) == size, "the size in the header differs from that of the stream"
            yield content
        else:
            assert section[at] == 0, f"neither padding nor a bundle at {at}"
            end = at + 1
        at = end


def entries(bundle):
    count, = struct.unpack_from("<Q", bundle, 24)
    at = 32
    for _ in range(count):
        offset, size, length = struct.unpack_from("<QQQ", bundle, at)
        yield offset, size, bundle[at + 24:at + 24 + length].decode()
        at += 24 + length


for path in sys.argv[1:]:
    targets = {}
    with open(path, "rb") as file:
        for bundle in bundles(fatbin(file.read())):
            for offset, size, entry_id in entries(bundle):
                if entry_id.startswith("host"):
                    continue
                target = entry_id.rsplit("--", 1)[1]
                flags, = struct.unpack_from("<I", bundle, offset + 48)
                assert MACH[flags & 0xFF] == target.split(":")[0], f"{path}: {target} has flags {flags:#x}"
                targets[target] = targets.get(target, 0) + size
    print(json.dumps({"path": path, "bytes": targets}))
