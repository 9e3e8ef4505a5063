import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deterministicWords } from '#test/deterministic-engine';
import { itInFull } from '#test/extent';
import { expectInvariant } from '#test/invariant';
import { type Platform, type PlatformOptions, startPlatform } from '#test/platform';
import { dechunk, postText, RawConnection } from '#test/raw-http';

/* Streams byte by byte, and what clients see when something dies, stalls or stops. */

/** One platform for the tests of a `describe`; each test restores its state. */
function platformOf(options: PlatformOptions): () => Platform {
  let platform: Platform | undefined;
  beforeAll(async () => {
    platform = await startPlatform(options);
  });
  afterAll(async () => {
    await platform?.stop();
  });
  return () => {
    if (platform === undefined) throw new Error('the platform did not start');
    return platform;
  };
}

const path = '/api/v1/chat/completions';

/** Responses that outlast every deadline and grace period of these tests; a real model would end earlier. */
const roomy = { contextLength: 1_000_000, maxCompletionTokens: 1_000_000 };
const tinyLlama = { id: 'tiny-llama', manifest: roomy };

function chat(content: string, more: object = {}): object {
  return { model: 'tiny-llama', messages: [{ role: 'user', content }], ...more };
}

async function post(target: Platform, body: object): Promise<Response> {
  return await fetch(target.origin + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${target.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function openStream(target: Platform, body: object): Promise<RawConnection> {
  const raw = await RawConnection.open(target.port);
  const headers = { authorization: `Bearer ${target.inferenceKey}`, 'accept-encoding': 'gzip' };
  raw.send(postText(path, JSON.stringify({ ...body, stream: true }), headers));
  return raw;
}

function framesOf(answer: string): string[] {
  const [, ...rest] = answer.split('\r\n\r\n');
  const { body } = dechunk(rest.join('\r\n\r\n'));
  return body.split('\n\n').filter((frame) => frame !== '');
}

interface Chunk {
  choices: { index: number; delta: { content?: string } }[];
}

function textOf(frames: string[]): string {
  const chunks = frames
    .filter((frame) => frame.startsWith('data: {'))
    .map((frame) => JSON.parse(frame.slice(6)) as Chunk);
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
}

describe('a stream on the wire', () => {
  const running = platformOf({
    models: [tinyLlama],
    env: { SLUICE_KEEP_ALIVE_MS: '100', SLUICE_CHAT_DEADLINE_MS: '12000' },
  });

  it('is framed as server-sent events, never compressed, and ends with [DONE]', async () => {
    const target = running();
    const raw = await openStream(target, chat('Wire [[tokens=4]]', { stream_options: { include_usage: true } }));
    const answer = await raw.until(/\r\n0\r\n\r\n$/);
    const head = answer.split('\r\n\r\n', 1)[0]?.toLowerCase() ?? '';
    expect(head).toMatch(/^http\/1\.1 200 /);
    expect(head).toContain('content-type: text/event-stream');
    expect(head).toContain('cache-control: no-cache');
    expect(head).toContain('x-service-model-name: tiny llama');
    expect(head).not.toContain('content-encoding');
    // Keep-alive comments may appear on a slow machine.
    const frames = framesOf(answer).filter((frame) => frame !== ': keep-alive');
    expect(frames.every((frame) => frame.startsWith('data: '))).toBe(true);
    expect(frames.at(-1)).toBe('data: [DONE]');
    expect(JSON.parse(frames.at(-2)?.slice(6) ?? '')).toMatchObject({ choices: [], usage: { completion_tokens: 4 } });
    expect(textOf(frames)).toBe(deterministicWords('user: Wire [[tokens=4]]', { count: 4 }).join(''));
  });

  it('that waits gets keep-alive comments', async () => {
    const target = running();
    const raw = await openStream(target, chat('[[tokens=3 delay=400]]'));
    const frames = framesOf(await raw.until(/\r\n0\r\n\r\n$/));
    expect(frames).toContain(': keep-alive');
    expect(frames.at(-1)).toBe('data: [DONE]');
  });

  it('past its deadline ends with an error frame, and a complete response with a 504', async () => {
    const target = running();
    const slow = chat('[[tokens=5000 delay=50]]');
    const [whole, streamed] = await Promise.all([
      post(target, slow),
      openStream(target, slow).then((raw) => raw.until(/\r\n0\r\n\r\n$/)),
    ]);
    expect(whole.status).toBe(504);
    expect(whole.headers.get('x-should-retry')).toBe('false');
    expect(await whole.json()).toMatchObject({ error: { code: 'REQUEST_TIMEOUT' } });
    const frames = framesOf(streamed);
    expect(frames).not.toContain('data: [DONE]');
    expect(JSON.parse(frames.at(-1)?.slice(6) ?? '')).toMatchObject({ error: { code: 'REQUEST_TIMEOUT' } });
    await target.closedJobs();
  });
});

describe('when something dies or stalls', () => {
  const running = platformOf({
    models: [tinyLlama, { id: 'other', seed: 2 }],
    env: { SLUICE_MODEL_WAIT_MS: '10000', SLUICE_STALLED_MS: '1000' },
  });

  it('a stream that nobody reads is closed, and its job cancelled', async () => {
    const target = running();
    const raw = await openStream(target, chat('[[tokens=200000]]'));
    await raw.until(/data: /);
    raw.pause();
    const jobs = await target.closedJobs(60_000);
    expect(jobs.at(-1)?.state).toBe('cancelled');
    raw.leave();
  });

  it('a model host killed during streams ends them with an error, and the next request works', async () => {
    const target = running();
    const other = openStream(target, { ...chat('Other [[tokens=60 delay=20]]'), model: 'other' });
    const doomed = await openStream(target, chat('Doomed [[tokens=100 delay=5 crash=10]]'));
    const frames = framesOf(await doomed.until(/\r\n0\r\n\r\n$/));
    expect(frames).not.toContain('data: [DONE]');
    const { error } = JSON.parse(frames.at(-1)?.slice(6) ?? '') as { error: { code: string; message: string } };
    expect(['MODEL_OFFLINE', 'INFERENCE_FAILED']).toContain(error.code);
    const unaffected = framesOf(await (await other).until(/\r\n0\r\n\r\n$/));
    expect(unaffected.at(-1)).toBe('data: [DONE]');
    await target.untilOnline();
    expect((await post(target, chat('Again [[tokens=3]]'))).status).toBe(200);
    await target.closedJobs();
  });

  itInFull('the job of an API replica killed during a stream is cancelled by the worker', async () => {
    const target = running();
    const raw = await openStream(target, chat('[[tokens=5000 delay=20]]'));
    await raw.until(/"content":"\w/);
    await target.kill('api');
    const job = (await target.closedJobs(30_000)).at(-1);
    expect(job?.state).toBe('cancelled');
    expect(job?.completion_tokens).toBeLessThan(1000);
    await target.start('api');
    await target.untilOnline();
  });

  itInFull(
    'a worker killed during a stream leaves the client an error and no open job',
    async () => {
      const target = running();
      const raw = await openStream(target, chat('[[tokens=5000 delay=20]]'));
      await raw.until(/"content":"\w/);
      await target.kill('worker');
      const frames = framesOf(await raw.until(/\r\n0\r\n\r\n$/));
      expect(frames.at(-1)).toContain('"error"');
      expect(frames).not.toContain('data: [DONE]');
      // It waits for another worker, in vain and free of charge.
      const unanswered = await post(target, chat('Nobody there'));
      expect(unanswered.status).toBe(503);
      expect(unanswered.headers.get('retry-after')).toBe('30');
      expect(await unanswered.json()).toMatchObject({ error: { code: 'MODEL_OFFLINE' } });
      // Maximum time that a row of a killed worker stays open.
      const job = (await target.closedJobs(20_000)).find(
        ({ request_id: id }) => id === unanswered.headers.get('cf-ray'),
      );
      expect(job).toMatchObject({ state: 'cancelled', completion_tokens: 0 });
      await expectInvariant(target);
    },
    90_000,
  );
});

describe('when the API is told to stop', () => {
  const running = platformOf({ models: [tinyLlama], env: { SLUICE_SHUTDOWN_GRACE_MS: '5000' } });

  it('open streams finish, new requests are rejected, and it exits with 0', async () => {
    const target = running();
    const raw = await openStream(target, chat('[[tokens=130 delay=30]]'));
    await raw.until(/"content":"\w/);
    const ended = target.kill('api', 'SIGTERM');
    await expect.poll(async () => (await fetch(`${target.origin}/health/ready`)).status).toBe(503);
    // It serves for a moment more, and says on each connection that this one closes.
    let refused = await post(target, chat('Just in time'));
    while (refused.status === 200) {
      expect(refused.headers.get('connection')).toBe('close');
      refused = await post(target, chat('Too late'));
    }
    expect(refused.status).toBe(503);
    expect(refused.headers.get('connection')).toBe('close');
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(framesOf(await raw.until(/\r\n0\r\n\r\n$/)).at(-1)).toBe('data: [DONE]');
    expect((await ended).code).toBe(0);
  });

  itInFull('streams that do not finish in time end with an error frame', async () => {
    const target = running();
    await target.start('api');
    await target.untilOnline();
    const raw = await openStream(target, chat('[[tokens=5000 delay=30]]'));
    await raw.until(/"content":"\w/);
    const ended = target.kill('api', 'SIGTERM');
    const frames = framesOf(await raw.until(/\r\n0\r\n\r\n$/));
    expect(JSON.parse(frames.at(-1)?.slice(6) ?? '')).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
    expect((await ended).code).toBe(0);
    expect((await target.closedJobs()).at(-1)?.state).toBe('cancelled');
  });
});
