import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { ResponseStore } from '#gateway/responses';
import { createLogger } from '#platform/logging';
import { validateBody } from '#platform/validation';
import { ResponsesRequest } from '../../contract/responses/responses.request.js';
import type { ResponsesResponse } from '../../contract/responses/responses.response.js';
import { ResponseHistory, type StoredResponse } from './response-history.js';
import { type ListedItem, listItems, pageOf } from './stored-items.js';

const asker = { accountId: 'account-1', requestId: 'request-1' };

/** A store in memory that may be down or full. */
class MemoryStore implements Pick<ResponseStore, 'isOn' | 'hasRoom' | 'add' | 'find'> {
  readonly states = new Map<string, object>();
  reads = 0;

  constructor(
    readonly isOn = true,
    private readonly options: { isFull?: boolean; isDown?: boolean } = {},
  ) {}

  hasRoom(): Promise<boolean> {
    return Promise.resolve(this.options.isFull !== true);
  }

  add(id: string, state: object): Promise<void> {
    if (this.options.isDown === true) return Promise.reject(new PlatformError('SERVICE_UNAVAILABLE', 'Down.'));
    this.states.set(id, state);
    return Promise.resolve();
  }

  find(id: string): Promise<object | null> {
    this.reads += 1;
    return Promise.resolve(this.states.get(id) ?? null);
  }
}

function historyOf(store: MemoryStore): ResponseHistory {
  return new ResponseHistory(store as unknown as ResponseStore, createLogger('test', { level: 'silent' }));
}

function requestOf(body: object): ResponsesRequest {
  return validateBody(ResponsesRequest, { model: 'm', input: 'hi', ...body });
}

const response = {
  id: 'resp_request-1',
  store: true,
  output: [
    { type: 'message', id: 'msg_request-1_0', role: 'assistant', content: [{ type: 'output_text', text: 'yes' }] },
  ],
} as unknown as ResponsesResponse;

async function refusalOf(store: MemoryStore, body: object): Promise<string | null> {
  const error: unknown = await historyOf(store)
    .open(requestOf(body), asker)
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'INVALID_REQUEST' });
  return (error as PlatformError).param;
}

describe('a response that is to be stored', () => {
  it('is stored with its input, and continued with both', async () => {
    const store = new MemoryStore();
    const opened = await historyOf(store).open(requestOf({ store: true }), asker);
    expect(opened.history).toBeNull();
    expect(await opened.store?.(response)).toBe(response);
    const next = await historyOf(store).open(requestOf({ previous_response_id: response.id, store: true }), asker);
    expect(next.history).toMatchObject([
      { type: 'message', role: 'user', id: 'msg_request-1_in0', content: [{ type: 'input_text', text: 'hi' }] },
      { id: 'msg_request-1_0', role: 'assistant' },
    ]);
    await next.store?.({ ...response, id: 'resp_request-2' });
    expect((store.states.get('resp_request-2') as StoredResponse).items).toHaveLength(3);
  });

  it('says so where it could not be stored', async () => {
    const opened = await historyOf(new MemoryStore(true, { isDown: true })).open(requestOf({ store: true }), asker);
    expect(await opened.store?.(response)).toEqual({
      ...response,
      store: false,
      warnings: [{ code: 'not_stored', param: 'store', message: expect.any(String) as string }],
    });
  });

  it('is refused without room, and beyond the longest conversation', async () => {
    expect(await refusalOf(new MemoryStore(true, { isFull: true }), { store: true })).toBe('store');
    expect(await refusalOf(new MemoryStore(), { store: true, input: 'x'.repeat(16_000_001) })).toBe('store');
  });

  it('is every one without the field, if there is room', async () => {
    expect((await historyOf(new MemoryStore()).open(requestOf({}), asker)).store).not.toBeNull();
    for (const store of [new MemoryStore(true, { isFull: true }), new MemoryStore(true, { isDown: true })]) {
      const { store: keep } = await historyOf(store).open(requestOf({}), asker);
      const kept = await keep?.(response);
      expect(kept?.store ?? false).toBe(false);
    }
  });

  it.each(['resp_\0', 'a\0', 'resp_ü', 'x'.repeat(300), ''])('is never one with another id: %j', async (id) => {
    const store = new MemoryStore();
    expect(await historyOf(store).find(id, asker)).toBeNull();
    expect(await historyOf(store).delete(id, asker)).toBe(false);
    expect(store.reads).toBe(0);
  });

  it('is none with the field false, and where the operator does not allow it', async () => {
    for (const [store, body] of [
      [new MemoryStore(), { store: false }],
      [new MemoryStore(false), { store: true }],
      [new MemoryStore(false), { previous_response_id: 'resp_1' }],
    ] as const) {
      expect(await historyOf(store).open(requestOf(body), asker)).toMatchObject({ history: null, store: null });
      expect(store.reads).toBe(0);
    }
  });
});

