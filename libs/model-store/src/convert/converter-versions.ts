import type { ManifestConverter } from '#model-registry/manifest';

/**
 * The converters of this release. Raise a number when a converter writes other files than before: the next pull then
 * installs its models anew. `gguf/1` stayed where biases at queries and keys of the llama kind came to be written rightly: the
 * files of all others are the same, and nobody is to install those anew.
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

/** True when `installed.json` says that this release's converter wrote the model. */
export function isCurrentConversion(kind: ManifestConverter['kind'], converter: string): boolean {
  return converter.split(' ')[0] === converterVersions[kind];
}
