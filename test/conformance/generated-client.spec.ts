import { fileURLToPath } from 'node:url';
import openapiTypes, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { publishedDocument } from './published-document.js';

/* The published document as a client of the registry's generator sees it, type-checked by the compiler. */

const folder = fileURLToPath(new URL('.', import.meta.url));
const typesPath = `${folder}generated-openapi.ts`;
const clientPath = `${folder}generated-client.ts`;

const head = `
import createClient from 'openapi-fetch';
import type { paths } from './generated-openapi.js';
const client = createClient<paths, 'application/json'>({ baseUrl: 'http://127.0.0.1:3000/api/v1' });
`;

/** Returns what the compiler says of a client on the generated types, without places. */
function problemsOf(types: string, client: string): string[] {
  const files = new Map([
    [typesPath, types],
    [clientPath, head + client],
  ]);
  const options: ts.CompilerOptions = {
    ...{ strict: true, noEmit: true, exactOptionalPropertyTypes: true, skipLibCheck: true },
    ...{ target: ts.ScriptTarget.ES2022, lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'] },
    ...{ module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, types: [] },
  };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path) ?? readFile(path);
  host.getSourceFile = (path, language) => {
    const text = files.get(path);
    return text === undefined ? getSourceFile(path, language) : ts.createSourceFile(path, text, language);
  };
  const program = ts.createProgram({ rootNames: [clientPath], options, host });
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

let types: string;

beforeAll(async () => {
  types = astToString(await openapiTypes(JSON.stringify(await publishedDocument()), { silent: true }));
});

describe('a client of openapi-typescript and openapi-fetch', () => {
  it('sends only what it wants to, reads JSON and streams as such, and is told of what is wrong', () => {
    const client = `
      const messages = [{ role: 'user' as const, content: 'Hello' }];
      export async function chat(): Promise<string | null | undefined> {
        const { data, error } = await client.POST('/chat/completions', { body: { model: 'default', messages } });
        // A 402 has the body of the payment protocol, whose error is a text.
        if (error) throw new Error(typeof error.error === 'object' ? error.error.message : error.error);
        return data?.choices?.[0]?.message.content;
      }
      export async function stream(): Promise<ReadableStream<Uint8Array> | null | undefined> {
        const body = { model: 'default', messages, stream: true };
        return (await client.POST('/chat/completions', { body, parseAs: 'stream' })).data;
      }
      export type Events =
        paths['/chat/completions']['post']['responses'][200]['content']['text/event-stream'] &
        paths['/completions']['post']['responses'][200]['content']['text/event-stream'] &
        paths['/responses']['post']['responses'][200]['content']['text/event-stream'];
      export const events: Events = 'data: [DONE]';
      export async function complete(): Promise<string | undefined> {
        const { data } = await client.POST('/completions', { body: { model: 'default', prompt: 'Once' } });
        return data?.choices[0]?.text;
      }
      export async function respond(): Promise<string | undefined> {
        const { data } = await client.POST('/responses', { body: { model: 'default', input: 'Hello' } });
        return data?.id;
      }
      export async function embed(): Promise<number | undefined> {
        const { data } = await client.POST('/embeddings', { body: { model: 'default', input: ['a'] } });
        return data?.data.length;
      }
      export async function speak(): Promise<Blob | undefined> {
        return (await client.POST('/audio/speech', { body: { input: 'Hello.', voice: 'alloy' }, parseAs: 'blob' })).data;
      }
      export async function draw(): Promise<void> {
        await client.POST('/images/generations', { body: { prompt: 'A bird' } });
        await client.POST('/video/quote', { body: { model: 'rife-4.6', duration: 'auto' } });
        await client.POST('/audio/queue', { body: { model: 'kokoro-82m', prompt: 'Chapter one.' } });
      }
      export async function look(): Promise<string[]> {
        const one = await client.GET('/models/{id}', { params: { path: { id: 'stories-15m' } } });
        const all = await client.GET('/models', { params: { query: { type: 'all' } } });
        return [one.data?.id ?? '', ...(all.data?.data ?? []).map(({ id }) => id)];
      }
      export async function mistakes(): Promise<void> {
        // @ts-expect-error The model is missing.
        await client.POST('/completions', { body: { prompt: 'Once' } });
        // @ts-expect-error A number is expected.
        await client.POST('/completions', { body: { model: 'default', prompt: 'Once', max_tokens: 'many' } });
        // @ts-expect-error There is no such route.
        await client.GET('/nothing');
      }
    `;
    expect(problemsOf(types, client)).toEqual([]);
  }, 120_000);
});
