import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { DeleteOldInstallationsSweep } from './delete-old-installations.sweep.js';
import { type InstallationLease, type InstallationProgress, maxAttempts } from './installation.js';
import { InstallationRepository } from './installation.repository.js';

let database: TestDatabase;
let prisma: PrismaService;
let repository: InstallationRepository;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 4 });
  repository = new InstallationRepository(prisma);
});

beforeEach(async () => {
  await prisma.modelInstallation.deleteMany();
});

afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

const ask = async (reference = 'hf:owner/name') => {
  const created = await repository.insert({ reference, options: { pool: 'local' } }, null);
  if (created === null) throw new Error(`${reference} is open already`);
  return created;
};

async function claim(owner = 'one'): Promise<InstallationLease> {
  const lease = await repository.claim(owner);
  if (lease === null) throw new Error('There was nothing to install.');
  return lease;
}

/** Leaves a row as a killed owner does: nobody renews its lease. */
const expire = ({ id }: { id: string }) =>
  prisma.$executeRaw`UPDATE model_installations SET leased_until = now() - interval '1 s' WHERE id = ${id}::uuid`;

const downloading: InstallationProgress = { stage: 'download', file: 'a', done: 1, total: 2, unit: 'bytes' };

describe('an installation', () => {
  it('is waiting at first, and is asked for once at a time', async () => {
    const { id, ...row } = await ask();
    expect(row).toMatchObject({ state: 'waiting', options: { pool: 'local' }, attempt: 0, owner: null, error: null });
    expect(await repository.insert({ reference: 'hf:owner/name', options: {} }, null)).toBeNull();
    await repository.cancel(id);
    expect(await repository.insert({ reference: 'hf:owner/name', options: {} }, null)).not.toBeNull();
  });

  it('has one owner of many that claim at once, the oldest first', async () => {
    const created = [await ask('hf:a/1'), await ask('hf:a/2'), await ask('hf:a/3')];
    const owners = Array.from({ length: 8 }, (_, index) => new InstallationRepository(prisma).claim(`owner-${index}`));
    const leases = (await Promise.all(owners)).filter((lease) => lease !== null);
    expect(leases.map(({ id }) => id).toSorted()).toEqual(created.map(({ id }) => id).toSorted());
    expect(new Set(leases.map(({ token }) => token)).size).toBe(3);
    expect(await repository.claim('late')).toBeNull();
  });

  it('tells what its owner does', async () => {
    const { id } = await ask();
    const lease = await claim();
    expect(await repository.describe(lease, 'name', 'llama, 1 B parameters')).toBe(true);
    expect(await repository.report(lease, 'pulling', downloading)).toBe(true);
    expect(await repository.find(id)).toMatchObject({
      ...{ state: 'pulling', modelId: 'name', note: 'llama, 1 B parameters', progress: downloading },
      ...{ owner: 'one', attempt: 1, finishedAt: null },
    });
    expect(await repository.finish(lease, { state: 'installed' })).toBe(true);
    const ended = await repository.find(id);
    expect(ended).toMatchObject({ state: 'installed', owner: null, progress: null });
    expect(ended?.finishedAt).toBeInstanceOf(Date);
  });

  it('goes to another owner when the first one is silent, which then changes nothing any more', async () => {
    const { id } = await ask();
    const first = await claim('first');
    expect(await repository.claim('second')).toBeNull();
    await expire(first);
    const second = await claim('second');
    expect(second).toMatchObject({ id, attempt: 2 });
    expect(await repository.report(first, 'converting', downloading)).toBe(false);
    expect(await repository.describe(first, 'other', '')).toBe(false);
    expect(await repository.finish(first, { state: 'failed', code: 'MODEL_PULL_FAILED', message: 'late' })).toBe(false);
    await repository.release(first);
    expect(await repository.find(id)).toMatchObject({ state: 'pulling', owner: 'second', modelId: null, error: null });
  });

  it('stays with an owner that was silent too long, as long as no other has taken it', async () => {
    await ask();
    const lease = await claim();
    await expire(lease);
    expect(await repository.report(lease, 'pulling', downloading)).toBe(true);
    expect(await repository.claim('second')).toBeNull();
  });

  it('waits for the next owner when its own stops in order', async () => {
    const { id } = await ask();
    await repository.release(await claim());
    expect(await repository.find(id)).toMatchObject({ state: 'waiting', owner: null, attempt: 0 });
    expect(await claim('next')).toMatchObject({ id, attempt: 1 });
  });

  it('fails when its owners end again and again, and can then be tried again', async () => {
    const { id } = await ask();
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      expect(await repository.failAbandoned()).toBe(0);
      await expire(await claim());
    }
    expect(await repository.claim('one more')).toBeNull();
    expect(await repository.failAbandoned()).toBe(1);
    const failed = await repository.find(id);
    expect(failed).toMatchObject({ state: 'failed', error: { code: 'MODEL_PULL_FAILED' } });
    expect(failed?.error?.message).toContain(`ended ${maxAttempts} times`);
    expect(await repository.retry(id)).toBe(true);
    expect(await claim()).toMatchObject({ id, attempt: 1 });
  });
});

