import { PlatformError } from '#common';
import type { ManifestConverter } from '#model-registry/manifest';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { convertBert } from './bert.converter.js';
import { convertGguf } from './gguf.converter.js';
import { convertLlama2c } from './llama2c.converter.js';
import { convertMoonshine } from './moonshine.converter.js';
import { convertNcnn } from './ncnn.converter.js';
import { convertOnnx } from './onnx.converter.js';
import { convertTfjs } from './tfjs.converter.js';

export type * from './conversion.js';
export { concatenateFiles } from './concatenate.js';

const converters = {
  llama2c: convertLlama2c,
  gguf: convertGguf,
  tfjs: convertTfjs,
  ncnn: convertNcnn,
  moonshine: convertMoonshine,
  bert: convertBert,
  onnx: convertOnnx,
};

/** Kinds of the manifest that convert; `none` is a plain copy, which is the caller's. */
export type ConverterKind = Exclude<ManifestConverter['kind'], 'none'>;

/**
 * Turns downloaded weights into an installed model: graph `model.onnx` (with `model.onnx_data` beside it when the
 * weights are large), and for text `config.json`, `generation_config.json`, `tokenizer.json` and
 * `tokenizer_config.json`.
 *
 * Memory is bounded by one tensor, or by a piece of it where linear layers are stored in blocks, not by the model.
 * Fails with `INVALID_MODEL` naming the file and what is wrong with it, with the signal's reason when aborted, and as
 * it is for a full disk; nothing is left behind.
 */
export async function convertModel(request: ConversionRequest & { kind: ConverterKind }): Promise<ConversionResult> {
  const convert = converters[request.kind];
  if (!convert) throw new PlatformError('INVALID_MODEL', `Unknown converter \`${String(request.kind)}\`.`, 'converter');
  return convert(request);
}
