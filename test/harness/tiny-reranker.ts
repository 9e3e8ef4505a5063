import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ModelManifest, noCapabilities } from '#model-registry/manifest';
import { installFixture } from './install-fixture.js';
import { convertTinyEncoder } from './tiny-encoder.js';

/*
 * Cross-encoders of random weights with reference logits for some pairs (tools/reference/text_encoders.py). Fixtures:
 * their scores are meaningless.
 */
/** Fixtures are not compiled: benches, which run from `dist`, read them from the sources. */
const root = new URL(import.meta.url.includes('/dist/test/harness/') ? '../../../' : '../../', import.meta.url);
const fixtures = new URL('libs/inference/src/families/cross-encoder/__fixtures__/', root);

export const tinyRerankers = [
  'tiny-bert-reranker',
  'tiny-roberta-reranker',
  'tiny-xlm-roberta-reranker',
  'tiny-mpnet-reranker',
  'tiny-modernbert-reranker',
  'tiny-gte-reranker',
  'tiny-jina-v3-reranker',
] as const;

export type TinyReranker = (typeof tinyRerankers)[number];

/** Longest pair, with the special tokens. */
export const tinyRerankerTokens = 258;

export interface TinyRerankerReference {
  query: string;
  texts: string[];
  /** Of the query and each text, with the special tokens. */
  ids: number[][];
  logits: number[];
}

export function tinyRerankerFolder(name: TinyReranker): URL {
  return new URL(`${name}/`, fixtures);
}

export function tinyRerankerReference(name: TinyReranker): TinyRerankerReference {
  return JSON.parse(readFileSync(new URL('reference.json', tinyRerankerFolder(name)), 'utf8')) as TinyRerankerReference;
}

/**
 * Installs one at `<home>/models/<id>` like a pull; `id` is the fixture's name unless the manifest has another. `source`
 * holds other weights.
 */
export async function installTinyReranker(
  home: string,
  name: TinyReranker,
  manifest: Partial<ModelManifest> = {},
  source: URL = tinyRerankerFolder(name),
): Promise<ModelManifest> {
  const complete = manifestOf(name, manifest);
  return await installFixture(home, { id: complete.id, converter: 'bert/1' }, async (folder) => {
    await convertTinyEncoder(source, folder);
    await writeFile(join(folder, 'manifest.json'), JSON.stringify(complete));
    return complete;
  });
}

function manifestOf(name: TinyReranker, manifest: Partial<ModelManifest>): ModelManifest {
  return {
    id: name,
    type: 'rerank',
    name: 'Tiny reranker',
    description: 'Random weights in the shape of a cross-encoder: a test fixture.',
    created: 1_700_000_000,
    ownedBy: 'sluice',
    modelSource: 'https://example.org/tiny',
    license: 'Apache-2.0',
    family: 'cross-encoder',
    tier: 'XS',
    privacy: 'private',
    sources: [{ uri: 'file:tiny', files: [] }],
    converter: { kind: 'bert' },
    graphFile: 'model.onnx',
    slots: 32,
    traits: { default: 1 },
    capabilities: { ...noCapabilities, quantization: 'not-available' },
    kindMembers: { maxInputTokens: tinyRerankerTokens },
    pricing: { input: { usd: 1, diem: 1 } },
    ...manifest,
  };
}
