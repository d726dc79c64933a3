"""For checks that read sources and allow some of what they find, each with a reason."""

import sys


def report(check, root, allowed_by_reason, findings):
    """Prints the findings, (path, line, text), that contain no allowed text, and the allowed texts that no finding contains;
    exits with 1 if there are any."""
    allowed = [text for texts in allowed_by_reason.values() for text in texts]
    used, wrong = set(), 0
    for path, line, text in findings:
        reasons = [one for one in allowed if one in text]
        used.update(reasons)
        if not reasons:
            wrong += 1
            print(f'{path.relative_to(root)}:{line}: {text}')
    for text in sorted(set(allowed) - used):
        wrong += 1
        print(f'{check}: "{text}" is allowed and nowhere to be found')
    sys.exit(1 if wrong else 0)
