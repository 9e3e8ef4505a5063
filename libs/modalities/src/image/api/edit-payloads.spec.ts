import { describe, expect, it } from 'vitest';
import type { ImageHeader } from '#media';
import { exampleManifest } from '#test/example-manifest';
import { assertOperation, editFormat, upscaleFactor } from './edit-payloads.js';

const header = (width: number, height: number): ImageHeader => ({ format: 'png', width, height, hasAlpha: false });

describe('the upscale factor', () => {
  it.each([
    [undefined, header(256, 256), 2],
    [2, header(2048, 2048), 2],
    [4, header(1024, 1024), 4],
    // One more row would make the result too large.
    [4, header(1024, 1025), 2],
  ])('%s is lowered for an image whose result would be too large', (wanted, image, factor) => {
    expect(upscaleFactor(wanted, image)).toBe(factor);
  });

  it('is 2 or 4 and nothing else', () => {
    for (const scale of [3, 2.5]) {
      expect(() => upscaleFactor(scale, header(256, 256))).toThrow(expect.objectContaining({ param: 'scale' }));
    }
  });

  it('is rejected for an image whose double is too large', () => {
    expect(() => upscaleFactor(2, header(2048, 2049))).toThrow(expect.objectContaining({ code: 'IMAGE_TOO_LARGE' }));
  });
});

it('the format of an edit is png at 1K or with transparent pixels and jpeg above, unless the client names one', () => {
  const opaque = (resolution: string) => ({ resolution, keepsAlpha: false });
  expect(editFormat(undefined, opaque('1K'))).toBe('png');
  expect(editFormat(undefined, opaque('2K'))).toBe('jpeg');
  expect(editFormat(undefined, opaque('4k'))).toBe('jpeg');
  expect(editFormat(undefined, { resolution: '4K', keepsAlpha: true })).toBe('png');
  expect(editFormat('jpg', opaque('1K'))).toBe('jpeg');
  expect(editFormat('webp', opaque('4K'))).toBe('webp');
});

it('rejects operations that the family does not support', () => {
  const model = (family: string) => exampleManifest({ id: 'm', family });
  expect(() => assertOperation(model('migan'), 'edit')).not.toThrow();
  expect(() => assertOperation(model('stable-diffusion'), 'edit')).not.toThrow();
  expect(() => assertOperation(model('u2net'), 'edit')).toThrow(/m does not edit images/);
  expect(() => assertOperation(model('decoder'), 'upscale')).toThrow(
    expect.objectContaining({ code: 'INVALID_MODEL', param: 'model' }),
  );
});
