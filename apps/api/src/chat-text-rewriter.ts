import { Inject, Injectable } from '@nestjs/common';
import { JobQuote, PriceList } from '#billing';
import { newRequestId } from '#common';
import { JobRunner, ModelResolver, type RewriteOptions, StoreBudgets, TextRewriter } from '#gateway';
import { type ChatEvent, chatJob, type ChatJobPayload } from '#modalities/chat/contract';
import { ApiConfig } from '#platform/config';
import { Logger } from '#platform/logging';

const defaultModel = 'default';
/** The text has to fit into a header, too. */
const maxTokens = 256;

/**
 * Rewrites a text with the default chat model. The job is free: the request it is for charges it with its own work. Here
 * and not in a slice, because slices do not know each other: images ask, chat answers.
 */
@Injectable()
export class ChatTextRewriter extends TextRewriter {
  constructor(
    @Inject(ModelResolver) private readonly models: Pick<ModelResolver, 'resolve'>,
    @Inject(PriceList) private readonly prices: Pick<PriceList, 'current'>,
    @Inject(StoreBudgets) private readonly budgets: StoreBudgets,
    @Inject(JobRunner) private readonly runner: Pick<JobRunner, 'run'>,
    @Inject(ApiConfig) private readonly config: Pick<ApiConfig, 'site'>,
    @Inject(Logger) private readonly logger: Pick<Logger, 'warn'>,
  ) {
    super();
  }

  /** Null, too, when the job is late and when the model says nothing. */
  async rewrite(text: string, options: RewriteOptions): Promise<string | null> {
    try {
      return await this.run(text, options);
    } catch (error) {
      if (!options.disconnected.aborted) this.logger.warn({ error }, 'text rewrite failed');
      return null;
    }
  }

  private async run(
    text: string,
    { instruction, caller, headers, disconnected, deadlineMs, reservedNano }: RewriteOptions,
  ): Promise<string | null> {
    const { manifest, offline } = await this.models.resolve(defaultModel, 'text', { headers, caller });
    if (offline) return null;
    const price = await this.budgets.of(undefined).within(this.prices.current(manifest.id));
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
      requestId: newRequestId(this.config.site),
      caller,
      definition: chatJob,
      modelId: manifest.id,
      payload,
      quote: new JobQuote(reservedNano, { ...price, pricing: null }),
      deadlineMs,
      disconnected,
    };
    let written = '';
    await this.runner.run<ChatEvent>(job, (event) => {
      if (event.type === 'text-delta' && event.channel === 'content') written += event.text;
    });
    return written.trim() === '' ? null : written.trim();
  }
}
