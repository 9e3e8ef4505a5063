import { JobQuote } from '#billing';
import { newRequestId } from '#common';
import { type InferenceServices, type RewriteOptions, runRequest } from '#gateway';
import { type ChatEvent, chatJob, type ChatJobPayload } from '#modalities/chat/contract';
import type { Logger } from '#platform/logging';

const defaultModel = 'default';
/** An answer has to fit into a header, too. */
const maxTokens = 256;

/** What rewriting needs of its process. */
export interface RewriteDependencies {
  services: InferenceServices;
  /** Site code of the request ids. */
  site: string;
  logger: Pick<Logger, 'warn'>;
}

/**
 * Has the default chat model rewrite a text. The job is free: who asked for it charges it with its own work. Null when
 * no such model is there, when it fails, when it is late, and when it has nothing to say.
 */
export async function rewriteText(
  parts: RewriteDependencies,
  text: string,
  options: RewriteOptions,
): Promise<string | null> {
  try {
    return await runRewrite(parts, text, options);
  } catch (error) {
    if (!options.disconnected.aborted) parts.logger.warn({ error }, 'a text was not rewritten');
    return null;
  }
}

async function runRewrite(
  { services, site }: RewriteDependencies,
  text: string,
  { instruction, caller, headers, disconnected, deadlineMs, holdNano }: RewriteOptions,
): Promise<string | null> {
  const { manifest, offline } = await services.resolve(defaultModel, 'text', { headers, caller });
  if (offline) return null;
  const price = await services.price(manifest.id);
  const payload: ChatJobPayload = {
    messages: [
      { role: 'system', content: instruction },
      { role: 'user', content: text },
    ],
    sampling: { temperature: 0.7 },
    n: 1,
    maxTokens: Math.min(maxTokens, manifest.maxCompletionTokens ?? maxTokens),
    stop: [],
    stopTokenIds: [],
    topLogprobs: null,
    enableThinking: false,
    stripThinking: true,
  };
  const job = {
    requestId: newRequestId(site),
    caller,
    definition: chatJob,
    modelId: manifest.id,
    payload,
    quote: new JobQuote(holdNano, { ...price, pricing: null }),
    deadlineMs,
  };
  let written = '';
  await runRequest<ChatEvent>(services, job, {
    disconnected,
    onEvent: (event) => {
      if (event.type === 'text-delta' && event.channel === 'content') written += event.text;
    },
  });
  return written.trim() === '' ? null : written.trim();
}
