import { readdir } from 'node:fs/promises';
import {
  blockSizes,
  chooseLayout,
  chooseOption,
  defaultBlockSize,
  formatName,
  integerOption,
  linearFormat,
  refuseUnknownOptions,
  stored,
  weightFormats,
} from './conversion-options.js';
import { isGgufEncoder } from './bert/gguf-encoder.js';
import { checkChatTemplate } from './chat-template.js';
import type { ConversionOptions, ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { configJson } from './decoder/config-json.js';
import { checkContext } from './decoder/context-limit.js';
import { type DecoderOptions, weightNames } from './decoder/index.js';
import type { LinearFormat } from './decoder/linear-layer.js';
import { emitPooledDecoder } from './decoder/pooled-decoder.js';
import { canShareTable } from './decoder/shared-table.js';
import { SourceDecoder } from './decoder/source-decoder.js';
import { GgufMetadata } from './gguf/gguf-metadata.js';
import { keepsValues, storedEmbedding, storedFormat, storedHead } from './gguf/gguf-precision.js';
import { openGguf, type OpenedGguf } from './gguf/gguf-shards.js';
import { ggufSource } from './gguf/gguf-source.js';
import type { GgufHeader } from './gguf/gguf-types.js';
import { readGgufTokenizer, type GgufTokenizer } from './gguf/gguf-tokenizer.js';
import { groupShards } from './gguf/shard-names.js';
import { InputFile } from './input-file.js';
import { invalidFile } from './invalid-file.js';
import { convertGgufEncoder } from './gguf-encoder.conversion.js';
import { OutputFolder } from './output-folder.js';
import { ggufPooledHead } from './sentence/gguf-pooling-model.js';
import { poolingOptionNames, readPoolingOptions } from './sentence/pooling-options.js';

/**
 * GGUF → installed model. The input is the one `*.gguf` file of the folder, or the shards of one model.
 *
 * Options: `weights` is `stored` (default: each layer in the precision of its own tensor), or one precision for all:
 * `int4` or `int8`, in blocks, `int8-channel` or `float32`. `headWeights` is the same for the output layer, whose errors
 * affect the probabilities directly; its default is `int8` if the others are `int4`. `blockSize` is 16, 32 (default), 64
 * or 128; blocks that are stored are kept from this size on. `layout` is `split` (default), or `concat` for other runtimes.
 * `contextLength` shortens the rotary tables, for models that support a longer context than needed. `purpose`,
 * `pooling`, `trueToken` and `falseToken` are those of safetensors. Encoders have no options.
 */
export async function convertGguf(request: ConversionRequest): Promise<ConversionResult> {
  return await withGguf(request.inputFolder, async (opened) => {
    if (isGgufEncoder(opened)) return convertGgufEncoder(request, opened);
    return convertGgufDecoder(request, opened);
  });
}

async function convertGgufDecoder(request: ConversionRequest, { file, header }: OpenedGguf): Promise<ConversionResult> {
  const { options } = request;
  const names = ['weights', 'headWeights', 'blockSize', 'layout', 'contextLength', ...poolingOptionNames];
  refuseUnknownOptions(options, names);
  const pooling = readPoolingOptions(options);
  const contextLength = integerOption(options, 'contextLength');
  const layout = chooseLayout(options);
  const output = new OutputFolder(request);
  const source = ggufSource(file, header);
  const decoder = SourceDecoder.open(source, contextLength, pooling.purpose);
  layout.check(decoder.shape);
  checkContext(file.name, decoder.shape);
  const metadata = new GgufMetadata(file.name, header.metadata);
  const tokenizer = readGgufTokenizer(metadata, decoder.shape.vocabularySize);
  if (pooling.purpose === 'text') checkChatTemplate(file.name, tokenizer.tokenizerConfig['chat_template']);
  const { name, ...formats } = readFormats(options, header, decoder);
  const pooled = ggufPooledHead({ source, metadata, decoder }, pooling);
  const emit = (decoderOptions: DecoderOptions) =>
    pooled === null ? layout.emitDecoder(decoderOptions) : emitPooledDecoder(decoderOptions, pooled);
  await output.writing(async () => {
    await writeTextFiles(output, decoder, tokenizer);
    await output.writeGraph(emit({ shape: decoder.shape, weights: decoder, ...formats }));
  });
  return { converter: `${converterVersions.gguf} ${name}${layout.suffix}`, files: output.files };
}

type Formats = Pick<DecoderOptions, 'linear' | 'formatOf' | 'head' | 'embedding' | 'sharesTable'> & { name: string };

function readFormats(options: ConversionOptions, header: GgufHeader, decoder: SourceDecoder): Formats {
  const choices = [stored, ...weightFormats] as const;
  const blockSize = chooseOption(options, 'blockSize', blockSizes, defaultBlockSize);
  const weights = chooseOption(options, 'weights', choices, stored);
  const headWeights = chooseOption(options, 'headWeights', choices, weights === 'int4' ? 'int8' : weights);
  const typeOf = (layer: string) => {
    const { type } = header.tensors.get(decoder.tensorOf(layer)) ?? {};
    if (!type) throw new Error(`There is no tensor of ${layer}.`);
    return type;
  };
  const tableType = typeOf(weightNames.embedding);
  const mayShare = (head: LinearFormat, embedding: DecoderOptions['embedding']) =>
    canShareTable(decoder.shape, { head, embedding, keepsValues: keepsValues(tableType, head) });
  const head =
    headWeights === stored && !decoder.shape.headless
      ? storedHead(typeOf(weightNames.head), blockSize, header)
      : linearFormat(headWeights === stored ? 'float32' : headWeights, blockSize);
  const name = weights === 'float32' ? weights : `${formatName(weights, blockSize)} head=${headWeights}`;
  if (weights !== stored) {
    const embedding = weights === 'float32' ? 'float32' : 'float16';
    const sharesTable = mayShare(head, embedding);
    return { linear: linearFormat(weights, blockSize), head, embedding, sharesTable, name };
  }
  const embedding = storedEmbedding(tableType);
  const formatOf = (layer: string) => storedFormat(typeOf(layer), blockSize);
  const sharesTable = mayShare(head, embedding);
  return { linear: { kind: 'float32' }, formatOf, head, embedding, sharesTable, name };
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
