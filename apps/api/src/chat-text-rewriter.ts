import { Injectable } from '@nestjs/common';
import { PriceList } from '#billing';
import { PlatformError } from '#common';
import { JobRunner, ModelResolver, type RewriteOptions, StoreBudgets, TextRewriter } from '#gateway';
import { CacheScopes, writeFreely } from '#modalities/chat/api';
import type { ResolvedModel } from '#model-registry';
import { instructionTrait } from '#model-registry/manifest';
import { ApiConfig } from '#platform/config';
import { Logger } from '#platform/logging';

/** The text has to fit into a header, too. */
const maxTokens = 256;

/**
 * Rewrites a text with the best chat model that follows instructions. The job is free: the request it is for charges it
 * with its own work. Here and not in a slice, because slices do not know each other: images ask, chat answers.
 */
@Injectable()
export class ChatTextRewriter extends TextRewriter {
  private readonly cacheScopes: CacheScopes;

  constructor(
    private readonly models: ModelResolver,
    private readonly prices: PriceList,
    private readonly budgets: StoreBudgets,
    private readonly runner: JobRunner,
    private readonly config: ApiConfig,
    private readonly logger: Logger,
  ) {
    super();
    this.cacheScopes = new CacheScopes(config);
  }

  async requireModel(requester: Pick<RewriteOptions, 'caller' | 'headers'>, param: string): Promise<void> {
    const found = await this.find(requester);
    if (found !== null && !found.offline) return;
    const message = `${param} needs a chat model with the trait \`${instructionTrait}\`; none is served.`;
    throw new PlatformError('INVALID_REQUEST', message, param);
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

  /** Null if no model has the trait. */
  private async find({ headers, caller }: Pick<RewriteOptions, 'caller' | 'headers'>): Promise<ResolvedModel | null> {
    return await this.models.resolve(instructionTrait, 'text', { headers, caller }).catch((error: unknown) => {
      if (error instanceof PlatformError && error.code === 'MODEL_NOT_FOUND') return null;
      throw error;
    });
  }

  private async run(
    text: string,
    { instruction, caller, headers, disconnected, deadlineMs, reservedNano }: RewriteOptions,
  ): Promise<string | null> {
    const found = await this.find({ headers, caller });
    if (found === null || found.offline) return null;
    const { manifest } = found;
    const price = await this.budgets.of(undefined).within(this.prices.current(manifest.id));
    const written = await writeFreely(this.runner, {
      manifest,
      instruction,
      text,
      settings: {
        sampling: { temperature: 0.7 },
        maxTokens: Math.min(maxTokens, manifest.maxCompletionTokens ?? maxTokens),
        cacheScope: this.cacheScopes.labelOf(caller),
        // The instruction is the platform's own; the text is the caller's.
        platformCharacters: instruction.length,
      },
      price,
      reservedNano,
      site: this.config.site,
      caller,
      deadlineMs,
      disconnected,
    });
    return written.trim() === '' ? null : written.trim();
  }
}
