import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ModelManifest, noCapabilities } from '#model-registry/manifest';
import { type InstalledRecord, modelFolder, writeOnnxModel } from '#model-store';
import { tinyVoiceGraph, tinyWhisperDecoder, tinyWhisperEncoder } from './tiny-models/tiny-whisper-graphs.js';
import { tinyWhisperTokens } from './tiny-models/tiny-whisper-tokens.js';

export interface TinyWhisperOptions {
  /** Default `tiny-whisper`. */
  id?: string;
  /** Whether a voice graph trims silence; it takes any sound for speech. Default true. */
  voice?: boolean;
  /** Members that replace those of the generated manifest. */
  manifest?: Partial<ModelManifest>;
}

/** What the tiny Whisper writes of every window, and when it says so. */
export const tinyWhisperText = 'Once upon a time there was a river';
export const tinyWhisperSeconds = 2;

/**
 * Writes a complete model folder in the layout of exports for transformers.js: encoder, merged decoder with cross
 * attentions, Silero-like voice graph, tokenizer, configurations. It writes the same words whatever it hears: a fixture,
 * never a product. Returns the manifest.
 */
export async function buildTinyWhisper(folder: string, options: TinyWhisperOptions = {}): Promise<ModelManifest> {
  const { id = 'tiny-whisper', voice = true } = options;
  const tokens = tinyWhisperTokens(tinyWhisperText, tinyWhisperSeconds);
  await mkdir(join(folder, 'onnx'), { recursive: true });
  const graphs = {
    'onnx/encoder_model.onnx': tinyWhisperEncoder(),
    'onnx/decoder_model_merged.onnx': tinyWhisperDecoder(tokens),
    'silero_vad.onnx': tinyVoiceGraph(),
  };
  for (const [path, graph] of Object.entries(graphs)) {
    await writeOnnxModel(graph, { folder: join(folder, dirname(path)), fileName: path.split('/').at(-1) });
  }
  const manifest: ModelManifest = {
    id,
    type: 'asr',
    name: 'Tiny Whisper',
    description: 'Writes the same words whatever it hears: a test fixture.',
    created: 1_700_000_000,
    ownedBy: 'sluice',
    modelSource: 'https://example.org/tiny',
    license: 'Apache-2.0',
    family: 'whisper',
    familyOptions: {
      decoderFile: 'onnx/decoder_model_merged.onnx',
      ...(voice && { voiceActivityFile: 'silero_vad.onnx' }),
    },
    tier: 'XS',
    privacy: 'private',
    sources: [{ uri: 'file:tiny', files: [] }],
    converter: { kind: 'none' },
    graphFile: 'onnx/encoder_model.onnx',
    slots: 4,
    capabilities: { ...noCapabilities, supportsAudioInput: true },
    pricing: { per_audio_second: { usd: 0.001, diem: 0.001 } },
    traits: { default: 1 },
    aliases: ['whisper-1'],
    ...options.manifest,
  };
  const files = { ...tokens.files, 'manifest.json': manifest };
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(folder, name), `${JSON.stringify(content)}\n`);
  }
  return manifest;
}

/** Builds it where an installed model lies: `<home>/models/<id>`, with its `installed.json`. */
export async function installTinyWhisper(home: string, options: TinyWhisperOptions = {}): Promise<ModelManifest> {
  const id = options.id ?? 'tiny-whisper';
  const target = modelFolder(home, id);
  const partial = join(dirname(target), `.partial-${id}-${process.pid}`);
  await mkdir(partial, { recursive: true });
  const manifest = await buildTinyWhisper(partial, { ...options, id });
  const record: InstalledRecord = {
    modelId: id,
    installedAt: new Date(0).toISOString(),
    converter: 'tiny-models/1',
    files: await listFiles(partial),
  };
  await writeFile(join(partial, 'installed.json'), JSON.stringify(record));
  await rm(target, { recursive: true, force: true });
  await rename(partial, target);
  return manifest;
}

async function listFiles(folder: string): Promise<InstalledRecord['files']> {
  const files: InstalledRecord['files'] = [];
  for (const path of (await readdir(folder, { recursive: true })).sort()) {
    const found = await stat(join(folder, path));
    if (!found.isFile()) continue;
    const sha256 = createHash('sha256')
      .update(await readFile(join(folder, path)))
      .digest('hex');
    files.push({ path, bytes: found.size, sha256 });
  }
  return files;
}
