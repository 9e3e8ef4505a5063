import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type JobUsage, noTokens, PlatformError } from '#common';
import type { JobQuote, PriceList } from '#billing';
import type { AdmissionService, JobsService, OpenRequest } from '#jobs';
import { JobRunner, type ModelResolver, type RewriteOptions, StoreBudgets } from '#gateway';
import type { ChatJobPayload } from '#modalities/chat/contract';
import { exampleManifest } from '#test/example-manifest';
import { ChatTextRewriter } from './chat-text-rewriter.js';

const usage: JobUsage = { ...noTokens };
const said = (text: string, channel = 'content') => ({ type: 'text-delta', index: 0, channel, text });
const done = { type: 'job-finished', usage };

/** A platform whose default chat model returns these events. */
async function rewrite(events: object[], changes: { offline?: boolean; refusal?: PlatformError } = {}) {
  const admitted: OpenRequest[] = [];
  const warnings: object[] = [];
  const models = {
    resolve: async () => ({ manifest: exampleManifest({ id: 'chat' }), offline: changes.offline ?? false }),
  } as unknown as ModelResolver;
  const prices = {
    current: async () => ({ id: 7n, modelId: 'chat', pricing: { input: { usd: 1, diem: 1 } } }),
  } as unknown as PriceList;
  const open = () => Object.assign(Readable.from(events), { close: () => undefined, fail: () => undefined });
  const budgets = new StoreBudgets(60_000);
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
    { watch: () => ({ lost: new AbortController().signal, release: () => undefined }) },
    { expired: new AbortController().signal },
    budgets,
    { warn: () => undefined },
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
  const rewriter = new ChatTextRewriter(models, prices, budgets, runner, { site: 'TST' }, logger as never);
  const text = await rewriter.rewrite('a bird', options);
  return { text, admitted, warnings };
}

describe('rewriting a text', () => {
  it('is a free chat job that adds to the reservation of the charged request', async () => {
    const { text, admitted } = await rewrite([said('hm', 'reasoning'), said(' a red'), said(' bird\n'), done]);
    expect(text).toBe('a red bird');
    const [job] = admitted;
    expect(job).toMatchObject({ modelId: 'chat', deadlineMs: 1_000, replyTo: 'here', stream: false });
    expect(job?.requestId).toMatch(/-TST$/);
    const { messages } = (job?.payload ?? {}) as ChatJobPayload;
    expect(messages.map(({ content }) => content)).toEqual(['Rewrite it.', 'a bird']);
    const quote = job?.quote as JobQuote;
    expect([quote.amountNano, quote.price]).toEqual([40n, { id: 7n, modelId: 'chat', pricing: null }]);
  });

  it('returns null when no chat model is online, the text is empty or the chat is refused', async () => {
    expect((await rewrite([], { offline: true })).text).toBeNull();
    expect((await rewrite([said('  '), done])).text).toBeNull();
    const refusal = new PlatformError('MODEL_AT_CAPACITY', 'Full.');
    const refused = await rewrite([], { refusal });
    expect(refused.text).toBeNull();
    expect(refused.warnings).toEqual([{ error: refusal }]);
  });
});
