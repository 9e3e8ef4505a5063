import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ModelManifest, noCapabilities } from '#model-registry/manifest';
import { bytesOf, writeOnnxModel } from '#model-store';
import { installFixture } from './install-fixture.js';
import { tinyKokoroGraph } from './tiny-models/tiny-kokoro-graph.js';

export interface TinyKokoroOptions {
  /** Default: `tiny-kokoro`. */
  id?: string;
  /** Overrides of the generated manifest. */
  manifest?: Partial<ModelManifest>;
}

export const tinyKokoroVoices = ['af_sky', 'bm_george'] as const;

const words = {
  hello: 'HH AH0 L OW1',
  world: 'W ER1 L D',
  good: 'G UH1 D',
  morning: 'M AO1 R N IH0 NG',
  one: 'W AH1 N',
  two: 'T UW1',
  three: 'TH R IY1',
};

/**
 * Writes a complete model folder in the layout of Kokoro: graph, voices, a small pronunciation dictionary. It hums
 * instead of speaking; for tests only. Returns the manifest.
 */
export async function buildTinyKokoro(folder: string, options: TinyKokoroOptions = {}): Promise<ModelManifest> {
  const { id = 'tiny-kokoro' } = options;
  await mkdir(join(folder, 'voices'), { recursive: true });
  await writeOnnxModel(tinyKokoroGraph(), { folder });
  for (const [index, voice] of tinyKokoroVoices.entries()) {
    const styles = new Float32Array(510 * 256).fill(0.3 + 0.3 * index);
    await writeFile(join(folder, 'voices', `${voice}.bin`), bytesOf(styles));
  }
  await writeFile(join(folder, 'cmudict.js'), `export const dictionary = ${JSON.stringify(words)}\n`);
  const manifest: ModelManifest = {
    id,
    type: 'tts',
    name: 'Tiny Kokoro',
    description: 'Hums instead of speaking: a test fixture.',
    created: 1_700_000_000,
    ownedBy: 'sluice',
    modelSource: 'https://example.org/tiny',
    license: 'Apache-2.0',
    family: 'kokoro',
    tier: 'XS',
    privacy: 'private',
    sources: [{ uri: 'file:tiny', files: [] }],
    converter: { kind: 'none' },
    graphFile: 'model.onnx',
    slots: 4,
    capabilities: noCapabilities,
    kindMembers: {
      voices: [...tinyKokoroVoices],
      supports_custom_voice_id: false,
      supported_formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
      default_format: 'mp3',
      pcm_sample_rate: 24_000,
    },
    pricing: { input: { usd: 1_000, diem: 1_000 } },
    traits: { default: 1 },
    aliases: ['tts-1'],
    ...options.manifest,
  };
  await writeFile(join(folder, 'manifest.json'), `${JSON.stringify(manifest)}\n`);
  return manifest;
}

/** Installs it at `<home>/models/<id>`, with its `installed.json`. */
export async function installTinyKokoro(home: string, options: TinyKokoroOptions = {}): Promise<ModelManifest> {
  const id = options.id ?? 'tiny-kokoro';
  return await installFixture(home, { id }, (folder) => buildTinyKokoro(folder, { ...options, id }));
}
