/** Sizes that all models of one run share, except their feed-forward. */
export interface ModelSize {
  hidden: number;
  heads: number;
  keyValueHeads: number;
  headSize: number;
  feedForward: number;
  layers: number;
  vocabulary: number;
  contextLength: number;
}

const common = { layers: 2, vocabulary: 2048, contextLength: 4096 };

/** Layers like those of TinyLlama, and of a model of three billion weights. */
export const modelSizes: Readonly<Record<string, ModelSize>> = {
  tinyllama: { ...common, hidden: 2048, heads: 32, keyValueHeads: 4, headSize: 64, feedForward: 5632 },
  '3b': { ...common, hidden: 3072, heads: 24, keyValueHeads: 8, headSize: 128, feedForward: 8192 },
};

/** What the tensors and keys of an architecture's file add to those of `llama`. */
export interface ArchitectureCase {
  name: string;
  /** `general.architecture`. */
  architecture: string;
  keys?: Record<string, number | string | number[]>;
  /** Default: before attention and feed-forward. */
  norms?: string[];
  layerNorms?: true;
  queryKeyNorm?: 'head' | 'all-heads';
  biases?: string[];
  /** Queries, keys and values in one tensor, and gate and up in one. */
  isFused?: true;
  hasSinks?: true;
  experts?: {
    count: number;
    used: number;
    hasBias?: true;
    /** A bias of each expert counts when experts are chosen. */
    hasSelectionBias?: true;
    /** Size of the one that computes every token. */
    shared?: number;
  };
  /** Of one expert where there are experts; default: that of the size. */
  feedForward?: number;
  /** The part that every second layer has in place of attention, from the first on. */
  mixer?: 'short-convolution' | 'gated-delta' | 'mamba';
  /** Name of the norm before the output layer; default: `output_norm`. */
  finalNorm?: string;
  /** Queries come with a gate for the output of attention. */
  hasOutputGate?: true;
  /** Keys and values are computed from one latent per token; with an indexer, queries too. */
  hasLatents?: true;
  hasIndexer?: true;
}

/** Tokens that a channel of a convolution sees, as in published models. */
export const convolutionTaps = { 'short-convolution': 3, 'gated-delta': 4, mamba: 4 } as const;
/** Size of queries, keys and values in gated DeltaNet layers. */
export const deltaHeadSize = 128;
/** Sizes of Mamba 2 layers, whose heads have twice the values of the hidden state together. */
export const mambaSizes = { headSize: 64, stateSize: 128 } as const;

/** Sizes of a latent and of what rotates, in proportion to a head as in published models. */
export function latentSizes({ headSize }: ModelSize): { rank: number; queryRank: number; rotated: number } {
  return { rank: 4 * headSize, queryRank: 12 * headSize, rotated: headSize / 2 };
}

/** Sizes of an indexer as published, with fewer positions, so that it chooses among those of a benchmark. */
export const indexerSizes = { heads: 64, headSize: 128, topK: 512 } as const;

const queryKeyValue = ['attn_q', 'attn_k', 'attn_v'];
const afterNorms = ['post_attention_norm', 'post_ffw_norm'];
const allNorms = ['attn_norm', 'ffn_norm', ...afterNorms];
const yarn = {
  'rope.scaling.type': 'yarn',
  'rope.scaling.factor': 4,
  'rope.scaling.original_context_length': 1024,
};

export const llama: ArchitectureCase = { name: 'llama', architecture: 'llama' };
/** The same once more: what its ratio differs from 1 is noise. */
export const control: ArchitectureCase = { ...llama, name: 'llama again' };

/** One of each kind of graph that the table of architectures makes. */
export const denseCases: ArchitectureCase[] = [
  { name: 'mistral', architecture: 'llama', keys: { 'attention.sliding_window': 1024 } },
  { name: 'mistral3', architecture: 'mistral3', keys: { ...yarn, 'attention.temperature_scale': 0.1 } },
  { name: 'qwen2', architecture: 'qwen2', biases: queryKeyValue },
  { name: 'qwen3', architecture: 'qwen3', queryKeyNorm: 'head' },
  { name: 'phi3', architecture: 'phi3', isFused: true, keys: { 'attention.sliding_window': 1024 } },
  { name: 'smollm3', architecture: 'smollm3' },
  { name: 'olmo2', architecture: 'olmo2', norms: afterNorms, queryKeyNorm: 'all-heads' },
  {
    name: 'granite',
    architecture: 'granite',
    keys: { embedding_scale: 12, residual_scale: 0.22, logit_scale: 8, 'attention.scale': 0.015625 },
  },
  { name: 'gemma', architecture: 'gemma' },
  { name: 'gemma2', architecture: 'gemma2', norms: allNorms, keys: { 'attention.sliding_window': 1024 } },
  {
    name: 'gemma3',
    architecture: 'gemma3',
    norms: allNorms,
    queryKeyNorm: 'head',
    keys: { 'attention.sliding_window': 512 },
  },
  { name: 'glm4', architecture: 'glm4', norms: allNorms, biases: queryKeyValue },
  { name: 'exaone4', architecture: 'exaone4', norms: afterNorms, queryKeyNorm: 'head' },
  { name: 'hunyuan-dense', architecture: 'hunyuan-dense', queryKeyNorm: 'head' },
  { name: 'command-r', architecture: 'command-r', norms: ['attn_norm'], layerNorms: true },
  {
    name: 'cohere2',
    architecture: 'cohere2',
    norms: ['attn_norm'],
    layerNorms: true,
    keys: { 'attention.sliding_window': 1024 },
  },
];

