import { readdir } from 'node:fs/promises';
import {
  blockSizes,
  chooseLayout,
  chooseOption,
  formatName,
  linearFormat,
  refuseUnknownOptions,
  weightFormats,
} from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { configJson } from './decoder/config-json.js';
import { InputFile } from './input-file.js';
import { invalidFile } from './invalid-file.js';
import { Llama2cCheckpoint } from './llama2c-checkpoint.js';
import { readLlama2cTokenizer } from './llama2c-tokenizer.js';
import { OutputFolder } from './output-folder.js';
import {
  llamaTokenizerConfig,
  sentencePieceTokenizerJson,
  type SentencePieceVocabulary,
} from './tokenizer/sentencepiece-tokenizer.js';

/**
 * llama2.c checkpoint and tokenizer → installed model. The input is `model.bin` with `tokenizer.bin`, or a single
 * `*.data` bundle that contains both in this order.
 *
 * Options: `weights` `float32` (default), `int8-channel`, or in blocks `int8` or `int4`; `blockSize` 32 (default), 64
 * or 128; `layout` `split` (default), or `concat` for other runtimes.
 */
export async function convertLlama2c(request: ConversionRequest): Promise<ConversionResult> {
  const { options } = request;
  refuseUnknownOptions(options, ['weights', 'blockSize', 'layout']);
  const weights = chooseOption(options, 'weights', weightFormats, 'float32');
  const blockSize = chooseOption(options, 'blockSize', blockSizes, 32);
  const linear = linearFormat(weights, blockSize);
  const { emitDecoder, suffix } = chooseLayout(options);
  const output = new OutputFolder(request);
  const file = await InputFile.open(request.inputFolder, await checkpointName(request.inputFolder));
  try {
    const checkpoint = await Llama2cCheckpoint.open(file);
    const vocabulary = await readVocabulary(request.inputFolder, file, checkpoint);
    await output.writing(async () => {
      await writeTextFiles(output, checkpoint, vocabulary);
      const embedding = weights === 'float32' ? 'float32' : 'float16';
      await output.writeGraph(emitDecoder({ shape: checkpoint.shape, weights: checkpoint, linear, embedding }));
    });
  } finally {
    await file.close();
  }
  return { converter: `${converterVersions.llama2c} ${formatName(weights, blockSize)}${suffix}`, files: output.files };
}

async function checkpointName(folder: string): Promise<string> {
  const names = await readdir(folder);
  if (names.includes('model.bin')) return 'model.bin';
  const [bundle, ...others] = names.filter((name) => name.endsWith('.data'));
  if (bundle === undefined || others.length > 0)
    throw invalidFile('model.bin', 'it is missing, and there is no bundle');
  return bundle;
}

async function readVocabulary(
  folder: string,
  file: InputFile,
  checkpoint: Llama2cCheckpoint,
): Promise<SentencePieceVocabulary> {
  const size = checkpoint.shape.vocabularySize;
  if (file.name !== 'model.bin') {
    return readLlama2cTokenizer(file.name, await file.read(checkpoint.end, file.bytes - checkpoint.end), size);
  }
  const tokenizer = await InputFile.open(folder, 'tokenizer.bin');
  try {
    return readLlama2cTokenizer(tokenizer.name, await tokenizer.read(0, tokenizer.bytes), size);
  } finally {
    await tokenizer.close();
  }
}

async function writeTextFiles(
  output: OutputFolder,
  checkpoint: Llama2cCheckpoint,
  vocabulary: SentencePieceVocabulary,
): Promise<void> {
  // The story models end a text with BOS, where the next one would begin.
  const eosTokenIds = [1, 2];
  const names = { modelType: 'llama', architecture: 'LlamaForCausalLM', bosTokenId: 1, eosTokenIds };
  await output.writeJson('config.json', configJson(checkpoint.shape, names));
  await output.writeJson('generation_config.json', { bos_token_id: 1, eos_token_id: eosTokenIds });
  await output.writeJson('tokenizer.json', sentencePieceTokenizerJson(vocabulary));
  await output.writeJson('tokenizer_config.json', llamaTokenizerConfig);
}
