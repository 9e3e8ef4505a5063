import { beforeAll, describe, expect, it } from 'vitest';
import { decodeImage, decodeInline, readImageHeader } from '#media';
import { dataUrlForms, type ImageForm, imageForms } from './corpus/images-forms.js';

/* Every image of the corpus is read, and as the same image where only its form differs. */

let forms: Map<string, ImageForm>;

beforeAll(async () => {
  forms = new Map((await imageForms()).map((form) => [form.name, form]));
});

const formNamed = (name: string): ImageForm => forms.get(name) ?? expect.fail(`the corpus has no ${name}`);
const pixelsOf = async ({ bytes }: ImageForm) => (await decodeImage(bytes, { channels: 4 })).data;

describe('the corpus of images', () => {
  it('is read: size, transparency and pixels', async () => {
    for (const form of forms.values()) {
      const { name, bytes, width, height, isTransparent, same } = form;
      const header = await readImageHeader(bytes, { findsTransparency: true });
      expect(header, name).toMatchObject({ width, height, hasAlpha: isTransparent });
      if (same === null) continue;
      expect(Buffer.compare(await pixelsOf(form), await pixelsOf(formNamed(same))), name).toBe(0);
    }
  });

  it('is read in every spelling of a data URL', () => {
    const { bytes } = formNamed('png');
    for (const [name, url] of Object.entries(dataUrlForms(bytes))) {
      expect(decodeInline(url, { maxBytes: 100_000 }).bytes.equals(bytes), name).toBe(true);
    }
  });

  it('is read by the frame that libjpeg finds, not by one inside a segment', async () => {
    const { bytes, width, height } = formNamed('jpeg');
    const fake = Buffer.from('ffe10015ffc0001108111122220301220002110103110100', 'hex');
    const hidden = Buffer.concat([bytes.subarray(0, 2), fake.subarray(0, 2 + 0x15), bytes.subarray(2)]);
    expect(await readImageHeader(hidden)).toMatchObject({ width, height });
  });
});
