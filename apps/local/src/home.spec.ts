import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StartRefusal } from '#platform/process';
import { openHome, readSecretKey, writeFirstKeys, writeRuntimeFile } from './home.js';

describe('the home', () => {
  let home: string;

  beforeEach(async () => {
    home = join(await mkdtemp(join(tmpdir(), 'sluice home ')), 'deep', '.sluice');
    await openHome(home);
  });

  afterEach(() => rm(join(home, '..', '..'), { recursive: true, force: true }));

  it('creates the secret key once, readable only by its owner', async () => {
    const key = await readSecretKey(home);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(await readSecretKey(home)).toBe(key);
    expect((await stat(join(home, 'secret.key'))).mode & 0o777).toBe(0o600);
  });

  it('refuses to start with a damaged key instead of replacing it', async () => {
    await writeFile(join(home, 'secret.key'), 'half');
    await expect(readSecretKey(home)).rejects.toThrow('64 hex digits');
  });

  it('says what to do about a folder that cannot be the home', async () => {
    const file = join(home, 'a file');
    await writeFile(file, '');
    const refusal = await openHome(join(file, 'home')).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StartRefusal);
    expect(String(refusal)).toMatch(/cannot be used \(ENOTDIR.*SLUICE_HOME=/);
  });

  it('writes the keys of the first start, readable only by its owner', async () => {
    const file = await writeFirstKeys(home, { adminKey: 'slk_admin', inferenceKey: 'slk_inference' });
    expect(await readFile(file, 'utf8')).toMatch(/slk_admin\n.*slk_inference\n/);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('writes the state file for the command line, readable only by its owner', async () => {
    const runtime = {
      databaseUrl: 'postgresql://u:p@127.0.0.1:1/db',
      hasOwnDatabase: true,
      baseUrl: 'http://127.0.0.1:3000/api/v1',
      healthUrl: 'http://127.0.0.1:3003',
      queueKey: '1a'.repeat(32),
      secretKey: '2b'.repeat(32),
      pid: 7,
    };
    await writeRuntimeFile(home, runtime);
    const file = join(home, 'runtime.json');
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(runtime);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(home)).mode & 0o777).toBe(0o700);
  });
});
