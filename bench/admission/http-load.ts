import { Agent, type Dispatcher, request } from 'undici';
import { percentile } from '../report.js';

/** A target of requests: they go to `url` with the keys in turns. */
export interface LoadTarget {
  url: string;
  keys: readonly string[];
  body: string;
}

export interface LoadResult {
  requests: number;
  seconds: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
}

/** Requests over connections that stay open, as a client library keeps them. */
export class HttpLoad {
  private readonly agent: Dispatcher;
  private next = 0;

  constructor(private readonly connections: number) {
    this.agent = new Agent({ connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  }

  /** As many as it answers, each connection asking anew when it has its answer. */
  async closedLoop(target: LoadTarget, seconds: number): Promise<LoadResult> {
    const latenciesMs: number[] = [];
    const startedMs = performance.now();
    const endMs = startedMs + seconds * 1_000;
    const lane = async (): Promise<void> => {
      while (performance.now() < endMs) latenciesMs.push(await this.ask(target));
    };
    await Promise.all(Array.from({ length: this.connections }, lane));
    return resultOf(latenciesMs, startedMs);
  }

  /** So many requests, each connection asking anew when it has its answer. */
  async fixedCount(target: LoadTarget, requests: number): Promise<LoadResult> {
    const latenciesMs: number[] = [];
    const startedMs = performance.now();
    let left = requests;
    const lane = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        latenciesMs.push(await this.ask(target));
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.connections, requests) }, lane));
    return resultOf(latenciesMs, startedMs);
  }

  /** At a steady rate, whether or not it keeps up: latency counts from the moment the request was due. */
  async openLoop(
    target: LoadTarget,
    { perSecond, seconds }: { perSecond: number; seconds: number },
  ): Promise<LoadResult> {
    const startedMs = performance.now();
    const total = Math.round(perSecond * seconds);
    const answers: Promise<number>[] = [];
    for (let index = 0; index < total; index += 1) {
      const dueMs = startedMs + (index * 1_000) / perSecond;
      while (performance.now() < dueMs) await turn(dueMs - performance.now());
      answers.push(this.ask(target, dueMs));
    }
    return resultOf(await Promise.all(answers), startedMs);
  }

  async close(): Promise<void> {
    await this.agent.close();
  }

  /** Ms from `fromMs` to the last byte. */
  private async ask({ url, keys, body }: LoadTarget, fromMs = performance.now()): Promise<number> {
    this.next += 1;
    const { statusCode, body: answer } = await request(url, {
      method: 'POST',
      dispatcher: this.agent,
      headers: { authorization: `Bearer ${keys[this.next % keys.length] ?? ''}`, 'content-type': 'application/json' },
      body,
    });
    const bytes = await answer.arrayBuffer();
    if (statusCode !== 200) throw new Error(`HTTP ${statusCode}: ${Buffer.from(bytes).toString()}`);
    return performance.now() - fromMs;
  }
}

/** A timer is no finer than a millisecond; shorter waits give way to whatever is due. */
function turn(ms: number): Promise<void> {
  return new Promise((done) => (ms > 1.5 ? setTimeout(done, ms - 1) : setImmediate(done)));
}

function resultOf(latenciesMs: number[], startedMs: number): LoadResult {
  return {
    requests: latenciesMs.length,
    seconds: (performance.now() - startedMs) / 1_000,
    p50Ms: percentile(latenciesMs, 50),
    p95Ms: percentile(latenciesMs, 95),
    p99Ms: percentile(latenciesMs, 99),
  };
}
