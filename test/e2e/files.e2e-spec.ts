import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pdfFile } from '#test/pdf-file';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { docxFile, zipFile } from '#test/zip-file';

/* Files in chats by the official client, on the deterministic engine, which counts a word of the prompt as a token. */

const model = 'tiny-llama';

let platform: Platform;
let client: OpenAI;

beforeAll(async () => {
  platform = await startPlatform({});
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
});
afterAll(async () => {
  await stopConsistently(platform);
});

function dataUrl(bytes: Buffer, type = 'application/pdf'): string {
  return `data:${type};base64,${bytes.toString('base64')}`;
}

function question(...files: object[]): OpenAI.ChatCompletionMessageParam[] {
  const parts = files.map((file) => ({ type: 'file', file }) as OpenAI.ChatCompletionContentPart);
  return [{ role: 'user', content: [{ type: 'text', text: 'What fruit? [[echo]]' }, ...parts] }];
}

async function ask(...files: object[]): Promise<OpenAI.ChatCompletion> {
  return await client.chat.completions.create({ model, messages: question(...files), max_tokens: 64 });
}

async function refusalOf(...files: object[]): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error: unknown = await ask(...files).catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(OpenAI.APIError);
  return error as InstanceType<typeof OpenAI.APIError>;
}

const report = pdfFile(['The kumquat is a fruit', 'of the second page']);
const place = 'messages[0].content[1].file';

describe('a file in a chat', () => {
  it('enters the prompt as text, marked with its name, and counts as input', async () => {
    const plain = await client.chat.completions.create({ model, messages: question(), max_tokens: 64 });
    const answered = await ask({ file_data: dataUrl(report), filename: 'report.pdf' });
    const content = answered.choices[0]?.message.content ?? '';
    expect(content).toContain('<file name="report.pdf">');
    expect(content).toContain('The kumquat is a fruit');
    expect(content).toContain('of the second page');
    expect(answered.usage?.prompt_tokens).toBeGreaterThan((plain.usage?.prompt_tokens ?? 0) + 8);
  });

  it('may be one of several, in several formats, in a stream', async () => {
    const docx = docxFile('<w:p><w:r><w:t>quince jam</w:t></w:r></w:p>');
    const files = [
      { file_data: docx.toString('base64'), filename: 'a.docx' },
      { file_data: dataUrl(Buffer.from('name,amount\nfig,3\n'), 'text/csv'), filename: 'b.csv' },
    ];
    const stream = await client.chat.completions.create({ model, messages: question(...files), stream: true });
    let content = '';
    for await (const chunk of stream) content += chunk.choices[0]?.delta.content ?? '';
    expect(content).toContain('quince jam');
    expect(content).toContain('fig,3');
  });

  it('is refused by name if it cannot be read, and nothing is charged', async () => {
    const before = (await platform.closedJobs()).length;
    const bomb = zipFile([
      { name: '[Content_Types].xml', content: '<Types/>' },
      { name: 'word/document.xml', content: Buffer.alloc(70_000_000) },
    ]);
    const data = `${place}.file_data`;
    const cases: [object, number, string][] = [
      [{ file_data: dataUrl(Buffer.from('%PDF-1.7 nothing')) }, 400, `${data} is not a valid PDF.`],
      [{ file_data: dataUrl(bomb, '') }, 400, `${data} unpacks to too many bytes.`],
      [{ file_data: 'n%t base64' }, 400, `${data} is not valid base64.`],
      [{ file_data: `${platform.origin}/report.pdf` }, 400, `${data} leads to an address that is not public.`],
      [{ file_id: 'file-1' }, 400, `${place}.file_id is not supported; send file_data`],
    ];
    for (const [file, status, message] of cases) {
      const refusal = await refusalOf(file);
      expect([refusal.status, refusal.message]).toEqual([status, expect.stringContaining(message)]);
    }
    expect(await platform.closedJobs()).toHaveLength(before);
  });

  it('is refused as too long for the context, or as one too many', async () => {
    const long = await refusalOf({ file_data: dataUrl(Buffer.from('word '.repeat(2_000_000)), 'text/plain') });
    expect(long).toMatchObject({ status: 400, code: 'context_length_exceeded' });
    const file = { file_data: dataUrl(Buffer.from('x'), 'text/plain') };
    const many = await refusalOf(...Array.from({ length: 11 }, () => file));
    expect([many.status, many.message]).toEqual([400, expect.stringContaining('at most 10 parts of type file')]);
  });
});
