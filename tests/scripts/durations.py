#!/usr/bin/env python3
"""Usage: durations.py REPOSITORY. Finds tests that compare measured times: how fast something runs decides no test. The order of
events (a time that is not below 0) can be tested. The comparisons of ALLOWED hold at any speed, for the reason above them."""
import pathlib
import re
import sys

from allow_list import report

# What measures time.
CLOCK = re.compile(r'elapsed|seconds_since|_clock::now|\btime\.(?:time|monotonic|perf_counter|process_time|thread_time)\w*\('
                   r'|(?:\.|->)(?:milli|micro|nano)?seconds\b(?!\()|\btimeit\b|clock_gettime|\$SECONDS|\$EPOCH|date \+%s')
ASSIGNMENT = re.compile(r'^(?:const |auto |double |std::[\w:<>, ]+? |steady_clock::\w+ |float )*([\w, ]+?)(?:: \w+)? [+-]?= (.*)$', re.DOTALL)
COMPARISON = re.compile(r'^(?:EXPECT|ASSERT)_(?:LT|LE|GT|GE|NEAR)\(|^(?:EXPECT|ASSERT)_(?:TRUE|FALSE)\(.* [<>]=? '
                        r'|^self\.assert(?:Less|Greater|AlmostEqual)\w*\(|^self\.assert(?:True|False)\(.* [<>]=? |^assert .* [<>]=? '
                        r'|\[\[? .* -(?:lt|le|gt|ge) |\(\(.* [<>]=? ', re.DOTALL)
ORDER = re.compile(r'^(?:(?:EXPECT|ASSERT)_|self\.assert)(?:GT|GE|Greater|GreaterEqual)\(.*, 0(?:\.0)?\)(?: <<.*)?$|^assert .* >=? 0$', re.DOTALL)

ALLOWED = {
    'at least this long, because something waits': [
        'EXPECT_GE(watched.outcome.seconds, limit)', 'EXPECT_GE(outcome.seconds, 2.3)', 'EXPECT_GE(watched.outcome.seconds, 2.6)',
        'steady_clock::now() - begun, std::chrono::milliseconds(500)',
    ],
    'a part of a run against the whole run, on the same clock': [
        'EXPECT_LE(seconds, wall.count() * 1.01)', 'EXPECT_LE(rows[0].seconds + rows[1].seconds, wall.count() * 1.01)',
        'EXPECT_LT(took.count(), one_after_the_other)',
    ],
    'the order of what happened': ['EXPECT_GE(rows[0].seconds, rows[1].seconds)', 'EXPECT_GE(r.begin_ns, begun - off)'],
    'times that the test itself makes up': [
        'EXPECT_NEAR(time.estimate(', 'EXPECT_GT(time.estimate(',
    ],
}


def statements(path):
    """(line number, statement): lines joined until their parentheses are closed, comments removed."""
    comment = r'//.*' if path.suffix in ('.cpp', '.h') else r'(?:^|\s)#.*'
    held, start = '', 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = re.sub(comment, '', line).strip()
        if not held:
            start = number
        held = f'{held} {text}'.strip()
        bare = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', '', held)
        if bare.count('(') > bare.count(')') and number - start < 20:
            continue
        for one in held.split('; '):
            yield start, one.rstrip(';{ ')
        held = ''


def names_a_time(text, names):
    return CLOCK.search(text) or any(re.search(rf'\b{re.escape(name)}\b', text) for name in names)


def functions_that_measure(text):
    """Python functions and C++ lambdas whose text reads a clock: a call of one is a time."""
    found = set()
    for match in re.finditer(r'^( *)def (\w+)\(.*\n((?:\1 +.*\n|\n)*)', text, re.MULTILINE):
        returned = re.findall(r'return (.*)', match.group(3))
        if any(CLOCK.search(value) for value in returned):
            found.add(match.group(2))
    return found


def comparisons(path):
    """(line number, statement) of the comparisons of times. A variable is a time if it was assigned from one in this file."""
    lines = list(statements(path))
    names = functions_that_measure(path.read_text())
    while True:
        assigned = set()
        for _, text in lines:
            match = ASSIGNMENT.match(text)
            if match and names_a_time(match.group(2), names):
                assigned.update(name.strip().split(' ')[-1] for name in match.group(1).split(','))
        if assigned <= names:
            break
        names |= assigned
    for number, text in lines:
        if COMPARISON.search(text) and names_a_time(text, names) and not ORDER.search(text):
            yield number, text


def findings(root):
    for path in sorted((root / 'tests').rglob('*')):
        if path.suffix in ('.cpp', '.h', '.py', '.sh') and path.parent != root / 'tests' / 'scripts':
            for line, text in comparisons(path):
                yield path, line, text


def main():
    root = pathlib.Path(sys.argv[1])
    report('durations.py', root, ALLOWED, findings(root))


if __name__ == '__main__':
    main()
