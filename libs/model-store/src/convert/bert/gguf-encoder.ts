import { productOf } from '#common/values';
import type { ByteSource } from '../byte-source.js';
import type { DecoderSource, SourceTensor } from '../decoder/decoder-source.js';
import { GgufMetadata } from '../gguf/gguf-metadata.js';
import type { OpenedGguf } from '../gguf/gguf-shards.js';
import { ggufSource } from '../gguf/gguf-source.js';
import type { GgufHeader } from '../gguf/gguf-types.js';
import { invalidFile, quoted } from '../invalid-file.js';
import type { EncoderTensors } from './bert-files.js';
import { type EncoderConfig, EncoderSettings } from './encoder-config.js';

/* Encoders as llama.cpp has them: the tensors of BERT, Nomic BERT or Jina v2 under the names of GGUF. */

interface GgufEncoderKind {
  /** Names outside the layers, of PyTorch and of GGUF. */
  outer: Readonly<Record<string, string>>;
  /** The part of a name before the number of a layer. */
  layers: string;
  layer: (tensors: DecoderSource['tensors']) => Readonly<Record<string, string>>;
  /** Modules of a layer whose only tensor has no `.weight` in PyTorch. */
  parameters?: readonly string[];
  config: (metadata: GgufMetadata) => EncoderConfig;
}

const bertOuter = {
  'embeddings.word_embeddings': 'token_embd',
  'embeddings.token_type_embeddings': 'token_types',
  'embeddings.LayerNorm': 'token_embd_norm',
};

const bertAttention = {
  'attention.self.query': 'attn_q',
  'attention.self.key': 'attn_k',
  'attention.self.value': 'attn_v',
  'attention.output.dense': 'attn_output',
  'attention.output.LayerNorm': 'attn_output_norm',
};

const nomicOuter = {
  'embeddings.word_embeddings': 'token_embd',
  'embeddings.token_type_embeddings': 'token_types',
  emb_ln: 'token_embd_norm',
};

const nomicLayer = {
  'attn.Wqkv': 'attn_qkv',
  'attn.out_proj': 'attn_output',
  norm1: 'attn_output_norm',
  'mlp.fc2': 'ffn_down',
  norm2: 'layer_output_norm',
};

const kinds: Readonly<Record<string, GgufEncoderKind>> = {
  bert: {
    outer: { ...bertOuter, 'embeddings.position_embeddings': 'position_embd' },
    layers: 'encoder.layer.',
    layer: () => ({
      ...bertAttention,
      'intermediate.dense': 'ffn_up',
      'output.dense': 'ffn_down',
      'output.LayerNorm': 'layer_output_norm',
    }),
    config: () => ({ architectures: ['BertModel'], model_type: 'bert', hidden_act: 'gelu' }),
  },
  'jina-bert-v2': {
    outer: bertOuter,
    layers: 'encoder.layer.',
    layer: (tensors) => ({
      ...bertAttention,
      // Older files have the halves of the gate apart.
      ...(tensors.has('blk.0.ffn_gate.weight')
        ? { 'mlp.gated_layers_w': 'ffn_gate', 'mlp.gated_layers_v': 'ffn_up' }
        : { 'mlp.gated_layers': 'ffn_up' }),
      'mlp.wo': 'ffn_down',
      'mlp.layernorm': 'layer_output_norm',
    }),
    config: () => ({
      ...{ architectures: ['JinaBertModel'], model_type: 'bert' },
      ...{ position_embedding_type: 'alibi', feed_forward_type: 'geglu' },
    }),
  },
  'nomic-bert-moe': {
    outer: nomicOuter,
    layers: 'encoder.layers.',
    layer: () => ({
      ...nomicLayer,
      'mlp.fc1': 'ffn_up',
      'mlp.router.layer': 'ffn_gate_inp',
      'mlp.experts.mlp.w1': 'ffn_up_exps',
      'mlp.experts.mlp.w2': 'ffn_down_exps',
    }),
    parameters: ['mlp.experts.mlp.w1', 'mlp.experts.mlp.w2'],
    config: (metadata) => ({
      ...{ architectures: ['NomicBertModel'], model_type: 'nomic_bert', activation_function: 'gelu' },
      rotary_emb_base: metadata.number('rope.freq_base', 10_000),
      num_experts: metadata.size('expert_count'),
      moe_top_k: metadata.size('expert_used_count'),
      moe_every_n_layers: metadata.size('moe_every_n_layers'),
    }),
  },
  'nomic-bert': {
    outer: nomicOuter,
    layers: 'encoder.layers.',
    layer: () => ({ ...nomicLayer, 'mlp.fc12': 'ffn_gate', 'mlp.fc11': 'ffn_up' }),
    config: (metadata) => ({
      architectures: ['NomicBertModel'],
      model_type: 'nomic_bert',
      activation_function: 'swiglu',
      rotary_emb_base: metadata.number('rope.freq_base', 1_000),
    }),
  },
};

