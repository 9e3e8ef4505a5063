import { invalidFile } from '../convert/invalid-file.js';

export const configFile = 'adapter_config.json';

/** What `adapter_config.json` says about a LoRA. */
export interface PeftConfig {
  /** The model that it was trained for, as its author named it; null if it does not say. */
  baseName: string | null;
  /** Returns the rank that a module should have, and the factor of its product. */
  scaleOf(module: string): { rank: number; scale: number };
}

/** Settings under which the product is something else than `B(A(x))`, or more than it. */
const unsupported: Readonly<Record<string, string>> = {
  use_dora: 'DoRA scales the weights of its base',
  modules_to_save: 'it replaces whole modules',
  lora_bias: 'its matrices have biases',
  fan_in_fan_out: 'its matrices are transposed',
  layer_replication: 'it repeats layers of its base',
  trainable_token_indices: 'it changes embeddings of tokens',
  target_parameters: 'it changes parameters that are no linear layers',
  use_qalora: 'QA-LoRA groups its inputs',
  use_bdlora: 'BD-LoRA has blocks of matrices',
  alora_invocation_tokens: 'it is active from certain tokens on',
  megatron_config: 'it is for Megatron',
  arrow_config: 'it chooses among adapters for each token',
  kasa_config: 'KaSA scales singular values',
  monteclora_config: 'MonteCLoRA samples its matrices',
};

/** Ways to begin a training that leave the base as it is. The others train against a changed base. */
const initialisations: ReadonlySet<unknown> = new Set([undefined, null, true, false, 'gaussian', 'eva', 'orthogonal']);

const maxRank = 1024;

/** Reads the settings. Throws `INVALID_MODEL` naming the setting for adapters that are computed in another way. */
export function readPeftConfig(values: Record<string, unknown>): PeftConfig {
  const refuse = (reason: string) => invalidFile(configFile, reason);
  const { peft_type: type, task_type: task, bias = 'none', init_lora_weights: start } = values;
  if (type !== 'LORA') throw refuse(`its peft_type is ${shown(type)}; only LORA is served`);
  if (task !== undefined && task !== null && task !== 'CAUSAL_LM') {
    throw refuse(`its task_type is ${shown(task)}; only CAUSAL_LM is served`);
  }
  for (const [name, reason] of Object.entries(unsupported)) {
    if (isSet(values[name])) throw refuse(`${name} is set, and ${reason}`);
  }
  if (bias !== 'none') throw refuse(`bias is ${shown(bias)}; only none is served`);
  if (!initialisations.has(start)) {
    const way = 'save it again with path_initial_model_for_weight_conversion';
    throw refuse(`init_lora_weights is ${shown(start)}, which changes the weights of the base; ${way}`);
  }
  const rank = positive(values, 'r');
  if (rank > maxRank || !Number.isInteger(rank)) throw refuse(`r must be a whole number up to ${maxRank}`);
  const ranks = readPattern(values, 'rank_pattern');
  const alphas = readPattern(values, 'alpha_pattern');
  const alpha = positive(values, 'lora_alpha');
  const isRootScaled = values['use_rslora'] === true;
  const { base_model_name_or_path: baseName } = values;
  return {
    baseName: typeof baseName === 'string' && baseName !== '' ? baseName : null,
    scaleOf: (module) => {
      const moduleRank = find(ranks, module) ?? rank;
      return {
        rank: moduleRank,
        scale: (find(alphas, module) ?? alpha) / (isRootScaled ? Math.sqrt(moduleRank) : moduleRank),
      };
    },
  };
}

function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return false;
  return !(Array.isArray(value) && value.length === 0);
}

function positive(values: Record<string, unknown>, name: string): number {
  const value = values[name];
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  throw invalidFile(configFile, `${name} is ${shown(value)}, not a number above 0`);
}

/** Values of some modules, by the end of their names. */
function readPattern(values: Record<string, unknown>, name: string): [module: string, value: number][] {
  const pattern = values[name] ?? {};
  if (typeof pattern !== 'object' || Array.isArray(pattern)) throw invalidFile(configFile, `${name} is no object`);
  return Object.keys(pattern).map((key) => {
    if (!/^\^?[\w.]+$/.test(key)) {
      throw invalidFile(configFile, `${name} has the expression ${shown(key)}; only names of modules are read`);
    }
    return [key, positive(pattern as Record<string, unknown>, key)];
  });
}

function find(pattern: readonly [string, number][], module: string): number | undefined {
  const matches = (key: string) =>
    key.startsWith('^') ? module === key.slice(1) : module === key || module.endsWith(`.${key}`);
  return pattern.find(([key]) => matches(key))?.[1];
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'missing').slice(0, 80);
}
