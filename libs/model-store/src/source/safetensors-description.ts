import { stretchedContext } from '../convert/decoder/read-rotary.js';
import { SourceDecoder } from '../convert/decoder/source-decoder.js';
import { checkHubTemplate } from '../convert/chat-template.js';
import { defaultBlockSize, linearFormat } from '../convert/conversion-options.js';
import { HubCheckpoint } from '../convert/safetensors/hub-checkpoint.js';
import { type ModelFiles, readJsonObject } from '../convert/safetensors/model-files.js';
import { weightFiles } from '../convert/safetensors/safetensors-weights.js';
import { isSentenceFile } from '../convert/sentence/sentence-layout.js';
import { hasImageSettings, HubVision, processorFiles, readProcessor } from '../convert/vision/hub-vision.js';
import { HubVisionWeights } from '../convert/vision/hub-vision-weights.js';
import { fitTokenizer } from '../convert/tokenizer/fit-tokenizer.js';
import { countFormats } from './converted-formats.js';
import { type GgufDescription, sizesOf } from './gguf-description.js';
import { pullError } from './pull-error.js';
import { describeHubPoolingModel, type PoolingChoice } from './pooling-model.js';

/** What a checkpoint holds, by its configuration and headers. */
export interface SafetensorsDescription extends GgufDescription {
  /** `generation_config.json`, the authors' sampling; empty without one. */
  generation: Record<string, unknown>;
}

const tokenizerFile = 'tokenizer.json';
const textPattern =
  /^(?:config|generation_config|tokenizer|tokenizer_config|special_tokens_map|chat_template|model\.safetensors\.index)\.json$|^chat_template\.jinja$/;

/** The weights and texts that the conversion of a model reads. Shards have the names that the index gives them. */
export async function checkpointFiles(
  files: ModelFiles,
  { poolingModel, vision }: Pick<SafetensorsDescription, 'poolingModel' | 'vision'>,
): Promise<string[]> {
  const isRead = (path: string) =>
    textPattern.test(path) ||
    (vision !== null && processorFiles.includes(path)) ||
    (poolingModel !== null && isSentenceFile(path));
  return [...[...files.names].filter(isRead), ...(await weightFiles(files))].sort();
}

/** True if there are safetensors, and no graph that runs as it is. */
export function holdsCheckpoint(paths: readonly string[]): boolean {
  return paths.some((path) => path.endsWith('.safetensors')) && !paths.some((path) => path.endsWith('.onnx'));
}

/**
 * Reads the configuration, the tokenizer and the headers only. Fails with `INVALID_MODEL` for what the converter would
 * refuse too, and with `MODEL_PULL_FAILED` for folders of something else.
 */
export async function describeSafetensors(
  files: ModelFiles,
  where: string,
  choice: PoolingChoice = {},
): Promise<SafetensorsDescription> {
  requireWholeModel(files, where);
  const poolingModel = await describeHubPoolingModel(files, { where, choice });
  const checkpoint = await HubCheckpoint.open(files, poolingModel?.purpose);
  try {
    const { config } = checkpoint;
    const vision = poolingModel === null ? await findVision(files, checkpoint) : null;
    const source = vision?.decoderSource ?? checkpoint.source;
    const { shape } = SourceDecoder.open(source, undefined, poolingModel?.purpose);
    fitTokenizer(await readJsonObject(files, tokenizerFile), shape.vocabularySize);
    const stored = checkpoint.stored();
    const sizes = sizesOf(shape, stored.parameters);
    return {
      architecture: config.text('model_type', checkpoint.source.architecture),
      title: null,
      layerTypes: [],
      license: null,
      stored: stored.types.join(', '),
      formats: {
        layers: countFormats([
          { format: { kind: 'float32' }, values: sizes.layerValues - stored.packed - stored.kept },
          { format: linearFormat('int4', defaultBlockSize), values: stored.packed },
          { format: linearFormat('int8', defaultBlockSize), values: stored.kept },
        ]),
        head: { kind: 'float32' },
        embedding: 'float32',
        sharesTable: sizes.isTied,
      },
      hasChatTemplate: poolingModel === null && (await checkHubTemplate(files)),
      poolingModel,
      ...sizes,
      maxContextLength: stretchedContext(checkpoint.source) ?? shape.contextLength,
      vision: vision && {
        parameters: vision.parameters,
        config: vision.config,
        preprocessor: await readProcessor(files),
      },
      generation: files.names.has(generationFile) ? await readJsonObject(files, generationFile) : {},
    };
  } finally {
    await checkpoint.close();
  }
}

const generationFile = 'generation_config.json';

/** Without the settings of images, or without the weights of the part that sees, a model is one of text. */
async function findVision(files: ModelFiles, checkpoint: HubCheckpoint): Promise<HubVision | null> {
  const hasWeights = [...new HubVisionWeights(checkpoint.weights).names].length > 0;
  if (!hasWeights || !(await hasImageSettings(files))) return null;
  return HubVision.find(checkpoint);
}

function requireWholeModel({ names }: ModelFiles, where: string): void {
  if (!names.has('config.json')) throw pullError(`${where} holds safetensors without a config.json.`);
  if (names.has(tokenizerFile)) return;
  throw pullError(`${where} has no tokenizer.json; save the model's fast tokenizer beside it.`);
}
