import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalRun } from '#test/local-run';

/* What `npm run dev` asks of the processes of `npm start`. */

/** Pids of the services (Linux only). */
async function servicesOf(pid: number): Promise<Record<string, number>> {
  const ids = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number);
  const found = await Promise.all(
    ids.map(async (id) => {
      const command = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '');
      return [/apps\/(api|worker|ops)\/src\/main\.js/.exec(command)?.[1], id] as const;
    }),
  );
  return Object.fromEntries(found.filter(([app]) => app !== undefined));
}

describe.runIf(process.platform === 'linux')('npm start under npm run dev', () => {
  let home: string;
  let run: LocalRun;

  beforeEach(async () => {
    home = join(await mkdtemp(join(tmpdir(), 'sluice-dev-')), '.sluice');
    run = new LocalRun(home, { PORT: '0' }, { hasChannel: true });
  });
  afterEach(async () => {
    await run.stop('SIGTERM');
    await rm(join(home, '..'), { recursive: true, force: true });
  });

  it('restarts the api alone when asked to, and is ready again', async () => {
    await run.says('Sluice is ready');
    const { healthUrl } = JSON.parse(await readFile(join(home, 'runtime.json'), 'utf8')) as { healthUrl: string };
    const isReady = async () => (await fetch(`${healthUrl}/health/ready`).catch(() => null))?.status === 200;
    const before = await servicesOf(run.pid);
    expect(Object.keys(before).toSorted()).toEqual(['api', 'ops', 'worker']);
    run.send({ restart: ['api'] });
    await expect.poll(async () => (await servicesOf(run.pid)).api ?? before.api).not.toBe(before.api);
    await expect.poll(isReady, { timeout: 120_000 }).toBe(true);
    const after = await servicesOf(run.pid);
    expect({ worker: after.worker, ops: after.ops }).toEqual({ worker: before.worker, ops: before.ops });
    expect(run.output).not.toContain('it starts again in');
  });

  it('stops everything when npm run dev dies', async () => {
    await run.says('Sluice is ready');
    run.loseChannel();
    expect(await run.ended).toBe(0);
    expect(run.output).toContain('everything is stopped');
  });
});
