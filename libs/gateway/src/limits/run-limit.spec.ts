import { describe, expect, it } from 'vitest';
import type { PlatformError } from '#common';
import type { ResolvedModel } from '#model-registry';
import { exampleManifest } from '#test/example-manifest';
import { requireRunFits, type RunDemand } from './run-limit.js';

/** 1,000 bytes per pixel, and one per pair of a thousand pixels: 1,024 × 1,024 take 2 GB. */
const shape = { fixedBytes: 0, bytesPerPixel: 1_000, bytesPerPixelPair: 0.001 };

function model(availableBytes: number | null): ResolvedModel {
  const runMemory = availableBytes === null ? null : { ...shape, availableBytes };
  const manifest = exampleManifest({ id: 'painter' });
  return { manifest, runMemory } as ResolvedModel;
}

function refusal(availableBytes: number, demand: RunDemand): PlatformError {
  try {
    requireRunFits(model(availableBytes), demand);
  } catch (error) {
    return error as PlatformError;
  }
  throw new Error('it was accepted');
}

describe('a request beyond the memory of the workers', () => {
  it('is refused with the largest size of its shape', () => {
    const error = refusal(500_000_000, { width: 1_024, height: 512, divisor: 64, param: 'width' });
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', param: 'width' });
    expect(error.message).toContain('width means 1024 × 512 pixels; the model painter works on up to 832 × 384');
    requireRunFits(model(500_000_000), { width: 832, height: 384, divisor: 64, param: 'width' });
  });

  it('is refused with the largest number of frames where one fits', () => {
    const size = { width: 512, height: 512, param: 'resolution' };
    const error = refusal(2_000_000_000, { ...size, frames: { count: 16, param: 'duration' } });
    expect(error.param).toBe('duration');
    expect(error.message).toContain('duration asks for 16 frames of 512 × 512; the model painter makes up to 6 ');
    requireRunFits(model(2_000_000_000), { ...size, frames: { count: 6, param: 'duration' } });
    expect(refusal(100_000_000, { ...size, frames: { count: 1, param: 'duration' } }).param).toBe('resolution');
  });
});

it('accepts every size where the workers say nothing about memory', () => {
  expect(() => requireRunFits(model(null), { width: 65_536, height: 65_536, param: 'width' })).not.toThrow();
});
