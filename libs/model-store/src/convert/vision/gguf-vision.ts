import type { OnnxGraph } from '../../onnx/index.js';
import type { DecoderSource } from '../decoder/decoder-source.js';
import type { LinearFormat } from '../decoder/index.js';
import { GgufMetadata } from '../gguf/gguf-metadata.js';
import type { OpenedGguf } from '../gguf/gguf-shards.js';
import { ggufSource } from '../gguf/gguf-source.js';
import { invalidFile, quoted } from '../invalid-file.js';
import { HubConfig } from '../safetensors/hub-config.js';
import { GgufVisionWeights, type ProjectorNames } from './gguf-vision-weights.js';
import { gemmaModel, readVision, type VisionModel } from './read-vision.js';

/** The decoder that a projector belongs to. */
export interface ProjectorDecoder {
  architecture: string;
  hiddenSize: number;
  /** Whether its tokenizer has a token of this text. */
  hasToken(text: string): boolean;
}

/** How files of a `clip.projector_type` map to the settings and names of the hubs. */
interface Projector {
  /** Architectures of the decoders. */
  architectures: readonly string[];
  /** Token that stands for an image in a prompt. */
  placeholder: string;
  /** Class of the hubs that computes it; absent: that of Gemma 3. */
  className?: string;
  names: Omit<ProjectorNames, 'deepLayers'>;
  /** Pixels of the smallest and of the largest image, where a file does not say; absent: all have one size. */
  pixels?: { min: number; max: number };
  /** Sizes in `preprocessor_config.json`, where images are neither of one size nor of any. */
  sizes?(metadata: GgufMetadata): Record<string, unknown>;
  /** Members of `config.json` beside `vision_config`. */
  members?(metadata: GgufMetadata): Record<string, unknown>;
  vision(file: ProjectorFile): Record<string, unknown>;
}

interface ProjectorFile {
  metadata: GgufMetadata;
  /** `clip.use_gelu`. */
  isGelu: boolean;
  layers: number;
  hiddenSize: number;
  feedForwardSize: number;
  /** Rows of the table of places; 0: there is none. */
  places: number;
  deepLayers: readonly number[];
  decoder: ProjectorDecoder;
}

const qwenOuter = {
  'visual.patch_embed.proj': 'v.patch_embd',
  'visual.pos_embed': 'v.position_embd',
  'visual.merger.norm': 'v.post_ln',
  'visual.merger.ln_q': 'v.post_ln',
  'visual.merger.linear_fc1': 'mm.0',
  'visual.merger.linear_fc2': 'mm.2',
  'visual.merger.mlp.0': 'mm.0',
  'visual.merger.mlp.2': 'mm.2',
};

const qwenNames = {
  outer: qwenOuter,
  layers: 'visual.blocks',
  parts: {
    norm1: 'ln1',
    norm2: 'ln2',
    'attn.qkv': 'attn_qkv',
    'attn.proj': 'attn_out',
    'mlp.fc1': 'ffn_up',
    'mlp.fc2': 'ffn_down',
    'mlp.linear_fc1': 'ffn_up',
    'mlp.linear_fc2': 'ffn_down',
    'mlp.gate_proj': 'ffn_gate',
    'mlp.up_proj': 'ffn_up',
    'mlp.down_proj': 'ffn_down',
  },
};

/** `projector`: names of the modules behind the encoder. */
function siglipNames(tower: string, projector: Record<string, string>): Projector['names'] {
  return {
    outer: {
      [`${tower}.embeddings.patch_embedding`]: 'v.patch_embd',
      [`${tower}.embeddings.position_embedding`]: 'v.position_embd',
      [`${tower}.post_layernorm`]: 'v.post_ln',
      ...projector,
    },
    layers: `${tower}.encoder.layers`,
    parts: {
      layer_norm1: 'ln1',
      layer_norm2: 'ln2',
      'self_attn.q_proj': 'attn_q',
      'self_attn.k_proj': 'attn_k',
      'self_attn.v_proj': 'attn_v',
      'self_attn.out_proj': 'attn_out',
      'mlp.fc1': 'ffn_up',
      'mlp.fc2': 'ffn_down',
    },
  };
}

function siglipVision({ metadata, layers, hiddenSize, feedForwardSize }: ProjectorFile): Record<string, unknown> {
  return {
    ...headsAndSizes(metadata),
    num_attention_heads: metadata.size('attention.head_count'),
    num_hidden_layers: layers,
    hidden_size: hiddenSize,
    intermediate_size: feedForwardSize,
    layer_norm_eps: metadata.number('attention.layer_norm_epsilon', 1e-6),
  };
}

const clipNames = {
  ...siglipNames('vision_tower', {}),
  outer: {
    'vision_tower.embeddings.class_embedding': 'v.class_embd',
    'vision_tower.embeddings.patch_embedding': 'v.patch_embd',
    'vision_tower.embeddings.position_embedding': 'v.position_embd',
    'vision_tower.pre_layrnorm': 'v.pre_ln',
    'multi_modal_projector.linear_1': 'mm.0',
    'multi_modal_projector.linear_2': 'mm.2',
  },
};

