import { PlatformError } from '#common';
import type { SamplingOptions } from '../contract/text-generation.js';
import type { TextTokenizer } from '../text/index.js';

type KnownTokens = Pick<TextTokenizer, 'has'>;

/** Throws `INVALID_REQUEST` for a token id of a prompt that the tokenizer does not have. */
export function checkTokenIds(tokenizer: KnownTokens, ids: readonly number[], param: string): void {
  const unknown = ids.find((id) => !tokenizer.has(id));
  if (unknown === undefined) return;
  const text = `${param} holds the token ${unknown}, which this model's tokenizer does not have.`;
  throw new PlatformError('INVALID_REQUEST', text, param);
}

/** Throws `INVALID_REQUEST` for the bias of a token that the tokenizer does not have. */
export function checkBiases(tokenizer: KnownTokens, { logitBias = {} }: SamplingOptions): void {
  const unknown = Object.keys(logitBias).find((id) => !tokenizer.has(Number(id)));
  if (unknown === undefined) return;
  const text = `logit_bias names the token ${unknown}, which this model's tokenizer does not have.`;
  throw new PlatformError('INVALID_REQUEST', text, `logit_bias.${unknown}`);
}
