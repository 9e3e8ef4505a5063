import type { OnnxGraph } from '../../onnx/index.js';
import type { LinearFormat } from '../decoder/index.js';
import { invalidFile, quoted } from '../invalid-file.js';
import type { HubConfig } from '../safetensors/hub-config.js';
import type { StoredVisionSizes } from '../../memory/vision-sizes.js';
import { emitQwenEncoder, type QwenVisionShape } from './qwen-encoder.js';
import { emitSiglipEncoder, type SiglipShape } from './siglip-encoder.js';
import type { LayerActivation } from '../layers/checked-layers.js';
import type { CheckedSource } from '../layers/checked-source.js';

/** The part of a model that sees. */
export interface VisionModel {
  /** `model_type` that the family of the installed model reads. */
  modelType: string;
  /** The first layers of the decoder that add features of an image. */
  deepLayers: number;
  /** What its memory depends on. */
  sizes: StoredVisionSizes;
  /** Members of the installed `config.json` beside it. */
  members?: Record<string, unknown>;
  /** `vision_config` of the installed `config.json`. */
  config: Record<string, unknown>;
  /** True for tensors of the part that it does not compute with; absent: for none. */
  isUnneeded?: (name: string) => boolean;
  /** Adds no weight before the graph is written, but throws `INVALID_MODEL` for tensors that do not fit. */
  emit(source: CheckedSource, linear: LinearFormat): OnnxGraph;
}

const activations: Readonly<Record<string, LayerActivation>> = {
  gelu: 'gelu',
  gelu_pytorch_tanh: 'gelu-tanh',
  quick_gelu: 'quick-gelu',
  silu: 'silu',
};

/** Heights and widths that LLaVA 1.6 has unless a file names others. */
const defaultResolutions = [
  [336, 672],
  [672, 336],
  [672, 672],
  [1008, 336],
  [336, 1008],
];
/** Tiles of a side at most. */
const maxTiles = 16;

type Reader = (vision: HubConfig, outputSize: number, whole: HubConfig) => VisionModel | null;

/** Encoders by the class of the model in `architectures`. */
const readers: Readonly<Record<string, Reader>> = {
  Gemma3ForConditionalGeneration: readGemma3,
  LlavaForConditionalGeneration: readLlava,
  LlavaNextForConditionalGeneration: readLlavaNext,
  Idefics3ForConditionalGeneration: readIdefics3,
  SmolVLMForConditionalGeneration: readIdefics3,
  Qwen2VLForConditionalGeneration: readQwen2,
  Qwen2_5_VLForConditionalGeneration: readQwen25,
  Qwen3VLForConditionalGeneration: readQwen3,
  Qwen3VLMoeForConditionalGeneration: readQwen3,
  Qwen3_5ForConditionalGeneration: readQwen35,
  Qwen3_5MoeForConditionalGeneration: readQwen35,
};

/** Returns what sees in a model by its `config.json`; null for one of another class, or without an encoder. */
export function readVision(whole: HubConfig, outputSize: number): VisionModel | null {
  const { architectures } = whole.values;
  const [name] = Array.isArray(architectures) ? architectures.map(String) : [];
  const reader = name !== undefined && Object.hasOwn(readers, name) ? readers[name] : undefined;
  const vision = whole.object('vision_config');
  return reader === undefined || vision === null ? null : reader(vision, outputSize, whole);
}

function readQwen2(vision: HubConfig, outputSize: number): VisionModel {
  const hiddenSize = vision.size('embed_dim', 1280);
  return qwenModel(vision, 'qwen2_vl', {
    kind: 'qwen2',
    layers: vision.size('depth', 32),
    hiddenSize,
    heads: vision.size('num_heads', 16),
    feedForwardSize: hiddenSize * vision.size('mlp_ratio', 4),
    activation: activationOf(vision, 'quick_gelu'),
    patchSize: samplesOfPatch(vision, 14),
    merge: vision.size('spatial_merge_size', 2),
    outputSize: requireOutput(vision, 'hidden_size', outputSize),
    places: 0,
    deepLayers: [],
    wholeLayers: null,
  });
}

function readGemma3(vision: HubConfig, outputSize: number, whole: HubConfig): VisionModel {
  return gemmaModel(vision, outputSize, { tokens: whole.size('mm_tokens_per_image', 256), gainFromOne: true });
}

