import type { DetectedObject } from '../../images/reading-tasks.js';
import { cocoLabels } from './coco-labels.js';

/** Output of an SSD network for one image, with `count` anchors. */
export interface SsdOutput {
  /** `[count, 4]`: center y, center x, height, width, relative to the anchors. */
  boxes: Float32Array;
  /** `[count, classes]`: probabilities, the background first. */
  scores: Float32Array;
  /** `[count, 4]`: top, left, bottom, right, from 0 to 1. */
  anchors: Float32Array;
}

/** The network gives differences of centers in tenths of the anchor's side and of sizes in fifths of their logarithm. */
const centerScale = 10;
const sizeScale = 5;
const objectFrom = 0.5;
const overlapFrom = 0.5;
const maxObjects = 20;

/**
 * Returns the objects of an image of this size: of boxes that mostly overlap, the most certain one.
 *
 * Source: "SSD: Single Shot MultiBox Detector" (https://arxiv.org/abs/1512.02325), 2.2.
 */
export function detectedBoxes(
  output: SsdOutput,
  { width, height }: { width: number; height: number },
): DetectedObject[] {
  const found: DetectedObject[] = [];
  for (const box of candidates(output)) {
    if (found.length === maxObjects) break;
    if (found.every((other) => overlap(box, other) < overlapFrom)) found.push(box);
  }
  const bound = (value: number): number => Math.max(0, Math.min(1, value));
  return found.map(({ left, top, right, bottom, ...object }) => ({
    ...object,
    left: bound(left) * width,
    top: bound(top) * height,
    right: bound(right) * width,
    bottom: bound(bottom) * height,
  }));
}

/** Boxes of named classes with edges from 0 to 1, the most certain first. */
function candidates(output: SsdOutput): DetectedObject[] {
  const count = output.anchors.length / 4;
  const classes = output.scores.length / count;
  const boxes: DetectedObject[] = [];
  for (let index = 0; index < count; index++) {
    let best = 1;
    for (let kind = 2; kind < classes; kind++) {
      if (at(output.scores, index * classes + kind) > at(output.scores, index * classes + best)) best = kind;
    }
    const score = at(output.scores, index * classes + best);
    const label = cocoLabels[best] ?? '';
    if (score >= objectFrom && label !== '') boxes.push({ label, score, ...edgesOf(output, index * 4) });
  }
  return boxes.toSorted((one, other) => other.score - one.score);
}

function edgesOf({ boxes, anchors }: SsdOutput, from: number): Omit<DetectedObject, 'label' | 'score'> {
  const [top, left, bottom, right] = [0, 1, 2, 3].map((edge) => at(anchors, from + edge)) as [
    number,
    number,
    number,
    number,
  ];
  const [height, width] = [bottom - top, right - left];
  const y = (at(boxes, from) / centerScale) * height + (top + bottom) / 2;
  const x = (at(boxes, from + 1) / centerScale) * width + (left + right) / 2;
  const halfHeight = (Math.exp(at(boxes, from + 2) / sizeScale) * height) / 2;
  const halfWidth = (Math.exp(at(boxes, from + 3) / sizeScale) * width) / 2;
  return { left: x - halfWidth, top: y - halfHeight, right: x + halfWidth, bottom: y + halfHeight };
}

function at(values: Float32Array, index: number): number {
  return values[index] as number;
}

/** Area that two boxes share, over the area that they cover. */
function overlap(one: DetectedObject, other: DetectedObject): number {
  const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  if (width <= 0 || height <= 0) return 0;
  const area = ({ left, top, right, bottom }: DetectedObject): number => (right - left) * (bottom - top);
  return (width * height) / (area(one) + area(other) - width * height);
}
