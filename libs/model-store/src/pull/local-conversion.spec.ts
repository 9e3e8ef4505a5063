import { appendFileSync, lstatSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { sha256 } from '#test/weights-server';
import { draftManifest } from '../draft-manifest.js';
import { modelFolder, modelsFolder } from '../layout.js';
import { openDiskWriter } from '../source/file-writer.js';
import { installModel, type InstallModelOptions } from './install-model.js';
import { silentReporter } from './progress.js';

let home: string;
let file: string;
let gguf: Buffer;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'local-'));
  file = join(home, 'my model.gguf');
  gguf = await ggufFile(tinyDecoder('llama', 1));
  await writeFile(file, gguf);
});
afterEach(() => rm(home, { recursive: true, force: true }));

const draftOf = async (source: string) => (await draftManifest(`file:${source}`, {}, { id: 'mine' })).manifest;
const installed = () => readdir(modelFolder(home, 'mine'));

async function add(changes: Partial<InstallModelOptions> = {}, source = file): Promise<void> {
  const manifest = changes.manifest ?? (await draftOf(source));
  await installModel({ home, reporter: silentReporter, ...changes, manifest });
}

/** Content and everything else that a write, a rename or a link would change. */
async function stateOf(path: string): Promise<unknown> {
  const { ino, nlink, mtimeMs, ctimeMs, mode } = await stat(path);
  return { content: sha256(await readFile(path)), ino, nlink, mtimeMs, ctimeMs, mode };
}

describe('a model from a file on this disk', () => {
  it('is converted where it lies, without room for a copy', async () => {
    const before = await stateOf(file);
    const { installedBytes = 0 } = await draftOf(file);
    const written: string[] = [];
    await add({
      freeBytes: () => Promise.resolve(installedBytes),
      openWriter: (path, flags) => {
        written.push(path);
        return openDiskWriter(path, flags);
      },
    });
    expect(written).toEqual([]);
    expect(await stateOf(file)).toEqual(before);
    const names = await installed();
    expect(names).toContain('model.onnx');
    for (const name of names) expect(lstatSync(join(modelFolder(home, 'mine'), name)).isFile()).toBe(true);
    expect((await readdir(modelsFolder(home))).toSorted()).toEqual(['mine']);
  });

  it('leaves the file alone when it cannot be converted', async () => {
    await writeFile(file, gguf.subarray(0, -1_000));
    const before = await stateOf(file);
    await expect(add()).rejects.toThrow('my model.gguf');
    expect(await stateOf(file)).toEqual(before);
    await expect(installed()).rejects.toThrow('ENOENT');
  });

  it('is not installed from a file that changes meanwhile', async () => {
    const update = ({ stage }: { stage: string }) => {
      if (stage === 'convert') appendFileSync(file, 'x');
    };
    await expect(add({ reporter: { ...silentReporter, update } })).rejects.toThrow('changed while they were converted');
    await expect(installed()).rejects.toThrow('ENOENT');
    // Once nobody writes to it any more.
    await writeFile(file, gguf);
    await add();
    expect(await installed()).toContain('model.onnx');
  });

  it('is found again after an interruption, wherever it has gone', async () => {
    const interrupt = new AbortController();
    const update = ({ stage }: { stage: string }) => {
      if (stage === 'convert') interrupt.abort(new Error('interrupted'));
    };
    const manifest = await draftOf(file);
    const options = { manifest, reporter: { ...silentReporter, update }, signal: interrupt.signal };
    await expect(add(options)).rejects.toThrow('interrupted');
    await rm(file);
    await expect(add({ manifest })).rejects.toThrow('does not exist');
    await writeFile(file, gguf);
    await add({ manifest });
    expect(await installed()).toContain('model.onnx');
  });

  it('is checked where the manifest pins it', async () => {
    const manifest = await draftOf(file);
    const pinned = (hash: string) => ({
      ...manifest,
      sources: manifest.sources.map((source) => ({
        ...source,
        files: source.files.map((each) => ({ ...each, sha256: hash })),
      })),
    });
    await expect(add({ manifest: pinned(sha256(Buffer.from('another'))) })).rejects.toThrow('was expected');
    await add({ manifest: pinned(sha256(gguf)) });
    expect(await installed()).toContain('model.onnx');
  });

  it('may be a folder of links, as a cache of a hub is', async () => {
    const [blobs, snapshot] = [join(home, 'cache', 'blobs'), join(home, 'cache', 'snapshots', 'a'.repeat(40))];
    for (const folder of [blobs, snapshot]) await mkdir(folder, { recursive: true });
    await copyTinyDecoder('llama', blobs);
    for (const name of await readdir(blobs)) await symlink(join('../../blobs', name), join(snapshot, name));
    await add({}, snapshot);
    expect(await installed()).toContain('tokenizer.json');
    expect(lstatSync(join(snapshot, 'config.json')).isSymbolicLink()).toBe(true);
  });
});
