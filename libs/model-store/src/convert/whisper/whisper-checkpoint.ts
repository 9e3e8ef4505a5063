import { invalidFile, quoted } from '../invalid-file.js';
import { HubConfig } from '../safetensors/hub-config.js';
import { type ModelFiles, readJsonObject } from '../safetensors/model-files.js';
import { SafetensorsWeights } from '../safetensors/safetensors-weights.js';
import { openCtranslate2Whisper } from './ctranslate2-whisper.js';
import { readWhisperShape, type WhisperShape } from './whisper-shape.js';
import { wholeTensor } from '../layers/stored-weights.js';
import { WhisperWeights } from './whisper-weights.js';

/** The weights of a model of CTranslate2. */
export const ctranslate2File = 'model.bin';

/** A Whisper in one of the formats that are converted, without its values. */
export interface WhisperCheckpoint {
  shape: WhisperShape;
  weights: WhisperWeights;
  /** Content of `generation_config.json`. */
  generation: Record<string, unknown>;
  close(): Promise<void>;
}

/** Opens `model.bin` of CTranslate2, or safetensors. Throws `INVALID_MODEL` for what no graph can be made of. */
export async function openWhisperCheckpoint(files: ModelFiles): Promise<WhisperCheckpoint> {
  return files.names.has(ctranslate2File) ? await openCtranslate2(files) : await openSafetensors(files);
}

async function openCtranslate2(files: ModelFiles): Promise<WhisperCheckpoint> {
  const config = new HubConfig(await readJsonObject(files, 'config.json'));
  const file = await files.open(ctranslate2File);
  const close = async (): Promise<void> => await file.close?.();
  return await closingOnFailure(close, async () => {
    const { tensors, encoderHeads, decoderHeads } = await openCtranslate2Whisper(file);
    const weights = new WhisperWeights(ctranslate2File, tensors);
    const shape = readWhisperShape(weights, { encoder: encoderHeads, decoder: decoderHeads });
    return { shape, weights, generation: generationOf(config), close };
  });
}

/** Settings of CTranslate2 by the names of the hubs. */
function generationOf({ values }: HubConfig): Record<string, unknown> {
  const { suppress_ids: always, suppress_ids_begin: first, alignment_heads: heads } = values;
  return { suppress_tokens: always, begin_suppress_tokens: first, alignment_heads: heads };
}

async function openSafetensors(files: ModelFiles): Promise<WhisperCheckpoint> {
  const config = new HubConfig(await readJsonObject(files, 'config.json'));
  const activation = config.text('activation_function', 'gelu');
  if (config.text('model_type', 'whisper') !== 'whisper') throw invalidFile('config.json', 'it describes no Whisper');
  if (activation !== 'gelu') throw invalidFile('config.json', `its activation is ${quoted(activation)}, not gelu`);
  if (config.flag('scale_embedding', false)) throw invalidFile('config.json', 'its embeddings are scaled');
  if (!config.flag('tie_word_embeddings', true))
    throw invalidFile('config.json', 'its output layer is not its embeddings');
  const generationFile = 'generation_config.json';
  const generation = files.names.has(generationFile) ? await readJsonObject(files, generationFile) : {};
  const stored = await SafetensorsWeights.open(files);
  const close = (): Promise<void> => stored.close();
  return await closingOnFailure(close, () => {
    const tensors = [...stored.tensors].map(
      ([name, tensor]) => [name.replace(/^model\./, ''), wholeTensor(tensor)] as const,
    );
    const weights = new WhisperWeights('model.safetensors', new Map(tensors));
    const heads = { encoder: config.size('encoder_attention_heads'), decoder: config.size('decoder_attention_heads') };
    const shape = readWhisperShape(weights, heads);
    return Promise.resolve({ shape, weights, generation, close });
  });
}

async function closingOnFailure<Opened>(close: () => Promise<void>, open: () => Promise<Opened>): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    await close();
    throw error;
  }
}
