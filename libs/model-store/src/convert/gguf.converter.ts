import { readdir } from 'node:fs/promises';
import {
  blockSizes,
  chooseLayout,
  chooseOption,
  formatName,
  integerOption,
  linearFormat,
  refuseUnknownOptions,
  weightFormats,
} from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { configJson } from './decoder/config-json.js';
import { GgufDecoder } from './gguf/gguf-decoder.js';
import { GgufMetadata } from './gguf/gguf-metadata.js';
import { readGgufHeader } from './gguf/gguf-reader.js';
import { readGgufTokenizer, type GgufTokenizer } from './gguf/gguf-tokenizer.js';
import { InputFile } from './input-file.js';
import { invalidFile } from './invalid-file.js';
import { OutputFolder } from './output-folder.js';

/**
 * GGUF → installed model. The input is the one `*.gguf` file of the folder.
 *
 * Options: `weights` `int4` (default) or `int8`, in blocks, `int8-channel` or `float32`. `headWeights` is the same for
 * the output layer, whose errors affect the probabilities directly; its default is `int8` if the others are `int4`.
 * `blockSize` is 32 (default), 64 or 128. `layout` is `split` (default), or `concat` for other runtimes.
 * `contextLength` shortens the rotary tables, for models that support a longer context than needed.
 */
export async function convertGguf(request: ConversionRequest): Promise<ConversionResult> {
  const { options } = request;
  refuseUnknownOptions(options, ['weights', 'headWeights', 'blockSize', 'layout', 'contextLength']);
  const weights = chooseOption(options, 'weights', weightFormats, 'int4');
  const blockSize = chooseOption(options, 'blockSize', blockSizes, 32);
  const headWeights = chooseOption(options, 'headWeights', weightFormats, weights === 'int4' ? 'int8' : weights);
  const linear = linearFormat(weights, blockSize);
  const head = linearFormat(headWeights, blockSize);
  const contextLength = integerOption(options, 'contextLength');
  const { emitDecoder, suffix } = chooseLayout(options);
  const output = new OutputFolder(request);
  const file = await InputFile.open(request.inputFolder, await ggufName(request.inputFolder));
  try {
    const header = await readGgufHeader(file);
    const decoder = await GgufDecoder.open(file, header, contextLength);
    const metadata = new GgufMetadata(file.name, header.metadata);
    const tokenizer = readGgufTokenizer(metadata, decoder.shape.vocabularySize);
    await output.writing(async () => {
      await writeTextFiles(output, decoder, tokenizer);
      const embedding = weights === 'float32' ? 'float32' : 'float16';
      await output.writeGraph(emitDecoder({ shape: decoder.shape, weights: decoder, linear, head, embedding }));
    });
  } finally {
    await file.close();
  }
  const format = weights === 'float32' ? weights : `${formatName(weights, blockSize)} head=${headWeights}`;
  return { converter: `${converterVersions.gguf} ${format}${suffix}`, files: output.files };
}

async function ggufName(folder: string): Promise<string> {
  const [name, ...others] = (await readdir(folder)).filter((entry) => entry.endsWith('.gguf'));
  if (name === undefined) throw invalidFile('model.gguf', 'it is missing');
  if (others.length > 0) throw invalidFile(name, `${others.join(', ')} are beside it, and only one is allowed`);
  return name;
}

async function writeTextFiles(output: OutputFolder, decoder: GgufDecoder, tokenizer: GgufTokenizer): Promise<void> {
  const { modelType, className } = decoder.architecture;
  const { bosTokenId, eosTokenIds } = tokenizer;
  const config = configJson(decoder.shape, { modelType, architecture: className, bosTokenId, eosTokenIds });
  await output.writeJson('config.json', config);
  await output.writeJson('generation_config.json', { bos_token_id: bosTokenId, eos_token_id: eosTokenIds });
  await output.writeJson('tokenizer.json', tokenizer.tokenizerJson);
  await output.writeJson('tokenizer_config.json', tokenizer.tokenizerConfig);
}
