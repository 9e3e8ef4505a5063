import type { DecoderSource } from '../decoder/decoder-source.js';
import type { LinearFormat } from '../decoder/index.js';
import { invalidFile } from '../invalid-file.js';
import type { OnnxGraph } from '../../onnx/index.js';
import { type ModelFiles, readJsonObject } from '../safetensors/model-files.js';
import type { HubCheckpoint } from '../safetensors/hub-checkpoint.js';
import { readVision, type VisionModel } from './read-vision.js';
import { HubVisionWeights } from './hub-vision-weights.js';

/** The graph of the part of a model that sees. */
export const visionFile = 'vision_encoder.onnx';

/** Say how images become the inputs of the encoder; the second wins. */
export const processorFiles = ['preprocessor_config.json', 'processor_config.json'];

/** True if the files say how an image is scaled. */
export async function hasImageSettings(files: ModelFiles): Promise<boolean> {
  const [images = '', processor = ''] = processorFiles;
  if (files.names.has(images)) return true;
  return files.names.has(processor) && (await readJsonObject(files, processor))['image_processor'] !== undefined;
}

/** Returns the content of both; later libraries write one file with an object for images. */
export async function readProcessor(files: ModelFiles): Promise<Record<string, unknown>> {
  const [images = {}, processor = {}] = await Promise.all(
    processorFiles.map(async (name) => (files.names.has(name) ? await readJsonObject(files, name) : {})),
  );
  const inner = processor['image_processor'];
  const nested = typeof inner === 'object' && inner !== null ? inner : {};
  return { ...images, ...nested, ...processor };
}

/** Members of `config.json` that say how images stand in prompts. */
const tokenMembers = ['image_token_id', 'image_token_index'];

/** The weights of the part that sees by those of the decoder: four bits would cost more than they save. */
export function visionFormat(linear: LinearFormat): LinearFormat {
  return linear.kind === 'blocks' && linear.bits === 4 ? { ...linear, bits: 8 } : linear;
}

type Checkpoint = Pick<HubCheckpoint, 'whole' | 'config' | 'source' | 'weights'>;

/** The part that sees of a checkpoint in the layout of the hubs. */
export class HubVision {
  private readonly weights: HubVisionWeights;

  private constructor(
    private readonly checkpoint: Checkpoint,
    readonly model: VisionModel,
  ) {
    this.weights = new HubVisionWeights(checkpoint.weights);
  }

  /** Throws `INVALID_MODEL` for a class that does not see here, and for tensors that do not fit. */
  static open(checkpoint: Checkpoint): HubVision {
    const found = HubVision.find(checkpoint);
    if (found === null) throw invalidFile('config.json', 'it has no part that reads images which is converted');
    return found;
  }

  /** Null for a class that does not see here. */
  static find(checkpoint: Checkpoint): HubVision | null {
    const model = readVision(checkpoint.whole, checkpoint.config.size('hidden_size'));
    if (model === null) return null;
    const found = new HubVision(checkpoint, model);
    // Adding the layers checks the tensors.
    found.graph({ kind: 'float32' });
    return found;
  }

  get decoderSource(): DecoderSource {
    return { ...this.checkpoint.source, images: { deepLayers: this.model.deepLayers } };
  }

  /** Number of weights that are computed with. */
  get parameters(): number {
    return this.weights.countParameters(this.model.isUnneeded);
  }

  /** Members of the installed `config.json` beside those of the decoder. */
  get config(): Record<string, unknown> {
    const { values } = this.checkpoint.whole;
    const tokens = tokenMembers.filter((name) => values[name] !== undefined).map((name) => [name, values[name]]);
    const { modelType, config, sizes, members } = this.model;
    const named = { ...Object.fromEntries(tokens), ...members };
    return { model_type: modelType, ...named, vision_config: config, vision_sizes: sizes };
  }

  graph(linear: LinearFormat): OnnxGraph {
    return this.model.emit(this.weights, linear);
  }
}
