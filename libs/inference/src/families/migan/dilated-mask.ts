/**
 * Returns a mask (0 is kept) whose masked areas are larger by `reach` pixels on every side, diagonals included. Rows
 * have `width` values.
 */
export function dilateMask(mask: Uint8Array, width: number, reach: number): Uint8Array {
  const height = mask.length / width;
  const across = spread(mask, { lines: height, length: width, step: 1, lineStep: width, reach });
  return spread(across, { lines: width, length: height, step: width, lineStep: 1, reach });
}

interface Sweep {
  lines: number;
  length: number;
  /** Distance from one value of a line to the next, and from one line to the next. */
  step: number;
  lineStep: number;
  reach: number;
}

/** Along one axis: a pixel with a masked one within reach is masked. */
function spread(mask: Uint8Array, { lines, length, step, lineStep, reach }: Sweep): Uint8Array {
  const dilated = new Uint8Array(mask.length);
  for (let line = 0; line < lines; line++) {
    let reachedUntil = -1;
    for (let position = 0; position < length + reach; position++) {
      if (position < length && mask[line * lineStep + position * step] !== 0) reachedUntil = position + 2 * reach;
      // What is decided here lies `reach` behind, so that masked pixels ahead count as well.
      const behind = position - reach;
      if (behind >= 0 && position <= reachedUntil) dilated[line * lineStep + behind * step] = 1;
    }
  }
  return dilated;
}
