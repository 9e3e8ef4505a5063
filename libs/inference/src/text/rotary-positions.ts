import type { RotaryPositions } from '../scheduler/prompt-media.js';
import type { ImageLayout, ImageRun } from './image-prompt.js';

/**
 * Positions of a prompt in time, height and width: text counts all three, an image stands at one time and spans its grid.
 * Text after an image goes on behind the largest position so far.
 *
 * Source: M-RoPE, "Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any Resolution", 2.1.
 */
export function rotaryPositions(
  length: number,
  images: readonly { layout: ImageLayout; runs: readonly ImageRun[] }[],
): RotaryPositions {
  const values = new Int32Array(3 * length);
  let next = 0;
  let at = 0;
  const addText = (end: number): void => {
    for (; at < end; at++, next++) for (let axis = 0; axis < 3; axis++) values[axis * length + at] = next;
  };
  for (const { layout, runs } of images) {
    const { grid } = layout;
    const [run] = runs;
    if (grid === undefined || run === undefined) continue;
    addText(run.start);
    for (let index = 0; index < run.length; index++, at++) {
      values[at] = next;
      values[length + at] = next + Math.floor(index / grid.columns);
      values[2 * length + at] = next + (index % grid.columns);
    }
    next += Math.max(grid.rows, grid.columns);
  }
  addText(length);
  return { values, shift: next - length };
}
