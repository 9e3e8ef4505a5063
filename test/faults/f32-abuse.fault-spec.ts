import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attackList } from '#test/attacks';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { amount } from './fault-scene.js';
import { openLimitedTenant } from './limited-tenant.js';

/* F32: one caller sends the worst it can, while another one works. `bench:abuse` measures the same. */

const megabyte = 1024 * 1024;
/** Requests of the other caller during each attack. */
const requests = amount({ full: 40, quick: 6 });
const maxResidentBytes = 512 * megabyte;

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

  it.each(attackList({ sockets: amount({ full: 10_000, quick: 1_000 }) }))(
    'serves others during $name, within its memory',
    async (attack) => {
      const stop = new AbortController();
      const attacking = attack.run({ port: platform.port, key: attackerKey, model: 'tiny-llama' }, stop.signal);
      const answers: string[] = [];
      let peak = 0;
      try {
        for (let index = 0; index < requests; index += 1) {
          answers.push(await chat());
          peak = Math.max(peak, await residentBytes());
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      } finally {
        stop.abort();
        await attacking;
      }
      expect(answers).toEqual(Array.from({ length: requests }, () => 'answered'));
      expect(peak).toBeLessThan(maxResidentBytes);
    },
  );
});
