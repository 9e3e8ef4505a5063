import type { FastifyReply } from 'fastify';
import { describe, expect, it, vi } from 'vitest';
import { PlatformError } from '#common';
import type { DocumentExtractor } from '#documents';
import { HttpExchange } from '#platform/http';
import { type PageReader, WebFault, type WebSearch } from '#web';
import { testDouble } from '#test/test-double';
import { AugmentController } from './augment.controller.js';
import type { DirectRequests } from '../pipeline/direct-requests.js';

interface Given {
  search?: Partial<WebSearch>;
  pages?: Partial<PageReader>;
  /** A text that the content policy does not allow. */
  refused?: string;
}

/** A controller whose requests run at once; `work` counts those that would be charged. */
function controllerOf({ search, pages, refused }: Given) {
  const work = vi.fn();
  const pipeline = {
    openCheck: () => Promise.reject(new Error('No model checks anything here.')),
  };
  const requests = {
    run: async (_http: HttpExchange, _service: object, run: (signal: AbortSignal) => Promise<{ result: unknown }>) => {
      work();
      return (await run(new AbortController().signal)).result;
    },
  };
  const controller = new AugmentController(
    testDouble(pipeline),
    requests as unknown as DirectRequests,
    (search ?? {}) as WebSearch,
    (pages ?? {}) as PageReader,
    {} as DocumentExtractor,
    testDouble({
      screenTexts: async (texts) => {
        const found = texts.find(({ text }) => text === refused);
        if (found !== undefined) throw new PlatformError('CONTENT_POLICY_VIOLATION', 'No.', found.param);
      },
    }),
    testDouble({ search: { providers: [], timeoutMs: 1, cacheMs: 0 }, augmentPriceUsd: '0.01' }),
  );
  return { controller, work };
}

const http = new HttpExchange({ request: { caller: { accountId: 'account' } } } as unknown as FastifyReply);
const fault = (reason: WebFault['reason']) => () => Promise.reject(new WebFault(reason, `It is ${reason}.`));

describe('augment', () => {
  it('names the missing setting before anything is reserved', async () => {
    const { controller, work } = controllerOf({ search: { isConfigured: false } });
    await expect(controller.search({ query: 'x' }, http)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('SLUICE_SEARCH_PROVIDERS'),
    });
    expect(work).not.toHaveBeenCalled();
  });

  it('searches within the account, ten results if nothing else is asked', async () => {
    const search = vi.fn(async () => ({ provider: 'brave', results: [{ title: 'a', url: 'b', snippet: 'c' }] }));
    const { controller } = controllerOf({ search: { isConfigured: true, search } });
    const body = await controller.search({ query: 'x' }, http);
    expect(search).toHaveBeenCalledWith({ query: 'x', count: 10, scope: 'account' }, expect.anything());
    expect(body).toEqual({ query: 'x', results: [{ title: 'a', url: 'b', content: 'c', date: '' }] });
  });

  it('searches for nothing that the content policy does not allow', async () => {
    const search = vi.fn();
    const { controller, work } = controllerOf({ search: { isConfigured: true, search }, refused: 'pipe bomb' });
    const error = { code: 'CONTENT_POLICY_VIOLATION', param: 'query' };
    await expect(controller.search({ query: 'pipe bomb' }, http)).rejects.toMatchObject(error);
    expect([work, search].map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
  });

  it('reads pages in the name of the account', async () => {
    const read = vi.fn(fault('refused'));
    const { controller } = controllerOf({ pages: { read } });
    await expect(controller.scrape({ url: 'https://example.org/' }, http)).rejects.toThrow();
    expect(read).toHaveBeenCalledWith('https://example.org/', expect.objectContaining({ owner: 'account' }));
  });

  it.each([
    ['refused', { code: 'INVALID_REQUEST', param: 'url', message: 'It is refused.' }],
    ['unavailable', { code: 'SERVICE_UNAVAILABLE', param: null }],
  ] as const)('translates a page that is %s', async (reason, error) => {
    const { controller } = controllerOf({ pages: { read: fault(reason) } });
    await expect(controller.scrape({ url: 'https://example.org/' }, http)).rejects.toMatchObject(error);
  });
});
