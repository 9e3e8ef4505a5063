import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { limitsOf } from './media-limits.js';

const file = { container: 'mp4', path: '/some/file' } as const;

describe('limitsOf', () => {
  it('lets nothing that reads write a file', () => {
    expect(limitsOf({ kind: 'probe', ...file }, 1_000).fileBytes).toBe(0);
    expect(
      limitsOf({ kind: 'decode-audio', ...file, sampleRate: 16_000, channels: 1, maxSeconds: 1 }, 1_000).fileBytes,
    ).toBe(0);
  });

  it('gives frames more memory than samples, and the kernel a higher limit than the watch', () => {
    const frames = { width: 8, height: 8, colorMatrix: 'auto', fps: null, maxSeconds: 1 };
    const [samples, images] = [
      limitsOf({ kind: 'encode-audio', format: 'mp3', sampleRate: 8_000, channels: 1 }, 1_000),
      limitsOf({ kind: 'read-frames', ...file, ...frames }, 1_000),
    ];
    expect(images.maxResidentBytes).toBeGreaterThan(samples.maxResidentBytes);
    for (const limits of [samples, images]) expect(limits.memoryBytes).toBeGreaterThan(limits.maxResidentBytes);
  });

  it('bounds the processor time by the time limit on all processors', () => {
    expect(limitsOf({ kind: 'probe', ...file }, 10_000).cpuSeconds).toBe(20);
    const frames = { width: 8, height: 8, colorMatrix: 'auto', fps: null, maxSeconds: 1 };
    const { cpuSeconds } = limitsOf({ kind: 'read-frames', ...file, ...frames }, 10_000);
    expect(cpuSeconds).toBe(10 * availableParallelism());
  });
});
