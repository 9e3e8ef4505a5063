import { describe, expect, it } from 'vitest';
import { cocoLabels } from './coco-labels.js';
import { detectedBoxes } from './detected-boxes.js';

const classes = 91;
/** Anchors of half the image's side around its middle. */
const anchor = [0.25, 0.25, 0.75, 0.75];

function outputOf(found: { box?: number[]; kind: number; score: number }[]) {
  const scores = new Float32Array(found.length * classes);
  found.forEach(({ kind, score }, index) => (scores[index * classes + kind] = score));
  return {
    boxes: Float32Array.from(found.flatMap(({ box = [0, 0, 0, 0] }) => box)),
    scores,
    anchors: Float32Array.from(found.flatMap(() => anchor)),
  };
}

describe('detected boxes', () => {
  const size = { width: 200, height: 100 };

  it('have the 80 names of COCO at their numbers', () => {
    expect(cocoLabels).toHaveLength(classes);
    expect(cocoLabels.filter((name) => name !== '')).toHaveLength(80);
    expect([cocoLabels[1], cocoLabels[18], cocoLabels[44], cocoLabels[90]]).toEqual([
      'person',
      'dog',
      'bottle',
      'toothbrush',
    ]);
  });

  it('are the anchor moved by tenths of its side and scaled by fifths of a logarithm', () => {
    const box = [10 * 0.2, 10 * -0.1, 5 * Math.log(0.5), 5 * Math.log(1.5)];
    const [object] = detectedBoxes(outputOf([{ box, kind: 18, score: 0.8 }]), size);
    expect(object).toMatchObject({ label: 'dog', score: expect.closeTo(0.8, 5) as number });
    // Center 0.6, 0.45; height 0.25, width 0.75.
    expect(object?.top).toBeCloseTo((0.6 - 0.125) * 100, 3);
    expect(object?.bottom).toBeCloseTo((0.6 + 0.125) * 100, 3);
    expect(object?.left).toBeCloseTo((0.45 - 0.375) * 200, 3);
    expect(object?.right).toBeCloseTo((0.45 + 0.375) * 200, 3);
  });

  it('leave out the uncertain, the nameless and all but the most certain of those that overlap', () => {
    const moved = [5, 0, 0, 0];
    const found = detectedBoxes(
      outputOf([
        { kind: 1, score: 0.6 },
        { kind: 1, score: 0.9 },
        { box: moved, kind: 3, score: 0.7 },
        { box: [-10, 0, 0, 0], kind: 2, score: 0.4 },
        { box: [-10, 0, 0, 0], kind: 12, score: 0.9 },
      ]),
      size,
    );
    expect(found.map(({ label }) => label)).toEqual(['person', 'car']);
  });

  it('end at the edges of the image', () => {
    const [object] = detectedBoxes(outputOf([{ box: [0, 0, 5, 5], kind: 1, score: 1 }]), size);
    expect(object).toMatchObject({ left: 0, top: 0, right: 200, bottom: 100 });
  });
});
