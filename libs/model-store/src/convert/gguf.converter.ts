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
import { checkChatTemplate } from './chat-template.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { configJson } from './decoder/config-json.js';
import { checkContext } from './decoder/context-limit.js';
import { SourceDecoder } from './decoder/source-decoder.js';
import { GgufMetadata } from './gguf/gguf-metadata.js';
import { samePrecision } from './gguf/gguf-precision.js';
import { openGguf, type OpenedGguf } from './gguf/gguf-shards.js';
import { ggufSource } from './gguf/gguf-source.js';
import { readGgufTokenizer, type GgufTokenizer } from './gguf/gguf-tokenizer.js';
import { groupShards } from './gguf/shard-names.js';
import { InputFile } from './input-file.js';
import { invalidFile } from './invalid-file.js';
import { OutputFolder } from './output-folder.js';

/**
 * GGUF → installed model. The input is the one `*.gguf` file of the folder, or the shards of one model.
 *
 * Options: `weights` `int4` or `int8`, in blocks, `int8-channel` or `float32`; default: the precision of the file.
 * `headWeights` is the same for the output layer, whose errors affect the probabilities directly; its default is `int8` if
 * the others are `int4`. `blockSize` is 16, 32 (default), 64 or 128. `layout` is `split` (default), or `concat` for other runtimes.
 * `contextLength` shortens the rotary tables, for models that support a longer context than needed.
 */
export async function convertGguf(request: ConversionRequest): Promise<ConversionResult> {
  const { options } = request;
  refuseUnknownOptions(options, ['weights', 'headWeights', 'blockSize', 'layout', 'contextLength']);
  const blockSize = chooseOption(options, 'blockSize', blockSizes, 32);
  const contextLength = integerOption(options, 'contextLength');
  const { emitDecoder, suffix } = chooseLayout(options);
  const output = new OutputFolder(request);
  return await withGguf(request.inputFolder, async ({ file, header }) => {
    const weights = chooseOption(options, 'weights', weightFormats, samePrecision(header));
    const headWeights = chooseOption(options, 'headWeights', weightFormats, weights === 'int4' ? 'int8' : weights);
    const linear = linearFormat(weights, blockSize);
    const head = linearFormat(headWeights, blockSize);
    const decoder = SourceDecoder.open(ggufSource(file, header), contextLength);
    checkContext(file.name, decoder.shape);
    const metadata = new GgufMetadata(file.name, header.metadata);
    const tokenizer = readGgufTokenizer(metadata, decoder.shape.vocabularySize);
    checkChatTemplate(file.name, tokenizer.tokenizerConfig['chat_template']);
    await output.writing(async () => {
      await writeTextFiles(output, decoder, tokenizer);
      const embedding = weights === 'float32' ? 'float32' : 'float16';
      await output.writeGraph(emitDecoder({ shape: decoder.shape, weights: decoder, linear, head, embedding }));
    });
    const format = weights === 'float32' ? weights : `${formatName(weights, blockSize)} head=${headWeights}`;
    return { converter: `${converterVersions.gguf} ${format}${suffix}`, files: output.files };
  });
}

async function withGguf<Result>(folder: string, use: (opened: OpenedGguf) => Promise<Result>): Promise<Result> {
  const files: InputFile[] = [];
  try {
    for (const name of await ggufNames(folder)) files.push(await InputFile.open(folder, name));
    return await use(await openGguf(files));
  } finally {
    for (const file of files) await file.close();
  }
}

async function ggufNames(folder: string): Promise<string[]> {
  const [model, ...others] = groupShards(await readdir(folder));
  const name = model?.files[0];
  if (name === undefined) throw invalidFile('model.gguf', 'it is missing');
  const more = others.flatMap(({ files }) => files);
  if (more.length > 0) throw invalidFile(name, `${more.join(', ')} are beside it, and only one is allowed`);
  if (model?.missing[0] !== undefined) throw invalidFile(name, `${model.missing.join(', ')} is missing beside it`);
  return model?.files ?? [];
}

async function writeTextFiles(output: OutputFolder, decoder: SourceDecoder, tokenizer: GgufTokenizer): Promise<void> {
  const { modelType, className } = decoder.architecture;
  const { bosTokenId, eosTokenIds } = tokenizer;
  const config = configJson(decoder.shape, { modelType, architecture: className, bosTokenId, eosTokenIds });
  await output.writeJson('config.json', config);
  await output.writeJson('generation_config.json', { bos_token_id: bosTokenId, eos_token_id: eosTokenIds });
  await output.writeJson('tokenizer.json', tokenizer.tokenizerJson);
  await output.writeJson('tokenizer_config.json', tokenizer.tokenizerConfig);
}
