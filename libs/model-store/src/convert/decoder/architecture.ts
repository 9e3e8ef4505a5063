import type { LayerPart, Mixer, QueryKeyNorm } from './decoder-shape.js';
import type { RotaryPairs } from './decoder-source.js';

/**
 * The differences of an architecture from `llama`: RMS norms before attention and feed-forward, a gated SiLU, rotation of
 * every head, one residual stream. Sizes, biases, fused layers, windows, factors and scalings of the rotation are read
 * from the file.
 */
export interface Architecture {
  /** Published models, for the documentation. */
  models: string;
  /** `model_type` and class in config.json. */
  modelType: string;
  className: string;
  /** Order of the rotary pairs in a GGUF file. */
  rotaryPairs: RotaryPairs;
  /** Its converter put the halves of whole heads side by side, also where only a part of a head rotates. */
  pairsOfWholeHeads?: true;
  /** Layer norms without bias instead of RMS norms. */
  layerNorms?: true;
  normPlacement?: 'after' | 'both';
  parallelResidual?: true;
  activation?: 'gelu-tanh';
  /** Feed-forwards and experts have no gate, and this activation. */
  plainActivation?: 'relu-squared';
  /** A layer is attention, what `mixer` says, or a feed-forward, behind one norm. */
  oneHalf?: true;
  /** Kind of the norms of queries and keys, if the file has them; default `head`. */
  queryKeyNorm?: QueryKeyNorm;
  /** These norms follow the rotation. */
  normsRotated?: true;
  /**
   * Positions of images have three axes. Rotary pairs of one axis follow each other, or every third pair is of one until
   * it has all of its own.
   */
  rotaryAxes?: 'sections' | 'interleaved';
  /** Positions of one image see each other. */
  seesWholeImages?: true;
  /** Embeddings are multiplied by the root of their size. */
  scaledEmbedding?: true;
  /** The file's `logit_scale` divides the logits; default: it multiplies them. */
  dividesLogits?: true;
  /** Defaults for the soft caps of scores and logits. */
  softCaps?: { attention: number; logits: number };
  /** Default for the scale of the scores, where it is not the root of the head's size. */
  attentionScale?: (sizes: { layers: number; hiddenSize: number; heads: number }) => number | undefined;
  /** If the file has a window: every n-th layer sees the whole context; absent: none does. */
  wholeContextEvery?: number;
  /** Default for the size of the window. */
  windowSize?: number;
  /** Windows are chunks of the text. */
  chunkedWindow?: true;
  /** Rotated queries and keys are normed without gains, unless the source says otherwise. */
  rotatedNorm?: true;
  /** Queries of layers that do not rotate grow with their position. */
  temperature?: { scale: number; length: number; offset: number };
  /** Weights of experts multiply their inputs. */
  weighsInputs?: true;
  /** Layers with a window rotate without the file's scaling, by this base or the file's. */
  windowRotary?: { base?: number };
  /**
   * Layers that do not rotate: every n-th, or those that see the whole context; `beside-windows`: the latter in a model
   * that has windows.
   */
  unrotated?: { every: number } | 'whole-context' | 'beside-windows' | 'all';
  /** Values are normed by head, without gains. */
  valueNorm?: true;
  /**
   * Layers with a window may have other sizes and numbers of heads than the others, the last layers may use the keys and
   * values of earlier ones, and keys may be values.
   */
  variedHeads?: true;
  /** Layers pass several residual streams on, and have a projection around their attention. */
  residualStreams?: true;
  /** Experts are there in addition to the layer's feed-forward. */
  expertsBeside?: true;
  /** Every token sees the whole text: the model gives embeddings, and writes none. */
  bidirectional?: true;
  /** Present: the model may have experts, or must have them. */
  experts?: 'allowed' | 'required';
  /** One expert more computes every token; `weighted`: times a sigmoid of its own router. */
  sharedExpert?: 'plain' | 'weighted';
  /** Layers have experts if the file has a router for them. */
  storedRouters?: true;
  /** Scores of experts are sigmoids, unless the source says otherwise. */
  sigmoidRouter?: true;
  /** A learned bias of each expert counts when experts are chosen; `stored`: if the file has it. */
  selectionBias?: true | 'stored';
  /** The weights of the chosen experts are those among all, unless the source says otherwise. */
  plainExpertWeights?: true;
  /** Sinks, biases and clamps of gpt-oss. */
  sinks?: true;
  expertClamp?: { limit: number; alpha: number; shift: number };
  /** YaRN leaves the magnitude of rotated values as it is. */
  plainYarn?: true;
  /** The range of pairs that YaRN scales has exact instead of whole bounds. */
  exactYarn?: true;
  /** The replacement of attention in layers without keys and values; absent: every layer attends. */
  mixer?: Mixer['kind'];
  /** No layer attends, so files have no heads. */
  attentionFree?: true;
  /** Layers attend besides what `mixer` says, and add the results. */
  besideAttention?: true;
  /** Value heads that share a key head follow each other in GGUF files, unlike those of Qwen 3.5. */
  groupedHeads?: true;
  /** No layer rotates unless the file's `rope.scaling.finetuned` says so, which means something else elsewhere. */
  rotatesIfFinetuned?: true;
  /** Queries come with a gate for the output of attention. */
  outputGate?: true;
  /** Layers cache one latent per token, of which keys and values are linear functions. */
  latentAttention?: true;
  /** Tokens attend to the positions that an indexer chooses, whose heads have rotary pairs in this order. */
  indexer?: RotaryPairs;
  /** Name of the norm before the output layer, if it is not `output_norm`. */
  finalNorm?: string;
  /** Names of tensors that other architectures use for something else. */
  tensorNames?: Partial<Record<LayerPart, string>>;
}
