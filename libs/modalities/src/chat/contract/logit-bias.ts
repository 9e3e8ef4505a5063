/** Maximum number of tokens that one request biases. */
const maxEntries = 300;
const maxBias = 100;
const maxTokenId = 2 ** 31 - 1;

/** Biases by token id, as the request writes them. */
export type LogitBias = Record<string, number>;

/** JSON Schema of the field, in the OpenAPI document. */
export const logitBiasSchema = {
  type: 'object',
  additionalProperties: { type: 'number', minimum: -maxBias, maximum: maxBias },
  maxProperties: maxEntries,
};

/** Returns what is wrong, worded to follow the field's name; null for biases by token id. */
export function logitBiasProblem(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object';
  const entries = Object.entries(value as Record<string, unknown>);
  if (entries.length > maxEntries) return `must have at most ${maxEntries} entries`;
  const unknown = entries.find(([id]) => !/^\d{1,10}$/.test(id) || Number(id) > maxTokenId);
  if (unknown !== undefined) return `must have token ids as keys, unlike ${JSON.stringify(unknown[0].slice(0, 40))}`;
  const wrong = entries.find(([, bias]) => typeof bias !== 'number' || !(Math.abs(bias) <= maxBias));
  return wrong === undefined ? null : `must hold numbers from ${-maxBias} to ${maxBias}, unlike the one of ${wrong[0]}`;
}
