import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { postText, RawConnection } from '#test/raw-http';

/*
 * F20: requests whose end a proxy may see elsewhere, sent byte by byte on raw sockets. Each is followed by a complete
 * chat request with a valid key, which would leave a job if it ran.
 */

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform();
});

afterAll(async () => {
  try {
    if (platform) await expectInvariant(platform);
  } finally {
    await platform?.stop();
  }
});

const chatPath = '/api/v1/chat/completions';

function chat(key: string, text = 'Hello [[tokens=2]]'): string {
  const body = JSON.stringify({ model: 'tiny-llama', messages: [{ role: 'user', content: text }] });
  return postText(chatPath, body, { authorization: `Bearer ${key}` });
}

/** A POST with these header lines. */
function post(lines: string[], body: string, version = 'HTTP/1.1'): string {
  const all = [`POST ${chatPath} ${version}`, 'Host: a', 'Content-Type: application/json', ...lines];
  return `${all.join('\r\n')}\r\n\r\n${body}`;
}

function get(lines: string[]): string {
  return `${['GET /api/v1/models HTTP/1.1', 'Host: a', ...lines].join('\r\n')}\r\n\r\n`;
}

const chunked = 'Transfer-Encoding: chunked';
const hello = '5\r\nhello\r\n0\r\n\r\n';

const unclear: [name: string, text: string][] = [
  ['length and chunks', post(['Content-Length: 5', chunked], '0\r\n\r\n')],
  ['chunks and length', post([chunked, 'Content-Length: 5'], '0\r\n\r\n')],
  ['two lengths', post(['Content-Length: 5', 'Content-Length: 6'], 'hello!')],
  ['the same length twice', post(['Content-Length: 5', 'Content-Length: 5'], 'hello')],
  ['a list of lengths', post(['Content-Length: 5, 5'], 'hello')],
  ['a length with a sign', post(['Content-Length: +5'], 'hello')],
  ['a negative length', post(['Content-Length: -5'], 'hello')],
  ['a length in hex', post(['Content-Length: 0x5'], 'hello')],
  ['a length out of range', post(['Content-Length: 99999999999999999999999'], 'hello')],
  ['chunked twice', post(['Transfer-Encoding: chunked, chunked'], hello)],
  ['two transfer-encodings', post([chunked, 'Transfer-Encoding: identity'], hello)],
  ['an unknown transfer-encoding', post(['Transfer-Encoding: xchunked'], hello)],
  ['identity', post(['Transfer-Encoding: identity'], hello)],
  ['gzip, chunked', post(['Transfer-Encoding: gzip, chunked'], hello)],
  ['a space before the colon', post(['Transfer-Encoding : chunked'], hello)],
  ['a tab of the wrong kind', post(['Transfer-Encoding:\u000bchunked'], hello)],
  ['chunks in HTTP/1.0', post([chunked], hello, 'HTTP/1.0')],
  ['a folded header', get(['X-A: a', ' b'])],
  ['a folded transfer-encoding', post(['Transfer-Encoding:', ' chunked'], hello)],
  ['bare line feeds', 'GET /api/v1/models HTTP/1.1\nHost: a\n\n'],
  ['a bare line feed between headers', get(['X-A: a\nX-B: b'])],
  ['a bare carriage return between headers', get(['X-A: a\rX-B: b'])],
  ['a bare line feed in a chunk', post([chunked], '5\nhello\r\n0\r\n\r\n')],
  ['a bare line feed in a chunk extension', post([chunked], '5;a\nb\r\nhello\r\n0\r\n\r\n')],
  ['a chunk extension of 20 KB', post([chunked], `5;${'a'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`)],
  ['a chunk size out of range', post([chunked], 'fffffffffffffffff\r\nhello\r\n0\r\n\r\n')],
  ['a chunk size with a prefix', post([chunked], '0x5\r\nhello\r\n0\r\n\r\n')],
  ['a chunk longer than declared', post([chunked], '5\r\nhelloXX0\r\n\r\n')],
  ['a length in the trailer', post([chunked], '5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n')],
  ['no host', 'GET /api/v1/models HTTP/1.1\r\n\r\n'],
  ['two hosts', get(['Host: b'])],
  ['a zero byte', get(['X-A: a\0b'])],
  ['a space in a name', get(['X A: a'])],
  ['a space before the first header', 'GET /api/v1/models HTTP/1.1\r\n Host: a\r\n\r\n'],
  ['no version', 'GET /api/v1/models\r\n\r\n'],
  ['another version', 'GET /api/v1/models HTTP/2.0\r\nHost: a\r\n\r\n'],
];

/** Statuses of all responses on a connection, in order. */
function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

async function jobs(): Promise<number> {
  const [row] = await platform.query<{ count: number }>('SELECT count(*)::int AS count FROM jobs');
  return row?.count ?? 0;
}

describe('F20: a request with ambiguous framing', () => {
  it.each(unclear)(
    'for %s gets a 400, the connection is closed, and the request behind it does not run',
    async (_name, text) => {
      const before = await jobs();
      const connection = await RawConnection.open(platform.port);
      // With a valid key, so that the framing is what is rejected.
      const keyed = text.replace('Host: a\r\n', `Host: a\r\nAuthorization: Bearer ${platform.inferenceKey}\r\n`);
      connection.send(keyed + chat(platform.inferenceKey));
      const answer = await connection.untilClosed();
      expect(statuses(answer)[0]).toBe(400);
      expect(new Set(statuses(answer))).toEqual(new Set([400]));
      await (await fetch(`${platform.baseUrl}/models`)).text();
      expect(await jobs()).toBe(before);
    },
  );

  it('for 64 KB of headers gets a 431 with a reason and is closed as well', async () => {
    const connection = await RawConnection.open(platform.port);
    connection.send(get([`X-A: ${'a'.repeat(65_536)}`]) + chat(platform.inferenceKey));
    expect(statuses(await connection.untilClosed())).toEqual([431]);
    expect(await jobs()).toBe(0);
  });
});

describe('pipelined requests on one connection', () => {
  it('get responses in order, each with its own key and id', async () => {
    const connection = await RawConnection.open(platform.port);
    const balance = (lines: string[]) =>
      `${['GET /api/v1/billing/balance HTTP/1.1', 'Host: a', ...lines].join('\r\n')}\r\n\r\n`;
    const known = [`Authorization: Bearer ${platform.adminKey}`];
    const wrong = [`Authorization: Bearer slk_${'0'.repeat(48)}`];
    const order = [known, wrong, known, [], wrong, known];
    connection.send(order.map(balance).join('') + balance(['Connection: close', ...wrong]));
    const answer = await connection.untilClosed();
    expect(statuses(answer)).toEqual([200, 401, 200, 401, 401, 200, 401]);
    const ids = [...answer.matchAll(/^cf-ray: (\S+)/gim)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(7);
  });

  it('ignore a chunk extension, as HTTP requires of every server', async () => {
    const body = JSON.stringify({ model: 'tiny-llama', messages: [{ role: 'user', content: 'Hello [[tokens=2]]' }] });
    const chunk = `${body.length.toString(16)};a=b\r\n${body}\r\n0\r\n\r\n`;
    const lines = [chunked, `Authorization: Bearer ${platform.inferenceKey}`];
    const connection = await RawConnection.open(platform.port);
    connection.send(post(lines, chunk) + get(['Connection: close', `Authorization: Bearer ${platform.inferenceKey}`]));
    expect(statuses(await connection.untilClosed())).toEqual([200, 200]);
    expect(await platform.closedJobs()).toHaveLength(1);
  });
});
