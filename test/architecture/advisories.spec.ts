import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { root } from './repository-files.js';

type Events = Record<string, string>[];

let folder: string;
let server: Server | null = null;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-advisories-'));
});

afterEach(async () => {
  server?.close();
  server = null;
  await rm(folder, { recursive: true, force: true });
});

async function run(script: string, env: Record<string, string> = {}): Promise<{ code: number; said: string }> {
  const options = ['--lock', join(folder, 'lock'), '--advisories', folder];
  return await new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(root, 'scripts', script), ...options],
      { env: { PATH: process.env.PATH, ...env } },
      (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), said: stdout + stderr }),
    );
  });
}

async function writeLock(version: string): Promise<void> {
  const packages = { '': { version: '0.1.0' }, 'node_modules/a/node_modules/@scope/boat': { version, dev: true } };
  await writeFile(join(folder, 'lock'), JSON.stringify({ packages }));
}

const advisory = (events: Events, more: object = {}) => ({
  id: 'TEST-1',
  summary: 'The boat sinks.',
  affected: [{ package: { ecosystem: 'npm', name: '@scope/boat' }, ranges: [{ type: 'SEMVER', events }] }],
  ...more,
});

async function check(version: string, content: object): Promise<{ code: number; said: string }> {
  await writeLock(version);
  await writeFile(join(folder, 'TEST-1.json'), JSON.stringify(content));
  return await run('check-advisories.mjs');
}

describe('npm run advisories -- check', () => {
  const twice: Events = [
    { introduced: '0' },
    { fixed: '1.2.3' },
    { introduced: '2.0.0-rc.1' },
    { last_affected: '2.1.0' },
  ];

  it.each([
    ['0.0.0-alpha', 1],
    ['1.2.2', 1],
    ['1.2.3-beta.2', 1],
    ['1.2.3', 0],
    ['1.10.0', 0],
    ['2.0.0-beta.9', 0],
    ['2.0.0-rc.1', 1],
    ['2.0.0', 1],
    ['2.1.0', 1],
    ['2.1.1', 0],
  ])('judges version %s by the events of an advisory', async (version, code) => {
    const result = await check(version, advisory(twice));
    expect(result.code, result.said).toBe(code);
    expect(result.said.includes(`@scope/boat ${version} (development only): TEST-1 The boat sinks.`)).toBe(code === 1);
  });

  it('knows versions by name, and nothing of withdrawn advisories and other ecosystems', async () => {
    const [entry] = advisory([]).affected;
    const named = advisory([], { affected: [{ ...entry, versions: ['1.0.0'] }] });
    expect((await check('1.0.0', named)).code).toBe(1);
    expect((await check('1.0.0', { ...named, withdrawn: '2026-01-01T00:00:00Z' })).code).toBe(0);
    const elsewhere = { ...entry, package: { ecosystem: 'PyPI', name: '@scope/boat' }, versions: ['1.0.0'] };
    expect((await check('1.0.0', advisory([], { affected: [elsewhere] }))).code).toBe(0);
  });

  it('says that it knows nothing before the first refresh', async () => {
    expect((await check('1.2.3', advisory(twice))).said).toContain('never refreshed');
  });
});

describe('npm run advisories -- refresh', () => {
  it('replaces the advisories by those of the packages in the lock file', async () => {
    await writeLock('1.0.0');
    await writeFile(join(folder, 'OLD-1.json'), '{}');
    const asked: string[] = [];
    server = createServer((request, response) => {
      void request.toArray().then((chunks) => {
        asked.push(`${request.method} ${request.url} ${chunks.join('')}`);
        const found = { results: [{ vulns: [{ id: 'TEST-1' }] }] };
        response.end(JSON.stringify(request.method === 'POST' ? found : advisory([{ introduced: '0' }])));
      });
    });
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    const OSV_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const refreshed = await run('refresh-advisories.mjs', { OSV_URL });
    expect(refreshed).toMatchObject({ code: 0, said: '1 advisories for 1 packages.\n' });
    expect(asked).toEqual([
      'POST /v1/querybatch {"queries":[{"version":"1.0.0","package":{"ecosystem":"npm","name":"@scope/boat"}}]}',
      'GET /v1/vulns/TEST-1 ',
    ]);
    expect((await readdir(folder)).toSorted()).toEqual(['TEST-1.json', 'lock', 'state.json']);
    expect(JSON.parse(await readFile(join(folder, 'state.json'), 'utf8'))).toMatchObject({ packages: 1 });
    expect((await run('check-advisories.mjs')).code).toBe(1);
  });
});
