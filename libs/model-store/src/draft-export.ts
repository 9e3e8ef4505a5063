import { basename } from 'node:path';
import { PlatformError } from '#common';
import { type ManifestSource, validateManifest } from '#model-registry/manifest';
import { mattingPixels } from '#model-registry/matting';
import type { Draft, DraftOptions } from './draft.js';
import { chatSlots, commonFields, constraintsOf, defaultContextLimit, quantizationOf } from './draft-fields.js';
import { defaultBlockSize, linearFormat } from './convert/conversion-options.js';
import { imageTokensOf } from './image-tokens.js';
import { bytesPerValue } from './source/converted-formats.js';
import type { ExportFamily } from './source/exported-model.js';
import type { ExportSourceDescription } from './source/source-description.js';
import { readPiperVoice } from './voices/index.js';

type OptionNames = Readonly<Partial<Record<keyof DraftOptions, string>>>;

/** Options of `models add` that exports of several graphs leave nothing to decide for. */
const settled: OptionNames = {
  weights: '--weights',
  purpose: '--purpose',
  pooling: '--pooling',
  matryoshka: '--matryoshka',
};

/** The same for models that read and write no tokens. */
const settledWithoutTokens: OptionNames = {
  ...settled,
  contextLength: '--context',
  inputPriceUsd: '--input-price',
  outputPriceUsd: '--output-price',
};

/** The same for voices, whose input has a price. */
const settledForVoices: OptionNames = { ...settled, contextLength: '--context', outputPriceUsd: '--output-price' };

/** Concurrent recordings, or texts to speak. They take turns: by windows, or by sentences. */
const recordingSlots = 4;

/** Voice activity detection, which trims silence before recognition: the source that bundled models have. */
const voiceActivity: ManifestSource = {
  uri: 'npm:@ricky0123/vad-web@0.0.31',
  integrity: 'sha512-ePVq8TvB21sdHSxVMZOEIf9JVa7MAYpaIaNXeGgsPOiMCN8xbPCdF2LS5aYj7VRR3ZxzutedgV9ZplV65IA1Fg==',
  files: [
    {
      path: 'dist/silero_vad_v5.onnx',
      as: 'silero_vad.onnx',
      bytes: 2_327_524,
      sha256: '2623a2953f6ff3d2c1e61740c6cdb7168133479b267dfef114a4a3cc5bdd788f',
    },
  ],
};

/** The sources that bundled voices have for pronouncing English, for a voice that reads phonemes. */
const pronouncer: readonly ManifestSource[] = [
  {
    uri: 'npm:cmu-pronouncing-dictionary@3.0.0',
    integrity: 'sha512-6y5X4OxsYFnHERo6WSVPnLrk53G07MOQ8aUb2z555JgwynpbZsHR0a//WdN6DUcmE1j2auTF2TtL4PpoKze8QQ==',
    files: [
      {
        path: 'index.js',
        as: 'cmudict.js',
        bytes: 4_699_401,
        sha256: 'ef8b2b976d2e5801b7541ebcc7714f538d1ffa0ebb28645259536e2666bd2948',
      },
    ],
  },
  {
    uri: 'npm:@dittli/tts-en@0.6.0',
    integrity: 'sha512-cyFCzTm+GMzqIX/T1qjWnb6cRSF3MsUoLB0O8gR+TTmCPZmdH6s96/Uw8uD2VqoSjoY/3NQNmcB0ha7kcxRWoQ==',
    files: [
      {
        path: 'assets/en/g2p_model.json',
        as: 'g2p_model.json',
        bytes: 4_486_462,
        sha256: 'b9bf424ae0d6fea011960032cee6615097db23ab71c5770576c9c44103f1b49f',
      },
    ],
  },
];

const weightPrecisions = { float32: 'not-available', int8: 'int8', 'int8-channel': 'int8', int4: 'int4' } as const;

const free = { usd: 0, diem: 0 };
const maxMusicSeconds = 30;

/**
 * Drafts a manifest for a model whose graphs are served as they are: Whisper, Parakeet, a model that reads images,
 * MusicGen, a voice, or a pipeline that draws. Fails with `INVALID_REQUEST` for options that would change nothing.
 */
