import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { expect, it } from 'vitest';
import { mebibyte } from '#common/values';
import type { Platform } from '#test/platform';
import { seededRandom } from '#test/seeded-random';
import { amount, describeFault } from './fault-scene.js';
import { malformedCorpus, type MalformedRequest, worstCases } from './malformed-corpus.js';

/* F17: requests malformed in every known way. */

/** Fraction of the corpus used in a short run: one in so many. */
const oneIn = amount({ full: 1, quick: 20 });
const atOnce = 8;
const hugeBytes = 100 * mebibyte;

/**
 * Allowed memory growth of the API between a fifth and all of the corpus, in bytes. Garbage collection is delayed: in a
 * full run 20 to 100 MB, which three rounds of the corpus do not add to.
 */
const maxGrowth = amount({ full: 128, quick: 48 }) * mebibyte;

interface Answer {
  name: string;
  status: number;
  /** The error code; null if the response is no error. */
  code: string | null;
  tookMs: number;
}

interface ErrorBody {
  code?: string;
  error?: { code?: string } | string;
}

class Sender {
  private readonly agent = new Agent({
    connections: atOnce,
    pipelining: 1,
    headersTimeout: 60_000,
    bodyTimeout: 60_000,
  });
  readonly answers: Answer[] = [];

  constructor(private readonly platform: Platform) {}

  /** Resolves when all have their responses. */
  async send(requests: readonly MalformedRequest[]): Promise<void> {
    let next = 0;
    const lane = async (): Promise<void> => {
      for (let each = requests[next++]; each !== undefined; each = requests[next++]) {
        this.answers.push(await this.ask(each));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, lane));
  }

  close(): Promise<void> {
    return this.agent.close();
  }

  private async ask({ name, method, path, headers, body }: MalformedRequest): Promise<Answer> {
    const startedAt = performance.now();
    const key = path.endsWith('/api_keys') ? this.platform.adminKey : this.platform.inferenceKey;
    try {
      const answer = await request(`${this.platform.origin}${path}`, {
        method,
        dispatcher: this.agent,
        headers: { authorization: `Bearer ${key}`, ...headers },
        body,
      });
      const text = await answer.body.text();
      return {
        name,
        status: answer.statusCode,
        code: codeOf(answer.statusCode, text),
        tookMs: performance.now() - startedAt,
      };
    } catch (error) {
      return { name, status: 0, code: String(error), tookMs: performance.now() - startedAt };
    }
  }
}

/** Every rejection has a code, in either envelope. */
function codeOf(status: number, text: string): string | null {
  if (status < 400) return null;
  const { code, error } = JSON.parse(text) as ErrorBody;
  return code ?? (typeof error === 'object' ? error.code : undefined) ?? '';
}

/** A fixed order in which every part resembles the whole. */
function shuffled<Each>(all: readonly Each[]): Each[] {
  const random = seededRandom(17);
  return all
    .map((each) => ({ each, rank: random() }))
    .toSorted((left, right) => left.rank - right.rank)
    .map(({ each }) => each);
}

async function residentBytes(platform: Platform): Promise<number> {
  const status = await readFile(`/proc/${platform.pid('api')}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024;
}

function quantile(values: readonly number[], part: number): string {
  const sorted = values.toSorted((left, right) => left - right);
  return (sorted[Math.floor(part * (sorted.length - 1))] ?? 0).toFixed(1);
}

const unexpected: string[] = [];

describeFault(
  'F17',
  {
    onLog: (text) => {
      for (const line of text.split('\n')) if (/failed unexpectedly|ended with/.test(line)) unexpected.push(line);
    },
  },
  (running) => {
    it('thousands of malformed requests are rejected, none with a 5xx, and the API memory stays stable', async () => {
      const platform = running();
      const sender = new Sender(platform);
      const corpus = shuffled([...malformedCorpus().filter((_each, index) => index % oneIn === 0), ...worstCases()]);
      const fifth = Math.floor(corpus.length / 5);
      await sender.send(corpus.slice(0, fifth));
      const early = await residentBytes(platform);
      await sender.send(corpus.slice(fifth));
      const late = await residentBytes(platform);
      await sender.close();

      const took = sender.answers.map(({ tookMs }) => tookMs);
      const statuses = [...new Set(sender.answers.map(({ status }) => status))].toSorted((left, right) => left - right);
      const counts = statuses.map(
        (each) => `${sender.answers.filter(({ status }) => status === each).length} × ${each}`,
      );
      process.stdout.write(
        `F17: ${corpus.length} requests, ${counts.join(', ')}; p50 ${quantile(took, 0.5)} ms, p99 ${quantile(took, 0.99)} ms; ` +
          `the API used ${(early / mebibyte).toFixed(0)} MiB after a fifth, ${(late / mebibyte).toFixed(0)} MiB after all\n`,
      );
      expect(sender.answers.filter(({ status }) => status === 0 || status >= 500).slice(0, 20)).toEqual([]);
      expect(sender.answers.filter(({ code }) => code === '' || code === 'UNKNOWN_ERROR').slice(0, 20)).toEqual([]);
      expect(unexpected).toEqual([]);
      expect(late - early).toBeLessThan(maxGrowth);
    }, 900_000);

    it.each([
      ['with its length', true],
      ['in chunks', false],
    ])('a body of 100 MB %s is rejected', async (_kind, isDeclared) => {
      const platform = running();
      const agent = new Agent();
      for (const path of ['chat/completions', 'api_keys', 'image/upscale', 'audio/transcriptions']) {
        const isForm = path === 'audio/transcriptions';
        const { statusCode, body } = await request(`${platform.baseUrl}/${path}`, {
          method: 'POST',
          dispatcher: agent,
          headers: {
            authorization: `Bearer ${path === 'api_keys' ? platform.adminKey : platform.inferenceKey}`,
            'content-type': isForm ? 'multipart/form-data; boundary=x' : 'application/json',
            ...(isDeclared && { 'content-length': String(hugeBytes) }),
          },
          body: Readable.from(hugeBody()),
        });
        await body.dump();
        expect([path, statusCode]).toEqual([path, 413]);
      }
      await agent.close();
      expect(unexpected).toEqual([]);
    });
  },
);

async function* hugeBody(): AsyncGenerator<Buffer> {
  const part = Buffer.alloc(mebibyte, ' ');
  for (let sent = 0; sent < hugeBytes; sent += part.length) {
    await Promise.resolve();
    yield part;
  }
}
