import { createHash } from 'node:crypto';
import type { ChatTemplateMessage, PromptImage } from '../../../contract/text-generation.js';
import type { RgbPixels } from '../../../images/pixel-grid.js';

/** One conversation and what transformers computes with it; written by `tools/reference/tiny_vision_language.py`. */
export interface KnownCase {
  /** Width and height of the images, which `drawImage` draws. */
  images: [number, number][];
  content: ({ type: 'text'; text: string } | { type: 'image' })[];
  promptIds: number[];
  pixels: { shape: number[]; everySeventh: string; sum: number } | null;
  /** After the prompt. */
  logits: string;
  outputIds: number[];
  text: string;
}

/** Draws the image that the reference script draws. */
export function drawImage([width, height]: [number, number], seed: number): RgbPixels {
  const data = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let channel = 0; channel < 3; channel++) {
        const wave = (x * (3 + channel + seed) + y * (5 + 2 * channel)) % 211;
        const noise = (x * y * (seed + 1) + channel * 37) % 43;
        data[(y * width + x) * 3 + channel] = (wave + noise) % 256;
      }
    }
  }
  return { width, height, data };
}

export function promptImages({ images }: Pick<KnownCase, 'images'>): PromptImage[] {
  return images.map((size, seed) => {
    const pixels = drawImage(size, seed);
    const hash = createHash('sha256').update(size.join()).update(pixels.data).digest('hex');
    return { pixels, hash, param: `messages[0].content[${seed}]` };
  });
}

export function contentOf({ content }: Pick<KnownCase, 'content'>): ChatTemplateMessage {
  let text = '';
  const imagePositions: number[] = [];
  for (const part of content) {
    if (part.type === 'text') text += part.text;
    else imagePositions.push(text.length);
  }
  return { role: 'user', content: text, imagePositions };
}

export function floatsFrom(base64: string): Float32Array {
  const bytes = Buffer.from(base64, 'base64');
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}
