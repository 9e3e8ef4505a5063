import { productOf } from '#common/values';
import { type DecoderPurpose, scoreTensor } from '../decoder/decoder-purpose.js';
import type { DecoderSource, SourceTensor } from '../decoder/decoder-source.js';
import { invalidFile, quoted } from '../invalid-file.js';
import { expertCount, findHubArchitecture, type HubArchitecture } from './hub-architectures.js';
import { findPoolingArchitecture } from './pooling-architectures.js';
import { HubConfig } from './hub-config.js';
import { HubParameters, readSettings } from './hub-parameters.js';
import { type ModelFiles, readJsonObject } from './model-files.js';
import { PackedTensor } from './packed-tensor.js';
import { type Quantization, readQuantization } from './quantization.js';
import { ExpertTensor, SlicedExperts } from './expert-tensor.js';
import { FloatTensor } from './float-tensor.js';
import { type RowFactors, scaledTensor } from './scaled-tensor.js';
import { Mxfp4Experts, TransposedExperts, type Turn, TurnVectors } from './stacked-experts.js';
import { SafetensorsWeights, type StoredTensor } from './safetensors-weights.js';
import { activationTensors, findCodedWeight, weightForm } from './weight-forms.js';

/** Prefixes of the modules of a decoder: with its output layer, without, and in a model that sees. */
const prefixes = ['model.', '', 'language_model.model.', 'model.language_model.', 'model.text_model.', 'backbone.'];
const heads = ['lm_head', 'language_model.lm_head'];

/** Modules outside the layers by their GGUF names. */
const outerModules: Readonly<Record<string, string>> = { token_embd: 'embed_tokens', output_norm: 'norm' };

/** Tensors that all who run the model compute, of the part that sees, or of layers that guess later tokens. */
const uncountedTensors =
  /(?:rotary_emb\.inv_freq|\.masked_bias|^(?:model\.)?image_newline)$|^(?:model\.)?(?:vision_tower|vision_model|visual|multi_modal_projector|connector|audio_tower|vision_embedder|embed_vision|embed_audio|mtp)\./;

/** A decoder in the layout of the hubs: `config.json` and safetensors. */
export class HubCheckpoint {
  private constructor(
    /** `config.json`. */
    readonly whole: HubConfig,
    /** The part that describes the decoder. */
    readonly config: HubConfig,
    readonly source: DecoderSource,
    /** Weights that are no plain floats; null if all are. */
    readonly quantization: Quantization | null,
    readonly weights: SafetensorsWeights,
    /** Names of stored tensors that the decoder does not need. */
    private readonly unused: ReadonlySet<string>,
  ) {}

  /** Reads `config.json` and the headers. The caller closes it. */
  static async open(files: ModelFiles, purpose: DecoderPurpose = 'text'): Promise<HubCheckpoint> {
    const whole = new HubConfig(await readJsonObject(files, 'config.json'));
    const hub = purpose === 'text' ? findHubArchitecture(whole) : findPoolingArchitecture(whole);
    const quantization = readQuantization(whole, { takesMxfp4: hub.stackedExperts !== undefined });
    const config = decoderConfig(whole, hub);
    const { values, factors } = readSettings(config, hub);
    const weights = await SafetensorsWeights.open(files);
    try {
      const reader = new CheckpointTensors(weights.tensors, hub, {
        quantization,
        factors: hub.factors?.(config) ?? {},
      });
      const tensors = reader.translate({
        layers: Number(values.get('block_count')),
        kinds: layerKinds(config, hub),
        dense: Number(values.get('leading_dense_block_count') ?? 0),
        guessing: config.number('num_nextn_predict_layers', 0),
        experts: hub.experts || hub.transposedExperts ? expertCount(config, hub) : 0,
        stackedOuter: hub.stackedOuter?.count(config) ?? 0,
        head: headOf({ whole, config }, weights, purpose),
      });
      for (const [name, divisors] of Object.entries(factors)) tensors.set(name, constantTensor(divisors));
      const source: DecoderSource = {
        fileName: 'config.json',
        architecture: hub.architecture,
        parameters: new HubParameters(values),
        tensors,
        rotaryPairs: hub.adjacentPairs ? 'adjacent' : 'halves',
        headOrder: hub.groupedHeads ? 'grouped' : 'tiled',
      };
      return new HubCheckpoint(whole, config, source, quantization, weights, reader.unread);
    } catch (error) {
      await weights.close();
      throw error;
    }
  }

