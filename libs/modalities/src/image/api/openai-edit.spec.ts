import { describe, expect, it } from 'vitest';
import { FormBody, readBody, UploadedFile } from '#platform/http';
import { exampleManifest } from '#test/example-manifest';
import { EditImagesRequest } from '../contract/openai-image.request.js';
import { checkSize, planEdit } from './edit-plan.js';
import { openaiEditOf } from './openai-edit.js';

const file = (name: string) => new UploadedFile(Buffer.from(name), `${name}.png`, 'image/png');

function formOf(...parts: [string, string | UploadedFile][]): FormBody {
  const form = new FormBody();
  for (const [name, value] of [['prompt', 'a bird'] as const, ...parts]) form.add(name, value);
  return form;
}

const editOf = (body: unknown) => openaiEditOf(readBody(EditImagesRequest, { body }));
const invalid = (param: string) => expect.objectContaining({ code: 'INVALID_REQUEST', param }) as Error;
const price = { usd: 0.01, diem: 0.01 };
const editor = (family: string, more: object = {}) =>
  exampleManifest({
    id: 'editor',
    type: 'inpaint',
    family,
    contextLength: undefined,
    maxCompletionTokens: undefined,
    constraints: { aspectRatios: [], promptCharacterLimit: 40, combineImages: true } as never,
    pricing: { inpaint: price } as never,
    ...more,
  });

describe('the images of an edit', () => {
  const [image, mask] = [file('image'), file('mask')];

  it.each([
    ['a form', formOf(['image', image], ['mask', mask])],
    ['a form with brackets', formOf(['image[]', image], ['mask', mask])],
    ['a form with an index', formOf(['image[0]', image], ['mask', mask])],
    ['JSON', { prompt: 'a bird', image, mask }],
  ])('come in %s', (_, body) => {
    expect(editOf(body)).toMatchObject({ images: [image, mask], references: [], param: 'image', maskParam: 'mask' });
  });

  it('come in JSON as objects with URLs', () => {
    const body = { prompt: 'a bird', images: [{ image_url: 'data:a' }], mask: { image_url: 'data:b' } };
    expect(editOf(body)).toMatchObject({ images: ['data:a', 'data:b'], references: [], param: 'images' });
  });

  it.each(['image', 'image[]'])('may be several, of which no model here reads more than one: %s', (name) => {
    const order = editOf(formOf([name, image], [name, file('second')], ['mask', mask]));
    expect(order).toMatchObject({ images: [image, mask], references: [{ filename: 'second.png' }] });
    for (const family of ['migan', 'stable-diffusion']) {
      const plan = () => planEdit(order, editor(family));
      expect(plan).toThrow(invalid('image'));
      expect(plan).toThrow(/edits one image, and a mask beside it; 2 images were sent/);
    }
    const body = { prompt: 'a bird', images: [{ image_url: 'data:a' }, { image_url: 'data:b' }] };
    expect(() => planEdit(editOf(body), editor('migan'))).toThrow(invalid('images'));
  });

  it('are refused where they are missing, too many, or no images', () => {
    const many = Array.from({ length: 17 }, () => ['image', image] as [string, UploadedFile]);
    expect(() => editOf(formOf())).toThrow(invalid('image'));
    expect(() => editOf(formOf(...many))).toThrow(invalid('image'));
    expect(() => editOf({ prompt: 'x', image: [4] })).toThrow(invalid('image'));
    expect(() => editOf({ prompt: 'x', image, images: [{ image_url: 'data:a' }] })).toThrow(invalid('images'));
    expect(() => editOf({ prompt: 'x', images: [{ file_id: 'a' }] })).toThrow(invalid('images[0].image_url'));
    expect(() => editOf({ prompt: 'x', image, mask: { file_id: 'a' } })).toThrow(invalid('mask'));
  });
});

it.each(['', ' ', '\n\t'])('refuses the blank prompt %j', (prompt) => {
  expect(() => editOf({ prompt, image: file('image') })).toThrow(invalid('prompt'));
});

describe('the size of an edit', () => {
  const image = { width: 300, height: 240 };
  const check = (size: string, manifest: ReturnType<typeof editor>, own = image) => {
    checkSize(editOf({ prompt: 'x', image: file('image'), size }), manifest, own);
  };
  const upscaled = editor('stable-diffusion', { kindMembers: { upscaling: { nativeSide: 64, model: 'u' } } });

  it('may be that of the image, or auto', () => {
    for (const size of ['auto', '300x240']) {
      expect(() => check(size, editor('migan'))).not.toThrow();
      expect(() => check(size, upscaled)).not.toThrow();
    }
    expect(() => check('320x256', editor('stable-diffusion'), { width: 320, height: 256 })).not.toThrow();
  });

  it('is one of OpenAI’s for models that choose it', () => {
    for (const manifest of [upscaled, editor('stable-diffusion')]) {
      expect(() => check('1024x1024', manifest)).not.toThrow();
      expect(() => check('301x240', manifest)).toThrow(invalid('size'));
    }
    expect(() => check('1024x1024', editor('migan'))).toThrow(/Send auto or 300x240/);
    // A network without an upscaler draws multiples of 64 pixels.
    expect(() => check('300x240', editor('stable-diffusion'))).toThrow(invalid('size'));
  });

  it.each(['0x10', '10', '1e3x5', 'large', ''])('is not %j', (size) => {
    expect(() => check(size, editor('migan'))).toThrow(invalid('size'));
  });
});
