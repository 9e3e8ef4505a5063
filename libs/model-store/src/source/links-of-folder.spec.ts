import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildTinyModel } from '#test/tiny-models';
import { describeLocal } from './describe-local.js';
import { fetchSource } from './fetch-source.js';
import { openDiskWriter } from './file-writer.js';

let sandbox: string;
beforeEach(async () => {
  sandbox = await mkdtemp(join(tmpdir(), 'sluice-links-'));
  await writeFile(join(sandbox, 'secret.key'), 'the key of the operator');
});
afterEach(() => rm(sandbox, { recursive: true }));

function fetch(folder: string, files: string[], mayLink = false): Promise<unknown> {
  return fetchSource({
    source: { uri: `file:${folder}`, files: files.map((path) => ({ path })) },
    into: join(sandbox, 'into'),
    downloads: join(sandbox, 'downloads'),
    mayLink,
    settings: { npm: { registry: 'http://127.0.0.1:1' }, hubEndpoint: 'http://127.0.0.1:1' },
    openWriter: openDiskWriter,
    onProgress: () => undefined,
  });
}

async function installedTemplate(): Promise<string> {
  return readFile(join(sandbox, 'into', 'chat_template.jinja'), 'utf8');
}

/** A folder in the transformers.js layout. */
async function modelFolder(name = 'model'): Promise<string> {
  const folder = join(sandbox, name);
  await buildTinyModel(folder, { layout: 'concat' });
  return folder;
}

describe('links in the folder of a model', () => {
  it('that lead out of it are refused by name, described, copied whole or file by file', async () => {
    const folder = await modelFolder();
    await rm(join(folder, 'chat_template.jinja'), { force: true });
    await symlink('../secret.key', join(folder, 'chat_template.jinja'));
    const refusal = /^chat_template\.jinja is a link that leads out of /;
    await expect(describeLocal(folder)).rejects.toThrow(refusal);
    for (const mayLink of [false, true]) {
      await expect(fetch(folder, [], mayLink)).rejects.toThrow(refusal);
      await expect(fetch(folder, ['chat_template.jinja'], mayLink)).rejects.toThrow(refusal);
    }
  });

  it('to folders outside are refused too', async () => {
    const folder = await modelFolder();
    await symlink(sandbox, join(folder, 'onnx-more'));
    await expect(fetch(folder, ['onnx-more/secret.key'])).rejects.toThrow(/^onnx-more\/secret\.key is a link/);
  });

  it('that stay inside are followed, and so is a link to the folder itself', async () => {
    const folder = await modelFolder();
    await rm(join(folder, 'chat_template.jinja'), { force: true });
    await writeFile(join(folder, 'template.txt'), 'a template');
    await symlink('template.txt', join(folder, 'chat_template.jinja'));
    await symlink(folder, join(sandbox, 'alias'));
    await fetch(join(sandbox, 'alias'), ['chat_template.jinja']);
    expect(await installedTemplate()).toBe('a template');
  });

  it('to the blobs of a hub’s cache are followed', async () => {
    const cache = join(sandbox, 'models--owner--tiny');
    const folder = join(cache, 'snapshots', 'c'.repeat(40));
    await mkdir(join(cache, 'blobs'), { recursive: true });
    await mkdir(folder, { recursive: true });
    await writeFile(join(cache, 'blobs', 'abc'), 'a template');
    await symlink('../../blobs/abc', join(folder, 'chat_template.jinja'));
    await symlink('../../../secret.key', join(folder, 'config.json'));
    await fetch(folder, ['chat_template.jinja']);
    expect(await installedTemplate()).toBe('a template');
    await expect(fetch(folder, ['config.json'])).rejects.toThrow(/^config\.json is a link/);
  });
});
