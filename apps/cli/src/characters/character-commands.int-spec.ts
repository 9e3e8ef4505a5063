import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService } from '#accounts';
import { PrismaService } from '#platform/prisma';
import { runCommandLine } from '#test/command-line';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';

let database: TestDatabase;
let folder: string;
let accountId: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice characters '));
  database = await createMigratedDatabase();
  const prisma = new PrismaService({ url: database.url, poolSize: 2 });
  accountId = (await new AccountsService(new AccountsRepository(prisma)).createAccount('a')).id;
  await prisma.$disconnect();
});

afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});

const run = (...line: string[]) =>
  runCommandLine(['characters', ...line], { DATABASE_URL: database.url, SLUICE_HOME: folder });
const runJson = async (...line: string[]) => JSON.parse(await run(...line, '--json')) as Record<string, unknown>;

async function fileOf(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

describe('sluice characters', () => {
  it('adds, shows, exports, replaces and removes a character', async () => {
    const file = await fileOf('ada.yaml', 'slug: ada\nname: Ada\nsystemPrompt: You are Ada.\ntags: [history]\n');
    expect(await run('add', file)).toBe('ada: added\n');
    await expect(run('add', file)).rejects.toThrow('There is a character ada already. Add --replace');
    expect(await run('list')).toMatch(/^ada +default +0 +– +0 +unknown +Ada$/m);
    expect(await run('show', 'ada')).toContain('System prompt:\nYou are Ada.');
    const exported = await fileOf('again.yaml', (await run('export', 'ada')).replace('name: Ada', 'name: Lady Ada'));
    expect(await run('add', exported, '--replace')).toBe('ada: replaced\n');
    expect(await runJson('show', 'ada')).toMatchObject({ name: 'Lady Ada', tags: ['history'] });
    expect(await runJson('export', 'ada')).toMatchObject({ slug: 'ada', systemPrompt: 'You are Ada.' });
    expect(await run('remove', 'ada')).toBe('ada: removed\n');
    await expect(run('show', 'ada')).rejects.toThrow('There is no character ada.');
  });

  it('imports a card and writes it again', async () => {
    const data = { name: 'Grace', first_mes: 'Hi {{user}}.', description: '{{char}} debugs.', creator: 'Navy' };
    const card = await fileOf('grace.json', JSON.stringify({ spec: 'chara_card_v2', data }));
    expect(await run('import', card, '--slug', 'admiral', '--model', 'tiny')).toBe('admiral: added\n');
    const shown = await runJson('show', 'admiral');
    expect(shown).toMatchObject({ modelId: 'tiny', greeting: 'Hi the user.', author: 'Navy' });
    expect(shown['systemPrompt']).toContain('About Grace:\nGrace debugs.');
    const again = await fileOf('again.json', await run('export', 'admiral', '--format', 'card'));
    expect(await run('import', again, '--slug', 'admiral', '--replace')).toBe('admiral: replaced\n');
    expect(await runJson('show', 'admiral')).toMatchObject({ systemPrompt: shown['systemPrompt'], modelId: 'default' });
  });

  it('writes reviews of the operator and of accounts', async () => {
    await run('add', await fileOf('bo.yaml', 'slug: bo\nname: Bo\nsystemPrompt: You are Bo.\n'));
    await run('review', 'bo', '--rating', '5', '--message', 'Good.', '--locale', 'pt-BR');
    for (const rating of ['1', '2']) await run('review', 'bo', '--rating', rating, '--account', accountId);
    expect(await runJson('show', 'bo')).toMatchObject({ ratingCount: 2, ratingSum: 7 });
    expect(await run('list')).toMatch(/^bo +default +0 +3\.5 +2 /m);
  });

  it('installs the characters of the product', async () => {
    expect(await run('sync')).toContain('patient-tutor: installed\n');
    expect(await run('sync')).toContain('patient-tutor: unchanged\n');
    await run('remove', 'patient-tutor');
    expect((await runJson('sync'))['changed']).toEqual([]);
  });

  it.each([
    [['add', 'nowhere.yaml'], 'There is no file nowhere.yaml.'],
    [['add', tmpdir()], 'is not a file'],
    [['review', 'bo', '--rating', '6'], '--rating must be 1, 2, 3, 4 or 5.'],
    [['review', 'bo', '--rating', '5', '--message', ' '], '--message must have 1 to 5000 characters.'],
    [['review', 'bo', '--rating', '5', '--locale', '!'], '--locale must be a language'],
    [['review', 'bo', '--rating', '5', '--account', 'x'], 'x'],
    [['remove', 'nobody'], 'There is no character nobody.'],
  ])('%j is refused', async (line, problem) => {
    await expect(run(...line)).rejects.toThrow(problem);
  });

  it('says what documents lack', async () => {
    const add = (path: string) => run('documents', 'add', 'bo', path);
    await expect(add(join(folder, 'nowhere'))).rejects.toThrow(/^There is no folder .*nowhere\.$/);
    const empty = join(folder, 'empty');
    await mkdir(join(empty, '.hidden'), { recursive: true });
    await expect(add(empty)).rejects.toThrow('has no files');
    await writeFile(join(empty, 'a.md'), 'Text.');
    await expect(add(empty)).rejects.toThrow('Install it with: sluice models pull all-minilm-l6-v2');
    expect(await run('documents', 'list', 'bo')).toBe('FILE  PASSAGES\n');
    expect(await run('documents', 'remove', 'bo')).toBe('bo: 0 files removed\n');
  });

  it('names the file and the field that is wrong', async () => {
    const bad = await fileOf('bad.yaml', 'slug: Bad\nname: Bad\nsystemPrompt: x\n');
    await expect(run('add', bad)).rejects.toMatchObject({
      message: expect.stringMatching(/^bad\.yaml: slug /),
      param: 'slug',
    });
    const card = await fileOf('bad.json', JSON.stringify({ spec: 'chara_card_v2', data: { name: 'x', tags: 'y' } }));
    await expect(run('import', card)).rejects.toThrow('bad.json: data.tags must be an array.');
  });
});