describe('a request that refers to a response', () => {
  it('is refused by the field where there is none', async () => {
    expect(await refusalOf(new MemoryStore(), { previous_response_id: 'resp_none' })).toBe('previous_response_id');
  });

  it('is refused where the conversation becomes too long', async () => {
    const store = new MemoryStore();
    const items = Array.from({ length: 9_999 }, () => ({ type: 'message', role: 'user', content: 'x' }));
    store.states.set('resp_1', { response: { ...response, output: [] }, items });
    const input = [
      { role: 'user', content: 'a' },
      { role: 'user', content: 'b' },
    ];
    expect(await refusalOf(store, { previous_response_id: 'resp_1', input })).toBe('input');
  });

  it('reads each response once, and a limited number', async () => {
    const store = new MemoryStore();
    const reference = (id: string) => ({ type: 'item_reference', id });
    const input = Array.from({ length: 50 }, (_, index) => reference(`msg_request-1_${index}`));
    const opened = await historyOf(store).open(requestOf({ input }), asker);
    expect([store.reads, opened.request.input]).toEqual([1, input]);
    const many = Array.from({ length: 33 }, (_, index) => reference(`msg_request-${index}_0`));
    expect(await refusalOf(store, { input: many })).toBe('input');
    expect(store.reads).toBe(1);
  });
});

describe('the list of input items', () => {
  const items = listItems(
    [
      { role: 'user', content: 'a' },
      { type: 'message', role: 'assistant', content: 'b', id: 'msg_9' },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'c' },
    ],
    'r',
  );

  it('gives each item its type and an id', () => {
    expect(items).toMatchObject([
      { type: 'message', id: 'msg_r_in0', content: [{ type: 'input_text', text: 'a' }] },
      { type: 'message', id: 'msg_9', content: [{ type: 'output_text', text: 'b' }] },
      { type: 'function_call', id: 'fc_r_in2' },
      { type: 'function_call_output', id: 'fco_r_in3' },
    ]);
  });

  it('comes in pages, in both orders', () => {
    const idsOf = (list: { data: ListedItem[] } | null) => list?.data.map(({ id }) => id);
    const first = pageOf(items, { limit: 3, order: 'desc', after: null });
    expect([idsOf(first), first?.has_more, first?.last_id]).toEqual([
      ['fco_r_in3', 'fc_r_in2', 'msg_9'],
      true,
      'msg_9',
    ]);
    const second = pageOf(items, { limit: 3, order: 'desc', after: 'msg_9' });
    expect([idsOf(second), second?.has_more]).toEqual([['msg_r_in0'], false]);
    expect(idsOf(pageOf(items, { limit: 2, order: 'asc', after: 'msg_r_in0' }))).toEqual(['msg_9', 'fc_r_in2']);
    expect(pageOf(items, { limit: 1, order: 'asc', after: 'none' })).toBeNull();
    expect(pageOf([], { limit: 1, order: 'asc', after: null })).toMatchObject({ first_id: null, has_more: false });
  });
});
