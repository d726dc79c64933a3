#!/usr/bin/env python3
"""Usage: environment_page.py REPOSITORY. Compares the variables that the sources read with docs/environment.md."""
import pathlib
import re
import sys

FOLDERS = ('foundation', 'base', 'runtime', 'products', 'market', 'mlp', 'trainer', 'doctor', 'cli', 'pytorch')
READ = re.compile(r'"((?:REKINDLE|TORCH_RVK)_[A-Z_]+)"')


def main():
    root = pathlib.Path(sys.argv[1])
    read = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob('*')):
            if path.suffix in ('.cpp', '.h', '.py'):
                for name in READ.findall(path.read_text()):
                    read.setdefault(name, path.relative_to(root))
    page = set(re.findall(r'`((?:REKINDLE|TORCH_RVK)_[A-Z_]+)`', (root / 'docs/environment.md').read_text()))
    problems = [f'{path} reads {name}, which docs/environment.md does not list'
                for name, path in read.items() if name not in page]
    problems += [f'docs/environment.md lists {name}, which no source reads' for name in sorted(page - set(read))]
    print('\n'.join(problems) or f'{len(page)} variables')
    sys.exit(bool(problems))


if __name__ == '__main__':
    main()