  /** Lets the graph keep the codes of packed layers. */
  async keepPacked(): Promise<void> {
    for (const tensor of this.source.tensors.values()) {
      if (tensor instanceof PackedTensor) await tensor.keepPacked();
    }
  }

  /**
   * Number of weights, of those in packed codes of 4 bits and of those in blocks of 8 bits that the graph keeps, and the
   * types of the matrices by share, the largest first: `BF16, F32`.
   */
  stored(): { parameters: number; packed: number; kept: number; types: string[] } {
    const count = { parameters: 0, packed: 0, kept: 0 };
    for (const tensor of this.source.tensors.values()) {
      if (tensor.origin === undefined) continue;
      const values = productOf(tensor.dimensions);
      count.parameters += values;
      const keeps = tensor instanceof PackedTensor ? tensor.keeps : tensor.keptBlocks && 'blocks';
      if (keeps === 'packed') count.packed += values;
      if (keeps === 'blocks') count.kept += values;
    }
    const bytes = new Map<string, number>();
    for (const { entry } of this.weights.tensors.values()) {
      const form = this.unused.has(entry.name) ? null : weightForm(entry, this.quantization);
      if (form !== null && entry.shape.length > 1) bytes.set(form, (bytes.get(form) ?? 0) + entry.bytes);
    }
    const types = [...bytes.entries()].sort(([, left], [, right]) => right - left).map(([type]) => type);
    return { ...count, types };
  }

  close(): Promise<void> {
    return this.weights.close();
  }
}

function constantTensor(values: Float32Array): SourceTensor {
  return { dimensions: [values.length], rows: () => Promise.resolve(values) };
}

/** The settings of the decoder, with those that files leave out. */
export function decoderConfig(
  whole: HubConfig,
  { inner, mayBeFlat, defaults, otherNames }: HubArchitecture,
): HubConfig {
  const nested = inner === undefined ? whole : whole.object(inner);
  const found = nested ?? (mayBeFlat ? whole : null);
  if (found === null) throw invalidFile('config.json', `it has no ${inner}`);
  // Of a model that sees, the output layer may be described outside.
  const outer = inner !== undefined && whole.has('tie_word_embeddings') ? ['tie_word_embeddings'] : [];
  const shared = outer.map((name) => [name, whole.values[name]]);
  const renamed = Object.entries(otherNames ?? {}).flatMap(([name, other]) =>
    found.has(other) ? [[name, found.values[other]]] : [],
  );
  const values = { ...defaults, ...Object.fromEntries(shared), ...found.values, ...Object.fromEntries(renamed) };
  return found.with(values);
}

/** The kind of each layer, if layers differ in their modules. */
function layerKinds(config: HubConfig, { kinds }: HubArchitecture): readonly string[] {
  const found = kinds?.of(config) ?? [];
  const unknown = found.find((kind) => !Object.hasOwn(kinds?.modules ?? {}, kind));
  if (unknown === undefined) return found;
  const known = Object.keys(kinds?.modules ?? {}).join(', ');
  throw invalidFile('config.json', `it has a layer of the type ${quoted(unknown)}; ${known} are converted`);
}

/**
 * True if the output layer is the embeddings; null: if it is not stored. A model that sees says it twice, and the
 * libraries disagree about which one counts, so where the two differ the stored tensors decide.
 */
function readTied(whole: HubConfig, config: HubConfig): boolean | null {
  const name = 'tie_word_embeddings';
  if (!config.has(name)) return null;
  const tied = config.flag(name, false);
  return whole.has(name) && whole.flag(name, tied) !== tied ? null : tied;
}

