/**
 * A mask (0 is kept) whose holes are larger by `reach` pixels on every side, diagonals included. Rows of `width` values.
 */
export function grownGap(mask: Uint8Array, width: number, reach: number): Uint8Array {
  const height = mask.length / width;
  const across = spread(mask, { lines: height, length: width, step: 1, lineStep: width, reach });
  return spread(across, { lines: width, length: height, step: width, lineStep: 1, reach });
}

interface Sweep {
  lines: number;
  length: number;
  /** From one value of a line to the next, and from one line to the next. */
  step: number;
  lineStep: number;
  reach: number;
}

/** Along one axis: whoever has a hole within reach becomes one. */
function spread(mask: Uint8Array, { lines, length, step, lineStep, reach }: Sweep): Uint8Array {
  const grown = new Uint8Array(mask.length);
  for (let line = 0; line < lines; line++) {
    let reachedUntil = -1;
    for (let place = 0; place < length + reach; place++) {
      if (place < length && mask[line * lineStep + place * step] !== 0) reachedUntil = place + 2 * reach;
      // What is decided here lies `reach` behind, so that holes ahead count as well.
      const behind = place - reach;
      if (behind >= 0 && place <= reachedUntil) grown[line * lineStep + behind * step] = 1;
    }
  }
  return grown;
}
