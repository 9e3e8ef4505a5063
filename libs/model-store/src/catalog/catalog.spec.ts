import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundledManifestFolder, loadManifestFolder, toolStyleNames } from '#model-registry/manifest';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { WeightsServer } from '#test/weights-server';
import { bertTypes } from '../convert/bert/bert-files.js';
import { rotaryTypes } from '../convert/bert/rotary-files.js';
import { architectures } from '../convert/decoder/architectures.js';
import { draftManifest } from '../draft-manifest.js';
import { exportedTypes } from '../source/exported-model.js';
import { isMattingName } from '../source/matting-model.js';
import { pipelineFamily } from '../source/pipeline-model.js';
import { parseSourceUri } from '../source/source-uri.js';
import { transducerType } from '../source/transducer-model.js';
import { catalogDraft, type CatalogEntry, catalogMemory, catalogPurposes, loadCatalog } from './catalog.js';

const entries = await loadCatalog();
/** Model types whose graph must tell that they are matting networks. */
const mattingBackbones = ['swin'];

/** The kind of a model, by its purpose and its architecture; null: no table knows that. */
function kindOf({ purpose, architecture }: CatalogEntry): string | null {
  const isEncoder = [...bertTypes, ...rotaryTypes].includes(architecture);
  if (purpose === 'embedding' || purpose === 'rerank') {
    if (isEncoder) return `${purpose} of an encoder`;
    // As config.json names the language model of EmbeddingGemma.
    const isDecoder = Object.hasOwn(architectures, architecture) || architecture === 'gemma3_text';
    return isDecoder ? `${purpose} of a decoder` : null;
  }
  if (purpose === 'tts') return architecture === 'piper' ? 'voice' : null;
  if (purpose === 'image') return pipelineFamily(architecture) ?? null;
  if (purpose === 'inpaint') {
    return isMattingName(architecture) || mattingBackbones.includes(architecture) ? 'matting' : null;
  }
  if ([...exportedTypes, transducerType].includes(architecture)) return architecture;
  return Object.hasOwn(architectures, architecture) ? architecture : null;
}

const fields = [
  'id',
  'name',
  'purpose',
  'about',
  'source',
  'license',
  'architecture',
  'parameters',
  'active',
  'weights',
  'context',
  'side',
  'cache',
  'sampling',
  'tools',
  'matryoshka',
  'gated',
  'tested',
];

describe('the catalog of open models', () => {
  it('has models for every purpose, each id once, and none of the bundled ones', async () => {
    const ids = entries.map(({ id }) => id);
    expect(ids.length).toBeGreaterThanOrEqual(40);
    expect(new Set(ids).size).toBe(ids.length);
    expect([...new Set(entries.map(({ purpose }) => purpose))]).toEqual([...catalogPurposes]);
    const bundled = await loadManifestFolder(bundledManifestFolder());
    expect(bundled.filter(({ id }) => ids.includes(id))).toEqual([]);
  });

  it.each(entries.map((entry) => [entry.id, entry] as const))('%s is complete', (id, entry) => {
    expect(Object.keys(entry).filter((field) => !fields.includes(field))).toEqual([]);
    expect(id).toMatch(/^[a-z0-9][a-z0-9._-]*$/);
    for (const text of [entry.name, entry.about, entry.license]) expect(text).toMatch(/\S/);
    expect(['int4', 'int8', 'float32']).toContain(entry.weights);
    expect(entry.parameters).toBeGreaterThan(entry.active ?? 0);
    // Voices and mattes have none, and Parakeet limits seconds only.
    expect(Number.isInteger(entry.context)).toBe(
      !['tts', 'inpaint'].includes(entry.purpose) && entry.architecture !== transducerType,
    );
    expect(Number.isInteger(entry.side)).toBe(entry.purpose === 'inpaint');
    if (entry.tools !== undefined) expect(toolStyleNames).toContain(entry.tools);
    const [repository] = /^hf:[^:]+/.exec(entry.source) ?? [];
    expect(parseSourceUri(repository ?? entry.source)).toMatchObject({ kind: 'hf' });
    expect(kindOf(entry)).not.toBeNull();
    const isText = ['chat', 'reasoning', 'code'].includes(entry.purpose);
    const isDecoder = isText || (entry.purpose === 'vision' && Object.hasOwn(architectures, entry.architecture));
    expect(entry.cache?.length).toBe(isDecoder ? 3 : undefined);
    if (entry.purpose !== 'vision') expect(typeof entry.sampling).toBe(isText ? 'object' : 'undefined');
    expect(['run', 'reference', 'none']).toContain(entry.tested);
  });

  it('has a model of every kind that can be added', () => {
    const kinds = [
      ...Object.keys(architectures).filter((name) => name !== 'gemma-embedding'),
      ...exportedTypes,
      transducerType,
      ...['embedding', 'rerank'].flatMap((purpose) => [`${purpose} of an encoder`, `${purpose} of a decoder`]),
      ...['voice', 'stable-diffusion', 'matting'],
    ];
    // Of `smolvlm` and `llava` the catalog has files of other formats; no published graphs of `text-to-video-sd` are known.
    const listed = new Set(entries.map(kindOf));
    expect(kinds.filter((kind) => !listed.has(kind))).toEqual(['llava', 'smolvlm']);
    expect(entries.map(({ architecture }) => architecture)).toContain('gemma-embedding');
  });

  it('says what a model needs', () => {
    const qwen = entries.find(({ id }) => id === 'qwen3-4b') as CatalogEntry;
    // The published file has 2.5 GB: its scales and minima have 6 bits instead of 4 bytes, and the runtime adds 8 bytes per block.
    expect(catalogMemory(qwen)).toEqual({ weightsBytes: 4 * 1.12e9, cacheBytesPerToken: 8 * 36 * 8 * 128 });
  });
});

describe('a model of the catalog', () => {
  let server: WeightsServer;
  beforeAll(async () => {
    server = await WeightsServer.start();
  });
  afterAll(() => server.close());

  it('is drafted with its id, license and sampling, from the file of its quantisation', async () => {
    const gguf = await ggufFile(tinyDecoder('llama', 1));
    const entry = entries.find(({ id }) => id === 'qwen3-4b') as CatalogEntry;
    const files = { 'Qwen3-4B-Q4_K_M.gguf': gguf, 'Qwen3-4B-Q8_0.gguf': gguf };
    server.addRepository('Qwen/Qwen3-4B-GGUF', 'a'.repeat(40), files);
    const { manifest } = await draftManifest(entry.source, { hubEndpoint: server.url }, catalogDraft(entry));
    expect(manifest).toMatchObject({
      id: 'qwen3-4b',
      name: 'Qwen3 4B',
      license: 'Apache-2.0',
      modelSource: 'https://huggingface.co/Qwen/Qwen3-4B-GGUF',
      constraints: { temperature: { default: 0.6 }, top_p: { default: 0.95 } },
      sources: [{ uri: `hf:Qwen/Qwen3-4B-GGUF@${'a'.repeat(40)}`, files: [{ path: 'Qwen3-4B-Q4_K_M.gguf' }] }],
    });
  });
});
