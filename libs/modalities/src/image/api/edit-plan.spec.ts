import { describe, expect, it } from 'vitest';
import { UploadedFile } from '#platform/http';
import { exampleManifest } from '#test/example-manifest';
import type { EditImageRequest } from '../contract/image.request.js';
import { imageEditOf, multiImageEditOf, planEdit, sizeOfEdit } from './edit-plan.js';

const price = { usd: 0.01, diem: 0.01 };

function editor(constraints: object = {}, family = 'stable-diffusion') {
  return exampleManifest({
    id: 'editor',
    type: 'inpaint',
    family,
    contextLength: undefined,
    maxCompletionTokens: undefined,
    constraints: { aspectRatios: [], promptCharacterLimit: 40, combineImages: true, ...constraints } as never,
    pricing: { inpaint: price, resolutions: { '1K': price, '2K': price } } as never,
  });
}

const tiered = { resolutions: ['1K', '2K'], aspectRatios: ['1:1', '16:9'] };
const plan = (body: Partial<EditImageRequest>, manifest = editor(), images = ['a']) =>
  planEdit({ ...multiImageEditOf({ images, prompt: 'x', ...body }, false), param: 'images' }, manifest);
const invalid = (param: string) => expect.objectContaining({ code: 'INVALID_REQUEST', param }) as Error;

describe('an edit', () => {
  const photo = { width: 3_000, height: 2_000 };
  const stamp = { width: 300, height: 240 };

  it('has the size of its image within the default tier if no tier is named', () => {
    expect(plan({})).toEqual({ resolution: '1K', quality: null, shape: null, pixels: null });
    expect(sizeOfEdit(plan({}), stamp)).toEqual({ width: 256, height: 192 });
    expect(sizeOfEdit(plan({}), photo)).toEqual({ width: 1_216, height: 832 });
  });

  it('has as many pixels as the tier it is charged by, whatever the size of the image', () => {
    const twofold = plan({ resolution: '2K' }, editor(tiered));
    expect(twofold).toMatchObject({ resolution: '2K', pixels: 2_048 ** 2 });
    expect(sizeOfEdit(twofold, photo)).toEqual({ width: 2_496, height: 1_664 });
    expect(sizeOfEdit(twofold, stamp)).toEqual({ width: 2_240, height: 1_792 });
    expect(sizeOfEdit(plan({}, editor(tiered)), stamp)).toEqual({ width: 1_088, height: 896 });
    const usual = plan({}, editor({ ...tiered, defaultResolution: '2K' }));
    expect(usual).toMatchObject({ resolution: '2K', pixels: 2_048 ** 2 });
    expect(plan({}, editor({ resolutions: ['2K', '4K'] })).resolution).toBe('2K');
  });

  it('has no tier that its model does not support', () => {
    expect(() => plan({ resolution: '4K' }, editor(tiered))).toThrow(/one of: 1K, 2K/);
    expect(() => plan({ resolution: '2K' })).toThrow(invalid('resolution'));
    expect(() => plan({ resolution: 'HD' }, editor({ resolutions: ['HD'] }))).toThrow(invalid('resolution'));
    expect(plan({ resolution: '1K' }).pixels).toBe(1_024 ** 2);
    // A filled image keeps its size.
    expect(plan({ resolution: '4K' }, editor({}, 'migan'))).toMatchObject({ resolution: '4K', pixels: null });
  });

  it('has the requested shape if its model supports it', () => {
    const wide = plan({ aspect_ratio: '16:9' }, editor(tiered));
    expect(sizeOfEdit(wide, photo)).toEqual({ width: 1_344, height: 768 });
    expect(sizeOfEdit(plan({ aspect_ratio: '1:1' }, editor({ aspectRatios: ['1:1'] })), stamp)).toEqual({
      width: 256,
      height: 256,
    });
    expect(plan({ aspect_ratio: 'auto' }, editor(tiered)).shape).toBeNull();
    const fixed = editor({ ...tiered, singleImageAspectRatio: false });
    expect(plan({ aspect_ratio: '9:16' }, fixed).shape).toBeNull();
  });

  it('has no shape that its model does not support', () => {
    expect(() => plan({ aspect_ratio: '9:16' }, editor(tiered))).toThrow(/one of: auto, 1:1, 16:9/);
    expect(() => plan({ aspect_ratio: '9:16' })).toThrow(invalid('aspect_ratio'));
    expect(() => plan({ aspect_ratio: '1:1' }, editor(tiered, 'migan'))).toThrow(invalid('aspect_ratio'));
  });

  it('treats null as absent', () => {
    const nothing = { resolution: null, aspect_ratio: null, quality: null } as never;
    expect(plan(nothing, editor(tiered))).toEqual(plan({}, editor(tiered)));
  });

  it('counts the characters of its prompt, whatever they are', () => {
    expect(() => plan({ prompt: '😀'.repeat(40) })).not.toThrow();
    expect(() => plan({ prompt: '😀'.repeat(41) })).toThrow(invalid('prompt'));
  });

  it('takes as many images as its family uses, and no more than the manifest says', () => {
    expect(() => plan({}, editor({ maxInputImages: 3 }), ['a', 'b'])).not.toThrow();
    expect(() => plan({}, editor({ maxInputImages: 3 }), ['a', 'b', 'c'])).toThrow(/2 images at most/);
    expect(() => plan({}, editor({ combineImages: false }), ['a', 'b'])).toThrow(/one image at most/);
    expect(() => plan({}, editor({ maxInputImages: 3 }, 'migan'), ['a', 'b'])).not.toThrow();
    expect(() => plan({}, editor({ maxInputImages: 3 }, 'migan'), ['a', 'b', 'c'])).toThrow(invalid('images'));
    expect(() => plan({}, editor({ maxInputImages: 1 }, 'migan'), ['a', 'b'])).toThrow(invalid('images'));
    expect(() => plan({}, editor({ combineImages: false }, 'migan'), ['a', 'b'])).toThrow(invalid('images'));
  });
});

it('several images of a form are files; those of JSON are texts', () => {
  const file = new UploadedFile(Buffer.from('x'), 'a.png', 'image/png');
  expect(multiImageEditOf({ images: [file, file], prompt: 'x' }, true).images).toEqual([file, file]);
  expect(() => multiImageEditOf({ images: [file, 'aGk='], prompt: 'x' }, true)).toThrow(invalid('images'));
  expect(multiImageEditOf({ images: ['aGk='], prompt: 'x' }, false).images).toEqual(['aGk=']);
  expect(imageEditOf({ image: 'aGk=', prompt: 'x' })).toMatchObject({ images: ['aGk='], param: 'image' });
});
