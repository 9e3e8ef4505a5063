import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type JobUsage, noTokens, PlatformError } from '#common';
import type { JobQuote, PriceList } from '#billing';
import type { AdmissionService, JobsService, OpenRequest } from '#jobs';
import { JobRunner, type ModelResolver, type RewriteOptions, StoreBudgets } from '#gateway';
import type { ChatJobPayload } from '#modalities/chat/contract';
import { exampleManifest } from '#test/example-manifest';
import { testDouble } from '#test/test-double';
import { ChatTextRewriter } from './chat-text-rewriter.js';

const usage: JobUsage = { ...noTokens };
const said = (text: string, channel = 'content') => ({ type: 'text-delta', index: 0, channel, text });
const done = { type: 'job-finished', usage };

interface Changes {
  offline?: boolean;
  /** No model has the trait. */
  missing?: boolean;
  refusal?: PlatformError;
}

/** A platform whose instructed chat model returns these events. */
async function rewrite(events: object[], changes: Changes = {}) {
  const admitted: OpenRequest[] = [];
  const warnings: object[] = [];
  const models = {
    resolve: async (name: string) => {
      if (changes.missing || name !== 'instruct') throw new PlatformError('MODEL_NOT_FOUND', 'None.');
      return { manifest: exampleManifest({ id: 'chat' }), offline: changes.offline ?? false };
    },
  } as unknown as ModelResolver;
  const prices = {
    current: async () => ({ id: 7n, modelId: 'chat', pricing: { input: { usd: 1, diem: 1 } } }),
  } as unknown as PriceList;
  const open = () => Object.assign(Readable.from(events), { close: () => undefined, fail: () => undefined });
  const budgets = new StoreBudgets({ storeTimeoutMs: 60_000 });
  const watch = () => ({ lost: new AbortController().signal, release: () => undefined });
  const runner = new JobRunner(
    {
      open: async (request: OpenRequest) => {
        if (changes.refusal) throw changes.refusal;
        admitted.push(request);
      },
    } as unknown as AdmissionService,
    {
      markStarted: () => undefined,
      markEnded: () => undefined,
      cancel: async () => undefined,
    } as unknown as JobsService,
    { replies: { open, address: 'here' } } as never,
    testDouble({ watch, watchReturn: watch, stateOf: () => 'ready', mayReturn: () => false }),
    testDouble({ expired: new AbortController().signal }),
    budgets,
    testDouble({ warn: () => undefined }),
  );
  const options: RewriteOptions = {
    instruction: 'Rewrite it.',
    caller: {} as RewriteOptions['caller'],
    headers: {},
    disconnected: new AbortController().signal,
    deadlineMs: 1_000,
    reservedNano: 40n,
  };
  const logger = { warn: (context: object) => void warnings.push(context) };
  const config = { site: 'TST', secretKey: '5c'.repeat(32), prefixCacheScope: 'account' } as const;
  const rewriter = new ChatTextRewriter(models, prices, budgets, runner, testDouble(config), logger as never);
  const text = await rewriter.rewrite('a bird', options);
  const required = await rewriter.requireModel(options, 'enhance_prompt').catch((error: unknown) => error);
  return { text, admitted, warnings, required };
}

describe('rewriting a text', () => {
  it('is a free chat job that adds to the reservation of the charged request', async () => {
    const { text, admitted } = await rewrite([said('hm', 'reasoning'), said(' a red'), said(' bird\n'), done]);
    expect(text).toBe('a red bird');
    const [job] = admitted;
    expect(job).toMatchObject({ modelId: 'chat', deadlineMs: 1_000, replyTo: 'here', stream: false });
    expect(job?.requestId).toMatch(/-TST$/);
    const { messages, cacheScope } = (job?.payload ?? {}) as ChatJobPayload;
    // Whether another account asked for the same image must not show.
    expect(cacheScope).toMatch(/^[0-9a-f]{32}$/);
    expect(messages.map(({ content }) => content)).toEqual(['Rewrite it.', 'a bird']);
    const quote = job?.quote as JobQuote;
    expect([quote.amountNano, quote.price]).toEqual([40n, { id: 7n, modelId: 'chat', pricing: null }]);
  });

  it('returns null when no chat model is online, the text is empty or the chat is refused', async () => {
    expect((await rewrite([], { offline: true })).text).toBeNull();
    expect(await rewrite([], { missing: true })).toMatchObject({ text: null, warnings: [] });
    expect((await rewrite([said('  '), done])).text).toBeNull();
    const refusal = new PlatformError('MODEL_AT_CAPACITY', 'Full.');
    const refused = await rewrite([], { refusal });
    expect(refused.text).toBeNull();
    expect(refused.warnings).toEqual([{ error: refusal }]);
  });

  it('needs a served model that follows instructions', async () => {
    expect((await rewrite([])).required).toBeUndefined();
    for (const changes of [{ offline: true }, { missing: true }]) {
      const { required } = await rewrite([], changes);
      expect(required).toMatchObject({ code: 'INVALID_REQUEST', param: 'enhance_prompt' });
    }
  });
});
