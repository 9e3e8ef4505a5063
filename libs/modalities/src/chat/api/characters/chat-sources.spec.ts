import { describe, expect, it } from 'vitest';
import type { Character } from '#characters';
import { PlatformError } from '#common';
import type { ModelRequest } from '#gateway';
import type { TextEmbedder } from '#gateway/inputs';
import { testDouble } from '#test/test-double';
import type { ChatMessage } from '../../contract/chat.message.js';
import type { StartedChat } from '../job/started-chat.js';
import { ChatSources } from './chat-sources.js';

const porter = { id: '1', slug: 'porter', documentsModel: 'embedder' } as Character;
const question = [{ role: 'user', content: 'When?' }] as ChatMessage[];
const passages = [0.9, 0.5, 0.1].map((similarity, position) => ({ name: 'a.md', position, text: 'Text.', similarity }));

interface Seen {
  opened: object[];
  counts: number[];
  reserved: bigint[];
}

function sourcesOf(seen: Seen, failure?: PlatformError): ChatSources {
  const work = {
    contentHash: '',
    amountNano: 7n,
    limit: () => Promise.resolve(),
    run: (reserved: bigint) => (seen.reserved.push(reserved), Promise.resolve([1, 2])),
  };
  return new ChatSources(
    testDouble({ openInput: (_http, input) => (seen.opened.push(input), Promise.resolve({} as ModelRequest)) }),
    {
      prepare: () => (failure === undefined ? Promise.resolve(work) : Promise.reject(failure)),
    } as unknown as TextEmbedder,
    testDouble({
      search: (_id, _vector, count) => (seen.counts.push(count), Promise.resolve(passages.slice(0, count))),
    }),
    testDouble({ chatDeadlineMs: 1_000 }),
  );
}

const nothingSeen = (): Seen => ({ opened: [], counts: [], reserved: [] });
const model = (contextLength: number) => ({ http: {}, manifest: { contextLength } }) as ModelRequest;

describe('the sources of a chat', () => {
  it('are none without documents or a question', async () => {
    const seen = nothingSeen();
    const sources = sourcesOf(seen);
    expect(await sources.prepare(model(4_096), undefined, question)).toBeNull();
    expect(await sources.prepare(model(4_096), { ...porter, documentsModel: null }, question)).toBeNull();
    expect(await sources.prepare(model(4_096), porter, [{ role: 'system', content: 'x' }] as ChatMessage[])).toBeNull();
    expect(seen.opened).toEqual([]);
  });

  it('are the passages that have to do with the question, after its vector is paid for', async () => {
    const seen = nothingSeen();
    const prepared = await sourcesOf(seen).prepare(model(4_096), porter, question);
    expect(seen.opened).toMatchObject([{ id: 'embedder', type: 'embedding', position: 0 }]);
    expect([prepared?.amountNano, seen.reserved]).toEqual([7n, []]);
    const [found] = (await prepared?.run(question, { reservedNano: 50n })) ?? [];
    expect([seen.reserved, seen.counts]).toEqual([[50n], [4]]);
    const { chat } = prepared?.present({ chat: { parameters: {} } } as StartedChat) ?? {};
    const citations = chat?.parameters.web_search_citations.map(({ url }) => url);
    expect(citations).toEqual(['character:porter/a.md#0', 'character:porter/a.md#1']);
    expect(found?.content).toMatch(/^<sources>\n\[1\] a\.md\nText\.\n\n\[2\][^]*\n\nWhen\?$/);
    const bound = prepared?.bound(question)[0]?.content;
    expect(String(bound).length).toBeGreaterThan(String(found?.content).length);
  });

  it.each([
    [256, 1],
    [1_024, 2],
    [100_000, 4],
  ])('take their share of a context of %i tokens: %i', async (contextLength, count) => {
    const seen = nothingSeen();
    await (await sourcesOf(seen).prepare(model(contextLength), porter, question))?.run(question, { reservedNano: 7n });
    expect(seen.counts).toEqual([count]);
  });

  it('fail with the model of the documents', async () => {
    const offline = new PlatformError('MODEL_OFFLINE', 'No worker serves the model embedder.');
    await expect(sourcesOf(nothingSeen(), offline).prepare(model(1), porter, question)).rejects.toBe(offline);
  });
});
