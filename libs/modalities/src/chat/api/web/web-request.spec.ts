import { describe, expect, it } from 'vitest';
import { leastProcessorMs } from '#test/processor-time';
import type { ChatMessage } from '../../contract/chat.message.js';
import { effectiveParameters } from '../job/chat.parameters.js';
import { readDecision } from './web-decision.js';
import { addressesIn, webRequestOf } from './web-request.js';

const user = (content: string): ChatMessage => ({ role: 'user', content });

it.each([
  ['See https://a.example/x, and (https://b.example/y).', ['https://a.example/x', 'https://b.example/y']],
  ['https://a.example/wiki/Boat_(ship)! https://a.example/wiki/Boat_(ship)', ['https://a.example/wiki/Boat_(ship)']],
  ['[a](http://a.example/?q=1&r=2) <http://b.example>', ['http://a.example/?q=1&r=2', 'http://b.example']],
  ['ftp://a.example javascript:alert(1) file:///etc/passwd https://', []],
])('finds the addresses in %j', (text, addresses) => {
  expect(addressesIn(text)).toEqual(addresses);
});

it.each([
  [`https://a.example/${'.'.repeat(60_000)}b`, []],
  [`https://a.example/${'.'.repeat(400_000)}`, ['https://a.example/']],
  [`https://a.example/x${')'.repeat(20_000)}`, ['https://a.example/x']],
  [`https://a.example/(${').'.repeat(2_000)}`, [`https://a.example/(${').'.repeat(1_999)})`]],
  [`https://a.example/${'a'.repeat(8_192)} http://b.example`, ['http://b.example']],
  ['http'.repeat(100_000), []],
])('finds the addresses in long texts in linear time: %#', (text, addresses) => {
  // 60,000 dots took 6 s.
  expect(leastProcessorMs(1_500, () => expect(addressesIn(text)).toEqual(addresses))).toBeLessThan(1_500);
});

it('looks at the first addresses of a text only', () => {
  const urls = Array.from({ length: 10_000 }, (_, index) => `https://a.example/${index}`);
  expect(addressesIn(urls.join(' '))).toEqual(urls.slice(0, 200));
});

describe('what a request asks of the web', () => {
  const asked = (parameters: object, messages: ChatMessage[]) =>
    webRequestOf(effectiveParameters({}, parameters), messages);

  it('is nothing without being asked, and without a text', () => {
    expect(asked({}, [user('https://a.example')])).toBeNull();
    expect(asked({ enable_web_search: 'on' }, [user('  ')])).toBeNull();
    expect(asked({ enable_web_scraping: true }, [user('no address')])).toBeNull();
  });

  it('is up to five pages of the latest user message, before a search', () => {
    const urls = Array.from({ length: 7 }, (_, index) => `https://a.example/${index}`);
    const messages = [user('https://old.example'), user(urls.join(' ')), { role: 'assistant', content: 'x' } as const];
    expect(asked({ enable_web_scraping: true, enable_web_search: 'on' }, messages)).toEqual({
      kind: 'scrape',
      urls: urls.slice(0, 5),
      skipped: 2,
    });
  });

  it('is a search for a message without addresses, cut at a word', () => {
    const both = { enable_web_scraping: true, enable_web_search: 'auto' };
    expect(asked(both, [user('high\n water')])).toEqual({ kind: 'search', query: 'high water', decides: true });
    const long = asked({ enable_web_search: 'on' }, [user('word '.repeat(200))]);
    expect(long).toMatchObject({ kind: 'search', decides: false });
    expect(long?.kind === 'search' && long.query).toMatch(/^(?:word ){79}word$/);
  });
});

it.each([
  ['{"search":true,"query":" tides "}', 'tides'],
  ['{"search":false,"query":"tides"}', null],
  ['{"search":true,"query":""}', null],
  ['{"search":true,"query":"tid', null],
  ['yes', null],
  ['null', null],
])('reads the decision %j', (text, query) => {
  expect(readDecision(text)).toBe(query);
});
