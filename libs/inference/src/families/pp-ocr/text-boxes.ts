import type { ImagePoint } from '../../images/reading-tasks.js';

/** Probability that text covers each pixel, row by row. */
export interface TextMap {
  width: number;
  height: number;
  data: Float32Array;
}

/** A rectangle in any direction. */
export interface TextBox {
  /** Clockwise from the top left corner. */
  corners: [ImagePoint, ImagePoint, ImagePoint, ImagePoint];
  score: number;
}

const pixelFrom = 0.3;
const boxFrom = 0.6;
/** The map shows the core of a text; its box is grown by this share of area over perimeter. */
const growth = 1.5;
const minCoreSide = 3;
const minBoxSide = 5;
const maxBoxes = 300;

/**
 * Finds the boxes of texts: a smallest rectangle around each connected area, grown to the whole text.
 *
 * Source: "Real-time Scene Text Detection with Differentiable Binarization" (https://arxiv.org/abs/1911.08947), 3.5.
 */
export function findTextBoxes(map: TextMap): TextBox[] {
  const boxes: TextBox[] = [];
  for (const hull of hullsOf(map)) {
    if (boxes.length === maxBoxes) break;
    const core = smallestRectangle(hull);
    if (Math.min(core.width, core.height) < minCoreSide) continue;
    const score = meanWithin(map, cornersOf(core));
    if (score < boxFrom) continue;
    const distance = (core.width * core.height * growth) / (2 * (core.width + core.height));
    const grown = { ...core, width: core.width + 2 * distance, height: core.height + 2 * distance };
    if (Math.min(grown.width, grown.height) < minBoxSide) continue;
    boxes.push({ corners: cornersOf(grown), score });
  }
  return boxes;
}

interface Rectangle {
  center: ImagePoint;
  /** Unit vector along the width. */
  along: ImagePoint;
  width: number;
  height: number;
}

/** Returns the convex hull of each connected area of pixels with text. */
function hullsOf({ width, height, data }: TextMap): ImagePoint[][] {
  const seen = new Uint8Array(width * height);
  const isText = (at: number): boolean => (data[at] as number) > pixelFrom && seen[at] === 0;
  const hulls: ImagePoint[][] = [];
  for (let start = 0; start < data.length; start++) {
    if (!isText(start)) continue;
    const ends = new Map<number, [number, number]>();
    const open = [start];
    seen[start] = 1;
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const [x, y] = [at % width, Math.floor(at / width)];
      const end = ends.get(y);
      ends.set(y, end === undefined ? [x, x] : [Math.min(end[0], x), Math.max(end[1], x)]);
      for (let row = Math.max(0, y - 1); row <= Math.min(height - 1, y + 1); row++) {
        for (let column = Math.max(0, x - 1); column <= Math.min(width - 1, x + 1); column++) {
          const next = row * width + column;
          if (!isText(next)) continue;
          seen[next] = 1;
          open.push(next);
        }
      }
    }
    // The ends of the rows hold every corner of the hull.
    hulls.push(
      hullOf(
        [...ends].flatMap(([y, [first, last]]) => [
          { x: first, y },
          { x: last, y },
        ]),
      ),
    );
  }
  return hulls;
}

/** Andrew's monotone chain. */
function hullOf(points: ImagePoint[]): ImagePoint[] {
  const sorted = points.toSorted((one, other) => one.x - other.x || one.y - other.y);
  const half = (ordered: readonly ImagePoint[]): ImagePoint[] => {
    const chain: ImagePoint[] = [];
    for (const point of ordered) {
      while (chain.length > 1 && turn(chain.at(-2) as ImagePoint, chain.at(-1) as ImagePoint, point) <= 0) chain.pop();
      chain.push(point);
    }
    return chain.slice(0, -1);
  };
  const hull = [...half(sorted), ...half(sorted.toReversed())];
  return hull.length === 0 ? sorted.slice(0, 1) : hull;
}

function turn(from: ImagePoint, over: ImagePoint, to: ImagePoint): number {
  return (over.x - from.x) * (to.y - from.y) - (over.y - from.y) * (to.x - from.x);
}

/** One side of the smallest rectangle around a hull lies on a side of the hull. */
function smallestRectangle(hull: readonly ImagePoint[]): Rectangle {
  let best: Rectangle | null = null;
  for (const [index, point] of hull.entries()) {
    const next = hull[(index + 1) % hull.length] as ImagePoint;
    const length = Math.hypot(next.x - point.x, next.y - point.y);
    const along = length === 0 ? { x: 1, y: 0 } : { x: (next.x - point.x) / length, y: (next.y - point.y) / length };
    const rectangle = rectangleAlong(hull, along);
    if (best === null || rectangle.width * rectangle.height < best.width * best.height) best = rectangle;
  }
  return best as Rectangle;
}

function rectangleAlong(hull: readonly ImagePoint[], along: ImagePoint): Rectangle {
  const across = { x: -along.y, y: along.x };
  const [first, last] = extent(hull, along);
  const [top, bottom] = extent(hull, across);
  const [u, v] = [(first + last) / 2, (top + bottom) / 2];
  const center = { x: u * along.x + v * across.x, y: u * along.y + v * across.y };
  return { center, along, width: last - first, height: bottom - top };
}

function extent(points: readonly ImagePoint[], direction: ImagePoint): [number, number] {
  let [least, greatest] = [Infinity, -Infinity];
  for (const { x, y } of points) {
    const value = x * direction.x + y * direction.y;
    least = Math.min(least, value);
    greatest = Math.max(greatest, value);
  }
  return [least, greatest];
}

function cornersOf({ center, along, width, height }: Rectangle): TextBox['corners'] {
  const [w, h] = [width / 2, height / 2];
  const at = (u: number, v: number): ImagePoint => ({
    x: center.x + u * along.x - v * along.y,
    y: center.y + u * along.y + v * along.x,
  });
  return clockwise([at(-w, -h), at(w, -h), at(w, h), at(-w, h)]);
}

/** Starts at the upper one of the two left corners. */
function clockwise(corners: ImagePoint[]): TextBox['corners'] {
  const [first, second, third, fourth] = corners.toSorted((one, other) => one.x - other.x) as TextBox['corners'];
  const [topLeft, bottomLeft] = first.y <= second.y ? [first, second] : [second, first];
  const [topRight, bottomRight] = third.y <= fourth.y ? [third, fourth] : [fourth, third];
  return [topLeft, topRight, bottomRight, bottomLeft];
}

/** Returns the mean probability within a convex shape. */
function meanWithin({ width, height, data }: TextMap, corners: TextBox['corners']): number {
  const bound = (value: number, max: number): number => Math.max(0, Math.min(max, value));
  const ys = corners.map(({ y }) => y);
  const xs = corners.map(({ x }) => x);
  let [sum, count] = [0, 0];
  for (
    let y = bound(Math.floor(Math.min(...ys)), height - 1);
    y <= bound(Math.ceil(Math.max(...ys)), height - 1);
    y++
  ) {
    for (
      let x = bound(Math.floor(Math.min(...xs)), width - 1);
      x <= bound(Math.ceil(Math.max(...xs)), width - 1);
      x++
    ) {
      if (!contains(corners, { x, y })) continue;
      sum += data[y * width + x] as number;
      count++;
    }
  }
  return count === 0 ? 0 : sum / count;
}

function contains(corners: TextBox['corners'], point: ImagePoint): boolean {
  return corners.every((corner, index) => turn(corner, corners[(index + 1) % 4] as ImagePoint, point) >= 0);
}