/** `tokens` of an image; its patches become that many by means of squares. */
export function gemmaModel(
  vision: HubConfig,
  outputSize: number,
  { tokens, gainFromOne }: { tokens: number; gainFromOne: boolean },
): VisionModel {
  if (vision.flag('vision_use_head', false)) {
    throw invalidFile(vision.fileName, 'its vision_use_head is true, which is not computed here');
  }
  const imageSide = vision.size('image_size', 224);
  const patchSide = vision.size('patch_size', 16);
  const pooled = imageSide / patchSide / Math.sqrt(tokens);
  if (imageSide % patchSide !== 0 || !Number.isInteger(pooled)) {
    const sizes = `${imageSide} by ${imageSide} samples in patches of ${patchSide}`;
    throw invalidFile(vision.fileName, `its images of ${sizes} do not become ${tokens} tokens`);
  }
  const shape: SiglipShape = {
    layers: vision.size('num_hidden_layers', 12),
    hiddenSize: vision.size('hidden_size', 768),
    heads: vision.size('num_attention_heads', 12),
    feedForwardSize: vision.size('intermediate_size', 3072),
    activation: activationOf(vision, 'gelu_pytorch_tanh'),
    epsilon: vision.number('layer_norm_eps', 1e-6),
    imageSide,
    patchSide,
    pooled,
    outputSize,
    projector: { kind: 'means', gainFromOne },
    tower: 'vision_tower',
  };
  const { hiddenSize, feedForwardSize, heads } = shape;
  return {
    modelType: 'gemma3',
    deepLayers: 0,
    sizes: {
      hiddenSize,
      feedForwardSize,
      heads,
      scoredPatches: 0,
      patchesPerToken: pooled ** 2,
      wholeTokens: tokens,
    },
    config: { ...vision.values, image_size: imageSide, tokens },
    emit: (source, linear) => emitSiglipEncoder(shape, source, linear),
  };
}

/** Tiles of an image, of which each square of `scale_factor` patches becomes one token. */
function readIdefics3(vision: HubConfig, outputSize: number, whole: HubConfig): VisionModel {
  const imageSide = vision.size('image_size', 224);
  const patchSide = vision.size('patch_size', 32);
  const pooled = whole.size('scale_factor', 2);
  const grid = Math.floor(imageSide / patchSide);
  if (grid % pooled !== 0) {
    throw invalidFile(vision.fileName, `its tiles of ${grid} by ${grid} patches do not fit its scale_factor ${pooled}`);
  }
  const sizes = {
    hiddenSize: vision.size('hidden_size', 1152),
    feedForwardSize: vision.size('intermediate_size', 3072),
    heads: vision.size('num_attention_heads', 16),
  };
  const shape: SiglipShape = {
    ...sizes,
    layers: vision.size('num_hidden_layers', 12),
    activation: activationOf(vision, 'gelu_pytorch_tanh'),
    epsilon: vision.number('layer_norm_eps', 1e-6),
    imageSide,
    patchSide,
    pooled,
    outputSize,
    projector: { kind: 'joined' },
    tower: 'vision_model',
  };
  return {
    modelType: 'idefics3',
    deepLayers: 0,
    // Tiles are encoded one by one.
    sizes: { ...sizes, scoredPatches: 0, patchesPerToken: pooled ** 2, tokensAtOnce: (grid / pooled) ** 2 },
    config: { ...vision.values, image_size: imageSide, patch_size: patchSide },
    members: { scale_factor: pooled },
    emit: (source, linear) => emitSiglipEncoder(shape, source, linear),
  };
}

function readLlava(vision: HubConfig, outputSize: number, whole: HubConfig): VisionModel | null {
  const shape = readClip(vision, outputSize, whole);
  return shape && llavaModel(vision, shape);
}

/** LLaVA 1.6: an image is encoded whole and as tiles, whose rows end with a learned vector. */
function readLlavaNext(vision: HubConfig, outputSize: number, whole: HubConfig): VisionModel | null {
  const clip = readClip(vision, outputSize, whole);
  if (clip === null) return null;
  if (clip.summary?.isKept) {
    throw invalidFile(
      'config.json',
      'its vision_feature_select_strategy is full, and tiles have no place for the whole',
    );
  }
  const { imageSide, patchSide } = clip;
  const { sizes, ...model } = llavaModel(vision, { ...clip, lineEnd: 'image_newline' });
  return {
    ...model,
    modelType: 'llava_next',
    sizes: { ...sizes, tokensAtOnce: Math.floor(imageSide / patchSide) ** 2 },
    members: { image_grid_pinpoints: readResolutions(whole, imageSide) },
  };
}

