import { ruleNamesOf } from '#platform/validation';
import { SamplingOptions } from '../../contract/chat.job.js';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ChatModel } from './chat.model.js';

/** Fields whose names are not the payload's in snake case. */
const otherNames: Partial<Record<string, keyof ChatCompletionRequest>> = {
  minTemperature: 'min_temp',
  maxTemperature: 'max_temp',
};

/** Every sampling option of the payload and its request field; the model's default has the same name. */
export const samplingFields = [...ruleNamesOf(SamplingOptions).keys()].map((option) => {
  const snakeCase = option.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { option, field: otherNames[option] ?? (snakeCase as keyof ChatCompletionRequest) };
});

export function samplingOf(request: ChatCompletionRequest, { constraints }: ChatModel): SamplingOptions {
  const defaults = (constraints ?? {}) as Partial<Record<string, { default: number }>>;
  const options = samplingFields.map(({ option, field }) => {
    const value = request[field] ?? defaults[field]?.default;
    // Clients send -1 for no bound, which is 0 here, and 0 for no seed.
    return [option, option === 'topK' && value === -1 ? 0 : value];
  });
  // Zero is a value, null is not.
  return Object.fromEntries(
    options.filter(([name, value]) => typeof value === 'number' && !(name === 'seed' && value === 0)),
  );
}

/**
 * `max_completion_tokens` takes precedence over `max_tokens`, of which zero or less is ignored. Without either the
 * model's limit applies, and the request is quoted at it.
 */
export function outputLimitOf(
  { max_completion_tokens: named, max_tokens: older }: ChatCompletionRequest,
  { maxCompletionTokens }: ChatModel,
): { maxTokens: number; /** Whether the client set it. */ boundsOutput: boolean } {
  if (typeof named === 'number') return { maxTokens: named, boundsOutput: true };
  const boundsOutput = (older ?? 0) > 0;
  return { maxTokens: boundsOutput ? (older ?? 0) : maxCompletionTokens, boundsOutput };
}

export function stopStrings(stop: ChatCompletionRequest['stop']): string[] {
  const strings = typeof stop === 'string' ? [stop] : (stop ?? []);
  // An empty string matches everywhere; other APIs ignore it too.
  return strings.filter((text) => text !== '');
}
