import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mebibyte } from '#common/values';
import { type Attack, attackList, type AttackTarget, speechAttacks } from '#test/attacks';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { installTinyKokoro } from '#test/tiny-voice';
import { amount } from './fault-scene.js';
import { openLimitedTenant } from './limited-tenant.js';

/* F32: one caller sends the worst it can, while another one works. `npm run bench -- abuse` measures the same. */

/** Requests of the other caller during each attack. */
const requests = amount({ full: 40, quick: 6 });
const maxResidentBytes = 512 * mebibyte;

/** Asks while an attack grows, and then `requests` times; returns the responses. */
async function askDuring(attack: Attack, target: AttackTarget, ask: () => Promise<string>): Promise<string[]> {
  const stop = new AbortController();
  let isLargest = false;
  const attacking = attack.run(target, stop.signal, () => (isLargest = true));
  const answers: string[] = [];
  try {
    for (let left = requests; left > 0; left -= isLargest ? 1 : 0) {
      answers.push(await ask());
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  } finally {
    stop.abort();
    await attacking;
  }
  return answers;
}

describe('F32: abuse', () => {
  let platform: Platform;
  let attackerKey: string;

  beforeAll(async () => {
    platform = await startPlatform({ env: { SLUICE_ABUSE_FAILURES: '20' } });
    attackerKey = (await openLimitedTenant(platform, { requests: 500 })).key;
  });
  afterAll(async () => {
    await platform.closedJobs();
    await expectInvariant(platform);
    await platform.stop();
  });

  async function residentBytes(): Promise<number> {
    const status = await readFile(`/proc/${platform.pid('api')}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
  }

  async function chat(): Promise<string> {
    const response = await fetch(`${platform.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'tiny-llama', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    const text = await response.text();
    return response.status === 200 ? 'answered' : `${response.status} ${text}`;
  }

  it.each(attackList({ sockets: 10_000 }))('serves others during $name, within its memory', async (attack) => {
    let peak = 0;
    const target = { port: platform.port, key: attackerKey, model: 'tiny-llama' };
    const answers = await askDuring(attack, target, async () => {
      const answer = await chat();
      peak = Math.max(peak, await residentBytes());
      return answer;
    });
    expect(answers).toEqual(answers.map(() => 'answered'));
    expect(peak).toBeLessThan(maxResidentBytes);
  });
});

describe('F32: abuse of speech', () => {
  let home: string;
  let platform: Platform;
  let attackerKey: string;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
    platform = await startPlatform({ engine: 'text', home, manifests: [await installTinyKokoro(home)] });
    attackerKey = (await openLimitedTenant(platform, { requests: 500 })).key;
  });
  afterAll(async () => {
    await platform.closedJobs(60_000);
    await expectInvariant(platform);
    await platform.stop();
    await rm(home, { recursive: true, force: true });
  });

  async function speak(): Promise<string> {
    const response = await fetch(`${platform.baseUrl}/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'tiny-kokoro', input: 'Hello world.', response_format: 'wav' }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    return response.status === 200 ? bytes.toString('latin1', 0, 4) : `${response.status} ${bytes.toString()}`;
  }

  it.each(speechAttacks)('serves others during $name', async (attack) => {
    const target = { port: platform.port, key: attackerKey, model: 'tiny-kokoro' };
    const answers = await askDuring(attack, target, speak);
    expect(answers).toEqual(answers.map(() => 'RIFF'));
    // The attack itself is spoken: `Start, end.`
    const [jobs] = await platform.query<{ queued: number }>(
      "SELECT count(*)::int AS queued FROM jobs WHERE modality = 'audio'",
    );
    expect(jobs?.queued).toBeGreaterThan(0);
  });
});
