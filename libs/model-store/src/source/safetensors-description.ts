import { stretchedContext } from '../convert/decoder/read-rotary.js';
import { SourceDecoder } from '../convert/decoder/source-decoder.js';
import { checkHubTemplate } from '../convert/chat-template.js';
import type { WeightFormat } from '../convert/conversion-options.js';
import { HubCheckpoint } from '../convert/safetensors/hub-checkpoint.js';
import { type ModelFiles, readJsonObject } from '../convert/safetensors/model-files.js';
import { convertedBytes, type GgufDescription, sizesOf } from './gguf-description.js';
import { pullError } from './pull-error.js';

/** What a checkpoint holds, by its configuration and headers. */
export interface SafetensorsDescription extends GgufDescription {
  /** How its 4-bit weights are packed: `AWQ`, `GPTQ`, `MXFP4`; null if all are floats. */
  packed: string | null;
  /** Number of those weights. */
  packedParameters: number;
  /** `generation_config.json`, the authors' sampling; empty without one. */
  generation: Record<string, unknown>;
}

/** Bytes per weight of packed layers: the code, and scale and zero point of its group. MXFP4 becomes 8-bit blocks. */
const packedBytes = 0.5 + 4.5 / 32;
const mxfp4Bytes = 1.125;

/** Size of the converted files; without `weights` they are those of the file. */
export function storedBytes(
  found: SafetensorsDescription,
  { weights, contextLength }: { weights?: WeightFormat; contextLength: number },
): number {
  const floats = convertedBytes(found, { weights: weights ?? 'float32', contextLength });
  if (weights !== undefined || found.packed === null) return floats;
  const perWeight = found.packed === mxfp4 ? mxfp4Bytes : packedBytes;
  return Math.round(floats - (Float32Array.BYTES_PER_ELEMENT - perWeight) * found.packedParameters);
}

const mxfp4 = 'MXFP4';
const weightsPattern = /^model(?:-\d{5}-of-\d{5})?\.safetensors$/;
const textPattern =
  /^(?:config|generation_config|tokenizer|tokenizer_config|special_tokens_map|chat_template|model\.safetensors\.index)\.json$|^chat_template\.jinja$/;

/** True for the weights and texts that a conversion reads. */
export function isCheckpointFile(path: string): boolean {
  return weightsPattern.test(path) || textPattern.test(path);
}

/** True if there are safetensors, and no graph that runs as it is. */
export function holdsCheckpoint(paths: readonly string[]): boolean {
  return paths.some((path) => path.endsWith('.safetensors')) && !paths.some((path) => path.endsWith('.onnx'));
}

/**
 * Reads the configuration and the headers only. Fails with `INVALID_MODEL` for what the converter would refuse too, and
 * with `MODEL_PULL_FAILED` for folders of something else.
 */
export async function describeSafetensors(files: ModelFiles, where: string): Promise<SafetensorsDescription> {
  requireWholeModel(files, where);
  const checkpoint = await HubCheckpoint.open(files);
  try {
    const { config, packed, hasMxfp4 } = checkpoint;
    const { shape } = SourceDecoder.open(checkpoint.source);
    const sizes = checkpoint.stored();
    return {
      architecture: config.text('model_type', checkpoint.source.architecture),
      title: null,
      layerTypes: [],
      license: null,
      parameters: sizes.parameters,
      stored: sizes.types.join(', '),
      packed: hasMxfp4 ? mxfp4 : (packed?.kind.toUpperCase() ?? null),
      packedParameters: sizes.packed,
      weights: hasMxfp4 ? 'int8' : packed === null ? 'float32' : 'int4',
      hasChatTemplate: await checkHubTemplate(files),
      ...sizesOf(shape),
      maxContextLength: stretchedContext(checkpoint.source) ?? shape.contextLength,
      generation: files.names.has(generationFile) ? await readJsonObject(files, generationFile) : {},
    };
  } finally {
    await checkpoint.close();
  }
}

const generationFile = 'generation_config.json';

function requireWholeModel({ names }: ModelFiles, where: string): void {
  if (!names.has('config.json')) throw pullError(`${where} holds safetensors without a config.json.`);
  if (names.has('tokenizer.json')) return;
  throw pullError(`${where} has no tokenizer.json; save the model's fast tokenizer beside it.`);
}
