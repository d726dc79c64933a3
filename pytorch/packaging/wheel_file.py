"""Writes a wheel: a ZIP file with a list of its contents (PyPA's binary distribution format)."""

import base64
import hashlib
import os
import zipfile

# The files do not depend on the version of Python, so one wheel works for every version.
LOCAL = "py3-none-linux_x86_64"  # for the system that built it
RELEASE = "py3-none-manylinux_2_35_x86_64"  # for every Linux with glibc 2.35; scripts/build-wheels checks that


class WheelFile:
    """A wheel being written. Use it as a context manager; leaving the context adds the list of its contents."""

    def __init__(self, folder, name, version, tag=LOCAL):
        self.tag = tag
        self.file_name = f"{name}-{version}-{tag}.whl"
        self.info = f"{name}-{version}.dist-info"
        self._records = []
        self._zip = zipfile.ZipFile(os.path.join(folder, self.file_name), "w", zipfile.ZIP_DEFLATED, compresslevel=9)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self._write_record()
        self._zip.close()

    def add(self, name, content, mode=0o644):
        """Adds a file; content is bytes or text."""
        data = content if isinstance(content, bytes) else content.encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._records.append(f"{name},sha256={digest},{len(data)}")
        self._add_plain(name, data, mode)

    def add_file(self, name, path, mode=0o644):
        with open(path, "rb") as file:
            self.add(name, file.read(), mode)

    def add_metadata(self, files):
        """Adds the files of the dist-info folder: name to content."""
        for name, content in files.items():
            self.add(f"{self.info}/{name}", content)
        self.add(f"{self.info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: rekindle\nRoot-Is-Purelib: false\nTag: {self.tag}\n")

    def _add_plain(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same content makes the same file
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(entry, data)

    def _write_record(self):
        self._add_plain(f"{self.info}/RECORD", ("\n".join([*self._records, f"{self.info}/RECORD,,"]) + "\n").encode())
