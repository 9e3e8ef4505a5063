import { invalidFile } from '../convert/invalid-file.js';
import type { HubArchitecture } from '../convert/safetensors/hub-architectures.js';
import type { SafetensorsEntry } from '../convert/safetensors/safetensors-header.js';
import type { AdaptedPart, Projection } from './base-graph.js';

/** The two matrices of one module: `[rank, inputs]` and `[outputs, rank]`. */
export interface ModuleMatrices {
  /** As in the base model: `model.layers.0.self_attn.q_proj`. */
  module: string;
  a: SafetensorsEntry;
  b: SafetensorsEntry;
  rank: number;
  /** Projections of the base whose outputs the module has, one after the other. */
  targets: Projection[];
}

/** Projections by the GGUF names of modules. */
const partsOf: Readonly<Record<string, readonly AdaptedPart[]>> = {
  attn_q: ['query'],
  attn_k: ['key'],
  attn_v: ['value'],
  attn_qkv: ['query', 'key', 'value'],
  attn_output: ['attention_output'],
  ffn_gate: ['gate'],
  ffn_up: ['up'],
  ffn_down: ['down'],
};

const namePattern = /^base_model\.model\.(.+)\.lora_([AB])(?:\.default)?\.weight$/;
/** The decoder alone, or in a model that sees. */
const layerPattern = /^(?:model\.|language_model\.model\.|model\.language_model\.)?layers\.(\d{1,5})\.(.+)$/;

const reasons: readonly [RegExp, string][] = [
  [/lora_magnitude_vector/, 'a scale of DoRA, which is not served'],
  [/lora_embedding_/, 'of embeddings, which adapters may not change here'],
  [/(?:embed_tokens|lm_head)/, 'of embeddings or output layer, which adapters may not change here'],
  [/\.bias$/, 'a bias, which adapters may not have here'],
];

export interface AdaptedBase {
  hub: HubArchitecture;
  /** Class in the base's `config.json`. */
  className: string;
  projections: ReadonlyMap<string, Projection>;
}

/**
 * Assigns the tensors of an adapter to the projections of its base. Fails with `INVALID_MODEL` naming the tensor for
 * anything else, and for matrices whose sizes do not fit.
 */
export function assignTensors(
  fileName: string,
  entries: ReadonlyMap<string, SafetensorsEntry>,
  base: AdaptedBase,
): ModuleMatrices[] {
  // The factors would be missing from what an adapter adds.
  if (base.hub.factors) throw invalidFile(fileName, `its base is a ${base.className}, which takes no adapters here`);
  const modules = new Map<string, { A?: SafetensorsEntry; B?: SafetensorsEntry; targets: Projection[] }>();
  for (const [name, entry] of entries) {
    const [, module, side] = namePattern.exec(name) ?? [];
    if (module === undefined || side === undefined)
      throw invalidFile(fileName, `its tensor ${name} is ${kindOf(name)}`);
    const targets = modules.get(module)?.targets ?? targetsOf(fileName, { module, name }, base);
    modules.set(module, { ...modules.get(module), [side]: entry, targets });
  }
  if (modules.size === 0) throw invalidFile(fileName, 'it has no tensors');
  return [...modules].map(([module, { A: a, B: b, targets }]) => {
    if (!a || !b) throw invalidFile(fileName, `it has no ${a ? 'lora_B' : 'lora_A'} of ${module}`);
    return checkSizes(fileName, { module, a, b, rank: a.shape[0] ?? 0, targets });
  });
}

function kindOf(name: string): string {
  return reasons.find(([pattern]) => pattern.test(name))?.[1] ?? 'no LoRA matrix of a linear layer';
}

function targetsOf(
  fileName: string,
  { module, name }: { module: string; name: string },
  base: AdaptedBase,
): Projection[] {
  const [, layer, inner] = layerPattern.exec(module) ?? [];
  if (layer === undefined) throw invalidFile(fileName, `its tensor ${name} is ${kindOf(`${module}.`)}`);
  const parts = findParts(base.hub, inner ?? '');
  if (parts === null) {
    const known = Object.entries(modulesOf(base.hub)).flatMap(([part, name]) => (partsOf[part] ? [name] : []));
    const served = `adapters of ${base.className} may change ${known.join(', ')}`;
    throw invalidFile(fileName, `its tensor ${name} is of a module that is not served; ${served}`);
  }
  return parts.map((part) => {
    const found = base.projections.get(`layers.${Number(layer)}.${part}`);
    if (found) return found;
    const missing = base.projections.has(`layers.${Number(layer)}.query`)
      ? 'experts, which are not adapted'
      : 'no such layer';
    throw invalidFile(fileName, `its tensor ${name} fits no linear layer: the base has ${missing}`);
  });
}

/** Modules of all kinds of layers. */
function modulesOf({ layer, denseLayer, kinds }: HubArchitecture): Readonly<Record<string, string>> {
  return Object.assign({}, layer, denseLayer, ...Object.values(kinds?.modules ?? {})) as Record<string, string>;
}

function findParts(hub: HubArchitecture, module: string): readonly AdaptedPart[] | null {
  const layer = modulesOf(hub);
  const [name] = Object.entries(layer).find(([, tensor]) => tensor === module) ?? [];
  // A model with gates but no module of them stores both as one.
  if (name === 'ffn_up' && layer['ffn_gate'] === undefined) return ['gate', 'up'];
  return (name === undefined ? undefined : partsOf[name]) ?? null;
}

function checkSizes(fileName: string, matrices: ModuleMatrices): ModuleMatrices {
  const { a, b, rank, targets } = matrices;
  const inputs = targets[0]?.inputs ?? 0;
  const outputs = targets.reduce((sum, target) => sum + target.outputs, 0);
  const expected = [
    [a, [rank, inputs]],
    [b, [outputs, rank]],
  ] as const;
  for (const [{ name, shape }, sizes] of expected) {
    if (shape.join() === sizes.join() && rank > 0) continue;
    const wanted = `the base needs ${sizes.join(' × ')}`;
    throw invalidFile(fileName, `its tensor ${name} is ${shape.join(' × ')}, and ${wanted}; it may be of another base`);
  }
  return matrices;
}
