import type { ByteSource } from '../convert/byte-source.js';
import { readJsonObject, type ModelFiles } from '../convert/safetensors/model-files.js';
import { weightFiles } from '../convert/safetensors/safetensors-weights.js';
import { readCtranslate2Table } from '../convert/whisper/ctranslate2-whisper.js';
import { ctranslate2File, openWhisperCheckpoint } from '../convert/whisper/whisper-checkpoint.js';
import { whisperConfig } from '../convert/whisper/whisper-config.js';
import { windowPositions } from '../convert/whisper/whisper-shape.js';
import type { ExportedModel } from './exported-model.js';
import { pullError } from './pull-error.js';
import { holdsCheckpoint } from './safetensors-description.js';

/* Whisper as weights that become graphs: safetensors of the hubs, or `model.bin` of CTranslate2. */

const configurations =
  /^(?:config|generation_config|preprocessor_config|tokenizer|tokenizer_config|special_tokens_map)\.json$/;
const headSize = 64;

/** Describes such a model; null for every other one. Of the weights, only what lists them is read. */
export async function describeWhisper(files: ModelFiles, where: string): Promise<ExportedModel | null> {
  const { names } = files;
  if (!names.has('config.json') || [...names].some((path) => path.endsWith('.onnx'))) return null;
  const config = await readJsonObject(files, 'config.json');
  const isCtranslate2 = names.has(ctranslate2File) && !holdsCheckpoint([...names]);
  if (!isCtranslate2 && (config['model_type'] !== 'whisper' || !holdsCheckpoint([...names]))) return null;
  if (!names.has('tokenizer.json')) throw pullError(`${where} holds no tokenizer.json, which Whisper needs.`);
  const weights = isCtranslate2 ? [ctranslate2File] : await weightFiles(files);
  const sizes = isCtranslate2 ? await sizesOfCtranslate2(files, config) : await sizesOfCheckpoint(files);
  return {
    family: 'whisper',
    graphFile: 'encoder_model.onnx',
    familyOptions: { decoderFile: 'decoder_model_merged.onnx' },
    paths: [...names].filter((path) => configurations.test(path) || weights.includes(path)),
    preprocessor: {},
    generation: {},
    ...sizes,
  };
}

type Sizes = Pick<ExportedModel, 'config' | 'converted'>;

async function sizesOfCheckpoint(files: ModelFiles): Promise<Sizes> {
  const { shape, weights, close } = await openWhisperCheckpoint(files);
  await close();
  return { config: whisperConfig(shape), converted: weights.countParameters() };
}

/** The other sizes are behind all weights; these suffice to plan memory. */
async function sizesOfCtranslate2(files: ModelFiles, config: Record<string, unknown>): Promise<Sizes> {
  const file: ByteSource & { close?(): Promise<void> } = await files.open(ctranslate2File);
  try {
    const { shape, bytes } = await readCtranslate2Table(file);
    const [tokens = 1, width = 1] = shape;
    const layers = [config['alignment_heads']].flat(2).filter((value) => typeof value === 'number');
    return {
      config: {
        model_type: 'whisper',
        d_model: width,
        vocab_size: tokens,
        max_source_positions: windowPositions,
        encoder_attention_heads: Math.ceil(width / headSize),
        decoder_layers: 1 + Math.max(0, ...layers),
      },
      converted: Math.floor(file.bytes / (bytes / (tokens * width))),
    };
  } finally {
    await file.close?.();
  }
}
