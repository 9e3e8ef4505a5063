import { describe, expect, it } from 'vitest';
import { plainChat } from '#test/plain-chat';
import type { ChatJobMessage, ChatJobPayload } from '../../contract/chat.job.js';
import { affinityOf } from './chat.affinity.js';

const long = 'You are a patient teacher. '.repeat(40);

function chat(messages: ChatJobMessage[], promptCacheKey?: string): ChatJobPayload {
  return plainChat({ messages, ...(promptCacheKey === undefined ? {} : { promptCacheKey }) });
}

function turns(system: string, ...texts: string[]): ChatJobPayload {
  const said = texts.map((content, index) => ({
    role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content,
  }));
  return chat([{ role: 'system', content: system }, ...said]);
}

describe('affinityOf', () => {
  it('is the same for every turn of a conversation', () => {
    const first = affinityOf(turns(long, 'Why is the sky blue?'))?.();
    expect(first).toBeDefined();
    expect(affinityOf(turns(long, 'Why is the sky blue?', 'Because.', 'And the sea?'))?.()).toBe(first);
  });

  it('is none for sealed texts, which it must not hash', () => {
    const sealing = { clientPublicKey: '', hostPublicKey: '' };
    expect(affinityOf({ ...turns(long, 'Why?'), sealing })).toBeUndefined();
    expect(affinityOf({ ...chat([], 'key'), sealing })).toBeUndefined();
  });

  it('differs where the system message or the first question does', () => {
    const first = affinityOf(turns(long, 'Why is the sky blue?'))?.();
    expect(affinityOf(turns(long, 'Why is the sea blue?'))?.()).not.toBe(first);
    expect(affinityOf(turns(`${long}!`, 'Why is the sky blue?'))?.()).not.toBe(first);
  });

  it('is the client’s own key if it sends one, whatever the messages say', () => {
    const short = chat([{ role: 'user', content: 'Hi' }], 'tenant-7');
    expect(affinityOf(short)?.()).toBe(affinityOf({ ...turns(long, 'Hello'), promptCacheKey: 'tenant-7' })?.());
    expect(affinityOf({ ...short, promptCacheKey: 'tenant-8' })?.()).not.toBe(affinityOf(short)?.());
  });

  it('is never that of another cache scope', () => {
    for (const payload of [turns(long, 'Hello'), chat([{ role: 'user', content: 'Hi' }], 'tenant-7')]) {
      const one = affinityOf({ ...payload, cacheScope: 'one' })?.();
      expect(affinityOf({ ...payload, cacheScope: 'one' })?.()).toBe(one);
      expect(affinityOf({ ...payload, cacheScope: 'two' })?.()).not.toBe(one);
    }
  });

  it('is undefined for short prompts and for those with an empty key', () => {
    expect(affinityOf(chat([{ role: 'user', content: 'Hi' }]))).toBeUndefined();
    expect(affinityOf(chat([{ role: 'user', content: 'Hi' }], ''))).toBeUndefined();
  });

  it('uses a bounded part of a message', () => {
    const limitConfig = 'x'.repeat(1_000_000);
    expect(affinityOf(turns(limitConfig, 'Sum it up.'))?.().length).toBeLessThan(10_000);
  });

  it('uses the first message if there is no user message', () => {
    const system: ChatJobMessage = { role: 'system', content: long };
    expect(affinityOf(chat([system, { role: 'assistant', content: 'a' }]))?.()).toBe(affinityOf(chat([system]))?.());
  });
});
