#!/usr/bin/env python3
"""Usage: plurals.py REPOSITORY. Finds texts such as "{} rows", which are wrong for 1: counted() of rekindle/base/text.h
prints the noun that agrees. The texts of ALLOWED never print a 1."""
import pathlib
import re
import sys

from allow_list import report

NOUNS = ('row bar session epoch line file column window target sample device GPU card step value second minute hour day '
         'week month year point date name block test problem warning error gap trade message run check kernel parameter weight '
         'layer unit field character driver package measurement change seed fold segment network mistake feature level '
         'tick price contract thing wheel center scale element result byte probe stamp roll prediction group claim '
         'signature tensor record term option processor input output setting').split()
PLURALS = '|'.join(noun + 's' for noun in NOUNS) + '|entries|batches|indexes|dictionaries|processes'
# A number, at most one word, the noun.
TEXT = re.compile(rf'(?:\{{[^{{}}]*\}}|^"|\+ ") (?:[a-z-]+ )?(?:{PLURALS})\b')

ALLOWED = {
    'a constant': [
        'ago), in percent', 'log return of the close over {} sessions', 'change of session_close over {} sessions',
        'close_change_pct over {} sessions', 'change of total_volume over {} sessions', 'vpoc - vpoc {} sessions ago',
        'change of vpoc over {} sessions', 'change of range_pct over {} sessions', 'mean of value_area_width over {}',
        'value_area_width / its mean over {}', 'sample std of vpoc over {} sessions', '(vpoc - its mean over {}',
        'in all of the last {} sessions', 'more than {} files', 'has more than {} bytes', 'more than {} values',
        'nested deeper than {} levels', '{} probes before this one hung',
        ' bytes (torch.uint8)."', '{checks.STEPS} steps, loss', 'after {STEPS} training steps', '{STEPS} training steps changed',
    ],
    'beyond a limit far above 1': ['claims {} entries', 'claims an id of {} bytes', 'the pickle has {} bytes', '" units is wider', '" bytes of shared memory',
                                    '{} of {} bytes', '" bytes; every device supports at most "', '" bytes; the limit is "', '" elements"',
                                    '" elements in "'],
    'two or more by its condition': [
        '{} networks, {} network-steps/s', '{} networks with seeds', '{} networks  median loss', '({} lines)',
        'with {} GPUs the collective', 'Two of the {} GPUs', "translates the {} GPUs' memory", 'these {} steps',
        'the archive holds {} dictionaries', 'the {} sessions in common', 'of all {} networks of a population',
        '" price levels"', '" contracts: "', '" networks"', 'CSV with {} header lines',
    ],
    'none, or two or more by its condition': ['" index tensors"'],
    'a part of a total': ['" results are wrong"'],
    "PyTorch's own words": ['" elements respectively"', '" elements."'],
    'what is counted is the embedded knowledge': [
        '" GPUs: {}."',
        '{} models, {} gfx targets', 'the doctor\'s table has {} targets', '{} indexes, {} container tags', '{} messages and',
    ],
    'a distance of prices, seldom 1': ['{:.3g} points apart'],
    'prices of an axis': ['{:g} to {:g} points', 'close {:g} points.'],
    'not a number': [
        '{} has bars of {}', '{} names no contracts', 'the {} of bars',
        '{}={} names a target that does not exist', "{}={} names the {}'s own target",
        '{} runs from newest', '+ " their prices', '+ " the contracts never have bars', 'the tensor {} holds values',
        'runs RDNA2 code on', '+ " points"', 'all {} self-test results', '" with tensors of the kind "',
    ],
    'a rate or a measure': ['{:.0f} rows/s', '{:.1f} months'],
}


def strings(path):
    """(line number, text) of the string literals; literals that are joined are one."""
    source = re.sub(r'//.*', '', path.read_text())
    for found in re.finditer(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', source):
        joined = re.sub(r'(?<!\\)"\s*"', '', found.group().strip())
        before = source[:found.start()].rstrip()
        yield source.count('\n', 0, found.start()) + 1, ('+ ' if before.endswith('+') else '') + joined


def findings(root):
    for folder in ('base', 'kernels', 'runtime', 'market', 'mlp', 'trainer', 'doctor', 'cli', 'pytorch'):
        for path in sorted((root / folder).rglob('*')):
            if path.suffix in ('.cpp', '.h', '.py'):
                for line, text in strings(path):
                    if TEXT.search(text):
                        yield path, line, text


def main():
    root = pathlib.Path(sys.argv[1])
    report('plurals.py', root, ALLOWED, findings(root))


main()
