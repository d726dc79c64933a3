#!/usr/bin/env python3
"""Usage: barred_words.py LIST FILE… Finds the barred words of LIST (a regular expression, a tab, what to write instead) in texts.
A line that must keep such a word says "barred-words: ok". Status 1: some were found."""
import pathlib
import re
import sys

OWN = ('barred_words.txt', 'glossary.md')  # they name the words


def rules_of(path):
    for line in pathlib.Path(path).read_text(encoding='utf-8').splitlines():
        if line and not line.startswith('#'):
            pattern, instead = line.split('\t')
            yield re.compile(pattern, re.IGNORECASE), instead


def main():
    rules = list(rules_of(sys.argv[1]))
    found = 0
    for name in sys.argv[2:]:
        path = pathlib.Path(name)
        if path.name in OWN or path.is_symlink() or not path.exists():
            continue
        try:
            lines = path.read_text(encoding='utf-8').splitlines()
        except UnicodeDecodeError:
            continue  # not a text
        for number, line in enumerate(lines, 1):
            if 'barred-words: ok' in line:
                continue
            for pattern, instead in rules:
                if match := pattern.search(line):
                    print(f'{name}:{number}: "{match.group()}": write {instead}')
                    found += 1
    sys.exit(1 if found else 0)


main()
