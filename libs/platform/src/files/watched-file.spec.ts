import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WatchedFile } from './watched-file.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-watched-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function parse(text: string): string {
  if (text === 'bad') throw new Error('it is bad');
  return text.toUpperCase();
}

async function open(name: string, text: string) {
  const path = join(folder, name);
  await writeFile(path, text);
  const clock = { ms: 0 };
  const problems: unknown[] = [];
  const onProblem = (error: unknown) => void problems.push(error);
  const file = await WatchedFile.open({ path, parse, onProblem, nowMs: () => clock.ms });
  return { file, path, clock, problems };
}

describe('a watched file', () => {
  it('is read again once it has changed, also when another file takes its place', async () => {
    const { file, path, clock, problems } = await open('a', 'one');
    expect(await file.current()).toBe('ONE');
    await writeFile(path, 'three');
    expect(await file.current()).toBe('ONE');
    clock.ms += 1_000;
    expect(await file.current()).toBe('THREE');
    await writeFile(`${path}.new`, 'seven');
    await rename(`${path}.new`, path);
    clock.ms += 1_000;
    expect(await file.current()).toBe('SEVEN');
    expect(problems).toEqual([]);
  });

  it('keeps its content while the file is missing or unusable, and reports an unusable one once', async () => {
    const { file, path, clock, problems } = await open('b', 'one');
    await writeFile(path, 'bad');
    for (let look = 0; look < 3; look++) {
      clock.ms += 1_000;
      expect(await file.current()).toBe('ONE');
    }
    expect(problems.map((error) => (error as Error).message)).toEqual([`${path}: it is bad`]);
    await rm(path);
    clock.ms += 1_000;
    expect(await file.current()).toBe('ONE');
    await writeFile(path, 'good');
    clock.ms += 1_000;
    expect(await file.current()).toBe('GOOD');
  });

  it('must be usable to be opened', async () => {
    await expect(open('c', 'bad')).rejects.toThrow(`${join(folder, 'c')}: it is bad`);
    const options = { path: join(folder, 'none'), parse, onProblem: () => undefined };
    await expect(WatchedFile.open(options)).rejects.toThrow(/none: ENOENT/);
  });
});
