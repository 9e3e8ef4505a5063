import { Agent, type Dispatcher, request } from 'undici';
import { percentile } from '../report.js';

/** Target of the requests: `url`, with the keys used in rotation. */
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

/** Sends requests over keep-alive connections, like a client library. */
export class HttpLoad {
  private readonly agent: Dispatcher;
  private next = 0;

  constructor(private readonly connections: number) {
    this.agent = new Agent({ connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  }

  /** Sends as many requests as possible; each connection sends the next one after a response. */
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

  /** Sends a fixed number of requests; each connection sends the next one after a response. */
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

  /** Sends requests at a fixed rate, regardless of the response times. Latency counts from the scheduled start. */
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

  /** Time from `fromMs` to the last byte, in ms. */
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

/** Timers have a resolution of a millisecond; shorter waits yield to the event loop. */
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
