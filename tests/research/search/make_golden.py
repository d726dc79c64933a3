#!/usr/bin/env python3
"""Writes ../data/sobol.json: points of the Sobol sequence. Needs SciPy, which also uses the direction numbers of Joe and Kuo."""
import json
import os

from scipy.stats import qmc

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "sobol.json")
DIMENSIONS = 21
INDICES = list(range(8)) + [2**k - 1 for k in range(4, 15)] + [5000, 12345, 16000]


def main():
    points = qmc.Sobol(DIMENSIONS, scramble=False, bits=32).random(2**14)
    rows = [{"index": i, "point": [int(round(x * 2**32)) for x in points[i]]} for i in INDICES]
    with open(PATH, "w", encoding="utf-8") as file:
        file.write("[" + ",\n ".join(json.dumps(row) for row in rows) + "]\n")


if __name__ == "__main__":
    main()
