import { type ModelFiles, readJsonObject } from '../convert/safetensors/model-files.js';
import { isPartOf } from './hub-files.js';
import { pullError } from './pull-error.js';
import { isConfiguration } from './text-model-layout.js';

/* Models that are exported for transformers.js as several graphs in `onnx/`. */

/** Families of models whose graphs are served as they are, or are made of the weights of Whisper. */
export type ExportFamily =
  | 'matting'
  | 'musicgen'
  | 'parakeet'
  | 'piper'
  | 'stable-diffusion'
  | 'text-to-video-sd'
  | 'vision-language'
  | 'whisper';

/** The graphs of a model and the settings that its manifest depends on. */
export interface ExportedModel {
  family: ExportFamily;
  /** Name of the model; absent: that of its source. */
  title?: string;
  /** Path of the graph that the manifest names. */
  graphFile: string;
  /** The other graphs by the options of the family that name them. */
  familyOptions: Record<string, string>;
  /** Other options of the family; absent: none that the files tell. */
  settings?: Record<string, string | number>;
  /** Files to pull: the graphs with their external data, and the settings. */
  paths: string[];
  /** Content of `config.json`, or of the denoiser's with the class of the pipeline as `model_type`. */
  config: Record<string, unknown>;
  /** Content of `preprocessor_config.json` and `processor_config.json`, of which the second wins. */
  preprocessor: Record<string, unknown>;
  /** Content of `generation_config.json`, empty without one. */
  generation: Record<string, unknown>;
  /** Number of weights that become the graphs; absent: the graphs are there. */
  converted?: number;
}

type OnnxFolderFamily = 'musicgen' | 'vision-language' | 'whisper';

interface ExportLayout {
  family: OnnxFolderFamily;
  /** Name of the graph that the manifest names, without its precision. */
  main: string;
  /** Names of the other graphs by the options of the family. */
  others: Readonly<Record<string, string>>;
}

const vision: ExportLayout = {
  family: 'vision-language',
  main: 'decoder_model_merged',
  others: { visionEncoder: 'vision_encoder', embedTokens: 'embed_tokens' },
};

/** Layouts by the `model_type` of `config.json`. */
const layouts: Readonly<Partial<Record<string, ExportLayout>>> = {
  idefics3: vision,
  llava: vision,
  musicgen: {
    family: 'musicgen',
    main: 'decoder_model_merged',
    others: { textEncoderFile: 'text_encoder', codecFile: 'encodec_decode' },
  },
  qwen2_vl: vision,
  smolvlm: vision,
  whisper: { family: 'whisper', main: 'encoder_model', others: { decoderFile: 'decoder_model_merged' } },
};

/** The `model_type`s of models of several graphs. */
export const exportedTypes: readonly string[] = Object.keys(layouts);

/** Precisions that a processor computes fast, best first; float16 is converted at each operator. */
const precisions: Readonly<Record<OnnxFolderFamily, readonly string[]>> = {
  'vision-language': ['_q4', '_int4', '_quantized', '_q8', '_int8', '_uint8', '', '_q4f16', '_fp16'],
  musicgen: ['_quantized', '_q8', '_int8', '_uint8', '', '_fp16'],
  whisper: ['_quantized', '_q8', '_int8', '_uint8', '', '_q4', '_fp16'],
};

/**
 * Describes an export of several graphs; null for every other model. Fails with `MODEL_PULL_FAILED` that names the
 * missing graph.
 */
export async function describeExport(
  files: ModelFiles,
  config: Record<string, unknown>,
  where: string,
): Promise<ExportedModel | null> {
  const type = String(config['model_type']);
  const layout = Object.hasOwn(layouts, type) ? layouts[type] : undefined;
  if (layout === undefined) return null;
  const { family, main, others } = layout;
  const precision = precisions[family].find((suffix) => graphNamed(files, main, suffix) !== null) ?? '';
  const require = (stem: string): string => {
    const found = findGraph(files, stem, [precision, ...precisions[family]]);
    if (found === null)
      throw pullError(`${where} holds no graph onnx/${stem}.onnx, which a model of type ${type} needs.`);
    return found;
  };
  const graphFile = require(main);
  const options = Object.entries(others).map(([option, stem]) => [option, require(stem)] as const);
  const graphs = [graphFile, ...options.map(([, path]) => path)];
  const isWanted = (path: string): boolean => isConfiguration(path) || graphs.some((graph) => isPartOf(path, graph));
  return {
    family,
    graphFile,
    familyOptions: Object.fromEntries(options),
    paths: [...files.names].filter(isWanted),
    config,
    preprocessor: {
      ...(await readIfThere(files, 'preprocessor_config.json')),
      ...(await readIfThere(files, 'processor_config.json')),
    },
    generation: await readIfThere(files, 'generation_config.json'),
  };
}

function findGraph(files: ModelFiles, stem: string, suffixes: readonly string[]): string | null {
  for (const suffix of suffixes) {
    const path = graphNamed(files, stem, suffix);
    if (path !== null) return path;
  }
  return null;
}

function graphNamed({ names }: ModelFiles, stem: string, suffix: string): string | null {
  const paths = [`onnx/${stem}${suffix}.onnx`, `${stem}${suffix}.onnx`];
  return paths.find((path) => names.has(path)) ?? null;
}

async function readIfThere(files: ModelFiles, name: string): Promise<Record<string, unknown>> {
  return files.names.has(name) ? await readJsonObject(files, name) : {};
}