/** Heights and widths of which an image gets the one that wastes least; whole tiles. */
function readResolutions(whole: HubConfig, tileSide: number): number[][] {
  const name = 'image_grid_pinpoints';
  if (!whole.has(name)) return defaultResolutions;
  const { [name]: listed } = whole.values;
  const isTiled = (side: unknown) =>
    typeof side === 'number' && side > 0 && side % tileSide === 0 && side <= maxTiles * tileSide;
  const isResolution = (each: unknown): each is number[] =>
    Array.isArray(each) && each.length === 2 && each.every(isTiled);
  if (Array.isArray(listed) && listed.length > 0 && listed.every(isResolution)) return listed;
  throw invalidFile(
    'config.json',
    `its ${name} are not pairs of sides of 1 to ${maxTiles} times its image_size, ${tileSide}`,
  );
}

/** CLIP, of whose layers the last is not used by default. Null for another encoder. */
function readClip(vision: HubConfig, outputSize: number, whole: HubConfig): SiglipShape | null {
  if (vision.text('model_type', 'clip_vision_model') !== 'clip_vision_model') return null;
  const layers = vision.size('num_hidden_layers', 24);
  const wanted = whole.number('vision_feature_layer', -2);
  const computed = wanted < 0 ? layers + 1 + wanted : wanted;
  if (!Number.isInteger(computed) || computed < 1 || computed > layers) {
    throw invalidFile('config.json', `its vision_feature_layer is ${wanted}, and its encoder has ${layers} layers`);
  }
  const strategy = whole.text('vision_feature_select_strategy', 'default');
  if (strategy !== 'default' && strategy !== 'full') {
    throw invalidFile('config.json', `its vision_feature_select_strategy is ${quoted(strategy)}, not default or full`);
  }
  return {
    layers: computed,
    storedLayers: layers,
    hiddenSize: vision.size('hidden_size', 1024),
    heads: vision.size('num_attention_heads', 16),
    feedForwardSize: vision.size('intermediate_size', 4096),
    activation: activationOf(vision, 'quick_gelu'),
    epsilon: vision.number('layer_norm_eps', 1e-5),
    imageSide: vision.size('image_size', 336),
    patchSide: vision.size('patch_size', 14),
    pooled: 1,
    outputSize,
    projector: {
      kind: 'two-layers',
      activation: activationOf(whole, 'gelu', 'projector_hidden_act'),
      hasBias: whole.flag('multimodal_projector_bias', true),
    },
    summary: { isKept: strategy === 'full' },
    isUnneeded: (name) => isBehind(name, computed),
    tower: 'vision_tower',
  };
}

function llavaModel(vision: HubConfig, shape: SiglipShape): VisionModel {
  const { hiddenSize, feedForwardSize, heads, imageSide, patchSide, summary } = shape;
  return {
    modelType: 'llava',
    deepLayers: 0,
    sizes: { hiddenSize, feedForwardSize, heads, scoredPatches: 0, patchesPerToken: 1 },
    config: { ...vision.values, image_size: imageSide, patch_size: patchSide },
    members: { vision_feature_select_strategy: summary?.isKept ? 'full' : 'default' },
    isUnneeded: shape.isUnneeded,
    emit: (source, linear) => emitSiglipEncoder(shape, source, linear),
  };
}

/** Layers, their norm, and places that older files list. */
const clipTensor = /^vision_tower\.(?:post_layernorm\.|embeddings\.position_ids$|encoder\.layers\.(\d+)\.)/;

/** True for a tensor of CLIP that the first `computed` layers do without. */
function isBehind(name: string, computed: number): boolean {
  const found = clipTensor.exec(name);
  return found !== null && Number(found[1] ?? computed) >= computed;
}

/** The default layers are those of the class. */
function readQwen25(vision: HubConfig, outputSize: number): VisionModel {
  const wholeLayers = vision.has('fullatt_block_indexes') ? vision.numbers('fullatt_block_indexes') : [7, 15, 23, 31];
  return qwenModel(vision, 'qwen2_5_vl', {
    kind: 'qwen2.5',
    layers: vision.size('depth', 32),
    hiddenSize: vision.size('hidden_size', 3584),
    heads: vision.size('num_heads', 16),
    feedForwardSize: vision.size('intermediate_size', 3420),
    activation: activationOf(vision, 'silu'),
    patchSize: samplesOfPatch(vision, 14),
    merge: vision.size('spatial_merge_size', 2),
    outputSize: requireOutput(vision, 'out_hidden_size', outputSize),
    places: 0,
    deepLayers: [],
    wholeLayers,
  });
}

