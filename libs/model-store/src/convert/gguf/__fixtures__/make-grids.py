"""Prints the table in ../iq-grids.ts: the code points of the IQ formats, as gaps between sorted numbers.

    pip install gguf numpy && python make-grids.py

A code point is a row of levels. Read as a number whose first level is its lowest digit, the points of every format are
in ascending order. A gap is a byte; 255 is added to the byte after it.
"""

import base64

from gguf import quants

WIDTH = 108

for name in ("IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S"):
    quant = getattr(quants, name)
    quant.init_grid()
    levels = list(quant.grid_map)
    last = -1
    gaps = bytearray()
    for point in quant.grid.reshape(quant.grid_shape):
        number = sum(levels.index(int(level)) * len(levels) ** digit for digit, level in enumerate(point))
        gap = number - last - 1
        while gap >= 255:
            gaps.append(255)
            gap -= 255
        gaps.append(gap)
        last = number
    text = base64.b64encode(gaps).decode()
    print(f"const gaps{name.replace('_', '')} = [")
    for start in range(0, len(text), WIDTH):
        print(f"  '{text[start : start + WIDTH]}',")
    print("].join('');\n")
