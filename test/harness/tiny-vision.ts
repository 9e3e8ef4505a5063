import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ModelManifest, noCapabilities } from '#model-registry/manifest';
import { installFixture } from './install-fixture.js';

const fixtures = join(import.meta.dirname, '../../libs/inference/src/families/vision-language/__fixtures__');

/** Tokens of the largest image of the tiny model. */
export const tinyImageTokens = 100;

/** One conversation with the tiny model, as transformers answers it. */
export interface TinyVisionCase {
  /** Width and height of the images, in order. */
  images: [number, number][];
  content: ({ type: 'text'; text: string } | { type: 'image' })[];
  promptIds: number[];
  outputIds: number[];
  text: string;
}

export async function tinyVisionCases(): Promise<TinyVisionCase[]> {
  const text = await readFile(join(fixtures, 'tiny-idefics3.json'), 'utf8');
  return (JSON.parse(text) as { cases: TinyVisionCase[] }).cases;
}

/** Installs an Idefics3 model of random weights at `<home>/models/<id>`. */
export async function installTinyVision(home: string, overrides: Partial<ModelManifest> = {}): Promise<ModelManifest> {
  const manifest = tinyVisionManifest(overrides);
  return await installFixture(home, { id: manifest.id }, async (folder) => {
    await cp(join(fixtures, 'tiny-idefics3'), folder, { recursive: true });
    await writeFile(join(folder, 'manifest.json'), `${JSON.stringify(manifest)}\n`);
    return manifest;
  });
}

function tinyVisionManifest(overrides: Partial<ModelManifest>): ModelManifest {
  const contextLength = 512;
  return {
    id: 'tiny-idefics3',
    type: 'text',
    name: 'Tiny Idefics3',
    description: 'Random weights of the Idefics3 architecture: a test fixture.',
    created: 1_700_000_000,
    ownedBy: 'sluice',
    modelSource: 'https://example.org/tiny',
    license: 'Apache-2.0',
    family: 'vision-language',
    tier: 'XS',
    privacy: 'private',
    sources: [{ uri: 'file:tiny', files: [] }],
    converter: { kind: 'none' },
    graphFile: 'onnx/decoder_model_merged.onnx',
    familyOptions: { imageTokens: tinyImageTokens },
    contextLength,
    maxCompletionTokens: 200,
    slots: 4,
    cacheTokens: 4 * contextLength,
    capabilities: {
      ...noCapabilities,
      supportsVision: true,
      supportsMultipleImages: true,
      maxImages: 2,
      quantization: 'not-available',
    },
    constraints: { temperature: { default: 1 }, top_p: { default: 1 } },
    pricing: { input: { usd: 0.1, diem: 0.1 }, output: { usd: 0.2, diem: 0.2 } },
    ...overrides,
  };
}

/** Draws the image that the reference script draws, as the specs of the family do. */
export function drawImage(
  [width, height]: [number, number],
  seed: number,
): { width: number; height: number; data: Uint8Array } {
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
