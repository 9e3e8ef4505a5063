import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newRequestId } from '#common';
import { itInFull, transportsFor } from '#test/extent';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { dechunk, postText, RawConnection } from '#test/raw-http';

/*
 * `Idempotency-Key` through the real processes: one run, one charge and the same response, even after disconnects and
 * crashes.
 */

const path = '/api/v1/chat/completions';

interface KeyedChat {
  key: string;
  content: string;
  stream?: boolean;
  /** Index of the API replica. */
  replica?: number;
}

interface Received {
  status: number;
  headers: Headers;
  body: string;
}

let keys = 0;

/** Returns a key that no other test uses. */
function newKey(): string {
  keys += 1;
  return `key-${newRequestId('E2E')}-${keys}`;
}

describe.each(transportsFor('redis'))('an idempotency key, with the queue on %s', (transport) => {
  let platform: Platform;

  beforeAll(async () => {
    // Rate limits have their own tests; here one caller fails more often than they allow.
    platform = await startPlatform({ transport, replicas: { api: 2 }, env: { SLUICE_RATE_LIMITS: 'false' } });
  });

  afterAll(async () => {
    await platform?.stop();
  });

  afterEach(async () => {
    await platform.closedJobs(30_000);
    await expectInvariant(platform);
  });

  function bodyOf({ content, stream = false }: KeyedChat): string {
    return JSON.stringify({ model: 'tiny-llama', messages: [{ role: 'user', content }], stream });
  }

  async function post(chat: KeyedChat, signal?: AbortSignal): Promise<Received> {
    const origin = platform.origins[chat.replica ?? 0] ?? platform.origin;
    const headers = { 'content-type': 'application/json', 'idempotency-key': chat.key };
    const authorized = { ...headers, authorization: `Bearer ${platform.inferenceKey}` };
    const response = await fetch(origin + path, { method: 'POST', headers: authorized, body: bodyOf(chat), signal });
    return { status: response.status, headers: response.headers, body: await response.text() };
  }

  /** Retries while the first request runs, as the documentation says. */
  async function postUntilCompleted(chat: KeyedChat): Promise<Received> {
    for (let tries = 0; tries < 60; tries += 1) {
      const received = await post(chat);
      if (received.status !== 409 || codeOf(received) !== 'IDEMPOTENCY_KEY_IN_USE') return received;
      expect(received.headers.get('x-should-retry')).toBe('false');
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    throw new Error('the key stayed in use for 30 s');
  }

  function codeOf({ body }: Received): string {
    return (JSON.parse(body) as { error: { code: string } }).error.code;
  }

  /** Jobs whose payload was deleted are identified by the request of their key. */
  async function runsOf(work: () => Promise<unknown>): Promise<number> {
    const count = async (): Promise<number> => {
      const [row] = await platform.query<{ count: number }>('SELECT count(*)::int AS count FROM jobs');
      return row?.count ?? 0;
    };
    const before = await count();
    await work();
    return (await count()) - before;
  }

  it('gives the official client the first response again and charges it once', async () => {
    const client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl });
    const headers = { 'Idempotency-Key': newKey() };
    const ask = () =>
      client.chat.completions
        .create({ model: 'tiny-llama', messages: [{ role: 'user', content: 'Once [[tokens=8]]' }] }, { headers })
        .withResponse();
    await platform.closedJobs();
    const before = await expectInvariant(platform);
    const first = await ask();
    await platform.closedJobs();
    const { chargedNano } = await expectInvariant(platform);
    const second = await ask();
    await platform.closedJobs();
    expect(second.data).toEqual(first.data);
    expect(first.response.headers.get('idempotent-replayed')).toBeNull();
    expect(second.response.headers.get('idempotent-replayed')).toBe('true');
    expect(second.response.headers.get('x-service-model-id')).toBe('tiny-llama');
    expect(second.response.headers.get('cf-ray')).not.toBe(first.response.headers.get('cf-ray'));
    expect(chargedNano).toBeGreaterThan(before.chargedNano);
    expect((await expectInvariant(platform)).chargedNano).toBe(chargedNano);
  });

  it('replays a stream byte for byte from another replica', async () => {
    const key = newKey();
    const content = 'Stream [[tokens=30 delay=2 think=3]]';
    const streamBytes = async (port: number): Promise<string> => {
      const raw = await RawConnection.open(port);
      const headers = { authorization: `Bearer ${platform.inferenceKey}`, 'idempotency-key': key, connection: 'close' };
      raw.send(postText(path, bodyOf({ key, content, stream: true }), headers));
      const [head = '', ...rest] = (await raw.untilClosed()).split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1.1 200 /);
      expect(head).toMatch(/content-type: text\/event-stream; charset=utf-8/i);
      const body = rest.join('\r\n\r\n');
      return /transfer-encoding: chunked/i.test(head) ? dechunk(body).body : body;
    };
    const ports = platform.origins.map((origin) => Number(new URL(origin).port));
    const runs = await runsOf(async () => {
      const first = await streamBytes(ports[0] ?? 0);
      const second = await streamBytes(ports[1] ?? 0);
      expect(first.endsWith('data: [DONE]\n\n')).toBe(true);
      expect(second).toBe(first);
    });
    expect(runs).toBe(1);
  });

  it('runs one of fifty equal concurrent requests and gives fifty equal responses', async () => {
    const chat = { key: newKey(), content: 'Fifty [[tokens=12 delay=5]]' };
    const runs = await runsOf(async () => {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) => postUntilCompleted({ ...chat, replica: index % 2 })),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
      expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    });
    expect(runs).toBe(1);
  });

  it('is in use while the first request runs, and says that a retry does not help', async () => {
    const chat = { key: newKey(), content: 'Slow [[tokens=40 delay=75]]' };
    const runs = await runsOf(async () => {
      const first = post(chat);
      await new Promise((resolve) => setTimeout(resolve, 200));
      const second = await post({ ...chat, replica: 1 });
      expect(second.status).toBe(409);
      expect(second.headers.get('x-should-retry')).toBe('false');
      expect(JSON.parse(second.body)).toMatchObject({
        error: { code: 'IDEMPOTENCY_KEY_IN_USE', param: 'Idempotency-Key' },
      });
      const client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 5 });
      const third = client.chat.completions.create(
        { model: 'tiny-llama', messages: [{ role: 'user', content: chat.content }], stream: false },
        { headers: { 'Idempotency-Key': chat.key } },
      );
      await expect(third).rejects.toMatchObject({ status: 409, code: 'IDEMPOTENCY_KEY_IN_USE' });
      const { status, body } = await first;
      expect(status).toBe(200);
      expect((await post(chat)).body).toBe(body);
    });
    expect(runs).toBe(1);
  });

  it('rejects another body, including another response format', async () => {
    const chat = { key: newKey(), content: 'One body [[tokens=3]]' };
    expect((await post(chat)).status).toBe(200);
    for (const other of [
      { ...chat, content: 'Another [[tokens=3]]' },
      { ...chat, stream: true },
    ]) {
      const refused = await post(other);
      expect(refused.status).toBe(400);
      expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'INVALID_REQUEST', param: 'Idempotency-Key' } });
    }
  });

  it('is not used up by a rejected request, and may then be sent with another body', async () => {
    const chat = { key: newKey(), content: 'x' };
    const headers = { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' };
    const refuse = (body: object) =>
      fetch(platform.origin + path, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': chat.key },
        body: JSON.stringify(body),
      });
    expect((await refuse({ model: 'tiny-llama', messages: [] })).status).toBe(400);
    expect((await refuse({ model: 'nobody', messages: [{ role: 'user', content: 'x' }] })).status).toBe(404);
    const failed = await post({ ...chat, content: 'Fail [[tokens=8 fail=3]]' });
    expect(failed.status).toBe(500);
    await platform.closedJobs();
    expect((await post({ ...chat, content: 'Now it works [[tokens=3]]' })).status).toBe(200);
  });

  it('reruns a stream that failed midway without a charge', async () => {
    const chat = { key: newKey(), content: 'Break off [[tokens=8 fail=3]]', stream: true };
    const runs = await runsOf(async () => {
      for (let round = 0; round < 2; round += 1) {
        const { body, headers } = await postUntilCompleted(chat);
        expect(body).toContain('"code":"INFERENCE_FAILED"');
        expect(headers.get('idempotent-replayed')).toBeNull();
        await platform.closedJobs();
      }
    });
    expect(runs).toBe(2);
  });

  it('replays the partial stream of a disconnected client, followed by an error frame', async () => {
    const chat = { key: newKey(), content: 'Leave [[tokens=400 delay=20]]', stream: true };
    const runs = await runsOf(async () => {
      const raw = await RawConnection.open(platform.port);
      const headers = { authorization: `Bearer ${platform.inferenceKey}`, 'idempotency-key': chat.key };
      raw.send(postText(path, bodyOf(chat), headers));
      const seen = await raw.until(/data: .*data: .*data: /s);
      raw.leave();
      await platform.closedJobs(30_000);
      const { status, body, headers: answered } = await postUntilCompleted(chat);
      expect([status, answered.get('idempotent-replayed')]).toEqual([200, 'true']);
      const frames = (text: string) => text.match(/data: .*?(?=\r?\n)/gs) ?? [];
      const [first = ''] = frames(seen);
      expect(frames(body)[0]).toBe(first);
      expect(frames(body).at(-1)).toContain('"code":"IDEMPOTENT_ANSWER_LOST"');
      expect(body).not.toContain('[DONE]');
      expect(frames(body).length).toBeLessThan(400);
    });
    expect(runs).toBe(1);
  });

  it('reports a lost response as charged and gone', async () => {
    const chat = { key: newKey(), content: 'Leave early [[tokens=400 delay=20]]' };
    const runs = await runsOf(async () => {
      await expect(post(chat, AbortSignal.timeout(500))).rejects.toThrow();
      await platform.closedJobs(30_000);
      const received = await postUntilCompleted(chat);
      expect([received.status, codeOf(received)]).toEqual([409, 'IDEMPOTENT_ANSWER_LOST']);
      expect(received.headers.get('x-should-retry')).toBe('false');
    });
    expect(runs).toBe(1);
  });

  itInFull('keeps its response when the replica that sent it is killed', async () => {
    const chat = { key: newKey(), content: 'Survive [[tokens=20]]', stream: true };
    const first = await post(chat);
    await platform.kill('api');
    const second = await post({ ...chat, replica: 1 });
    await platform.start('api');
    expect(second.body).toBe(first.body);
    expect((await post(chat)).body).toBe(first.body);
  });

  itInFull('is neither blocked nor run twice when its replica is killed during the request', async () => {
    const chat = { key: newKey(), content: 'Die with me [[tokens=400 delay=20]]' };
    const runs = await runsOf(async () => {
      const first = post(chat).catch(() => null);
      await expect
        .poll(async () => {
          const rows = await platform.query(`SELECT FROM jobs WHERE state = 'running'`);
          return rows.length;
        })
        .toBe(1);
      await platform.kill('api');
      expect(await first).toBeNull();
      const second = await postUntilCompleted({ ...chat, replica: 1 });
      expect([second.status, codeOf(second)]).toEqual([409, 'IDEMPOTENT_ANSWER_LOST']);
      await platform.start('api');
      expect((await post(chat)).status).toBe(409);
    });
    expect(runs).toBe(1);
  });
});
