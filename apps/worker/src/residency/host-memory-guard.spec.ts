import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { type GuardedHost, HostMemoryGuard } from './host-memory-guard.js';

const gib = 2 ** 30;

interface Given {
  /** Memory of each host without requests and with its present ones, in GiB. */
  hosts: Record<string, [idle: number, busy: number]>;
  budget?: number;
  available?: number | null;
  loading?: boolean;
}

/** Checks once while all hosts are idle and once while all are busy; returns what was killed. */
async function killedOf({ hosts, budget = 10, available = 0.5, loading = false }: Given): Promise<string[]> {
  const killed: string[] = [];
  const names = Object.keys(hosts);
  let state: GuardedHost['state'] = loading ? 'loading' : 'idle';
  const guard = new HostMemoryGuard({
    hosts: () => names.map((id, pid) => ({ id, pid, state, kill: (reason) => void killed.push(`${id}: ${reason}`) })),
    budgetBytes: () => budget * gib,
    reader: {
      privateBytes: async (pid) => (hosts[names[pid] ?? '']?.[state === 'busy' ? 1 : 0] ?? 0) * gib,
      availableShare: async () => available,
    },
    logger: pino({ level: 'silent' }),
  });
  await guard.check();
  expect(killed).toEqual([]);
  if (!loading) state = 'busy';
  await guard.check();
  return killed;
}

describe('HostMemoryGuard', () => {
  it('kills the host that grew most when all exceed the budget', async () => {
    const killed = await killedOf({ hosts: { text: [6, 6.1], image: [1, 5] } });
    expect(killed).toEqual(['image: it uses 5.4 GB, over the budget of 10.7 GB']);
  });

  it('kills the host that grew most when the machine has no memory left', async () => {
    const killed = await killedOf({ hosts: { text: [6, 6.1], image: [1, 2] }, available: 0.01 });
    expect(killed).toEqual(['image: it uses 2.1 GB, and the machine has none left']);
  });

  it('leaves hosts alone within the budget, and where nothing is known', async () => {
    expect(await killedOf({ hosts: { text: [6, 6], image: [1, 3] } })).toEqual([]);
    expect(await killedOf({ hosts: { text: [6, 6], image: [1, 3] }, available: null })).toEqual([]);
    expect(await killedOf({ hosts: {} })).toEqual([]);
  });

  it('blames no host for the memory of other programs, and none that loads', async () => {
    expect(await killedOf({ hosts: { text: [6, 6.2] }, available: 0.01 })).toEqual([]);
    expect(await killedOf({ hosts: { text: [12, 12] }, loading: true })).toEqual([]);
  });
});
