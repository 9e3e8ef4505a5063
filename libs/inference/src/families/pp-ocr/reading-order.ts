import type { ImagePoint } from '../../images/reading-tasks.js';

interface Placed {
  corners: readonly ImagePoint[];
}

/** Boxes share a row if the middle of one lies this far inside the other, as a share of its height. */
const sharedFrom = 0.5;

/** Returns boxes in rows from the top, each from the left. */
export function inReadingOrder<Box extends Placed>(boxes: readonly Box[]): Box[][] {
  const measured = boxes.map((box) => ({ box, ...spanOf(box) })).toSorted((one, other) => one.middle - other.middle);
  const rows: (typeof measured)[] = [];
  for (const line of measured) {
    const row = rows.at(-1);
    const last = row?.at(-1);
    const reach = Math.min(line.height, last?.height ?? 0) * sharedFrom;
    if (row !== undefined && last !== undefined && Math.abs(line.middle - last.middle) < reach) row.push(line);
    else rows.push([line]);
  }
  return rows.map((row) => row.toSorted((one, other) => one.left - other.left).map(({ box }) => box));
}

function spanOf({ corners }: Placed): { middle: number; height: number; left: number } {
  const ys = corners.map(({ y }) => y);
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  return { middle: (top + bottom) / 2, height: bottom - top, left: Math.min(...corners.map(({ x }) => x)) };
}
