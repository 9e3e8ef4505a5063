import type { ManifestConverter } from '#model-registry/manifest';

/**
 * Converter versions of this release. Increase a number when a converter writes different files; the next pull then
 * reinstalls its models. `gguf/1` was kept when the biases of queries and keys of llama models were fixed. All other
 * models' files are unchanged and must not be reinstalled.
 */
export const converterVersions: Record<ManifestConverter['kind'], string> = {
  none: 'none',
  llama2c: 'llama2c/2',
  gguf: 'gguf/1',
  tfjs: 'tfjs/1',
  ncnn: 'ncnn/1',
  moonshine: 'moonshine/1',
  bert: 'bert/1',
  onnx: 'onnx/1',
};

/** Returns true if this release's converter wrote the model, by `installed.json`. */
export function isCurrentConversion(kind: ManifestConverter['kind'], converter: string): boolean {
  return converter.split(' ')[0] === converterVersions[kind];
}
