import type { Architecture } from './architecture.js';

/** A large model of the family divides by the root of hidden size by heads, and its file does not say so. */
const scaleOfLargest =
  (largest: number): Architecture['attentionScale'] =>
  ({ layers, hiddenSize, heads }) =>
    layers === largest ? 1 / Math.sqrt(hiddenSize / heads) : undefined;

/** Architectures of the Gemma family by `general.architecture` of GGUF. */
export const gemmaArchitectures = {
  gemma: {
    models: 'Gemma',
    modelType: 'gemma',
    className: 'GemmaForCausalLM',
    rotaryPairs: 'halves',
    activation: 'gelu-tanh',
    scaledEmbedding: true,
  },
  gemma2: {
    models: 'Gemma 2',
    modelType: 'gemma2',
    className: 'Gemma2ForCausalLM',
    rotaryPairs: 'halves',
    activation: 'gelu-tanh',
    scaledEmbedding: true,
    normPlacement: 'both',
    softCaps: { attention: 50, logits: 30 },
    attentionScale: scaleOfLargest(46),
    wholeContextEvery: 2,
    windowSize: 4096,
  },
  gemma3: {
    models: 'Gemma 3',
    modelType: 'gemma3_text',
    className: 'Gemma3ForCausalLM',
    rotaryPairs: 'halves',
    activation: 'gelu-tanh',
    scaledEmbedding: true,
    normPlacement: 'both',
    attentionScale: scaleOfLargest(62),
    wholeContextEvery: 6,
    windowRotary: { base: 10000 },
    seesWholeImages: true,
  },
  gemma4: {
    models: 'Gemma 4 (E2B, E4B, 12B, 26B-A4B, 31B)',
    modelType: 'gemma4_text',
    className: 'Gemma4ForCausalLM',
    rotaryPairs: 'halves',
    activation: 'gelu-tanh',
    scaledEmbedding: true,
    normPlacement: 'both',
    attentionScale: () => 1,
    wholeContextEvery: 6,
    windowRotary: { base: 10000 },
    valueNorm: true,
    variedHeads: true,
    experts: 'allowed',
    expertsBeside: true,
  },
  'gemma-embedding': {
    models: 'EmbeddingGemma (embeddings)',
    modelType: 'gemma3_text',
    className: 'Gemma3TextModel',
    rotaryPairs: 'halves',
    activation: 'gelu-tanh',
    scaledEmbedding: true,
    normPlacement: 'both',
    wholeContextEvery: 6,
    windowRotary: { base: 10000 },
    bidirectional: true,
  },
} satisfies Readonly<Record<string, Architecture>>;
