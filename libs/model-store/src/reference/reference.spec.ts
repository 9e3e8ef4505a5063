import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assertImported, importPath } from './import-path.js';
import { parseReference } from './reference.js';

describe('a reference', () => {
  it.each([
    ['stories-15m', { kind: 'id', id: 'stories-15m' }],
    ['./model.gguf', { kind: 'path', path: './model.gguf' }],
    ['../model', { kind: 'path', path: '../model' }],
    ['/models/own', { kind: 'path', path: '/models/own' }],
    ['file:own', { kind: 'path', path: 'own' }],
    ['file:///models/own', { kind: 'path', path: '/models/own' }],
    ['hf:owner/name:Q4_K_M', { kind: 'source', uri: 'hf:owner/name:Q4_K_M', url: null }],
    ['npm:@scope/name@1.0.0', { kind: 'source', uri: 'npm:@scope/name@1.0.0', url: null }],
    ['https://example.org/a.gguf', { kind: 'source', url: new URL('https://example.org/a.gguf') }],
  ])('is read: %s', (text, reference) => expect(parseReference(text)).toMatchObject(reference));

  it.each([
    ['hf:', 'is not of the form'],
    ['hf:a b/c', 'The source "hf:a b/c" is not of the form hf:<owner>/<repository>@<revision>.'],
    ['npm:name', 'with one exact version'],
    ['ftp://example.org/a.gguf', 'is not of the form npm:, pypi:, hf:, file: or https:.'],
    ['http://example.org/a.gguf', 'Models are fetched over https only'],
    ['https://example.org/a.bin', 'example.org/a.bin is no .gguf file.'],
    ['https://example.org/%E0%A4%A', 'is no .gguf file.'],
    ['https://example.org/a-00001-of-00002.gguf', 'is one part of a split model'],
    ['https://', 'is not of the form https:<url>'],
    ['pypi:name@1.0', 'is packed, and nothing of it can be read in advance.'],
    ['two words', 'There is no file, folder or open model two words. A source is a path, hf:<owner>/<repository>'],
    ['', 'There is no file, folder or open model'],
  ])('of another form is refused: %s', (text, message) => {
    expect(() => parseReference(text)).toThrow(message);
    expect(() => parseReference(text)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST' }) as Error);
  });
});

describe('the import folder', () => {
  let folder: string;
  let outside: string;
  beforeAll(async () => {
    const root = await realpath(await mkdtemp(join(tmpdir(), 'import-')));
    [folder, outside] = [join(root, 'import'), join(root, 'import-secret')];
    for (const path of [folder, outside, join(folder, 'inner')]) await mkdir(path);
    await writeFile(join(outside, 'a.gguf'), '');
    await symlink(outside, join(folder, 'link'));
  });
  afterAll(() => rm(join(folder, '..'), { recursive: true }));

  it('has the paths below it, relative ones too', () => {
    expect(importPath(folder, './inner/a.gguf')).toBe(join(folder, 'inner/a.gguf'));
    expect(importPath(folder, join(folder, 'b.gguf'))).toBe(join(folder, 'b.gguf'));
    expect(importPath(folder, folder)).toBe(folder);
  });

  it.each(['../import-secret/a.gguf', '/etc/passwd', './inner/../../x', './a\0b'])('has not %j', (path) => {
    expect(() => importPath(folder, path)).toThrow(`is not below ${folder}`);
  });

  it('has no file behind a link that leads out of it', async () => {
    await assertImported(folder, join(folder, 'inner'));
    await assertImported(folder, join(folder, 'missing'));
    await expect(assertImported(folder, join(folder, 'link', 'a.gguf'))).rejects.toThrow('is not below');
  });
});
