import { type ModelFiles, readJsonObject } from '../convert/safetensors/model-files.js';
import type { ExportedModel } from './exported-model.js';
import { pullError } from './pull-error.js';

/* Pipelines in the diffusers layout, whose graphs lie in folders of their own beside `model_index.json`. */

const pipelineFile = 'model_index.json';

type PipelineFamily = 'stable-diffusion' | 'text-to-video-sd';

/** Families by `_class_name`; exporters put their own names in front of it. */
const families: readonly [pattern: RegExp, family: PipelineFamily][] = [
  [/TextToVideoSDPipeline$/, 'text-to-video-sd'],
  [/(?:StableDiffusion(?:XL)?|LatentConsistencyModel)Pipeline$/, 'stable-diffusion'],
];

/** Folders whose graphs every pipeline has; the XL form has a second text encoder. */
const parts = ['text_encoder', 'unet', 'vae_decoder'];

/** Settings, tokenizers, and graphs with their external data. */
const wanted =
  /^(?:model_index\.json|(?:scheduler|tokenizer|tokenizer_2|text_encoder|text_encoder_2|unet|vae_decoder|vae_encoder)\/(?:[^/]+\.(?:json|txt)|model\.onnx(?:_data(?:_\d+)?|\.data)?|weights\.pb))$/;

/** Returns the family that runs pipelines of a class; undefined: none does. */
export function pipelineFamily(className: string): PipelineFamily | undefined {
  return families.find(([pattern]) => pattern.test(className))?.[1];
}

/**
 * Describes a pipeline of ONNX graphs; null without a `model_index.json`. Fails with `MODEL_PULL_FAILED` that names the
 * class that no family runs, or the missing graph.
 */
export async function describePipeline(files: ModelFiles, where: string): Promise<ExportedModel | null> {
  if (!files.names.has(pipelineFile)) return null;
  const index = await readJsonObject(files, pipelineFile);
  const className = String(index['_class_name']);
  const family = pipelineFamily(className);
  if (family === undefined) {
    const known = 'Stable Diffusion 1, 2 and XL, latent consistency models, and TextToVideoSDPipeline';
    throw pullError(`${where} holds a ${className.slice(0, 80)}; of pipelines, ${known} can be added.`);
  }
  for (const part of className.includes('XL') ? [...parts, 'text_encoder_2'] : parts) {
    const graph = `${part}/model.onnx`;
    if (files.names.has(graph)) continue;
    throw pullError(`${where} holds no graph ${graph}; of pipelines, ONNX exports can be added.`);
  }
  return {
    family,
    graphFile: 'unet/model.onnx',
    familyOptions: {},
    paths: [...files.names].filter((path) => wanted.test(path)),
    config: { ...(await readJsonObject(files, 'unet/config.json')), model_type: className },
    preprocessor: {},
    generation: {},
  };
}
