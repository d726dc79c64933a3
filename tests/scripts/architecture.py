#!/usr/bin/env python3
"""Usage: architecture.py REPOSITORY. Compares ARCHITECTURE.md with the tree: the table of libraries with what the build links,
every path that it names, and that every folder at the top has a README."""
import pathlib
import re
import sys


def linked(root):
    """{library: the libraries of this project that its CMakeLists.txt links}. NAME_parts is NAME without its built-in data."""
    libraries = {}
    for path in sorted(root.glob('*/CMakeLists.txt')):
        text = path.read_text()
        for name, words in re.findall(r'^rekindle_library\((\w+)([^)]*)\)', text, re.MULTILINE):
            libraries[name.removesuffix('_parts')] = words
        for name, words in re.findall(r'^target_link_libraries\(rekindle_(\w+) PRIVATE([^)]*)\)', text, re.MULTILINE):
            if name in libraries:  # what only its sources use
                libraries[name] += words
        for words in re.findall(r'^target_link_libraries\(torch_rvk PRIVATE([^)]*)\)', text, re.MULTILINE):
            libraries['pytorch'] = words
        for words in re.findall(r'^target_link_libraries\(rekindle_python PRIVATE([^)]*)\)', text, re.MULTILINE):
            libraries['python'] = words
    return {name: {word for word in re.findall(r'rekindle::(\w+?)(?:_options)?\b', words) if word in libraries}
            for name, words in libraries.items()}


def tabled(text):
    """{library: what ARCHITECTURE.md says it may use}."""
    table = text.split('## Libraries')[1].split('\n\nThe other folders')[0]
    rows = [[cell.strip() for cell in line.strip('|').split('|')] for line in table.splitlines() if line.startswith('| `')]
    return {row[0].strip('`'): set(re.findall(r'`(\w+)`', row[2])) for row in rows}


def missing_paths(root, text):
    """The paths in backticks that contain a folder and do not exist; a path may begin with the folder named last."""
    paths = []
    for path in re.findall(r'`([\w./-]+/[\w./-]*)`', text):
        if re.search(r'\b[A-Z]+\b', path):  # a placeholder
            continue
        if not (root / path).exists() and not any((folder / path).exists() for folder in [*root.glob('*/'), *root.glob('*/src/')]):
            paths.append(path)
    return paths


def main():
    root = pathlib.Path(sys.argv[1])
    text = (root / 'ARCHITECTURE.md').read_text()
    problems = []
    build, table = linked(root), tabled(text)
    for name in sorted(build.keys() | table.keys()):
        if build.get(name) != table.get(name):
            problems.append(f'{name}: the build links {sorted(build.get(name, []))}, the table says {sorted(table.get(name, []))}')
    problems += [f'there is no {path}' for path in missing_paths(root, text)]
    made = set(re.findall(r'^/([\w-]+)', (root / '.gitignore').read_text(), re.MULTILINE))
    folders = [path for path in sorted(root.iterdir()) if path.is_dir() and not path.name.startswith(('.', 'build'))]
    problems += [f'{folder.name}/ has no README.md' for folder in folders
                 if folder.name not in made and not (folder / 'README.md').exists()]
    for problem in problems:
        print(f'ARCHITECTURE.md: {problem}')
    sys.exit(1 if problems else 0)


main()