function readQwen3(vision: HubConfig, outputSize: number): VisionModel {
  return qwen3Model(vision, outputSize, [8, 16, 24]);
}

/** Qwen 3.5 and 3.6: the encoder of Qwen3-VL, whose inner layers give no features unless the file says so. */
function readQwen35(vision: HubConfig, outputSize: number): VisionModel {
  return qwen3Model(vision, outputSize, []);
}

function qwen3Model(vision: HubConfig, outputSize: number, defaultDeepLayers: number[]): VisionModel {
  const layers = vision.size('depth', 27);
  const deepLayers = vision.has('deepstack_visual_indexes')
    ? vision.numbers('deepstack_visual_indexes')
    : defaultDeepLayers;
  const unknown = deepLayers.find((layer) => !Number.isInteger(layer) || layer < 0 || layer >= layers);
  if (unknown !== undefined) {
    throw invalidFile(vision.fileName, `its deepstack_visual_indexes names layer ${unknown} of ${layers}`);
  }
  const places = vision.size('num_position_embeddings', 2304);
  return qwenModel(vision, 'qwen3_vl', {
    kind: 'qwen3',
    layers,
    hiddenSize: vision.size('hidden_size', 1152),
    heads: vision.size('num_heads', 16),
    feedForwardSize: vision.size('intermediate_size', 4304),
    activation: activationOf(vision, 'gelu_pytorch_tanh'),
    patchSize: samplesOfPatch(vision, 16),
    merge: vision.size('spatial_merge_size', 2),
    outputSize: requireOutput(vision, 'out_hidden_size', outputSize),
    places,
    deepLayers,
    wholeLayers: null,
  });
}

function qwenModel(vision: HubConfig, modelType: string, shape: QwenVisionShape): VisionModel {
  if (shape.hiddenSize % (4 * shape.heads) !== 0) {
    throw invalidFile(vision.fileName, `${shape.heads} heads do not divide the ${shape.hiddenSize} values of a patch`);
  }
  if (!Number.isInteger(Math.sqrt(shape.places))) {
    throw invalidFile(vision.fileName, `its num_position_embeddings is ${shape.places}, not a square`);
  }
  return {
    modelType,
    deepLayers: shape.deepLayers.length,
    sizes: {
      hiddenSize: shape.hiddenSize,
      feedForwardSize: shape.feedForwardSize,
      heads: shape.heads,
      scoredPatches: shape.wholeLayers === null ? 0 : patchesOfWindow(vision),
      patchesPerToken: shape.merge ** 2,
    },
    config: { ...vision.values, ...(shape.places > 0 && { num_position_embeddings: shape.places }) },
    emit: (source, linear) => emitQwenEncoder(shape, source, linear),
  };
}

/** Scores are kept where a mask says which patches a window has. */
function patchesOfWindow(vision: HubConfig): number {
  const merge = vision.size('spatial_merge_size', 2);
  const tokens = Math.floor(vision.size('window_size', 112) / merge / vision.size('patch_size', 14));
  if (tokens > 0) return (tokens * merge) ** 2;
  throw invalidFile(vision.fileName, 'its window_size is smaller than a token');
}

function samplesOfPatch(vision: HubConfig, patch: number): number {
  const channels = vision.size('in_channels', vision.size('in_chans', 3));
  if (channels !== 3) throw invalidFile(vision.fileName, `its images have ${channels} channels, not 3`);
  return channels * vision.size('temporal_patch_size', 2) * vision.size('patch_size', patch) ** 2;
}

function activationOf(vision: HubConfig, fallback: string, member = 'hidden_act'): LayerActivation {
  const name = vision.text(member, fallback);
  const found = Object.hasOwn(activations, name) ? activations[name] : undefined;
  if (found !== undefined) return found;
  const known = Object.keys(activations).join(', ');
  throw invalidFile(vision.fileName, `its encoder has the activation ${name.slice(0, 40)}; ${known} are computed`);
}

function requireOutput(vision: HubConfig, name: string, outputSize: number): number {
  const found = vision.size(name, outputSize);
  if (found === outputSize) return found;
  throw invalidFile(vision.fileName, `its encoder returns ${found} values, and its decoder takes ${outputSize}`);
}
