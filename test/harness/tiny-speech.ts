import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ModelManifest, noCapabilities } from '#model-registry/manifest';
import { writeOnnxModel } from '#model-store';
import { installFixture } from './install-fixture.js';
import { tinyVoiceGraph, tinyWhisperDecoder, tinyWhisperEncoder } from './tiny-models/tiny-whisper-graphs.js';
import { tinyWhisperTokens } from './tiny-models/tiny-whisper-tokens.js';

export interface TinyWhisperOptions {
  /** Default: `tiny-whisper`. */
  id?: string;
  /** Whether a voice activity graph trims silence; it takes any sound for speech. Default: true. */
  voice?: boolean;
  /** Overrides of the generated manifest. */
  manifest?: Partial<ModelManifest>;
}

/** Text and timestamps that the tiny Whisper writes for every window. */
export const tinyWhisperText = 'Once upon a time there was a river';
/** What it writes as a translation with timestamps. */
export const tinyWhisperTranslation = 'Long ago water ran here';
export const tinyWhisperSeconds = 2;

/**
 * Writes a complete model folder in the layout of transformers.js exports: encoder, merged decoder with cross
 * attentions, Silero-like voice activity graph, tokenizer, configurations. Always writes the same words; for tests
 * only. Returns the manifest.
 */
export async function buildTinyWhisper(folder: string, options: TinyWhisperOptions = {}): Promise<ModelManifest> {
  const { id = 'tiny-whisper', voice = true } = options;
  const tokens = tinyWhisperTokens(tinyWhisperText, tinyWhisperSeconds, tinyWhisperTranslation);
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

/** Installs it at `<home>/models/<id>`, with its `installed.json`. */
export async function installTinyWhisper(home: string, options: TinyWhisperOptions = {}): Promise<ModelManifest> {
  const id = options.id ?? 'tiny-whisper';
  return await installFixture(home, { id }, (folder) => buildTinyWhisper(folder, { ...options, id }));
}
