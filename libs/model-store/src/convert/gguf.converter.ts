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
  textOption,
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
import { GgufVision } from './vision/gguf-vision.js';
import { visionFile, visionFormat } from './vision/hub-vision.js';
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
 * `pooling`, `trueToken` and `falseToken` are those of safetensors. `projector` names the file of the part that sees
 * (mmproj), which becomes `vision_encoder.onnx`. Encoders have no options.
 */
export async function convertGguf(request: ConversionRequest): Promise<ConversionResult> {
  const projectorName = textOption(request.options, 'projector');
  return await withGguf(request.inputFolder, projectorName, async (opened, projector) => {
    if (isGgufEncoder(opened)) return convertGgufEncoder(request, opened);
    return convertGgufDecoder(request, opened, projector);
  });
}

async function convertGgufDecoder(
  request: ConversionRequest,
  { file, header }: OpenedGguf,
  projector: OpenedGguf | null,
): Promise<ConversionResult> {
  const { options } = request;
  const names = ['weights', 'headWeights', 'blockSize', 'layout', 'contextLength', 'projector', ...poolingOptionNames];
  refuseUnknownOptions(options, names);
  const pooling = readPoolingOptions(options);
  const contextLength = integerOption(options, 'contextLength');
  const layout = chooseLayout(options);
  const output = new OutputFolder(request);
  const { source, vision } = withImages({ file, header }, projector);
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
    await writeTextFiles(output, decoder, { tokenizer, vision });
    if (vision !== null) await output.writeGraph(vision.graph(visionFormat(formats.linear)), visionFile);
    await output.writeGraph(emit({ shape: decoder.shape, weights: decoder, ...formats }));
  });
  return { converter: `${converterVersions.gguf} ${name}${layout.suffix}`, files: output.files };
}

/** The decoder as a source, which takes images if there is a projector. */
export function withImages({ file, header }: OpenedGguf, projector: OpenedGguf | null) {
  const source = ggufSource(file, header);
  if (projector === null) return { source, vision: null };
  const { architecture, parameters } = source;
  const tokens = new Set(new GgufMetadata(file.name, header.metadata).texts('tokenizer.ggml.tokens'));
  const hiddenSize = parameters.size('embedding_length');
  const vision = GgufVision.open(projector, { architecture, hiddenSize, hasToken: (text) => tokens.has(text) });
  return { source: { ...source, images: vision.images }, vision };
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

async function withGguf<Result>(
  folder: string,
  projectorName: string | undefined,
  use: (opened: OpenedGguf, projector: OpenedGguf | null) => Promise<Result>,
): Promise<Result> {
  const files: InputFile[] = [];
  const opened = async (name: string): Promise<InputFile> => {
    const file = await InputFile.open(folder, name);
    files.push(file);
    return file;
  };
  try {
    const shards: InputFile[] = [];
    for (const name of await ggufNames(folder, projectorName)) shards.push(await opened(name));
    const projector = projectorName === undefined ? null : await openGguf([await opened(projectorName)]);
    return await use(await openGguf(shards), projector);
  } finally {
    for (const file of files) await file.close();
  }
}

async function ggufNames(folder: string, projector: string | undefined): Promise<string[]> {
  const names = await readdir(folder);
  if (projector !== undefined && !names.includes(projector)) throw invalidFile(projector, 'it is missing');
  const [model, ...others] = groupShards(names.filter((name) => name !== projector));
  const name = model?.files[0];
  if (name === undefined) throw invalidFile('model.gguf', 'it is missing');
  const more = others.flatMap(({ files }) => files);
  if (more.length > 0) throw invalidFile(name, `${more.join(', ')} are beside it, and only one is allowed`);
  if (model?.missing[0] !== undefined) throw invalidFile(name, `${model.missing.join(', ')} is missing beside it`);
  return model?.files ?? [];
}

async function writeTextFiles(
  output: OutputFolder,
  decoder: SourceDecoder,
  { tokenizer, vision }: { tokenizer: GgufTokenizer; vision: GgufVision | null },
): Promise<void> {
  const { modelType, className } = decoder.architecture;
  const { bosTokenId, eosTokenIds } = tokenizer;
  const config = configJson(decoder.shape, { modelType, architecture: className, bosTokenId, eosTokenIds });
  await output.writeJson('config.json', { ...config, ...vision?.config });
  if (vision !== null) await output.writeJson('preprocessor_config.json', vision.preprocessor);
  await output.writeJson('generation_config.json', { bos_token_id: bosTokenId, eos_token_id: eosTokenIds });
  await output.writeJson('tokenizer.json', tokenizer.tokenizerJson);
  await output.writeJson('tokenizer_config.json', tokenizer.tokenizerConfig);
}
