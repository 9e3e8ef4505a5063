import { expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { ChatStreamReader } from './chat-caller.js';
import { describeFault, eventually, pause } from './fault-scene.js';
import { ledgerOf } from './job-ledger.js';

/* F9: the only worker of a pool is replaced, as a Deployment with `maxSurge: 1` and `maxUnavailable: 0` does. */

const tokens = 6;
const pauseMs = 150;
/** How long the next worker loads its model, in ms: much longer than a worker takes to start. */
const loadMs = 4_000;
/** Chats before and after the exchange. */
const quietChats = 5;

/** Opens a streamed chat every 150 ms until it is told to end. */
class SteadyCaller {
  readonly opened: Promise<ChatStreamReader | Error>[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly platform: Platform) {}

  start(): void {
    this.timer = setInterval(() => {
      const options = { directives: `tokens=${tokens} delay=20`, text: `Chat ${this.opened.length}` };
      this.opened.push(ChatStreamReader.open(this.platform, options).catch((error: unknown) => error as Error));
    }, pauseMs);
  }

  async untilOpened(count: number): Promise<void> {
    while (this.opened.length < count) await pause(pauseMs);
    await Promise.all(this.opened);
  }

  async stop(): Promise<{ streams: ChatStreamReader[]; failures: string[] }> {
    clearInterval(this.timer);
    const chats = await Promise.all(this.opened);
    const streams = chats.filter((chat) => chat instanceof ChatStreamReader);
    await Promise.all(streams.map((stream) => stream.ended));
    return { streams, failures: chats.filter((chat) => chat instanceof Error).map(String) };
  }
}

async function readiness(platform: Platform): Promise<{ status: number; body: Record<string, unknown> } | null> {
  const response = await fetch(`${platform.operationsUrl('worker-2')}/health/ready`).catch(() => null);
  return response && { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const processEnv = { 'worker-2': { SLUICE_TEST_LOAD_MS: String(loadMs) } } as const;

describeFault('F9', { replicas: { worker: 2 }, processEnv }, (running) => {
  it('the next worker of a pool of one is ready when its model is loaded, so that no chat fails when it takes over', async () => {
    const platform = running();
    expect((await platform.kill('worker-2', 'SIGTERM')).code).toBe(0);
    const caller = new SteadyCaller(platform);
    caller.start();
    await caller.untilOpened(quietChats);

    await platform.start('worker-2');
    const seen: unknown[] = [];
    await eventually('the next worker is ready', async () => {
      const found = await readiness(platform);
      if (found !== null) seen.push(found.body);
      return found?.status === 200;
    });
    expect((await platform.kill('worker', 'SIGTERM')).code).toBe(0);
    await caller.untilOpened(caller.opened.length + quietChats);

    const { streams, failures } = await caller.stop();
    expect(failures).toEqual([]);
    for (const { errorCode, tokens: received, isComplete } of streams) {
      expect([errorCode, received, isComplete]).toEqual([null, tokens, true]);
    }
    // While it loaded, it said so.
    expect(JSON.stringify(seen)).toMatch(/tiny-llama is being loaded/);
    await platform.closedJobs(20_000);
    for (const ledgerState of await ledgerOf(
      platform,
      streams.map(({ requestId }) => requestId),
    )) {
      expect(ledgerState).toMatchObject({ state: 'succeeded', completionTokens: tokens, charges: 1 });
    }
  }, 120_000);
});
