import {
  blockSizes,
  chooseOption,
  defaultBlockSize,
  formatName,
  linearFormat,
  refuseUnknownOptions,
  weightFormats,
} from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { OutputFolder } from './output-folder.js';
import { filesBelowFolder, readJsonObject } from './safetensors/model-files.js';
import { openWhisperCheckpoint } from './whisper/whisper-checkpoint.js';
import { whisperConfig } from './whisper/whisper-config.js';
import { emitWhisperDecoder } from './whisper/whisper-decoder.js';
import { emitWhisperEncoder } from './whisper/whisper-encoder.js';

const tokenizerFile = 'tokenizer.json';
/** Copied as they are, if they exist. */
const otherFiles = ['tokenizer_config.json', 'special_tokens_map.json', 'preprocessor_config.json', 'silero_vad.onnx'];

/**
 * Whisper of CTranslate2 (`model.bin`, as faster-whisper has it) or of the hubs (safetensors) → installed model:
 * `encoder_model.onnx` and `decoder_model_merged.onnx`. The input has `config.json` and `tokenizer.json` beside the
 * weights, in float32, float16 or bfloat16. Silero's `silero_vad.onnx` is copied.
 *
 * Options: `weights` is `float32` (default), `int8`, `int8-channel` or `int4`; `blockSize` as of GGUF files.
 */
export async function convertWhisper(request: ConversionRequest): Promise<ConversionResult> {
  const { options } = request;
  refuseUnknownOptions(options, ['weights', 'blockSize']);
  const format = chooseOption(options, 'weights', weightFormats, 'float32');
  const blockSize = chooseOption(options, 'blockSize', blockSizes, defaultBlockSize);
  const linear = linearFormat(format, blockSize);
  const files = await filesBelowFolder(request.inputFolder);
  // A missing one is named before anything is written.
  await readJsonObject(files, tokenizerFile);
  const { shape, weights, generation, close } = await openWhisperCheckpoint(files);
  const output = new OutputFolder(request);
  try {
    await output.writing(async () => {
      await output.writeJson('config.json', whisperConfig(shape));
      await output.writeJson('generation_config.json', generation);
      await output.copy(tokenizerFile);
      for (const name of otherFiles) if (files.names.has(name)) await output.copy(name);
      await output.writeGraph(emitWhisperEncoder(shape, weights, linear), 'encoder_model.onnx');
      await output.writeGraph(emitWhisperDecoder(shape, weights, linear), 'decoder_model_merged.onnx');
    });
  } finally {
    await close();
  }
  return { converter: `${converterVersions.whisper} ${formatName(format, blockSize)}`, files: output.files };
}