/** True for an encoder by its `general.architecture`. */
export function isGgufEncoder({ file, header }: OpenedGguf): boolean {
  return Object.hasOwn(kinds, new GgufMetadata(file.name, header.metadata).text('general.architecture'));
}

/** An encoder in a GGUF file. */
export interface GgufEncoder {
  architecture: string;
  metadata: GgufMetadata;
  /** The settings as `config.json` would have them. */
  settings: EncoderSettings;
  tensors: EncoderTensors;
}

/** Reads names and sizes only. Throws `INVALID_MODEL` for settings and tensors that nothing here computes with. */
export function readGgufEncoder(file: ByteSource, header: GgufHeader): GgufEncoder {
  const source = ggufSource(file, header);
  const { architecture, fileName } = source;
  const kind = Object.hasOwn(kinds, architecture) ? kinds[architecture] : undefined;
  if (kind === undefined) throw invalidFile(fileName, `its architecture is ${quoted(architecture)}`);
  const metadata = new GgufMetadata(fileName, header.metadata);
  const own = metadata.under(`${architecture}.`);
  const known = { alibi: architecture === 'jina-bert-v2' ? 8 : 0, experts: architecture === 'nomic-bert-moe' };
  if (own.number('attention.max_alibi_bias', known.alibi) !== known.alibi) {
    throw invalidFile(fileName, 'it has ALiBi positions that are not computed here');
  }
  if (!known.experts && own.number('expert_count', 0) !== 0) {
    throw invalidFile(fileName, 'it has experts, which are not computed here');
  }
  const rows = (name: string): number => source.tensors.get(`${name}.weight`)?.dimensions[1] ?? 0;
  const config = {
    ...kind.config(own),
    hidden_size: own.size('embedding_length'),
    num_hidden_layers: own.size('block_count'),
    num_attention_heads: own.size('attention.head_count'),
    intermediate_size: own.size('feed_forward_length'),
    vocab_size: rows('token_embd'),
    max_position_embeddings: rows('position_embd') || own.size('context_length'),
    type_vocab_size: rows('token_types'),
    layer_norm_eps: own.number('attention.layer_norm_epsilon'),
  };
  return {
    architecture,
    metadata,
    settings: new EncoderSettings(config),
    tensors: new GgufEncoderTensors(source, kind),
  };
}

class GgufEncoderTensors implements EncoderTensors {
  /** Tensors by their names in PyTorch. */
  private readonly tensors = new Map<string, SourceTensor>();

  constructor(
    private readonly source: DecoderSource,
    { outer, layers, layer, parameters = [] }: GgufEncoderKind,
  ) {
    const inner = layer(source.tensors);
    const moduleOf = (names: Readonly<Record<string, string>>, name: string): string | undefined =>
      Object.entries(names).find(([, stored]) => stored === name)?.[0];
    for (const [name, tensor] of source.tensors) {
      const [, block, stem = '', kind = ''] = /^(?:blk\.(\d+)\.)?([a-z_]+)\.(weight|bias)$/.exec(name) ?? [];
      const module = moduleOf(block === undefined ? outer : inner, stem);
      if (module === undefined) {
        throw invalidFile(source.fileName, `it has a tensor that nothing here computes with: ${quoted(name)}`);
      }
      const prefix = block === undefined ? '' : `${layers}${Number(block)}.`;
      this.tensors.set(parameters.includes(module) ? prefix + module : `${prefix}${module}.${kind}`, tensor);
    }
  }

  has(name: string): boolean {
    return this.tensors.has(name);
  }

  shapeOf(name: string): readonly number[] {
    return this.find(name).dimensions.toReversed();
  }

  rows(name: string, from: number, to: number): Promise<Float32Array> {
    return this.find(name).rows(from, to);
  }

  vector(name: string): Promise<Float32Array> {
    const tensor = this.find(name);
    return tensor.rows(0, productOf(tensor.dimensions.slice(1)));
  }

  private find(name: string): SourceTensor {
    const found = this.tensors.get(name);
    if (found === undefined) throw invalidFile(this.source.fileName, `it has no tensor for ${name}`);
    return found;
  }
}
