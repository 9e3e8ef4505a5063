import { execFile } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { mebibyte } from '#common/values';
import { Sandbox } from '#platform/sandbox';
import { pdfFile } from '#test/pdf-file';
import { compileProgram, runSourceArguments, sourcePath } from '#test/source-program';
import { seededRandom } from '#test/seeded-random';
import { docxFile } from '#test/zip-file';
import { DocumentExtractor, type DocumentExtractorOptions } from './document-extractor.js';

const folder = 'libs/documents/src/extractor';
const program = { modulePath: sourcePath(`${folder}/extract.main.ts`), nodeArguments: runSourceArguments };

function extractor(options: DocumentExtractorOptions = {}): DocumentExtractor {
  return new DocumentExtractor({ program, ...options });
}

const order = { owner: 'account', param: 'file' };
const text = { ...order, bytes: Buffer.from('hello') };

describe('DocumentExtractor', () => {
  beforeAll(() => compileProgram(program.modulePath));

  it('extracts text in a process of its own', async () => {
    expect(await extractor().extract(text)).toEqual({ format: 'text', text: 'hello', isTruncated: false });
    const pdf = { ...order, bytes: pdfFile(['one', 'two']) };
    expect(await extractor().extract(pdf)).toEqual({ format: 'pdf', text: 'one\n\ntwo', isTruncated: false });
  });

  it('names the field of a file that is wrong', async () => {
    await expect(extractor().extract({ ...order, bytes: Buffer.from('x'), filename: 'a.pdf' })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      param: 'file',
      message: 'file is not a valid PDF.',
    });
  });

  it('kills a process that takes too long', async () => {
    await expect(extractor({ process: { timeoutMs: 1 } }).extract(text)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: 'file takes too long to read.',
    });
  });

  it('refuses a page that uses up its processor time', async (context) => {
    if ((await Sandbox.find()).missing.includes('a limit of processor time')) context.skip();
    // Some 20 s.
    const rows = `<p>A page.</p><table>${'<tr><td>cell'.repeat(100_000)}`;
    const page = { ...order, url: 'https://site.example/', charset: '', bytes: Buffer.from(rows) };
    const limited = extractor({ process: { maxCpuSeconds: 5, timeoutMs: 600_000 } });
    await expect(limited.extractPage(page)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: 'file takes too long to read.',
    });
  }, 300_000);

  it('kills a process that uses too much memory', async () => {
    await expect(extractor({ process: { maxResidentBytes: mebibyte } }).extract(text)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: 'file needs too much memory to read.',
    });
  });

  it('survives a process whose heap is full', async () => {
    const cells = '<w:p><w:r><w:t>word</w:t></w:r></w:p>'.repeat(300_000);
    const full = extractor({ process: { maxHeapBytes: 12 * mebibyte } });
    await expect(full.extract({ ...order, bytes: docxFile(cells) })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: 'file needs too much memory to read.',
    });
  });

  it('stops with its signal', async () => {
    const disconnection = new AbortController();
    const extracting = extractor().extract({ ...text, signal: disconnection.signal });
    disconnection.abort(new Error('the client disconnected'));
    await expect(extracting).rejects.toThrow('the client disconnected');
  });

  it('does not blame the file for an extractor that cannot start', async () => {
    const missing = extractor({ program: { ...program, modulePath: sourcePath(`${folder}/missing.ts`) } });
    await expect(missing.extract(text)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  it('survives files that are noise behind a valid beginning', async () => {
    const random = seededRandom(7);
    const documents = new DocumentExtractor({ program, process: { timeoutMs: 60_000 } });
    for (const original of [pdfFile(['one']), docxFile('<w:p/>')]) {
      for (let count = 0; count < 5; count += 1) {
        const bytes = Buffer.from(original);
        for (let index = 60; index < bytes.length; index += 3) bytes[index] = Math.floor(random() * 256);
        await expect(documents.extract({ ...order, bytes })).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
      }
    }
    expect(await documents.extract(text)).toMatchObject({ text: 'hello' });
  });

  it('reads mutated PDF files or says what is wrong with them', async () => {
    const script = `
      import { mutate } from '#test/mutated-bytes';
      import { pdfFile } from '#test/pdf-file';
      import { seededRandom } from '#test/seeded-random';
      import { extractDocument } from ${JSON.stringify(pathToFileURL(sourcePath('libs/documents/src/extract-document.ts')).href)};
      import { defaultLimits } from ${JSON.stringify(pathToFileURL(sourcePath('libs/documents/src/document-limits.ts')).href)};
      process.on('unhandledRejection', () => undefined);
      const random = seededRandom(14);
      const original = pdfFile(['one', 'two', 'three']);
      const ends = { text: 0, fault: 0, other: 0 };
      for (let count = 0; count < 300; count += 1) {
        await extractDocument(mutate(original, random), { filename: '', contentType: '' }, defaultLimits).then(
          () => (ends.text += 1),
          (error) => (ends[error.name === 'DocumentFault' ? 'fault' : 'other'] += 1),
        );
      }
      process.stdout.write('\\n' + JSON.stringify(ends));`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...runSourceArguments, '--input-type=module', '--eval', script],
      { cwd: sourcePath('.') },
    );
    const ends = JSON.parse(stdout.split('\n').at(-1) ?? '') as { text: number; fault: number; other: number };
    expect(ends.other).toBe(0);
    expect(ends.text + ends.fault).toBe(300);
    expect(ends.text).toBeGreaterThan(0);
  }, 60_000);

  it('has no network', async () => {
    const url = pathToFileURL(sourcePath(`${folder}/network-block.ts`)).href;
    const script = `
      import net from 'node:net';
      import dns from 'node:dns';
      import { blockNetwork } from ${JSON.stringify(url)};
      blockNetwork();
      const attempts = [() => net.connect(80, '127.0.0.1'), () => dns.lookup('localhost', () => 0), () => fetch('http://127.0.0.1')];
      const refused = attempts.filter((attempt) => { try { attempt(); return false; } catch { return true; } });
      process.stdout.write(String(refused.length));`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...runSourceArguments,
      '--input-type=module',
      '--eval',
      script,
    ]);
    expect(stdout).toBe('3');
  });
});