interface Layout {
  layers: number;
  /** Kinds of the layers, if they differ in their modules. */
  kinds: readonly string[];
  /** The first layers, without experts. */
  dense: number;
  /** Layers behind the others that guess further tokens, and are not computed. */
  guessing: number;
  /** Of each layer; 0 for a model without. */
  experts: number;
  /** Matrices in each of `HubArchitecture.stackedOuter`. */
  stackedOuter: number;
  head: StoredHead;
}

/** The output layer: stored, the embeddings, stored if it is there, or the layer of a score. */
type StoredHead = 'stored' | 'tied' | 'if-stored' | 'score';

const scoreWeight = 'score.weight';

/** Published embedding models keep the settings of the text model that they were made of, without its output layer. */
function headOf(
  { whole, config }: { whole: HubConfig; config: HubConfig },
  { tensors }: SafetensorsWeights,
  purpose: DecoderPurpose,
): StoredHead {
  if (purpose === 'embedding') return 'tied';
  if (purpose === 'rerank' && tensors.has(scoreWeight)) return 'score';
  const isTied = readTied(whole, config);
  if (isTied === null) return 'if-stored';
  return isTied ? 'tied' : 'stored';
}

/** Translates names to those of GGUF, and refuses what is missing or left over. */
class CheckpointTensors {
  private readonly prefix: string;
  private readonly head: string;
  /** Names that were not asked for; after `translate`, tensors that may be left aside. */
  readonly unread: Set<string>;
  private readonly translated = new Map<string, SourceTensor>();

  constructor(
    private readonly stored: ReadonlyMap<string, StoredTensor>,
    private readonly hub: HubArchitecture,
    private readonly content: { quantization: Quantization | null; factors: Readonly<Record<string, RowFactors>> },
  ) {
    const { token_embd: embedding } = { ...outerModules, ...hub.outer };
    this.prefix = prefixes.find((each) => stored.has(`${each}${embedding}.weight`)) ?? 'model.';
    this.head = heads.find((each) => stored.has(`${each}.weight`)) ?? 'lm_head';
    this.unread = new Set(stored.keys());
  }

  translate({ layers, kinds, dense, guessing, experts, stackedOuter, head }: Layout): Map<string, SourceTensor> {
    for (const [name, module] of Object.entries(this.hub.outer ?? outerModules))
      this.add(name, `${this.prefix}${module}`);
    for (const [name, module] of Object.entries(this.hub.optionalOuter ?? {})) {
      if (this.stored.has(`${this.prefix}${module}.weight`)) this.add(name, `${this.prefix}${module}`);
    }
    for (const [name, list] of Object.entries(this.hub.stackedOuter?.lists ?? {})) {
      const matrices = Array.from({ length: stackedOuter }, (_, index) =>
        this.matrix(`${this.prefix}${list}.${index}`),
      );
      this.translated.set(`${name}.weight`, new ExpertTensor(matrices));
    }
    if (head === 'score') this.translated.set(scoreTensor, new FloatTensor(this.require(scoreWeight)));
    if (head === 'stored' || (head === 'if-stored' && this.stored.has(`${this.head}.weight`))) {
      this.add('output', this.head);
    } else this.unread.delete(`${this.head}.weight`);
    for (let layer = 0; layer < layers; layer++)
      this.addLayer(layer, kinds[layer], this.hasExperts(layer, kinds[layer], dense) ? experts : 0);
    this.refuseUnread(guessing > 0 ? layers : Infinity);
    return this.translated;
  }

  private hasExperts(layer: number, kind: string | undefined, dense: number): boolean {
    return this.hub.kinds?.withExperts?.includes(kind ?? '') ?? layer >= dense;
  }

