"""Runs a program written for CUDA on the device rvk, unchanged.

    python -m torch_rvk.run train.py --epochs 3
    python -m torch_rvk.run -m package.train --epochs 3
    python -m torch_rvk.run -c "import torch; print(torch.cuda.get_device_name())"

SCRIPT is a file, or a folder or archive with __main__.py; - reads the program from standard input. Arguments, names,
paths and the exit status are the same as when Python itself runs the program.

Uses of CUDA are mapped to rvk (from_cuda/); each mapping is reported once on standard error. A use that cannot be
mapped ends the program with exit status 3 and names the line that made it. Processes that the program starts are mapped
too. CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES select devices, as they do with CUDA and ROCm.
"""

import importlib.machinery
import os
import pkgutil
import runpy
import sys
import types

USAGE = "usage: python -m torch_rvk.run (SCRIPT | -m MODULE | -c CODE | -) [ARGUMENT …]"
WRONG_USE = 2  # the exit status, the same as Python's


def _refuse(message):
    print(f"torch_rvk.run: {message}\n{USAGE}", file=sys.stderr)
    sys.exit(WRONG_USE)


def _split(arguments):
    """The kind of program ("-c", "-m" or "script"), its text, and its arguments."""
    first = arguments[0] if arguments else ""
    if first in ("-h", "--help"):
        print(f"{USAGE}\n\n{__doc__}")
        sys.exit(0)
    if not first:
        _refuse("there is nothing to run")
    kind = first[:2]
    if kind in ("-c", "-m"):
        rest = ([first[2:]] if first[2:] else []) + arguments[1:]
        if not rest:
            _refuse(f"{kind} needs {'the code' if kind == '-c' else 'the name of a module'} after it")
        return kind, rest[0], rest[1:]
    if first.startswith("-") and first != "-":
        _refuse(f"unknown option {first}; options for Python itself go before -m: python {first} -m torch_rvk.run …")
    if first != "-" and not os.path.exists(first):
        _refuse(f"{first} does not exist")
    return "script", first, arguments[1:]


def _map_cuda():
    os.environ["TORCH_RVK_FROM_CUDA"] = "1"  # spawned children then map too (registration.py)
    from . import from_cuda, registration

    if not registration.is_registered():
        sys.exit("torch_rvk.run: the device rvk could not be registered; the warning above says why.")
    from_cuda.install()


def _new_main(**attributes):
    """Puts a new module __main__ in place of this one. It stays until the process ends, for threads and code that runs at
    exit."""
    main = types.ModuleType("__main__")
    vars(main).update(attributes, __builtins__=sys.modules["builtins"])
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    return main


def _search_first(folder):
    """Replaces the first entry of sys.path, which was the folder of `python -m torch_rvk.run`."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _code_of(path):
    with open(path, "rb") as file:
        compiled = pkgutil.read_code(file)
    if compiled is not None:
        return compiled
    with open(path, "rb") as file:
        return compile(file.read(), path, "exec")


def _run_code(source, name, **attributes):
    _search_first("")
    main = _new_main(__loader__=importlib.machinery.BuiltinImporter, **attributes)
    exec(compile(source, name, "exec"), vars(main))


def _run_file(path):
    _search_first(os.path.dirname(os.path.realpath(path)))
    absolute = os.path.abspath(path)
    loader = importlib.machinery.SourceFileLoader("__main__", absolute)
    main = _new_main(__loader__=loader, __file__=absolute, __cached__=None)
    exec(_code_of(absolute), vars(main))


def _run_container(path):
    """Runs a folder or an archive with __main__.py."""
    path = os.path.abspath(path)
    if sys.flags.safe_path:
        sys.path.insert(0, path)
    else:
        sys.path[0] = path
    _new_main()
    runpy._run_module_as_main("__main__", alter_argv=False)


def _run_module(name):
    _search_first(os.getcwd())
    _new_main()
    runpy._run_module_as_main(name)


def _run(kind, text, arguments):
    sys.argv = ["-c" if kind == "-c" else "-m" if kind == "-m" else text, *arguments]
    if kind == "-c":
        _run_code(text, "<string>")
    elif kind == "-m":
        _run_module(text)
    elif text == "-":
        _run_code(sys.stdin.read(), "<stdin>", __file__="<stdin>", __cached__=None)
    elif os.path.isfile(text) and not _is_archive(text):
        _run_file(text)
    else:
        _run_container(text)


def _is_archive(path):
    return not isinstance(pkgutil.get_importer(path), (importlib.machinery.FileFinder, types.NoneType))


def _without_this_file(traceback):
    """The program's own frames, as Python would show them."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def main():
    program = _split(sys.argv[1:])
    _map_cuda()
    try:
        _run(*program)
    except Exception as error:
        error.__traceback__ = _without_this_file(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


if __name__ == "__main__":
    main()