const qwen2Pixels = { min: 56 * 56, max: 28 * 28 * 16_384 };

/** Supported values of `clip.projector_type`. */
const projectors: Readonly<Record<string, Projector>> = {
  gemma3: {
    architectures: ['gemma3'],
    placeholder: '<image_soft_token>',
    names: siglipNames('vision_tower', {
      'multi_modal_projector.mm_soft_emb_norm': 'mm.soft_emb_norm',
      'multi_modal_projector.mm_input_projection': 'mm.input_projection',
    }),
    vision: siglipVision,
  },
  idefics3: {
    architectures: ['llama'],
    placeholder: '<image>',
    className: 'Idefics3ForConditionalGeneration',
    names: siglipNames('vision_model', { 'connector.modality_projection.proj': 'mm.model.fc' }),
    sizes: tileSizes,
    members: (metadata) => ({ scale_factor: metadata.size('projector.scale_factor') }),
    vision: siglipVision,
  },
  mlp: {
    architectures: ['llama'],
    placeholder: '<image>',
    className: 'LlavaForConditionalGeneration',
    // Files leave the last layer of the encoder out.
    members: () => ({ vision_feature_layer: -1 }),
    names: clipNames,
    sizes: cropSizes,
    vision: ({ metadata, isGelu, layers, hiddenSize, feedForwardSize }) => ({
      ...headsAndSizes(metadata),
      hidden_act: isGelu ? 'gelu' : 'quick_gelu',
      num_attention_heads: metadata.size('attention.head_count'),
      num_hidden_layers: layers,
      hidden_size: hiddenSize,
      intermediate_size: feedForwardSize,
      layer_norm_eps: metadata.number('attention.layer_norm_epsilon', 1e-5),
    }),
  },
  qwen2vl_merger: {
    architectures: ['qwen2vl'],
    placeholder: '<|image_pad|>',
    className: 'Qwen2VLForConditionalGeneration',
    names: qwenNames,
    pixels: qwen2Pixels,
    vision: ({ metadata, layers, hiddenSize, feedForwardSize, decoder }) => ({
      ...headsAndSizes(metadata),
      depth: layers,
      embed_dim: hiddenSize,
      mlp_ratio: feedForwardSize / hiddenSize,
      hidden_size: decoder.hiddenSize,
    }),
  },
  'qwen2.5vl_merger': {
    architectures: ['qwen2vl'],
    placeholder: '<|image_pad|>',
    className: 'Qwen2_5_VLForConditionalGeneration',
    names: qwenNames,
    pixels: qwen2Pixels,
    vision: ({ metadata, layers, hiddenSize, feedForwardSize, decoder }) => ({
      ...headsAndSizes(metadata),
      depth: layers,
      hidden_size: hiddenSize,
      intermediate_size: feedForwardSize,
      out_hidden_size: decoder.hiddenSize,
      window_size: metadata.size('window_size', 112),
      fullatt_block_indexes: everyNth(layers, metadata.size('n_wa_pattern')),
    }),
  },
  qwen3vl_merger: {
    architectures: ['qwen3vl', 'qwen3vlmoe', 'qwen35', 'qwen35moe'],
    placeholder: '<|image_pad|>',
    className: 'Qwen3VLForConditionalGeneration',
    names: qwenNames,
    pixels: { min: 65_536, max: 16_777_216 },
    vision: ({ metadata, layers, hiddenSize, feedForwardSize, places, deepLayers, decoder }) => ({
      ...headsAndSizes(metadata),
      depth: layers,
      hidden_size: hiddenSize,
      intermediate_size: feedForwardSize,
      out_hidden_size: decoder.hiddenSize,
      num_position_embeddings: places,
      deepstack_visual_indexes: deepLayers,
    }),
  },
};

/** The part that sees in a projector file (mmproj) beside the GGUF file of a decoder. */
export class GgufVision {
  private constructor(
    readonly model: VisionModel,
    private readonly weights: GgufVisionWeights,
    /** As `preprocessor_config.json` would have it. */
    readonly preprocessor: Record<string, unknown>,
  ) {}

  /** Reads the header. Throws `INVALID_MODEL` for another type, another decoder, and tensors that do not fit. */
  static open(opened: OpenedGguf, decoder: ProjectorDecoder): GgufVision {
    const fileName = opened.file.name;
    const projector = readProjector(opened, decoder);
    const whole = new GgufMetadata(fileName, opened.header.metadata);
    const metadata = whole.under('clip.vision.');
    const isGelu = whole.flag('clip.use_gelu', false);
    const { tensors } = ggufSource(opened.file, opened.header);
    const hiddenSize = metadata.size('embedding_length');
    const layers = metadata.size('block_count');
    const deepLayers = (metadata.optionalFlags('is_deepstack_layers') ?? []).flatMap((is, layer) =>
      is ? [layer] : [],
    );
    const weights = new GgufVisionWeights(fileName, tensors, { ...projector.names, deepLayers }, hiddenSize);
    const places = tensors.get('v.position_embd.weight')?.dimensions[1] ?? 0;
    const { feedForwardSize } = weights;
    const sizes = { layers, hiddenSize, feedForwardSize, places, deepLayers };
    const vision = projector.vision({ metadata, isGelu, ...sizes, decoder });
    const found = new GgufVision(
      modelOf(projector, vision, { metadata, decoder }),
      weights,
      preprocessorOf(projector, metadata),
    );
    // Adding the layers checks the tensors.
    found.graph({ kind: 'float32' });
    return found;
  }