  private addLayer(layer: number, kind: string | undefined, experts: number): void {
    const inLayer = (module: string): string => `${this.prefix}layers.${layer}.${module}`;
    const modules = {
      ...this.hub.layer,
      ...(experts > 0 ? this.hub.expertLayer : this.hub.denseLayer),
      ...(kind === undefined ? {} : this.hub.kinds?.modules[kind]),
    };
    for (const [name, module] of Object.entries(modules)) this.add(`blk.${layer}.${name}`, inLayer(module));
    for (const [name, module] of Object.entries(this.hub.optional ?? {})) {
      if (this.stored.has(`${inLayer(module)}.weight`)) this.add(`blk.${layer}.${name}`, inLayer(module));
    }
    for (const [name, parameter] of Object.entries(this.hub.parametersOfLayer ?? {})) {
      this.translated.set(`blk.${layer}.${name}.weight`, new FloatTensor(this.require(inLayer(parameter))));
    }
    for (const name of (kind !== undefined && this.hub.kinds?.unneeded?.[kind]) || [])
      this.unread.delete(inLayer(name));
    const parameters = kind === undefined ? {} : this.hub.kinds?.parameters?.[kind];
    for (const [name, { name: parameter, change }] of Object.entries(parameters ?? {})) {
      this.translated.set(`blk.${layer}.${name}`, new FloatTensor(this.require(inLayer(parameter)), change));
    }
    for (const [name, parameter] of Object.entries((experts > 0 && this.hub.parametersOfExperts) || {})) {
      this.translated.set(`blk.${layer}.${name}`, new FloatTensor(this.require(inLayer(parameter))));
    }
    if (this.hub.stackedExperts !== undefined) this.addStackedExperts(layer, inLayer(this.hub.stackedExperts));
    if (this.hub.transposedExperts && experts > 0)
      this.addTransposedExperts(layer, inLayer(this.hub.transposedExperts));
    if (!this.hub.experts || experts === 0) return;
    const { list, parts } = this.hub.experts;
    if (this.hub.selectionBias !== undefined) {
      const bias = new FloatTensor(this.require(inLayer(this.hub.selectionBias)));
      this.translated.set(`blk.${layer}.exp_probs_b.bias`, bias);
    }
    const optionalBias = this.hub.optionalSelectionBias && this.take(inLayer(this.hub.optionalSelectionBias));
    if (optionalBias) this.translated.set(`blk.${layer}.exp_probs_b.bias`, new FloatTensor(optionalBias));
    const stacked = this.hub.experts.stacked ?? { gateAndUp: 'gate_up_proj', down: 'down_proj' };
    if (this.stored.has(inLayer(`${list}.${stacked.gateAndUp}`))) {
      return this.addFusedExperts(layer, inLayer(list), stacked);
    }
    for (const [name, part] of Object.entries(parts)) {
      const matrices = Array.from({ length: experts }, (_, expert) =>
        this.matrix(inLayer(`${list}.${expert}.${part}`)),
      );
      this.translated.set(`blk.${layer}.${name}.weight`, new ExpertTensor(matrices));
    }
  }

  /** Experts in one tensor, with the outputs of gate and up one after the other. */
  private addFusedExperts(layer: number, list: string, names: { gateAndUp: string; down: string }): void {
    const gateAndUp = this.require(`${list}.${names.gateAndUp}`);
    const half = Math.floor((gateAndUp.entry.shape[1] ?? 0) / 2);
    const down = this.require(`${list}.${names.down}`);
    const matrices: [string, SourceTensor][] = [
      ['ffn_gate_exps', new SlicedExperts(gateAndUp, { first: 0, rows: half })],
      ['ffn_up_exps', new SlicedExperts(gateAndUp, { first: half, rows: half })],
      ['ffn_down_exps', new SlicedExperts(down, { first: 0, rows: down.entry.shape[1] ?? 0 })],
    ];
    for (const [name, matrix] of matrices) this.translated.set(`blk.${layer}.${name}.weight`, matrix);
  }