/** Models of which every second layer keeps a state. */
export function stateCases({ hidden, layers, keyValueHeads }: ModelSize): ArchitectureCase[] {
  const heads = hidden / deltaHeadSize;
  const everySecond = Array.from({ length: layers }, (_, layer) => (layer % 2 === 0 ? 0 : keyValueHeads));
  return [
    {
      name: 'lfm2',
      architecture: 'lfm2',
      queryKeyNorm: 'head',
      mixer: 'short-convolution',
      finalNorm: 'token_embd_norm',
      keys: {
        'shortconv.l_cache': convolutionTaps['short-convolution'],
        'attention.head_count_kv': everySecond,
      },
    },
    {
      name: 'qwen35',
      architecture: 'qwen35',
      norms: ['attn_norm', 'post_attention_norm'],
      queryKeyNorm: 'head',
      hasOutputGate: true,
      mixer: 'gated-delta',
      keys: {
        full_attention_interval: 2,
        'ssm.conv_kernel': convolutionTaps['gated-delta'],
        'ssm.state_size': deltaHeadSize,
        'ssm.group_count': heads,
        'ssm.time_step_rank': heads,
        'ssm.inner_size': hidden,
      },
    },
    {
      name: 'granitehybrid',
      architecture: 'granitehybrid',
      mixer: 'mamba',
      keys: {
        'attention.head_count_kv': everySecond,
        'ssm.conv_kernel': convolutionTaps.mamba,
        'ssm.state_size': mambaSizes.stateSize,
        'ssm.group_count': 1,
        'ssm.time_step_rank': (2 * hidden) / mambaSizes.headSize,
        'ssm.inner_size': 2 * hidden,
      },
    },
  ];
}

/** Models whose experts in use have together the feed-forward of the size. */
export function expertCases(size: ModelSize): ArchitectureCase[] {
  const { feedForward, headSize } = size;
  const { rank, queryRank, rotated } = latentSizes(size);
  const latents: Omit<ArchitectureCase, 'name' | 'architecture'> = {
    hasLatents: true,
    experts: { count: 32, used: 7, hasSelectionBias: true, shared: feedForward / 8 },
    feedForward: feedForward / 8,
    keys: {
      'attention.kv_lora_rank': rank,
      'attention.key_length_mla': headSize + rotated,
      'attention.value_length_mla': headSize,
      'rope.dimension_count': rotated,
      expert_gating_func: 2,
      expert_group_count: 8,
      expert_group_used_count: 4,
    },
  };
  return [
    { name: 'mixtral, 2 of 8', architecture: 'llama', experts: { count: 8, used: 2 }, feedForward: feedForward / 2 },
    {
      name: 'qwen3moe, 8 of 32',
      architecture: 'qwen3moe',
      queryKeyNorm: 'head',
      experts: { count: 32, used: 8 },
      feedForward: feedForward / 8,
    },
    {
      name: 'glm4moe, 7 of 32 and a shared one',
      architecture: 'glm4moe',
      norms: ['attn_norm', 'post_attention_norm'],
      queryKeyNorm: 'head',
      experts: { count: 32, used: 7, hasSelectionBias: true, shared: feedForward / 8 },
      feedForward: feedForward / 8,
    },
    { ...latents, name: 'deepseek2, 7 of 32 and a shared one', architecture: 'deepseek2' },
    {
      ...latents,
      name: 'deepseek32, 7 of 32 and a shared one',
      architecture: 'deepseek32',
      hasIndexer: true,
      keys: {
        ...latents.keys,
        'attention.q_lora_rank': queryRank,
        'attention.indexer.head_count': indexerSizes.heads,
        'attention.indexer.key_length': indexerSizes.headSize,
        'attention.indexer.top_k': indexerSizes.topK,
      },
    },
    {
      name: 'gpt-oss, 4 of 16',
      architecture: 'gpt-oss',
      norms: ['attn_norm', 'post_attention_norm'],
      biases: [...queryKeyValue, 'attn_output'],
      hasSinks: true,
      experts: { count: 16, used: 4, hasBias: true },
      feedForward: feedForward / 4,
      keys: { ...yarn, 'attention.sliding_window': 128 },
    },
  ];
}

/** The same experts, of which each token uses more or fewer. */
export function activeCases({ feedForward }: ModelSize): ArchitectureCase[] {
  return [2, 4, 8].map((used) => ({
    name: `qwen3moe, ${used} of 16`,
    architecture: 'qwen3moe',
    queryKeyNorm: 'head',
    experts: { count: 16, used },
    feedForward: feedForward / 4,
  }));
}
