import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ModelManifest, noCapabilities } from '#model-registry/manifest';
import {
  emitConcatDecoder,
  emitGroupQueryDecoder,
  emitSplitDecoder,
  writeOnnxModel,
  type DecoderOptions,
  type LinearFormat,
} from '#model-store';
import { installFixture } from './install-fixture.js';
import { tinyContextLength, tinyDecoder, type TinyShapeName } from './tiny-models/tiny-shapes.js';

export type TinyLayout = 'split' | 'concat' | 'group-query';
export type TinyDtype = 'float32' | 'float16' | 'int8' | 'int8-channel' | 'int4';

export interface TinyModelOptions {
  /** Default: `tiny-<shape>`. */
  id?: string;
  /** Default: `llama`. `phi`, `window` and `capped` have no `group-query` layout. */
  shape?: TinyShapeName;
  /** Default: `split`, which has no `float16`. */
  layout?: TinyLayout;
  /** Default: `float32`. */
  dtype?: TinyDtype;
  /** Default: 1. The same seed gives the same weights in every layout. */
  seed?: number;
  /** Maximum of prompt plus output, in tokens. Default: 256. */
  contextLength?: number;
  /** Stores weights in an external file instead of the graph. */
  externalData?: boolean;
  /** Jinja source; default: the template of the shape. */
  chatTemplate?: string;
  /** Overrides of the generated manifest. */
  manifest?: Partial<ModelManifest>;
}

const linearFormats: Record<TinyDtype, LinearFormat> = {
  float32: { kind: 'float32' },
  float16: { kind: 'float16' },
  int8: { kind: 'blocks', bits: 8, blockSize: 32 },
  'int8-channel': { kind: 'channels' },
  int4: { kind: 'blocks', bits: 4, blockSize: 32 },
};

const emitters = { split: emitSplitDecoder, concat: emitConcatDecoder, 'group-query': emitGroupQueryDecoder };

/** Graph file names of transformers.js exports, by number format. */
const graphFiles: Record<TinyDtype, string> = {
  float32: 'onnx/model.onnx',
  float16: 'onnx/model_fp16.onnx',
  int8: 'onnx/model_quantized.onnx',
  'int8-channel': 'onnx/model_int8.onnx',
  int4: 'onnx/model_q4.onnx',
};

/**
 * Writes a complete model folder with random weights: graph, config.json, generation_config.json, tokenizer.json,
 * tokenizer_config.json and manifest.json. Two layers, about 700 tokens, a context of 256. Deterministic. For tests
 * only: its texts are meaningless. Returns the manifest.
 */
export async function buildTinyModel(folder: string, options: TinyModelOptions = {}): Promise<ModelManifest> {
  const { shape: shapeName = 'llama', layout = 'split', dtype = 'float32', seed = 1 } = options;
  const { contextLength = tinyContextLength } = options;
  const decoder = tinyDecoder(shapeName, seed, contextLength);
  const graphFile = layout === 'split' ? 'model.onnx' : graphFiles[dtype];
  const graphFolder = join(folder, dirname(graphFile));
  await mkdir(graphFolder, { recursive: true });
  const linear = linearFormats[dtype];
  const decoderOptions: DecoderOptions = {
    shape: decoder.shape,
    weights: decoder.weights,
    linear,
    embedding: linear.kind === 'float32' ? 'float32' : 'float16',
  };
  const fileName = graphFile.split('/').at(-1);
  const embedLimitBytes = options.externalData ? 0 : undefined;
  await writeOnnxModel(emitters[layout](decoderOptions), { folder: graphFolder, fileName, embedLimitBytes });

  const { tokenizer, config } = decoder;
  const manifest = tinyManifest({ shapeName, layout, dtype, graphFile, options });
  const files = {
    'config.json': config,
    'generation_config.json': { bos_token_id: tokenizer.bosTokenId, eos_token_id: tokenizer.eosTokenIds },
    'tokenizer.json': tokenizer.tokenizerJson,
    'tokenizer_config.json': tokenizer.tokenizerConfig,
    'manifest.json': manifest,
  };
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(folder, name), `${JSON.stringify(content, null, 1)}\n`);
  }
  if (options.chatTemplate !== undefined) await writeFile(join(folder, 'chat_template.jinja'), options.chatTemplate);
  return manifest;
}

/** Installs a tiny model at `<home>/models/<id>`, with its `installed.json`. */
export async function installTinyModel(home: string, options: TinyModelOptions = {}): Promise<ModelManifest> {
  const id = options.id ?? `tiny-${options.shape ?? 'llama'}`;
  return await installFixture(home, { id }, (folder) => buildTinyModel(folder, { ...options, id }));
}

interface ManifestParts {
  shapeName: TinyShapeName;
  layout: TinyLayout;
  dtype: TinyDtype;
  graphFile: string;
  options: TinyModelOptions;
}

const quantizations = {
  float32: 'not-available',
  float16: 'fp16',
  int8: 'int8',
  'int8-channel': 'int8',
  int4: 'int4',
} as const;

function tinyManifest({ shapeName, layout, dtype, graphFile, options }: ManifestParts): ModelManifest {
  const { contextLength = tinyContextLength } = options;
  const price = (usd: number) => ({ usd, diem: usd });
  return {
    id: options.id ?? `tiny-${shapeName}`,
    type: 'text',
    name: `Tiny ${shapeName}`,
    description: `Random weights of the ${shapeName} shape, ${layout} layout, ${dtype}: a test fixture.`,
    created: 1_700_000_000,
    ownedBy: 'sluice',
    modelSource: 'https://example.org/tiny',
    license: 'Apache-2.0',
    family: 'decoder',
    tier: 'XS',
    privacy: 'private',
    sources: [{ uri: 'file:tiny', files: [] }],
    converter: { kind: 'none' },
    graphFile,
    contextLength,
    maxCompletionTokens: 200,
    slots: 8,
    cacheTokens: 8 * contextLength,
    capabilities: {
      ...noCapabilities,
      supportsLogProbs: true,
      quantization: quantizations[dtype],
    },
    constraints: { temperature: { default: 1 }, top_p: { default: 1 } },
    pricing: { input: price(0.1), output: price(0.2) },
    ...options.manifest,
  };
}