export function draftExport(uri: string, found: ExportSourceDescription, options: DraftOptions): Draft {
  const { exported, source } = found;
  const { family, graphFile, familyOptions, config } = exported;
  const isConverted = exported.converted !== undefined;
  refuseMeaningless(family, options, { uri, isConverted });
  refuseStereo(config, uri);
  const weights = options.weights ?? 'float32';
  const bytes = exported.converted
    ? Math.ceil(exported.converted * bytesPerValue(linearFormat(weights, defaultBlockSize)))
    : source.files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  const tokenizerBytes = source.files.find(({ path }) => basename(path) === 'tokenizer.json')?.bytes ?? 0;
  const common = {
    ...commonFields(uri, found.name, { bytes, license: found.license }, options),
    sources: [source],
    converter: isConverted ? { kind: 'whisper', options: { weights } } : { kind: 'none' },
    family,
    familyOptions,
    graphFile,
  };
  const manifest = validateManifest({ ...common, ...kinds[family](found, options) }, uri);
  const contextLength = manifest.contextLength ?? 0;
  const graphs = [graphFile, ...Object.values(familyOptions)].map((path) => path.replace(/^onnx\//, ''));
  return {
    manifest,
    facts: {
      summary: `${String(config['model_type'])}, ${isConverted ? `served as ${weights}` : `ONNX graphs ${graphs.join(', ')}`}`,
      weightsBytes: bytes,
      decoder: null,
      family: {
        contextLength,
        size: {
          family,
          weightsBytes: bytes - tokenizerBytes,
          tokenizerBytes,
          config,
          maxTokens: (manifest.slots ?? 1) * contextLength,
          pixels: mattingPixels(family, manifest.familyOptions),
        },
      },
    },
  };
}

const settledBy: Readonly<Partial<Record<ExportFamily, OptionNames>>> = {
  'vision-language': settled,
  piper: settledForVoices,
};

function refuseMeaningless(
  family: ExportFamily,
  options: DraftOptions,
  { uri, isConverted }: { uri: string; isConverted: boolean },
): void {
  const names = settledBy[family] ?? settledWithoutTokens;
  for (const [name, flag] of Object.entries(names)) {
    if (options[name as keyof DraftOptions] === undefined || (isConverted && name === 'weights')) continue;
    throw new PlatformError('INVALID_REQUEST', `${flag} changes nothing for ${uri}, a model of the family ${family}.`);
  }
}

function refuseStereo(config: Record<string, unknown>, uri: string): void {
  const { audio_channels: channels } = (config['decoder'] ?? {}) as Record<string, unknown>;
  if (channels !== 2) return;
  throw new PlatformError('INVALID_MODEL', `${uri} generates stereo, and only mono models of MusicGen are supported.`);
}

const kinds: Readonly<Record<ExportFamily, (found: ExportSourceDescription, options: DraftOptions) => object>> = {
  'vision-language': visionFields,
  matting: mattingFields,
  musicgen: musicFields,
  parakeet: transcriptionFields,
  piper: voiceFields,
  'stable-diffusion': imageFields,
  'text-to-video-sd': videoFields,
  whisper: transcriptionFields,
};

/** Languages of transducers, whose files do not list them, by the names under which their authors publish them. */
const transducerLanguages: readonly { pattern: RegExp; languages: string }[] = [
  {
    pattern: /parakeet-tdt-0\.6b-v3/i,
    languages: 'bg,cs,da,de,el,en,es,et,fi,fr,hr,hu,it,lt,lv,mt,nl,pl,pt,ro,ru,sk,sl,sv,uk',
  },
  { pattern: /parakeet-tdt(?:[-_]ctc)?-(?:0\.6b-v2|1\.1b|110m)/i, languages: 'en' },
];

function transcriptionFields({ source, exported, name }: ExportSourceDescription, { weights }: DraftOptions): object {
  const isTransducer = exported.family === 'parakeet';
  const languages = isTransducer && transducerLanguages.find(({ pattern }) => pattern.test(name))?.languages;
  return {
    type: 'asr',
    sources: [source, voiceActivity],
    familyOptions: {
      ...exported.familyOptions,
      voiceActivityFile: 'silero_vad.onnx',
      ...(languages && { languages }),
    },
    slots: recordingSlots,
    capabilities: {
      supportsAudioInput: true,
      quantization: weights === undefined ? quantizationOf(exported.graphFile) : weightPrecisions[weights],
    },
    pricing: { per_audio_second: free },
  };
}

function voiceFields({ source, exported }: ExportSourceDescription, { inputPriceUsd: usd = 0 }: DraftOptions): object {
  const { sampleRate, speakers, phonemeType } = readPiperVoice(exported.config);
  const sources = [source, ...(phonemeType === 'espeak' ? pronouncer : [])];
  return {
    type: 'tts',
    sources,
    installedBytes: sources.flatMap(({ files }) => files).reduce((sum, { bytes = 0 }) => sum + bytes, 0),
    slots: recordingSlots,
    kindMembers: {
      voices: [...speakers.keys()],
      supports_custom_voice_id: false,
      supported_formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
      default_format: 'mp3',
      pcm_sample_rate: sampleRate,
    },
    pricing: { input: { usd, diem: usd } },
  };
}

/** Rank above the bundled models: an operator who adds one prefers it. */
const mattingRank = 30;

function mattingFields({ exported }: ExportSourceDescription): object {
  return {
    type: 'inpaint',
    familyOptions: exported.settings,
    slots: 2,
    traits: { background_removal: mattingRank },
    capabilities: { quantization: quantizationOf(exported.graphFile) },
    constraints: { aspectRatios: [], promptCharacterLimit: 1, combineImages: false },
    pricing: { inpaint: free },
  };
}

function musicFields({ exported }: ExportSourceDescription): object {
  return {
    type: 'music',
    capabilities: { quantization: quantizationOf(exported.graphFile) },
    kindMembers: {
      supports_lyrics: false,
      supports_force_instrumental: true,
      min_duration: 1,
      max_duration: maxMusicSeconds,
      default_duration: 10,
      supported_formats: ['mp3', 'wav', 'flac'],
      default_format: 'mp3',
      prompt_character_limit: 1_000,
    },
    pricing: { generation: free },
  };
}

/** Settings of models that are trained to draw in few steps; publishers say so in the name, or by the class. */
const fewSteps: readonly { pattern: RegExp; guidance: number; steps: { default: number; max: number } }[] = [
  { pattern: /LatentConsistency|\blcm\b/i, guidance: 8.5, steps: { default: 4, max: 8 } },
  { pattern: /turbo/i, guidance: 0, steps: { default: 1, max: 4 } },
];

function imageFields({ exported, name }: ExportSourceDescription): object {
  const names = `${String(exported.config['model_type'])} ${name}`;
  const found = fewSteps.find(({ pattern }) => pattern.test(names));
  const { guidance, steps } = found ?? { guidance: 7.5, steps: { default: 20, max: 50 } };
  return {
    type: 'image',
    familyOptions: { guidance },
    constraints: { promptCharacterLimit: 1_500, steps, widthHeightDivisor: 8 },
    pricing: { generation: free, upscale: { '2x': free, '4x': free } },
  };
}

function videoFields(): object {
  return {
    type: 'video',
    familyOptions: { steps: 25, guidance: 9, sizeDivisor: 64 },
    constraints: {
      model_type: 'text-to-video',
      aspect_ratios: ['1:1', '16:9', '9:16'],
      resolutions: ['256p'],
      durations: ['2s'],
      audio: false,
      audio_configurable: false,
    },
    kindMembers: { supported_inputs: ['negative_prompt', 'seed'], frame_rates: [8] },
    pricing: { per_second: free },
  };
}

function visionFields({ exported }: ExportSourceDescription, options: DraftOptions): object {
  const { config, generation, graphFile, familyOptions } = exported;
  const contextLength = Math.min(options.contextLength ?? defaultContextLimit, positionsOf(config));
  const isSingle = config['model_type'] === 'llava';
  return {
    type: 'text',
    familyOptions: { ...familyOptions, ...imageTokensOf(exported) },
    contextLength,
    maxCompletionTokens: contextLength,
    slots: chatSlots,
    capabilities: {
      supportsVision: true,
      supportsMultipleImages: !isSingle,
      ...(!isSingle && { maxImages: 4 }),
      supportsVideoInput: true,
      supportsLogProbs: true,
      quantization: quantizationOf(graphFile),
    },
    constraints: options.constraints ?? constraintsOf(generation),
  };
}

/** Older files name the members of the language model beside the others. */
function positionsOf(config: Record<string, unknown>): number {
  const text = (config['text_config'] ?? config) as Record<string, unknown>;
  const positions = Number(text['max_position_embeddings']);
  return Number.isSafeInteger(positions) && positions > 0 ? positions : 2_048;
}
