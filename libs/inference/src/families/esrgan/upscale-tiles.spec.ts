import { describe, expect, it } from 'vitest';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import { emptyImage } from '../../images/pixel-grid.js';
import type { GraphSession, GraphTensor } from '../../runtime/graph-session.js';
import { upscaleTiles } from './upscale-tiles.js';

const reach = 4;

/** Network that doubles every pixel and sees `reach` pixels to the left and above, black beyond the edge. */
function farSeeingSession(fed: number[][]): GraphSession {
  const tensor = (_: string, data: unknown, dims: readonly number[]): GraphTensor => ({ type: 'float32', data, dims });
  return {
    inputs: [{ name: 'in', type: 'float32', shape: [] }],
    outputs: [{ name: 'out', type: 'float32', shape: [] }],
    provider: 'cpu',
    providerNote: null,
    tensor,
    run: async (feeds) => {
      const { dims, data } = feeds['in'] as GraphTensor;
      const [, , height = 0, width = 0] = dims;
      fed.push([width, height]);
      const from = data as Float32Array;
      const out = new Float32Array(3 * 4 * width * height);
      for (let channel = 0; channel < 3; channel++) {
        for (let y = 0; y < 2 * height; y++) {
          for (let x = 0; x < 2 * width; x++) {
            const [row, column] = [Math.floor(y / 2), Math.floor(x / 2)];
            const at = (r: number, c: number) => (r < 0 || c < 0 ? 0 : (from[(channel * height + r) * width + c] ?? 0));
            out[(channel * 2 * height + y) * 2 * width + x] = (at(row, column) + at(row - reach, column - reach)) / 2;
          }
        }
      }
      return { out: tensor('float32', out, [1, 3, 2 * height, 2 * width]) };
    },
    release: () => Promise.resolve(),
  };
}

function contextOf(fractions: number[]): TaskContext {
  return {
    part: () => undefined,
    progress: (fraction) => void fractions.push(fraction),
    yieldToEventLoop: () => Promise.resolve(),
    measure: (run) => run(),
  };
}

describe('upscaling in tiles', () => {
  const sizes = { scale: 2, graphScale: 2, tile: 192 };
  const image = emptyImage(450, 210);
  image.data.forEach((_, index) => (image.data[index] = (index * 7919) % 251));

  it('shows no seam: the result equals one run over the whole image', async () => {
    const [fed, fractions]: [number[][], number[]] = [[], []];
    const session = farSeeingSession(fed);
    const tiled = await upscaleTiles(session, { image, ...sizes, margin: reach, context: contextOf(fractions) });
    expect(fed.length).toBe(6);
    expect(Math.max(...fed.flat())).toBe(192 + 2 * reach);
    expect(fractions).toEqual([1, 2, 3, 4, 5, 6].map((done) => done / 6));
    // One tile as large as the image has no margin to leave out.
    const whole = emptyImage(900, 420);
    for (let y = 0; y < 420; y++) {
      for (let x = 0; x < 900; x++) {
        const [row, column] = [Math.floor(y / 2), Math.floor(x / 2)];
        for (let channel = 0; channel < 3; channel++) {
          const at = (r: number, c: number) => (r < 0 || c < 0 ? 0 : (image.data[(r * 450 + c) * 3 + channel] ?? 0));
          const expected = (at(row, column) + at(row - reach, column - reach)) / 2;
          whole.data[(y * 900 + x) * 3 + channel] = Math.floor(expected + 0.5);
        }
      }
    }
    const differences = tiled.data.reduce(
      (max, value, index) => Math.max(max, Math.abs(value - (whole.data[index] ?? 0))),
      0,
    );
    expect(differences).toBeLessThanOrEqual(1);
  });

  it('shows a seam when the margin is too small, so the test above can fail', async () => {
    const session = farSeeingSession([]);
    const options = { image, ...sizes, context: contextOf([]) };
    const right = await upscaleTiles(session, { ...options, margin: reach });
    const wrong = await upscaleTiles(session, { ...options, margin: reach - 1 });
    expect(wrong.data).not.toEqual(right.data);
  });

  it('serves half the factor of a graph, with the mean of four pixels', async () => {
    const session = farSeeingSession([]);
    const options = { image, tile: 64, margin: reach, context: contextOf([]) };
    const [same, twice] = [
      await upscaleTiles(session, { ...options, scale: 1, graphScale: 2 }),
      await upscaleTiles(session, { ...options, scale: 2, graphScale: 2 }),
    ];
    expect([same.width, same.height]).toEqual([450, 210]);
    for (const [row, column] of [
      [0, 0],
      [63, 64],
      [209, 449],
    ] as const) {
      for (let channel = 0; channel < 3; channel++) {
        const at = (y: number, x: number) => twice.data[(y * 900 + x) * 3 + channel] as number;
        const [y, x] = [2 * row, 2 * column];
        const mean = (at(y, x) + at(y, x + 1) + at(y + 1, x) + at(y + 1, x + 1)) / 4;
        expect(Math.abs((same.data[(row * 450 + column) * 3 + channel] as number) - mean)).toBeLessThanOrEqual(1);
      }
    }
  });
});
