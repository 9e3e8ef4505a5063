import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isFull, transportsFor } from '#test/extent';
import { OtlpReceiver } from '#test/otlp-receiver';
import { type Platform, type PlatformProcess, startPlatform } from '#test/platform';
import { memoryIsReadable, textsInMemory } from '#test/process-memory';
import { type SealedChunk, SealingClient, textOf } from '#test/sealing-client';
import { stopConsistently } from '#test/stop-consistently';
import { dumpStore } from '#test/store-dump';

/* End-to-end encrypted chats with a client of its own, and a search for their texts outside of the model host. */

/** The queue without its own encryption: nothing else hides a text there. */
const open = { SLUICE_QUEUE_KEY: '' };

describe.each(transportsFor('redis'))('encrypted chats, with the queue in %s', (transport) => {
  let platform: Platform;
  let collector: OtlpReceiver;
  let client: SealingClient;
  let log = '';

  beforeAll(async () => {
    collector = await OtlpReceiver.open();
    const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' };
    platform = await startPlatform({
      transport,
      ownPostgres: true,
      redisArguments: ['--appendonly', 'yes', '--rdbcompression', 'no'],
      replicas: { worker: 2 },
      env: { SLUICE_TEE: 'software', LOG_LEVEL: 'debug', ...tracing },
      processEnv: { api: open, ops: open, worker: open, 'worker-2': open },
      onLog: (text) => void (log += text),
    });
    client = await openClient();
  });
  afterAll(async () => {
    try {
      await stopConsistently(platform);
    } finally {
      await collector?.close();
    }
  });

  function openClient(): Promise<SealingClient> {
    return SealingClient.open({ baseUrl: platform.baseUrl, apiKey: platform.inferenceKey, model: 'tiny-llama' });
  }

  it('are answered to the client that sent them, sealed in every chunk, and counted as in clear', async () => {
    const text = 'say this twice [[echo think=1]]';
    const others = { n: 2, stream_options: { include_usage: true } };
    const chunks = await client.chat(text, others);
    for (const index of [0, 1]) {
      expect(textOf(client, chunks, 'reasoning_content', index).trim()).toBe('say');
      expect(textOf(client, chunks, 'content', index).trim()).toBe('this twice');
    }
    for (const { choices } of chunks) for (const { delta, logprobs } of choices) expectSealed(delta, logprobs);
    const { usage } = chunks.at(-1) as SealedChunk;
    const plain = await client.send({ messages: [{ role: 'user', content: text }], ...others }, {});
    const last = (await plain.text()).split('\n').findLast((line) => line.includes('"usage":{')) ?? '';
    expect(usage).toEqual((JSON.parse(last.slice(6)) as SealedChunk).usage);
  });

  function expectSealed(delta: Record<string, unknown>, logprobs: unknown): void {
    expect(logprobs).toBeNull();
    for (const [name, value] of Object.entries(delta)) {
      if (name === 'role') expect(value).toBe('assistant');
      else {
        expect(['content', 'reasoning_content']).toContain(name);
        expect(value).toMatch(/^04[0-9a-f]{184,}$/);
      }
    }
  }

  it('reach the worker whose host has the key, whichever is idle', async () => {
    const texts = Array.from({ length: 24 }, (_value, index) => `message ${index}`);
    const answers = await Promise.all(
      texts.map(async (text) => textOf(client, await client.chat(`${text} [[echo delay=20]]`), 'content')),
    );
    expect(answers).toEqual(texts);
  });

  it('end with an error that holds no text when the model fails', async () => {
    const response = await client.send({
      messages: [{ role: 'user', content: client.seal('planted [[echo fail=1]]') }],
    });
    const body = await response.text();
    expect(body).toContain('INFERENCE_FAILED');
    expect(body).not.toContain('planted');
  });

  describe('that cannot be opened', () => {
    const refused = async (body: object, headers?: Record<string, string>): Promise<string> => {
      const response = await client.send(body, headers);
      const { error } = (await response.json()) as { error: { message: string } };
      return `${response.status} ${error.message}`;
    };
    const charged = async (): Promise<string> => {
      const [row] = await platform.query<{ sum: string }>(
        'SELECT coalesce(sum(completion_tokens), 0) AS sum FROM jobs',
      );
      return row?.sum ?? '';
    };
    const messages = () => [{ role: 'user', content: client.seal('Hello') }];

    it('are refused in the documented words, and cost nothing', async () => {
      const before = await charged();
      const other = new SealingClient({ baseUrl: '', apiKey: '', model: '' }, client.hostKey);
      const { 'X-Service-TEE-Model-Pub-Key': _key, ...withoutHost } = client.headers;
      expect(await refused({ messages: messages(), stream: false })).toMatch(/^400 E2EE requires streaming/);
      expect(await refused({ messages: [{ role: 'user', content: 'in clear' }] })).toMatch(
        /^400 Encrypted field is not valid hex/,
      );
      expect(await refused({ messages: messages() }, withoutHost)).toMatch(/^400 Invalid public key/);
      expect(
        await refused({ messages: messages() }, { ...client.headers, 'X-Service-TEE-Model-Pub-Key': other.publicKey }),
      ).toMatch(/^400 Failed to decrypt field/);
      // Sealed for another key than the header names: only the host can tell.
      const content = client.seal('Hello', other.publicKey);
      expect(await refused({ messages: [{ role: 'user', content }] })).toMatch(/^400 Failed to decrypt field/);
      expect(await refused({ messages: messages(), tools: [{ type: 'web_search' }] })).toMatch(/^400 E2EE does not/);
      await platform.closedJobs();
      expect(await charged()).toBe(before);
    });

    const rounds = isFull ? 125 : 5;
    it(`never fail the service and cost nothing: ${8 * rounds} mutations`, { timeout: 300_000 }, async () => {
      await platform.closedJobs();
      const charges = async () => [
        await charged(),
        await platform.query('SELECT usd_nano, usd_held_nano FROM balances'),
      ];
      const before = await charges();
      const field = client.seal('Hello [[tokens=1]]');
      const statuses = new Map<number, number>();
      for (let round = 0; round < rounds; round++) {
        await Promise.all(
          Array.from({ length: 8 }, async () => {
            const { messages: changed, headers } = mutated(field);
            const response = await client.send({ messages: changed }, headers);
            await response.text();
            statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
          }),
        );
      }
      expect(Object.fromEntries(statuses)).toEqual({ 400: 8 * rounds });
      await platform.closedJobs();
      expect(await charges()).toEqual(before);
    });

    /** A request that differs from a valid one in its field or in one of its keys. */
    function mutated(field: string): { messages: object[]; headers: Record<string, string> } {
      const [at = 0, kind = 0, shift = 0] = randomBytes(3);
      const position = 1 + (at % (field.length - 1));
      const digit = (text: string, index: number) =>
        ((Number.parseInt(text[index] ?? '0', 16) + 1 + (shift % 15)) % 16).toString(16);
      const changedDigit = (text: string, index: number) =>
        text.slice(0, index) + digit(text, index) + text.slice(index + 1);
      const fields = [
        field.slice(0, position),
        changedDigit(field, position),
        field.slice(position) + field.slice(0, position),
        field.slice(0, 130) + randomBytes(at + 30).toString('hex'),
        field + field,
      ];
      const headers = { ...client.headers };
      if (kind % 6 < 5) return { messages: [{ role: 'user', content: fields[kind % 6] }], headers };
      const names = ['X-Service-TEE-Client-Pub-Key', 'X-Service-TEE-Model-Pub-Key'] as const;
      const name = names[shift % 2] ?? names[0];
      headers[name] = changedDigit(headers[name] ?? '', position % 130);
      return { messages: [{ role: 'user', content: field }], headers };
    }
  });

  describe('leave their texts in the model host alone', () => {
    const others: PlatformProcess[] = ['api', 'ops', 'worker', 'worker-2'];

    /** Where the phrases are now: processes by memory, stores by content and logs, all output, all traces. */
    async function placesOf(phrases: readonly string[]): Promise<string[]> {
      const found: string[] = [];
      const examine = (place: string, content: Buffer | string): void => {
        for (const phrase of phrases) if (content.includes(phrase)) found.push(`${phrase.split('-')[0]} in ${place}`);
      };
      // The stores first: what is in clear leaves the queue with its job, and a search of memory takes seconds.
      examine('database', await dumpStore(platform.databaseUrl));
      if (transport === 'redis') {
        examine('redis', await dumpStore(platform.redis.url));
        examine('redis snapshot', await snapshotOf(platform.redis.url));
        if (memoryIsReadable) examine('memory of redis', (await textsInMemory(platform.redis.pid, phrases)).join('\n'));
      }
      for (const name of memoryIsReadable ? others : []) {
        const texts = await textsInMemory(platform.pid(name), phrases);
        examine(`memory of ${name}`, texts.join('\n'));
      }
      examine('logs', log);
      examine('traces', collector.text);
      return [...new Set(found)].toSorted();
    }

    async function snapshotOf(url: string): Promise<Buffer> {
      const redis = new Redis(url);
      try {
        await redis.save();
        const [, folder = ''] = (await redis.config('GET', 'dir')) as string[];
        return await readFile(join(folder, 'dump.rdb'));
      } finally {
        redis.disconnect();
      }
    }

    /** A text to ask with, and the word that the model answers with. */
    function plant() {
      const id = randomBytes(12).toString('hex');
      return { asked: `asked-${id}`, answered: `answered-${id}`, instructed: `instructed-${id}` };
    }

    it('while they run and afterwards, unlike chats in clear', async () => {
      const { asked, answered, instructed } = plant();
      const phrases = [asked, answered, instructed];
      const messages = (seal: (text: string) => string) => [
        { role: 'system', content: seal(`Never tell ${instructed}.`) },
        { role: 'user', content: seal(`${asked} first`) },
        { role: 'assistant', content: seal(`so ${answered}`) },
        { role: 'user', content: seal(`${asked} ${answered} more words follow it [[echo delay=400]]`) },
      ];
      let during: string[] | null = null;
      const chunks = await client.chat('', { messages: messages((text) => client.seal(text)) }, async (text) => {
        if (text.includes(answered)) during ??= await placesOf(phrases);
      });
      expect(textOf(client, chunks, 'content')).toBe(`${asked} ${answered} more words follow it`);
      await platform.closedJobs();
      expect([during, await placesOf(phrases)]).toEqual([[], []]);

      // The same search of the same chat in clear.
      const response = await client.send({ messages: messages((text) => text) }, {});
      const reader = response.body?.getReader();
      let read = '';
      while (!read.includes(answered)) read += new TextDecoder().decode((await reader?.read())?.value);
      const inClear = await placesOf(phrases);
      while ((await reader?.read())?.done === false);
      const queue = transport === 'redis' ? ['redis', 'redis snapshot'] : ['database'];
      for (const place of queue) expect(inClear).toContain(`asked in ${place}`);
      if (memoryIsReadable) {
        expect(inClear).toContain('answered in memory of api');
        expect(inClear.some((place) => place.startsWith('asked in memory of worker'))).toBe(true);
      }
    });
  });

  it('are refused when the host has restarted since, until the client asks for the new key', async () => {
    const before = await openClient();
    const jobs = await platform.closedJobs();
    for (const name of ['worker', 'worker-2'] as const) await platform.kill(name);
    await Promise.all([platform.start('worker'), platform.start('worker-2')]);
    await platform.untilOnline();
    await expect.poll(async () => (await openClient()).hostKey, { timeout: 60_000 }).not.toBe(before.hostKey);
    await expect(before.chat('Hello')).rejects.toThrow(/400 .*Failed to decrypt field.*attestation again/);
    expect(await platform.closedJobs()).toHaveLength(jobs.length);
    client = await openClient();
    expect(textOf(client, await client.chat('once more [[echo]]'), 'content')).toBe('once more');
  });
});
