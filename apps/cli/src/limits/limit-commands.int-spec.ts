import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService } from '#accounts';
import { ModelRegistryService, ModelRepository, noOnlineModels } from '#model-registry';
import { PrismaService } from '#platform/prisma';
import { runCommandLine } from '#test/command-line';
import { exampleManifest } from '#test/example-manifest';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';

let database: TestDatabase;
let accountId: string;
let keyId: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  const prisma = new PrismaService({ url: database.url, poolSize: 2 });
  const accounts = new AccountsService(new AccountsRepository(prisma));
  accountId = (await accounts.createAccount('a')).id;
  keyId = (await accounts.createKey({ accountId, kind: 'INFERENCE' })).record.id;
  const tiny = exampleManifest({ id: 'tiny', aliases: ['small'], traits: { fastest: 1 } });
  await new ModelRegistryService(new ModelRepository(prisma), noOnlineModels).upsert([tiny]);
  await prisma.$disconnect();
});

afterAll(() => database.drop());

const run = (...line: string[]) => runCommandLine(['limits', ...line], { DATABASE_URL: database.url });
const overrides = async () => (JSON.parse(await run('list', '--json')) as { overrides: object[] }).overrides;

describe('sluice limits', () => {
  it('sets and removes limits of an account, a model, a key and the installation', async () => {
    await run('set', '--rpm', '100');
    await run('set', '--rpm', '200', '--tpm', '5000');
    await run('set', '--account', accountId, '--model', 'tiny', '--tpm', '7');
    await run('set', '--account', accountId, '--class', 'image', '--rpm', '0');
    expect(await run('set', '--key', keyId, '--rpm', '9')).toContain(`key ${keyId}: 9 requests per minute`);
    await run('set', '--global', '--tpm', '1000000000000');
    const another = (await run('set', '--key', keyId, '--rpm', '9', '--concurrent', '4')).trim();
    expect(another).toBe(`key ${keyId}: 9 requests per minute, 4 requests at once`);
    const refusal = run('set', '--class', 'image', '--concurrent', '4');
    await expect(refusal).rejects.toThrow('for an account or a key, over all models');
    const none = { accountId: null, apiKeyId: null, target: '*', requests: null, tokens: null, concurrent: null };
    expect(await overrides()).toEqual([
      { ...none, accountId, requests: 200, tokens: 5000 },
      { ...none, accountId, target: 'image', requests: 0 },
      { ...none, accountId, target: 'model:tiny', tokens: 7 },
      { ...none, apiKeyId: keyId, requests: 9, concurrent: 4 },
      { ...none, tokens: 1_000_000_000_000 },
    ]);
    const text = await run('list');
    expect(text).toContain('everybody');
    expect(text).toMatch(/^XS +500 +1000000 +500 +2000000$/m);

    const removed = JSON.parse(await run('remove', '--model', 'tiny', '--json')) as object;
    expect(removed).toEqual({ accountId, apiKeyId: null, target: 'model:tiny', removed: true });
    expect(await run('remove', '--model', 'tiny')).toContain('nothing was set');
    await run('remove');
    await run('remove', '--class', 'image');
    await run('remove', '--key', keyId);
    await run('remove', '--global');
    expect(await overrides()).toEqual([]);
  });

  it.each([
    [['set']],
    [['set', '--rpm', '-1']],
    [['set', '--rpm', '1.5']],
    [['set', '--rpm', '1e3']],
    [['set', '--rpm', 'NaN']],
    [['set', '--rpm', '']],
    [['set', '--rpm', '1000000001']],
    [['set', '--tpm', '99999999999999999999']],
    [['set', '--class', 'XXL', '--rpm', '1']],
    [['set', '--class', 'XS', '--model', 'm', '--rpm', '1']],
    [['set', '--global', '--class', 'XS', '--rpm', '1']],
    [['set', '--global', '--account', 'x', '--rpm', '1']],
    [['set', '--model', 'tinny', '--rpm', '1']],
    [['set', '--model', 'small', '--rpm', '1']],
    [['set', '--model', 'fastest', '--rpm', '1']],
  ])('rejects %j and changes nothing', async (line) => {
    await expect(run(...line)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(await overrides()).toEqual([]);
  });

  it('names the model when an alias is given', async () => {
    const refusal = { param: 'model', message: expect.stringContaining('another name of tiny') as string };
    await expect(run('set', '--model', 'small', '--rpm', '1')).rejects.toMatchObject(refusal);
  });

  it.each([
    ['--account', '00000000-0000-4000-8000-000000000000'],
    ['--key', '00000000-0000-4000-8000-000000000000'],
    ['--key', 'not-an-id'],
  ])('rejects the unknown %s %s', async (name, id) => {
    await expect(run('set', name, id, '--rpm', '1')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await overrides()).toEqual([]);
  });
});
