import { createHash } from 'node:crypto';
import type { PromptImage } from '#inference/host';
import { decodeImage, type Pixels, resizePixels } from '#media';
import type { ArtifactStore } from '#storage';
import { type ChatJobImage, type ChatJobMessage, maxImagePixels } from '../contract/index.js';

const maxBytes = 26_214_400;

/** Reads the images of a job for its model host. */
export class ChatImageReader {
  constructor(private readonly artifacts: Pick<ArtifactStore, 'read'>) {}

  /**
   * Returns the images of all messages in order, decoded over white. Together they have at most as many pixels as one
   * may have; larger ones are scaled down evenly. Rejects with `CORRUPTED_IMAGE` naming the part.
   */
  async read(messages: readonly ChatJobMessage[]): Promise<PromptImage[]> {
    const images = messages.flatMap((message) => message.images ?? []);
    const read: PromptImage[] = [];
    for (const image of images) read.push(await this.readOne(image, maxImagePixels / images.length));
    return read;
  }

  private async readOne({ artifactId, param }: ChatJobImage, maxPixels: number): Promise<PromptImage> {
    const { bytes } = await this.artifacts.read(artifactId, maxBytes);
    const decoded = await decodeImage(bytes, { channels: 3, maxPixels: maxImagePixels, param });
    const { width, height, data } = await fitted(decoded, maxPixels);
    // The same file at another size is another image.
    const hash = createHash('sha256').update(bytes).update(`${width}x${height}`).digest('hex');
    return { hash, pixels: { width, height, data }, param };
  }
}

async function fitted(pixels: Pixels, maxPixels: number): Promise<Pixels> {
  const scale = Math.sqrt(maxPixels / (pixels.width * pixels.height));
  if (scale >= 1) return pixels;
  const side = (length: number): number => Math.max(1, Math.floor(length * scale));
  return await resizePixels(pixels, { width: side(pixels.width), height: side(pixels.height) });
}
