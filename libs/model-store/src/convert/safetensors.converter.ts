import { checkHubTemplate } from './chat-template.js';
import {
  blockSizes,
  chooseLayout,
  chooseOption,
  defaultBlockSize,
  flagOption,
  formatName,
  integerOption,
  linearFormat,
  refuseUnknownOptions,
  stored,
  type WeightFormat,
  weightFormats,
} from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { configJson } from './decoder/config-json.js';
import { checkContext } from './decoder/context-limit.js';
import type { DecoderPurpose } from './decoder/decoder-purpose.js';
import { canShareTable } from './decoder/shared-table.js';
import { SourceDecoder } from './decoder/source-decoder.js';
import { OutputFolder } from './output-folder.js';
import { HubCheckpoint } from './safetensors/hub-checkpoint.js';
import { filesBelowFolder, readJsonObject } from './safetensors/model-files.js';
import { readEndTokens } from './safetensors/end-tokens.js';
import { HubVision, processorFiles, visionFile, visionFormat } from './vision/hub-vision.js';
import { openHubPoolingModel, type OpenedModel } from './sentence/hub-pooling-model.js';
import { poolingOptionNames, readPoolingOptions } from './sentence/pooling-options.js';
import { fitTokenizer } from './tokenizer/fit-tokenizer.js';

const tokenizerFile = 'tokenizer.json';
/** Copied as they are, if they exist. */
const textFiles = ['tokenizer_config.json', 'special_tokens_map.json', 'chat_template.jinja', 'chat_template.json'];

/**
 * A decoder of the hubs → installed model: `config.json`, `tokenizer.json`, and `model.safetensors` or the shards of
 * `model.safetensors.index.json`, in float32, float16 or bfloat16, or in the forms that `findCodedWeight` knows.
 *
 * Options: `weights` is `stored` (default: float32, packed layers of 4 bits as they are, other codes with scales as `int8`
 * where that holds every value), or `int4`, `int8`, `int8-channel` or
 * `float32` as of GGUF files. `headWeights` is the same for the output layer; its default is `int8` if the others are
 * `int4`. `blockSize`, `layout` and `contextLength` are those of GGUF files.
 *
 * `images` (default false) adds the part of a model that sees as `vision_encoder.onnx`, and the decoder takes images.
 *
 * `purpose` is `text` (default), `embedding` or `rerank`. `pooling` of an embedding model is `mean`, `cls`, `last` or
 * `max`; default: as `modules.json` says. `trueToken` and `falseToken` of a reranker are the tokens whose logits are
 * compared.
 */
export async function convertSafetensors(request: ConversionRequest): Promise<ConversionResult> {
  const { options } = request;
  const names = ['weights', 'headWeights', 'blockSize', 'layout', 'contextLength', 'images', ...poolingOptionNames];
  refuseUnknownOptions(options, names);
  const pooling = readPoolingOptions(options);
  const formats = readFormats(options);
  const contextLength = integerOption(options, 'contextLength');
  const layout = chooseLayout(options);
  const readsImages = flagOption(options, 'images');
  const files = await filesBelowFolder(request.inputFolder);
  const output = new OutputFolder(request);
  const checkpoint = await HubCheckpoint.open(files, pooling.purpose);
  try {
    const vision = readsImages ? HubVision.open(checkpoint) : null;
    const source = vision?.decoderSource ?? checkpoint.source;
    const decoder = SourceDecoder.open(source, contextLength, pooling.purpose);
    layout.check(decoder.shape);
    checkContext('config.json', decoder.shape);
    if (formats.keepsPacked) await checkpoint.keepPacked();
    const opened = await openHubPoolingModel({ files, checkpoint, decoder }, pooling);
    try {
      await output.writing(async () => {
        await writeTextFiles({ files, output, checkpoint, decoder, vision }, pooling.purpose);
        const { linear, head, embedding } = formats;
        if (vision !== null) await output.writeGraph(vision.graph(visionFormat(linear)), visionFile);
        const formatOf = (layer: string) => (formats.isStored ? decoder.keptFormat(layer) : null) ?? linear;
        const { shape } = decoder;
        // Blocks hold rounded values here.
        const sharesTable = canShareTable(shape, { head, embedding, keepsValues: false });
        const emit = opened?.emitDecoder ?? layout.emitDecoder;
        await output.writeGraph(emit({ shape, weights: decoder, linear, formatOf, head, embedding, sharesTable }));
      });
    } finally {
      await opened?.close();
    }
  } finally {
    await checkpoint.close();
  }
  return { converter: `${converterVersions.safetensors} ${formats.name}${layout.suffix}`, files: output.files };
}

function readFormats(options: ConversionRequest['options']) {
  const chosen = chooseOption(options, 'weights', [stored, ...weightFormats], stored);
  const weights: WeightFormat = chosen === stored ? 'float32' : chosen;
  const blockSize = chooseOption(options, 'blockSize', blockSizes, defaultBlockSize);
  const headWeights = chooseOption(options, 'headWeights', weightFormats, weights === 'int4' ? 'int8' : weights);
  const format = formatName(weights, blockSize);
  return {
    linear: linearFormat(weights, blockSize),
    head: linearFormat(headWeights, blockSize),
    embedding: weights === 'float32' ? ('float32' as const) : ('float16' as const),
    isStored: chosen === stored,
    /** Codes of four bits are those of the file. */
    keepsPacked: chosen === stored || chosen === 'int4',
    name: weights === 'float32' && headWeights === weights ? chosen : `${format} head=${headWeights}`,
  };
}

interface TextFiles extends OpenedModel {
  output: OutputFolder;
  vision: HubVision | null;
}

async function writeTextFiles(
  { files, output, checkpoint, decoder, vision }: TextFiles,
  purpose: DecoderPurpose,
): Promise<void> {
  const published = await readJsonObject(files, tokenizerFile);
  const tokenizer = fitTokenizer(published, decoder.shape.vocabularySize);
  if (purpose === 'text') await checkHubTemplate(files);
  const { generation, bosTokenId, eosTokenIds } = await readEndTokens(files, [checkpoint.config, checkpoint.whole]);
  const { modelType, className } = decoder.architecture;
  const config = configJson(decoder.shape, { modelType, architecture: className, bosTokenId, eosTokenIds });
  await output.writeJson('config.json', { ...config, ...vision?.config });
  await output.writeJson('generation_config.json', { ...generation, eos_token_id: eosTokenIds });
  if (tokenizer === published) await output.copy(tokenizerFile);
  else await output.writeJson(tokenizerFile, tokenizer);
  const copied = vision === null ? textFiles : [...textFiles, ...processorFiles];
  for (const name of copied) if (files.names.has(name)) await output.copy(name);
}
