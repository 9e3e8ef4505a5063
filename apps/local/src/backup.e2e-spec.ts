import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { childEnvironment } from '#platform/config';
import { Installation } from '#test/installation';
import { LocalRun } from '#test/local-run';
import { type FinishedCommand, startSluice } from '../../../test/e2e/sluice-command.js';

describe.runIf(process.platform === 'linux')('sluice backup and restore', () => {
  let folder: string;
  let run: LocalRun | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice backup '));
  });
  afterEach(async () => {
    await run?.stop('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  });

  async function start(home: string): Promise<Installation> {
    run = new LocalRun(home, { PORT: '0' });
    await run.says('Sluice is ready');
    return new Installation(run);
  }

  const restore = (file: string, home: string): Promise<FinishedCommand> =>
    startSluice(['restore', file], childEnvironment({ SLUICE_HOME: home, DATABASE_URL: null, REDIS_URL: null }))
      .finished;

  it('move an installation to an empty machine, which serves the old key', async () => {
    const first = join(folder, 'first');
    const second = join(folder, 'second');
    const old = await start(first);
    await old.run.addTinyModel(folder);
    const key = await old.run.inferenceKey();
    await expect.poll(() => old.respond(key).catch(() => null), { timeout: 60_000 }).not.toBeNull();
    const responseId = await old.respond(key);
    await old.run.sluice('backup', join(folder, 'backups/'));
    const [name = ''] = await readdir(join(folder, 'backups'));
    const file = join(folder, 'backups', name);

    expect(await restore(file, first)).toMatchObject({ code: 1, stderr: expect.stringContaining('stop it first') });
    expect(await old.run.stop('SIGTERM')).toBe(0);
    const restored = await restore(file, second);
    expect(restored).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ledger +ok: 1 accounts/m) });
    // Models are no part of a backup.
    await cp(join(first, 'models'), join(second, 'models'), { recursive: true });
    await rm(first, { recursive: true });

    const installation = await start(second);
    expect(await installation.readResponse(key, responseId)).toBe(200);
    await expect.poll(() => installation.respond(key).catch(() => null), { timeout: 60_000 }).not.toBeNull();
    expect(await installation.run.inferenceKey()).toBe(key);
  }, 300_000);
});
