import { PlatformError } from './platform-error.js';

/**
 * The error for a prompt that does not fit; the error filter adds OpenAI's code. Clients and gateways match the beginning
 * of its message. `counted`: the tokens of the prompt, as in "at least 900".
 */
export function contextOverflow(
  contextLength: number,
  { counted, param = 'messages' }: { counted: string; param?: string },
): PlatformError {
  const limit = `This model's maximum context length is ${contextLength} tokens.`;
  const found = `However, the prompt has ${counted} tokens, and at least one must be left for the response.`;
  return new PlatformError('TOO_MANY_TOKENS', `${limit} ${found}`, param);
}
