import { describe, expect, it } from 'vitest';
import { freeBytes } from './free-bytes.js';

describe('freeBytes', () => {
  it('empties an array, whose memory is no longer counted', () => {
    const before = process.memoryUsage().arrayBuffers;
    for (let round = 0; round < 40; round++) {
      const output = new Float32Array(2 ** 22).fill(1);
      freeBytes(output);
      expect(output.length).toBe(0);
    }
    // 40 of 16 MiB each.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 27);
  });

  it('leaves views of larger buffers and other values alone', () => {
    const whole = new Float32Array(8);
    const part = whole.subarray(0, 4);
    freeBytes(part);
    freeBytes(new Float32Array(0));
    freeBytes(['text']);
    freeBytes(undefined);
    expect([whole.length, part.length]).toEqual([8, 4]);
  });
});
