import type { HttpExchange, TextRewriter } from '#gateway';
import { callerOf } from '#platform/http';
import { enhancementNano, enhancementUnit, type ImageUnits } from '../contract/index.js';

/** A prompt that may be rewritten. */
export interface PromptOptions {
  prompt: string;
  /** What the caller sent as `enhance_prompt`. */
  wanted: boolean | undefined;
  /** What is made of it: a new picture or a change of one. */
  kind: 'generate' | 'edit';
  safeMode: boolean;
  /** Most characters the model takes. */
  maxCharacters: number;
}

/** The prompt to use, and what its rewriting adds to what is used. */
export interface UsedPrompt {
  prompt: string;
  units: ImageUnits;
  /** Tells the caller what was written; for when the pictures are there, which pay for it. */
  announce: () => void;
}

const deadlineMs = 30_000;
const tasks = {
  generate:
    'Rewrite the description of a picture that the user sends so that an image model makes a better picture of it: name subject, setting, light and style.',
  edit: 'Rewrite the wish to change a picture that the user sends so that an image model understands exactly what to change and what to keep.',
} as const;
const manner = 'Keep the meaning and the language. Answer with the new text alone, in at most 80 words.';
const modesty = 'Keep it suitable for all ages.';

/**
 * Rewrites a prompt where that is wished for. Where it cannot be done the prompt stays as it
 * is, at no cost (contract 5.7).
 */
export async function enhancePrompt(
  rewriter: TextRewriter,
  { request, reply, disconnected }: Pick<HttpExchange, 'request' | 'reply' | 'disconnected'>,
  { prompt, wanted, kind, safeMode, maxCharacters }: PromptOptions,
): Promise<UsedPrompt> {
  const written =
    wanted === true
      ? await rewriter.rewrite(prompt, {
          instruction: [tasks[kind], manner, ...(safeMode ? [modesty] : [])].join(' '),
          caller: callerOf(request),
          headers: request.headers,
          disconnected,
          deadlineMs,
          reservedNano: enhancementNano,
        })
      : null;
  if (written === null) return { prompt, units: {}, announce: () => undefined };
  const enhanced = truncated(written, maxCharacters);
  return {
    prompt: enhanced,
    units: { [enhancementUnit]: 1 },
    announce: () => void reply.header('x-service-enhanced-prompt', encodeURIComponent(enhanced)),
  };
}

/** Never half a character at the end. */
function truncated(text: string, maxCharacters: number): string {
  return [...text].slice(0, maxCharacters).join('').toWellFormed();
}
