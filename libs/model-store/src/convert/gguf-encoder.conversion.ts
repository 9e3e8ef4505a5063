import type { OnnxGraph } from '../onnx/index.js';
import { emitAlibiEncoder } from './bert/alibi-encoder.js';
import { isAlibi, readAlibi } from './bert/alibi-files.js';
import { emitBertEncoder } from './bert/bert-encoder.js';
import { bertTypes, readBert } from './bert/bert-files.js';
import { type GgufEncoder, readGgufEncoder } from './bert/gguf-encoder.js';
import { emitRotaryEncoder } from './bert/rotary-encoder.js';
import { readRotary } from './bert/rotary-files.js';
import { refuseUnknownOptions } from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import type { OpenedGguf } from './gguf/gguf-shards.js';
import { readGgufEncoderTokenizer } from './gguf/gguf-encoder-tokenizer.js';
import { OutputFolder } from './output-folder.js';

/**
 * An encoder in a GGUF file → installed model in float32, whatever the type of its weights, as safetensors of encoders
 * are. The manifest says how it pools. No options.
 */
export async function convertGgufEncoder(
  request: ConversionRequest,
  { file, header }: OpenedGguf,
): Promise<ConversionResult> {
  refuseUnknownOptions(request.options, []);
  const encoder = readGgufEncoder(file, header);
  const { graph, vocabularySize } = openGraph(encoder);
  const { tokenizerJson, tokenizerConfig } = readGgufEncoderTokenizer(encoder.metadata, vocabularySize);
  const output = new OutputFolder(request);
  await output.writing(async () => {
    await output.writeJson('config.json', encoder.settings.config);
    await output.writeJson('tokenizer.json', tokenizerJson);
    await output.writeJson('tokenizer_config.json', tokenizerConfig);
    await output.writeGraph(graph());
  });
  return { converter: `${converterVersions.gguf} float32`, files: output.files };
}

/** Checks sizes and names, before anything is written or downloaded. */
export function openGraph({ settings, tensors }: GgufEncoder): { graph: () => OnnxGraph; vocabularySize: number } {
  if (isAlibi(settings)) {
    const { shape, weights } = readAlibi(settings, tensors);
    return { graph: () => emitAlibiEncoder(shape, weights), vocabularySize: shape.vocabularySize };
  }
  if (bertTypes.includes(settings.type)) {
    const { shape, weights } = readBert(settings, tensors);
    return { graph: () => emitBertEncoder(shape, weights), vocabularySize: shape.vocabularySize };
  }
  const { shape, weights } = readRotary(settings, tensors);
  return { graph: () => emitRotaryEncoder(shape, weights), vocabularySize: shape.vocabularySize };
}