  private addTransposedExperts(layer: number, module: string): void {
    const gateAndUp = this.require(`${module}.gate_up_proj`);
    const rows = Math.floor((gateAndUp.entry.shape[2] ?? 0) / 2);
    const matrices: [string, SourceTensor][] = [
      ['ffn_gate_exps', new TransposedExperts(gateAndUp, { first: 0, step: 1, rows })],
      ['ffn_up_exps', new TransposedExperts(gateAndUp, { first: rows, step: 1, rows })],
      ['ffn_down_exps', new TransposedExperts(this.require(`${module}.down_proj`), { first: 0, step: 1 })],
    ];
    for (const [name, matrix] of matrices) this.translated.set(`blk.${layer}.${name}.weight`, matrix);
  }

  private addStackedExperts(layer: number, module: string): void {
    const matrices: [name: string, parameter: string, turn: Turn][] = [
      ['ffn_gate_exps', 'gate_up_proj', { first: 0, step: 2 }],
      ['ffn_up_exps', 'gate_up_proj', { first: 1, step: 2 }],
      ['ffn_down_exps', 'down_proj', { first: 0, step: 1 }],
    ];
    for (const [name, parameter, turn] of matrices) {
      const stem = `${module}.${parameter}`;
      const floats = this.take(stem);
      const weight = floats
        ? new TransposedExperts(floats, turn)
        : new Mxfp4Experts(this.require(`${stem}_blocks`), this.require(`${stem}_scales`), turn);
      this.translated.set(`blk.${layer}.${name}.weight`, weight);
      this.translated.set(`blk.${layer}.${name}.bias`, new TurnVectors(this.require(`${stem}_bias`), turn));
    }
  }

  private add(name: string, module: string): void {
    const { gainsFromOne, wholeGain } = this.hub;
    const isFromOne = gainsFromOne && name.endsWith('norm') && name.split('.').at(-1) !== wholeGain;
    const weight = this.matrix(module, isFromOne ? (gain) => gain + 1 : undefined);
    const factors = this.content.factors[name.replace(/^blk\.\d+\./, '')];
    this.translated.set(`${name}.weight`, factors === undefined ? weight : scaledTensor(weight, factors));
    const bias = this.take(`${module}.bias`);
    if (bias) this.translated.set(`${name}.bias`, new FloatTensor(bias));
  }

  private matrix(module: string, change?: (value: number) => number): SourceTensor {
    const { quantization } = this.content;
    const coded = quantization && findCodedWeight(this, module, quantization);
    return coded ?? new FloatTensor(this.require(`${module}.weight`), change);
  }

  typeOf(name: string): string | undefined {
    return this.stored.get(name)?.entry.dtype;
  }

  require(name: string): StoredTensor {
    const found = this.take(name);
    if (found) return found;
    const shards = new Set([...this.stored.values()].map(({ file }) => file.name));
    const [first = 'model.safetensors'] = shards;
    throw invalidFile(shards.size > 1 ? 'model.safetensors.index.json' : first, `it has no tensor ${name}`);
  }

  take(name: string): StoredTensor | undefined {
    this.unread.delete(name);
    return this.stored.get(name);
  }

  /**
   * For example a bias that the graph leaves out: the model would run with wrong results. Layers from `firstAhead` on
   * guess further tokens.
   */
  private refuseUnread(firstAhead: number): void {
    const start = `${this.prefix}layers.`;
    const layerOf = (name: string) => (name.startsWith(start) ? Number.parseInt(name.slice(start.length)) : -1);
    const isUncounted = (name: string) =>
      uncountedTensors.test(name) ||
      (this.content.quantization !== null && activationTensors.test(name)) ||
      this.hub.unneeded?.test(name) === true ||
      layerOf(name) >= firstAhead;
    const unread = [...this.unread].filter((name) => !isUncounted(name));
    const [first] = unread;
    if (first === undefined) return;
    const more = unread.length > maxNamed ? ` and ${unread.length - maxNamed} more` : '';
    const names = unread.slice(0, maxNamed).map(quoted).join(', ');
    const fileName = this.stored.get(first)?.file.name ?? 'model.safetensors';
    throw invalidFile(fileName, `it has tensors that nothing here computes with: ${names}${more}`);
  }
}

const maxNamed = 5;
