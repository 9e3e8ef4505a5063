import { cp, rm, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ModelManifest, noCapabilities } from '#model-registry/manifest';
import { convertModel } from '#model-store';
import { installFixture } from './install-fixture.js';

/*
 * A BERT of random weights in the layout of sentence-transformers, with reference vectors for some texts
 * (tools/reference/text_embedding.py). A fixture: its vectors are meaningless.
 */
export const tinyBertFolder = new URL(
  '../../libs/inference/src/families/text-embedding/__fixtures__/tiny-bert/',
  import.meta.url,
);

export const tinyEncoderSize = 32;
export const tinyEncoderTokens = 128;

export interface TinyEncoderReference {
  texts: string[];
  /** Including the special tokens. */
  ids: number[][];
  /** By pooling mode of sentence-transformers: base64 of little-endian float32, normalized. */
  vectors: Record<'mean' | 'cls' | 'lasttoken' | 'max', string[]>;
}

export function tinyEncoderReference(): TinyEncoderReference {
  return JSON.parse(readFileSync(new URL('reference.json', tinyBertFolder), 'utf8')) as TinyEncoderReference;
}

export function vectorOf(base64: string): Float32Array {
  return new Float32Array(new Uint8Array(Buffer.from(base64, 'base64')).buffer);
}

export interface TinyEncoderOptions {
  /** Default: `tiny-bert`. */
  id?: string;
  /** Overrides of the generated manifest. */
  manifest?: Partial<ModelManifest>;
}

/** Converts the fixture into the folder like a pull, and returns the manifest. */
export async function buildTinyEncoder(folder: string, options: TinyEncoderOptions = {}): Promise<ModelManifest> {
  await convertTinyEncoder(tinyBertFolder, folder);
  const manifest = tinyManifest(options);
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
  return manifest;
}

/** Converts the fixture of an encoder, without its reference values, into the folder. */
export async function convertTinyEncoder(fixture: URL, folder: string): Promise<void> {
  const inputFolder = `${folder}-input`;
  await cp(fixture, inputFolder, { recursive: true });
  await rm(join(inputFolder, 'reference.json'));
  await convertModel({ kind: 'bert', options: {}, inputFolder, outputFolder: folder });
  await rm(inputFolder, { recursive: true });
}

/** Installs it at `<home>/models/<id>`, with its `installed.json`. */
export async function installTinyEncoder(home: string, options: TinyEncoderOptions = {}): Promise<ModelManifest> {
  const id = options.id ?? 'tiny-bert';
  return await installFixture(home, { id, converter: 'bert/1' }, (folder) => buildTinyEncoder(folder, options));
}

function tinyManifest({ id = 'tiny-bert', manifest }: TinyEncoderOptions): ModelManifest {
  return {
    id,
    type: 'embedding',
    name: 'Tiny BERT',
    description: 'Random weights in the shape of BERT: a test fixture.',
    created: 1_700_000_000,
    ownedBy: 'sluice',
    modelSource: 'https://example.org/tiny',
    license: 'Apache-2.0',
    family: 'text-embedding',
    tier: 'XS',
    privacy: 'private',
    sources: [{ uri: 'file:tiny', files: [] }],
    converter: { kind: 'bert' },
    graphFile: 'model.onnx',
    slots: 32,
    traits: { default: 1 },
    capabilities: { ...noCapabilities, quantization: 'not-available' },
    kindMembers: {
      embeddingDimensions: tinyEncoderSize,
      maxInputTokens: tinyEncoderTokens,
      supportsCustomDimensions: true,
    },
    pricing: { input: { usd: 1, diem: 1 }, output: { usd: 0, diem: 0 } },
    ...manifest,
  };
}
