#!/usr/bin/env python3
"""make_stub_index.py FOLDER: creates a package index with two tiny wheels like AMD's: torch with the extra
device-gfx1010 and the device package that it requires. This torch implements just enough for the plan's check."""

import hashlib
import os
import sys
import zipfile

TORCH = '''class Tensor:
    def __matmul__(self, other): return self
    def __getitem__(self, index): return self
    def item(self): return 64.0
def ones(*shape, device=None):
    import amd_torch_device_gfx1010  # the code for the GPU
    return Tensor()
'''


def wheel(folder, name, version, files, extra=""):
    stem = f"{name}-{version}"
    info = f"{stem}.dist-info"
    files = dict(files)
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n{extra}"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: stub\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
    project = os.path.join(folder, name.replace("_", "-"))
    os.makedirs(project, exist_ok=True)
    path = os.path.join(project, f"{stem}-py3-none-any.whl")
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in files.items():
            archive.writestr(file, content)
    digest = hashlib.sha256(open(path, "rb").read()).hexdigest()
    with open(os.path.join(project, "index.html"), "w", encoding="utf-8") as page:
        page.write(f'<a href="{os.path.basename(path)}#sha256={digest}">{os.path.basename(path)}</a>')


def main():
    folder = sys.argv[1]
    wheel(folder, "torch", "2.13.0", {"torch/__init__.py": TORCH},
          "Provides-Extra: device-gfx1010\nRequires-Dist: amd-torch-device-gfx1010; extra == \"device-gfx1010\"\n")
    wheel(folder, "amd_torch_device_gfx1010", "2.13.0", {"amd_torch_device_gfx1010/__init__.py": ""})


if __name__ == "__main__":
    main()
