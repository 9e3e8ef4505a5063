import { createHash } from 'node:crypto';
import type { PromptImage } from '#inference/host';
import { decodeImage, type Pixels, resizePixels } from '#media';
import type { ArtifactStore } from '#storage';
import { type ChatJobImage, type ChatJobPayload, maxImagePixels } from '../contract/index.js';

const maxBytes = 26_214_400;

type ImageMessages = Pick<ChatJobPayload, 'messages' | 'cacheScope'>;

/** Reads the images of a job for its model host. */
export class ChatImageReader {
  constructor(private readonly artifacts: Pick<ArtifactStore, 'read'>) {}

  /**
   * Returns the images of all messages in order, decoded over white. Together they have at most as many pixels as one
   * may have; larger ones are scaled down evenly. Rejects with `CORRUPTED_IMAGE` naming the part.
   */
  async read({ messages, cacheScope = '' }: ImageMessages): Promise<PromptImage[]> {
    const images = messages.flatMap((message) => message.images ?? []);
    const read: PromptImage[] = [];
    for (const image of images) read.push(await this.readOne(image, maxImagePixels / images.length, cacheScope));
    return read;
  }

  private async readOne(
    { artifactId, param, isFrame = false }: ChatJobImage,
    maxPixels: number,
    cacheScope: string,
  ): Promise<PromptImage> {
    const { bytes } = await this.artifacts.read(artifactId, maxBytes);
    const decoded = await decodeImage(bytes, { channels: 3, maxPixels: maxImagePixels, param });
    const { width, height, data } = await fitted(decoded, maxPixels);
    // The same file at another size, read as a frame, or in another scope, is another image to every cache.
    const use = `${width}x${height}${isFrame ? ' frame' : ''} ${cacheScope}`;
    const hash = createHash('sha256').update(bytes).update(use).digest('hex');
    return { hash, pixels: { width, height, data }, param, isFrame };
  }
}

async function fitted(pixels: Pixels, maxPixels: number): Promise<Pixels> {
  const scale = Math.sqrt(maxPixels / (pixels.width * pixels.height));
  if (scale >= 1) return pixels;
  const side = (length: number): number => Math.max(1, Math.floor(length * scale));
  return await resizePixels(pixels, { width: side(pixels.width), height: side(pixels.height) });
}
