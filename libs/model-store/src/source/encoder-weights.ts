import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ManifestFile } from '#model-registry/manifest';
import { bertTypes } from '../convert/bert/bert-files.js';
import { rotaryTypes } from '../convert/bert/rotary-files.js';
import { isSentenceFile, sentenceFile } from '../convert/sentence/sentence-layout.js';

/* Encoders whose weights are converted, because their authors publish no ONNX graph. */

const weightsPattern = /^model(?:\.safetensors)?(?:-\d{5}-of-\d{5})?\.safetensors$/;

/** Returns true if a source has such weights and no graph. */
export function holdsEncoderWeights(paths: readonly string[], config: Record<string, unknown>): boolean {
  const isKnown = [...bertTypes, ...rotaryTypes].includes(String(config['model_type'])) && !isDecoder(config);
  return isKnown && paths.some((path) => weightsPattern.test(path)) && !paths.some((path) => path.endsWith('.onnx'));
}

function isDecoder({ architectures }: Record<string, unknown>): boolean {
  return Array.isArray(architectures) && String(architectures[0]).endsWith('ForCausalLM');
}

/** The files that the converter reads or copies. */
export function isEncoderFile(path: string): boolean {
  return weightsPattern.test(path) || isSentenceFile(path) || /^[^/]+\.json$/.test(path);
}

/** Bytes after the conversion: all weights become float32. */
export function convertedEncoderBytes(files: readonly ManifestFile[], config: Record<string, unknown>): number {
  const type = String(config['dtype'] ?? config['torch_dtype'] ?? 'float32');
  const factor = type.endsWith('16') ? 2 : 1;
  const sizeOf = ({ path, bytes = 0 }: ManifestFile): number => (weightsPattern.test(path) ? factor * bytes : bytes);
  return files.reduce((sum, file) => sum + sizeOf(file), 0);
}

/** Reads what sentence-transformers puts in front of texts; empty without such a file. */
export async function readSentencePrompts(
  paths: readonly string[],
  read: (path: string) => Promise<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const { prompts } = paths.includes(sentenceFile) ? await read(sentenceFile) : {};
  return typeof prompts === 'object' && prompts !== null ? (prompts as Record<string, unknown>) : {};
}

/** Returns the files of a folder with their sizes. */
export async function sizedFiles(folder: string, paths: readonly string[]): Promise<ManifestFile[]> {
  return await Promise.all(paths.map(async (path) => ({ path, bytes: (await stat(join(folder, path))).size })));
}

/** What sets a description of such a source apart. */
export const convertedEncoder: { graphFile: string; converts: true } = { graphFile: 'model.onnx', converts: true };
