import { describe, expect, it } from 'vitest';
import { encodeImage, type Pixels } from '#media';
import type { ArtifactStore } from '#storage';
import { ChatImageReader } from './chat-image.reader.js';

const param = 'messages[0].content[0]';

/** A reader of one stored image. */
function readerOf(bytes: Buffer): ChatImageReader {
  const artifacts = { read: () => Promise.resolve({ record: {}, bytes }) };
  return new ChatImageReader(artifacts as unknown as Pick<ArtifactStore, 'read'>);
}

function messageWith(images: number) {
  const image = { artifactId: 'a', position: 0, param };
  return { role: 'user' as const, content: '', images: Array.from({ length: images }, () => image) };
}

function plain(width: number, height: number, color: readonly number[]): Pixels {
  const data = new Uint8Array(width * height * color.length).map((_, index) => color[index % color.length] ?? 0);
  return { width, height, channels: color.length as 3 | 4, data };
}

describe('ChatImageReader', () => {
  it('reads images over white, in order', async () => {
    const bytes = await encodeImage(plain(2, 1, [10, 20, 30, 0]), { format: 'png' });
    const images = await readerOf(bytes).read({ messages: [messageWith(1), messageWith(2)] });
    expect(images).toHaveLength(3);
    expect(images[0]).toMatchObject({ param, pixels: { width: 2, height: 1 } });
    expect([...(images[0]?.pixels.data ?? [])]).toEqual([255, 255, 255, 255, 255, 255]);
    expect(images[1]?.hash).toBe(images[0]?.hash);
  });

  it('scales images down that have too many pixels together, which makes them other images', async () => {
    const bytes = await encodeImage(plain(4_000, 3_000, [1, 2, 3]), { format: 'png' });
    const [alone] = await readerOf(bytes).read({ messages: [messageWith(1)] });
    const four = await readerOf(bytes).read({ messages: [messageWith(4)] });
    expect(alone?.pixels).toMatchObject({ width: 4_000, height: 3_000 });
    const pixels = four.map(({ pixels: { width, height } }) => width * height);
    expect(pixels.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(33_177_600);
    expect(pixels.reduce((sum, count) => sum + count)).toBeGreaterThan(33_000_000);
    expect(four[0]?.hash).not.toBe(alone?.hash);
  });

  it('takes the same file of two scopes for two images, so that no cache of one serves the other', async () => {
    const bytes = await encodeImage(plain(8, 8, [1, 2, 3]), { format: 'png' });
    const hashOf = async (cacheScope: string) => {
      const [image] = await readerOf(bytes).read({ messages: [messageWith(1)], cacheScope });
      return image?.hash;
    };
    expect(await hashOf('one')).toBe(await hashOf('one'));
    expect(await hashOf('two')).not.toBe(await hashOf('one'));
  });

  it('names the part of what is no image', async () => {
    await expect(readerOf(Buffer.from('text')).read({ messages: [messageWith(1)] })).rejects.toMatchObject({
      code: 'CORRUPTED_IMAGE',
      param,
    });
  });

  it('reads nothing without images', async () => {
    expect(await readerOf(Buffer.alloc(0)).read({ messages: [{ role: 'user', content: 'Hello' }] })).toEqual([]);
  });
});
