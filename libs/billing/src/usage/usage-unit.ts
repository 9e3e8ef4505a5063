/** The unit that analytics count a model in. */
export type UnitType = 'tokens' | 'images' | 'chars' | 'minutes' | 'seconds';

/** Names of model types in analytics. */
export type AnalyticsModelType = 'LLM' | 'IMAGE' | 'TTS' | 'ASR' | 'VIDEO';

const modelTypes: Record<string, AnalyticsModelType> = {
  text: 'LLM',
  image: 'IMAGE',
  inpaint: 'IMAGE',
  upscale: 'IMAGE',
  tts: 'TTS',
  asr: 'ASR',
  video: 'VIDEO',
};

const unitTypes: Record<string, UnitType> = {
  text: 'tokens',
  embedding: 'tokens',
  rerank: 'tokens',
  image: 'images',
  inpaint: 'images',
  upscale: 'images',
  tts: 'chars',
  asr: 'seconds',
  video: 'seconds',
  music: 'seconds',
};

/** The last word of a SKU is the unit of its price. */
const units: Record<string, { unitType: UnitType; scale: number }> = {
  mtoken: { unitType: 'tokens', scale: 1_000_000 },
  mcharacter: { unitType: 'chars', scale: 1_000_000 },
  mchar: { unitType: 'chars', scale: 1_000_000 },
  kcharacter: { unitType: 'chars', scale: 1_000 },
  kchar: { unitType: 'chars', scale: 1_000 },
  character: { unitType: 'chars', scale: 1 },
  second: { unitType: 'seconds', scale: 1 },
  minute: { unitType: 'minutes', scale: 1 },
  // Searches of a chat have no unit in analytics, only a price: they count as no tokens.
  request: { unitType: 'tokens', scale: 0 },
};

/** Returns null for types that have no analytics name. */
export function analyticsModelType(type: string | undefined): AnalyticsModelType | null {
  return modelTypes[type ?? ''] ?? null;
}

/** Returns the kind of unit of a SKU, and how many single units (tokens, characters) one unit of its price is. */
export function unitOf(sku: string, modelType: string | undefined): { unitType: UnitType; scale: number } {
  const word = sku.slice(sku.lastIndexOf('-') + 1);
  return units[word] ?? { unitType: unitTypes[modelType ?? ''] ?? 'tokens', scale: 1 };
}

const families = new Set(['llm', 'embedding', 'rerank', 'image', 'tts', 'asr', 'music', 'video']);

/** Returns the part of a SKU besides model, family and unit: `input` of `some-model-llm-input-mtoken`. */
export function partOf(sku: string, modelId: string): string {
  const rest = sku.startsWith(`${modelId}-`) ? sku.slice(modelId.length + 1) : sku;
  const words = rest.split('-');
  const last = words.at(-1) ?? '';
  if (words.length > 1 && (last === 'unit' || Object.hasOwn(units, last))) words.pop();
  if (words.length > 1 && families.has(words[0] ?? '')) words.shift();
  return words.join('-');
}
