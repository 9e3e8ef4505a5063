import type { TextRewriter } from '#gateway';
import type { HttpExchange } from '#platform/http';
import { callerOf } from '#platform/http';
import { enhancementNano, enhancementUnit, type ImageUnits } from '../contract/index.js';

/** A prompt that may be rewritten. */
export interface PromptOptions {
  prompt: string;
  /** The request's `enhance_prompt`. */
  wanted: boolean | undefined;
  /** Whether the prompt describes a new image or a change to one. */
  kind: 'generate' | 'edit';
  safeMode: boolean;
  /** Maximum characters that the model takes. */
  maxCharacters: number;
}

/** The prompt to use, and the units that rewriting it adds. */
export interface UsedPrompt {
  prompt: string;
  units: ImageUnits;
  /** Sets the header with the rewritten prompt; call it once the images, which pay for it, are made. */
  announce: () => void;
}

const deadlineMs = 30_000;
const tasks = {
  generate:
    'Rewrite the description of an image that the user sends so that an image model makes a better image of it: name subject, setting, light and style.',
  edit: 'Rewrite the request to change an image that the user sends so that an image model understands exactly what to change and what to keep.',
} as const;
const manner = 'Keep the meaning and the language. Answer with the new text alone, in at most 80 words.';
const modesty = 'Keep it suitable for all ages.';

/** Rejects with `INVALID_REQUEST` if a rewriting is wanted and no served model can do it. */
export async function requireEnhancer(
  rewriter: Pick<TextRewriter, 'requireModel'>,
  { request }: Pick<HttpExchange, 'request'>,
  wanted: boolean | undefined,
): Promise<void> {
  if (wanted === true) {
    await rewriter.requireModel({ caller: callerOf(request), headers: request.headers }, 'enhance_prompt');
  }
}

/** Rewrites a prompt on request. If that fails, the prompt stays as it is at no cost. */
export async function enhancePrompt(
  rewriter: Pick<TextRewriter, 'rewrite'>,
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

/** Cuts between characters. */
function truncated(text: string, maxCharacters: number): string {
  return [...text].slice(0, maxCharacters).join('').toWellFormed();
}