  get images(): NonNullable<DecoderSource['images']> {
    return { deepLayers: this.model.deepLayers };
  }

  get parameters(): number {
    return this.weights.parameters;
  }

  /** Members of the installed `config.json` beside those of the decoder. */
  get config(): Record<string, unknown> {
    const { modelType, config, sizes, members } = this.model;
    return { model_type: modelType, ...members, vision_config: config, vision_sizes: sizes };
  }

  graph(linear: LinearFormat): OnnxGraph {
    return this.model.emit(this.weights, linear);
  }
}

function readProjector({ file, header }: OpenedGguf, decoder: ProjectorDecoder): Projector {
  const metadata = new GgufMetadata(file.name, header.metadata);
  const architecture = metadata.text('general.architecture', '');
  if (architecture !== 'clip') {
    throw invalidFile(file.name, `its architecture is ${quoted(architecture)}, and that of a projector is clip`);
  }
  const type = metadata.text('clip.vision.projector_type', metadata.text('clip.projector_type', 'missing'));
  const projector = Object.hasOwn(projectors, type) ? projectors[type] : undefined;
  if (projector === undefined) {
    const known = Object.keys(projectors).join(', ');
    throw invalidFile(file.name, `its \`clip.projector_type\` is ${quoted(type)}; ${known} are converted`);
  }
  if (!projector.architectures.includes(decoder.architecture)) {
    const wanted = `a model of the architecture ${projector.architectures.join(' or ')}, not ${decoder.architecture}`;
    throw invalidFile(file.name, `it belongs to ${wanted}`);
  }
  if (decoder.hasToken(projector.placeholder)) return projector;
  throw invalidFile(file.name, `the tokenizer of its decoder has no token ${projector.placeholder}`);
}

function modelOf(
  { className, members }: Projector,
  vision: Record<string, unknown>,
  { metadata, decoder }: { metadata: GgufMetadata; decoder: ProjectorDecoder },
): VisionModel {
  const { fileName } = metadata;
  if (className === undefined) {
    const tokens =
      (metadata.size('image_size') / metadata.size('patch_size') / metadata.size('projector.scale_factor', 4)) ** 2;
    return gemmaModel(new HubConfig(vision, '', fileName), decoder.hiddenSize, { tokens, gainFromOne: false });
  }
  const config = { architectures: [className], ...members?.(metadata), vision_config: vision };
  const whole = new HubConfig(config, '', fileName);
  const found = readVision(whole, decoder.hiddenSize);
  if (found === null) throw new Error(`${className} has no encoder.`);
  return found;
}

function preprocessorOf({ pixels, sizes }: Projector, metadata: GgufMetadata): Record<string, unknown> {
  const statistics = {
    image_mean: metadata.optionalNumbers('image_mean') ?? undefined,
    image_std: metadata.optionalNumbers('image_std') ?? undefined,
  };
  if (sizes !== undefined) return { ...statistics, ...sizes(metadata) };
  if (pixels === undefined) {
    const side = metadata.size('image_size');
    return { ...statistics, size: { height: side, width: side } };
  }
  return {
    ...statistics,
    patch_size: metadata.size('patch_size'),
    merge_size: metadata.size('spatial_merge_size', 2),
    temporal_patch_size: 2,
    size: {
      shortest_edge: metadata.size('image_min_pixels', pixels.min),
      longest_edge: metadata.size('image_max_pixels', pixels.max),
    },
  };
}

/** Older files do not say how large an image becomes before it is split, so it is one tile, as their readers have it. */
function tileSizes(metadata: GgufMetadata): Record<string, unknown> {
  const side = metadata.size('image_size');
  const splits = metadata.has('preproc_image_size');
  return {
    do_image_splitting: splits,
    size: { longest_edge: splits ? metadata.size('preproc_image_size') : 4 * side },
    max_image_size: { longest_edge: side },
  };
}

/** The middle of an image is cut out, instead of scaling it whole. */
function cropSizes(metadata: GgufMetadata): Record<string, unknown> {
  const side = metadata.size('image_size');
  return { crop_size: { height: side, width: side }, size: { shortest_edge: side } };
}

function headsAndSizes(metadata: GgufMetadata): Record<string, unknown> {
  return {
    num_heads: metadata.size('attention.head_count'),
    patch_size: metadata.size('patch_size'),
    image_size: metadata.size('image_size'),
    spatial_merge_size: metadata.size('spatial_merge_size', 2),
  };
}

function everyNth(layers: number, every: number): number[] {
  return Array.from({ length: layers }, (_, layer) => layer).filter((layer) => (layer + 1) % every === 0);
}
