import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { redisAvailable } from '#test/redis';
import { stopConsistently } from '#test/stop-consistently';

/* Two replicas of the api and two workers, affinity as it is by default: a conversation stays with the worker that has its beginning. */

interface Message {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({
    transport: redisAvailable ? 'redis' : 'postgres',
    replicas: { api: 2, worker: 2 },
  });
  for (const replica of [0, 1]) {
    await until('both workers claim sticky jobs', async () => {
      const before = await decisions(replica, 'sticky');
      await ask(replica, [{ role: 'user', content: 'Hello' }], { prompt_cache_key: 'probe' });
      return (await decisions(replica, 'sticky')) > before;
    });
  }
});

afterAll(() => stopConsistently(platform));

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`timed out waiting for: ${what}\n${platform.log()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Sum of a counter over the series that contain `label`. */
async function sum(url: string, name: string, label: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) && line.includes(label))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0);
}

const decisions = (replica: number, decision: string) =>
  sum(platform.origins[replica] ?? '', 'sluice_affinity_decisions_total', `decision="${decision}"`);

/** The response, and the worker that generated it. */
async function ask(replica: number, messages: Message[], body: object = {}): Promise<{ text: string; pid: number }> {
  const response = await fetch(`${platform.origins[replica]}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'tiny-llama', messages, max_completion_tokens: 6, ...body }),
  });
  expect(response.status).toBe(200);
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  const runs = await platform.journal.runsOf(response.headers.get('cf-ray') ?? '');
  expect(runs).toHaveLength(1);
  return { text: choices[0]?.message.content ?? '', pid: runs[0]?.workerPid ?? 0 };
}

/** The workers of all turns of one conversation, whose turns alternate between the replicas. */
async function converse(name: string, turns: number): Promise<Set<number>> {
  const instructions = `You answer ${name} in a few words. `.repeat(20);
  const messages: Message[] = [{ role: 'system', content: instructions }];
  const pids = new Set<number>();
  for (let turn = 0; turn < turns; turn += 1) {
    messages.push({ role: 'user', content: `Question ${turn} of ${name}` });
    const { text, pid } = await ask(turn % 2, messages);
    messages.push({ role: 'assistant', content: text });
    pids.add(pid);
  }
  return pids;
}

describe('chats with two workers', () => {
  it('stay on one worker for all their turns, whichever replica they use, and are spread over the workers', async () => {
    const used = new Set<number>();
    for (let index = 0; index < 40 && (index < 4 || used.size < 2); index += 1) {
      const pids = await converse(`caller ${index}`, 4);
      expect(pids.size).toBe(1);
      for (const pid of pids) used.add(pid);
    }
    expect(used).toEqual(new Set([platform.pid('worker'), platform.pid('worker-2')]));
  });

  it('with one prompt_cache_key go to one worker, whatever their text', async () => {
    const pids = new Set<number>();
    for (let index = 0; index < 6; index += 1) {
      const messages: Message[] = [{ role: 'user', content: `Number ${index}` }];
      pids.add((await ask(index % 2, messages, { prompt_cache_key: 'one tenant', stream: false })).pid);
    }
    expect(pids.size).toBe(1);
  });

  it('that are short and have no key prefer no worker', async () => {
    const before = await decisions(0, 'sticky');
    await ask(0, [{ role: 'user', content: 'Hi' }]);
    expect(await decisions(0, 'sticky')).toBe(before);
  });

  it('are counted: workers took as many sticky jobs as the api assigned', async () => {
    const sticky = (await decisions(0, 'sticky')) + (await decisions(1, 'sticky'));
    expect(sticky).toBeGreaterThan(20);
    const urls = (['worker', 'worker-2'] as const).map((name) => platform.operationsUrl(name));
    const ends = await Promise.all(urls.map((url) => sum(url, 'sluice_affinity_jobs_total', 'end="claimed"')));
    const others = await Promise.all(urls.map((url) => sum(url, 'sluice_affinity_jobs_total', 'end="taken-over"')));
    expect([...ends, ...others].reduce((total, count) => total + count, 0)).toBe(sticky);
  });

  it('continue on the other worker when theirs stops', async () => {
    const messages: Message[] = [{ role: 'user', content: 'Still there?' }];
    const key = { prompt_cache_key: 'moving' };
    const { pid } = await ask(0, messages, key);
    const [leaving, staying] =
      pid === platform.pid('worker') ? (['worker', 'worker-2'] as const) : (['worker-2', 'worker'] as const);
    const stopped = platform.kill(leaving, 'SIGTERM');
    const during = await Promise.all(Array.from({ length: 10 }, (_value, index) => ask(index % 2, messages, key)));
    await stopped;
    expect((await ask(0, messages, key)).pid).toBe(platform.pid(staying));
    expect(during).toHaveLength(10);
    await until('only one worker is left', async () => {
      const before = await decisions(0, 'alone');
      await ask(0, messages, key);
      return (await decisions(0, 'alone')) > before;
    });
  });
});
