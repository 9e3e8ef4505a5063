import { invalidField } from '#gateway';
import type { ChatJobPrompt } from '../../contract/chat.job.js';
import { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { CompletionPrompt, CompletionRequest } from '../../contract/completions/completion.request.js';
import type { RawPrompts } from '../job/chat.normalizer.js';

/** A text completion as a chat request without messages, and the texts to continue. */
export interface TranslatedCompletion {
  chat: ChatCompletionRequest;
  raw: RawPrompts;
}

/** OpenAI's default, which its clients rely on. */
const defaultMaxTokens = 16;

/** Throws `INVALID_REQUEST` naming what this service does not support. */
export function translateCompletion(request: CompletionRequest): TranslatedCompletion {
  refuseUnsupported(request);
  const { model, stream, stream_options, n, stop, stop_token_ids, prompt_cache_key, logit_bias } = request;
  const { temperature, top_p, top_k, min_p, frequency_penalty, presence_penalty, repetition_penalty, seed } = request;
  const logprobs = request.logprobs ?? null;
  const chat = Object.assign(new ChatCompletionRequest(), {
    ...{ model, messages: [], stream, stream_options, n, stop, stop_token_ids, prompt_cache_key, logit_bias },
    ...{ temperature, top_p, top_k, min_p, frequency_penalty, presence_penalty, repetition_penalty, seed },
    ...(logprobs === null ? {} : { logprobs: true, top_logprobs: logprobs }),
    // The older field of chats means the default by 0.
    ...(request.max_tokens === 0
      ? { max_completion_tokens: 0 }
      : { max_tokens: request.max_tokens ?? defaultMaxTokens }),
  });
  return { chat, raw: { prompts: promptsOf(request.prompt), ...(request.echo === true ? { echo: true } : {}) } };
}

function refuseUnsupported(request: CompletionRequest): void {
  const { suffix, best_of: bestOf, n } = request;
  if ((suffix ?? '') !== '') {
    throw invalidField('suffix is not supported: no model here fills in the middle.', 'suffix', 'unsupported');
  }
  if ((bestOf ?? null) !== null && bestOf !== (n ?? 1)) {
    throw invalidField('best_of must be equal to n: every choice is returned.', 'best_of', 'unsupported');
  }
}

function promptsOf(prompt: CompletionPrompt): ChatJobPrompt[] {
  const items = isList(prompt) ? prompt : [prompt];
  return items.map((item, index) => {
    const param = isList(prompt) ? `prompt[${index}]` : 'prompt';
    return typeof item === 'string' ? { text: item, param } : { tokenIds: item, param };
  });
}

function isList(prompt: CompletionPrompt): prompt is string[] | number[][] {
  return Array.isArray(prompt) && typeof prompt[0] !== 'number';
}