describe('cancelling', () => {
  it('ends an installation at once; its owner notices with its next report', async () => {
    const { id } = await ask();
    const lease = await claim();
    expect(await repository.cancel(id)).toBe(true);
    expect(await repository.report(lease, 'pulling', downloading)).toBe(false);
    expect(await repository.find(id)).toMatchObject({ state: 'cancelled', owner: null });
    expect(await repository.cancel(id)).toBe(false);
    expect(await repository.claim('other')).toBeNull();
    expect(await repository.retry(id)).toBe(true);
    expect(await repository.find(id)).toMatchObject({ state: 'waiting', attempt: 0, finishedAt: null });
  });

  it('is refused while the model is being registered, unless its owner is gone', async () => {
    const { id } = await ask();
    const lease = await claim();
    await repository.report(lease, 'registering', { ...downloading, stage: 'check' });
    await repository.report(lease, 'registering', { ...downloading, stage: 'register' });
    expect(await repository.cancel(id)).toBe(false);
    await expire(lease);
    expect(await repository.cancel(id)).toBe(true);
  });

  it('gives up no newer installation of the same reference when the old one is tried again', async () => {
    const { id } = await ask();
    await repository.cancel(id);
    await ask();
    expect(await repository.retry(id)).toBe(false);
    expect(await repository.find(id)).toMatchObject({ state: 'cancelled' });
  });
});

describe('the list', () => {
  it('is paged by key, newest first', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.unshift((await ask(`hf:a/${index}`)).id);
    // Two of the same moment are told apart by their ids.
    await prisma.$executeRaw`UPDATE model_installations SET created_at = date_trunc('hour', now())`;
    ids.sort().reverse();
    const found: string[] = [];
    let after: { createdMs: number; id: string } | null = null;
    for (;;) {
      const page: Awaited<ReturnType<InstallationRepository['page']>> = await repository.page(
        { state: null },
        after,
        2,
      );
      const last = page.at(-1);
      if (last === undefined) break;
      found.push(...page.map(({ id }) => id));
      after = { createdMs: last.createdAt.getTime(), id: last.id };
    }
    expect(found).toEqual(ids);
    expect(await repository.page({ state: 'failed' }, null, 10)).toEqual([]);
  });

  it('keeps installations for 90 days after their end, and open ones', async () => {
    const sweep = new DeleteOldInstallationsSweep(repository);
    const [old, recent, open] = [await ask('hf:a/1'), await ask('hf:a/2'), await ask('hf:a/3')];
    await repository.cancel(old.id);
    await repository.cancel(recent.id);
    await prisma.$executeRaw`UPDATE model_installations SET created_at = now() - interval '200 days'`;
    await prisma.$executeRaw`UPDATE model_installations SET finished_at = now() - interval '91 days' WHERE id = ${old.id}::uuid`;
    expect(await sweep.run()).toBe(1);
    const left = await repository.page({ state: null }, null, 10);
    expect(left.map(({ id }) => id).toSorted()).toEqual([recent.id, open.id].toSorted());
  });
});

describe('the processes that install models', () => {
  it('are those that reported in the last seconds', async () => {
    const installer = { id: 'a', host: 'h', importFolder: '/i', freeBytes: 5e12, installed: ['x'] };
    await repository.announce(installer);
    await repository.announce({ ...installer, freeBytes: 4e12, installed: ['x', 'y'] });
    await repository.announce({ ...installer, id: 'b' });
    expect(await repository.installers()).toEqual([
      { ...installer, freeBytes: 4e12, installed: ['x', 'y'] },
      { ...installer, id: 'b' },
    ]);
    await prisma.$executeRaw`UPDATE model_installers SET seen_at = now() - interval '40 s' WHERE id = 'a'`;
    await repository.withdraw('b');
    expect(await repository.installers()).toEqual([]);
    await prisma.$executeRaw`UPDATE model_installers SET seen_at = now() - interval '2 hours'`;
    await new DeleteOldInstallationsSweep(repository).run();
    expect(await prisma.modelInstaller.count()).toBe(0);
  });
});
