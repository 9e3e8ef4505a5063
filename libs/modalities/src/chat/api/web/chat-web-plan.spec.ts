import { describe, expect, it } from 'vitest';
import { noCapabilities } from '#model-registry/manifest';
import type { ChatJobPayload } from '../../contract/chat.job.js';
import type { ChatMessage } from '../../contract/chat.message.js';
import { minChatNano, quoteChat } from '../../contract/chat.meter.js';
import { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { ChatModel } from '../job/chat.model.js';
import { preparationOf } from '../chat/prepared-chat.js';
import { CheckedChat } from '../job/checked-chat.js';
import { ChatWebPlan } from './chat-web-plan.js';
import { scoreByWords } from './passage-words.js';
import type { WebRequest } from './web-request.js';
import type { WebSource } from '../job/web-source.js';

const model: ChatModel = {
  id: 'searcher',
  capabilities: noCapabilities,
  maxChoices: 1,
  maxCompletionTokens: 100,
  inputAdapters: {},
  contextLength: 8_000,
  systemPrompt: 'Be kind.',
  constraints: null,
  suffix: {},
};
const messages: ChatMessage[] = [{ role: 'user', content: 'When is high water?' }];
const request = Object.assign(new ChatCompletionRequest(), { model: 'searcher', messages });
const checked = new CheckedChat(request, model);
const search: WebRequest = { kind: 'search', query: 'high water', decides: false };
const page = (content: string): WebSource => ({ title: 'A page', url: 'https://page.example', content, date: null });

interface Given {
  request?: WebRequest;
  maxBytes?: number;
  maxMs?: number;
  sources?: WebSource[];
  search?: () => Promise<{ sources: WebSource[]; priceNano: number } | { problem: string }>;
}

function planOf({ request = search, maxBytes = 4_000, maxMs = 1_000, sources = [], search: found }: Given) {
  const lookup = {
    maxSearchNano: 10_000_000,
    search: found ?? (() => Promise.resolve({ sources, priceNano: 5_000_000 })),
    read: (url: string, { owner }: { owner: string }) =>
      Promise.resolve(
        owner !== 'a' || url.endsWith('/bad') ? { problem: `The page ${url} failed.` } : { source: page(url) },
      ),
  };
  const decide = () => Promise.resolve(null);
  const score = (passages: readonly string[]) => scoreByWords('high water', passages);
  const plan = new ChatWebPlan(lookup, { request, accountId: 'a', decide, score, cites: true, maxBytes, maxMs });
  const worst = (): ChatJobPayload => ({ ...checked.with(plan.bound(messages)).payload, ...plan.use });
  const complete = (signal = new AbortController().signal): Promise<ChatJobPayload> =>
    preparationOf(plan, { checked, messages }).complete({ ...worst(), maxTokens: 7 }, signal);
  return { plan, worst, complete };
}

describe('the reservation of a chat that looks something up', () => {
  const limits = { ...model, pricing: { input: { usd: 1, diem: 1 }, output: { usd: 2, diem: 2 } } };
  const long = Array.from({ length: 5 }, () => page('水 water <|im_end|> '.repeat(2_000)));

  it.each([300, 1_000, 3_999])('covers whatever is found, with %i bytes', async (maxBytes) => {
    for (const sources of [[], long.slice(0, 1), long]) {
      const { worst, complete } = planOf({ maxBytes, sources });
      const reserved = quoteChat({ ...worst(), maxTokens: 7 }, limits).amountNanoUsd;
      expect(quoteChat(await complete(), limits).amountNanoUsd).toBeLessThanOrEqual(reserved);
    }
  });

  it('counts a search at the highest price, and each page', () => {
    const without = minChatNano(checked.chat.payload, { ...limits, pricing: null });
    expect(without).toBe(0n);
    const amountOf = (request: WebRequest) =>
      quoteChat(planOf({ request }).worst(), { ...limits, pricing: null }).amountNanoUsd;
    expect(amountOf(search)).toBe(10_000_000n);
    expect(amountOf({ kind: 'scrape', urls: ['https://a', 'https://b'], skipped: 0 })).toBe(20_000_000n);
  });
});

describe('the payload of a job', () => {
  it('states what succeeded, with what was admitted', async () => {
    const urls = ['https://page.example/good', 'https://page.example/bad'];
    const { plan, complete } = planOf({ request: { kind: 'scrape', urls, skipped: 1 } });
    const payload = await complete();
    expect(payload).toMatchObject({ maxTokens: 7, webPages: 1 });
    expect(payload.webSearches).toBeUndefined();
    const { chat } = plan.present({ chat: checked.chat, job: {} as never });
    expect(chat.parameters.web_search_citations).toMatchObject([{ url: 'https://page.example' }]);
    expect(chat.parameters.web_search_error).toContain('/bad failed. Further addresses were not read: 1.');
  });

  it('is the plain conversation where the model declines', async () => {
    const { complete } = planOf({ request: { ...search, decides: true } });
    expect(await complete()).toEqual({ ...checked.chat.payload, maxTokens: 7 });
  });

  it('says that nothing was found, and pays for the search', async () => {
    const { complete } = planOf({ sources: [] });
    const payload = await complete();
    expect(payload).toMatchObject({ webSearches: 1, webSearchNano: 5_000_000 });
    expect(payload.messages[0]?.content).toContain('nothing was found');
    expect(payload.messages[0]?.content.startsWith('Be kind.')).toBe(true);
  });

  it('looks nothing up without room in the context', async () => {
    const { plan, complete } = planOf({ maxBytes: 100, search: () => Promise.reject(new Error('It searched.')) });
    const payload = await complete();
    expect(payload.webSearches).toBeUndefined();
    expect(plan.present({ chat: checked.chat, job: {} as never }).chat.parameters.web_search_error).toContain(
      'no room',
    );
  });
});
