import { contextOverflow } from '#common';
import type { ChatJobPayload } from '../../contract/chat.job.js';
import { promptBytes } from '../../contract/chat.meter.js';

/**
 * No vocabulary has longer tokens. A prompt beyond the context by this measure is rejected before megabytes travel to a
 * worker, which counts the exact tokens of the others.
 */
const longestTokenBytes = 256;

/** Bytes that no prompt of this many tokens exceeds. */
export function maxPromptBytes(contextLength: number): number {
  return contextLength * longestTokenBytes;
}

/** Throws `TOO_MANY_TOKENS` for a prompt that cannot fit. */
export function checkPromptLength(
  { messages = [], prompts = [], sealing, ...tools }: Partial<ChatJobPayload>,
  contextLength: number,
): void {
  const counted = `more than ${contextLength}`;
  if (promptBytes({ ...tools, messages, sealing }) > maxPromptBytes(contextLength))
    throw contextOverflow(contextLength, { counted });
  for (const { text = '', tokenIds = [], param } of prompts) {
    const isTooLong = Buffer.byteLength(text) > maxPromptBytes(contextLength) || tokenIds.length > contextLength;
    if (isTooLong) throw contextOverflow(contextLength, { counted, param });
  }
}
