import { hostname } from 'node:os';
import type { BootstrapKeys } from '#accounts';
import type { ModelManifest } from '#model-registry/manifest';
import { formatBytes } from '#model-store';
import { commandLine } from '#platform/process';

export interface BannerOptions {
  baseUrl: string;
  /** Null except at the first start. */
  keys: BootstrapKeys | null;
  /** Where the keys are instead, if the output is no terminal. */
  keysFile: string | null;
  /** The path of a link that signs in to the console once. Null: none is shown. */
  consoleLink: string | null;
  wanted: ModelManifest[];
  /** Those of them that are not installed yet, in the order of their pulls. */
  coming: ModelManifest[];
}

/**
 * Builds the output of `npm start` once the API is ready. The keys appear only at the first start, and only in a
 * terminal: whatever else takes the output may keep it.
 */
export function printBanner({ baseUrl, keys: newKeys, keysFile, consoleLink, wanted, coming }: BannerOptions): string {
  const keys = keysFile === null ? newKeys : null;
  const model = exampleModel(wanted);
  const key = keys?.inferenceKey ?? '$SLUICE_API_KEY';
  const lines = [
    '',
    'Sluice is ready.',
    '',
    `  Base URL        ${baseUrl}`,
    `  Documentation   ${new URL('/docs', baseUrl).href}`,
    `  Console         ${new URL(consoleLink ?? '/console/', baseUrl.replace(/api\/v1$/, '')).href}`,
    ...consoleHints(baseUrl, consoleLink),
  ];
  if (keys) {
    lines.push(
      `  Admin key       ${keys.adminKey}`,
      `  Inference key   ${keys.inferenceKey}`,
      '',
      'The keys are shown only once.',
    );
  }
  if (keysFile !== null)
    lines.push(`  Keys            ${keysFile}`, '', 'Keep the keys elsewhere, then delete the file.');
  lines.push('', 'Try it:', '', ...curlExample(baseUrl, key, model), '', ...clientExample(baseUrl, key, model), '');
  lines.push(...describeModels(coming), 'Ctrl-C stops everything.', '');
  return lines.join('\n');
}

/** How to sign in, also from another machine: the api listens on this one alone unless `HOST` says otherwise. */
function consoleHints(baseUrl: string, consoleLink: string | null): string[] {
  const another = `                  Another link: ${commandLine} console link`;
  if (consoleLink === null) return [another];
  const { hostname: host, port } = new URL(baseUrl);
  const once = '                  The link signs in once, within 10 minutes.';
  if (host !== '127.0.0.1' && host !== 'localhost') return [once, another];
  return [once, another, `                  From another machine, first: ssh -L ${port}:${host}:${port} ${hostname()}`];
}

/** Width of a line without its indentation: terminals have at least 80 columns. */
const maxWidth = 77;

/** Says what is still being pulled, and how to get the rest. */
function describeModels(coming: readonly ModelManifest[]): string[] {
  const rest = `More models: ${commandLine} models pull media`;
  if (coming.length === 0) return [`All models of this start are installed. ${rest}`];
  const names = coming.map(({ id, installedBytes: bytes }) =>
    bytes === undefined ? id : `${id} (${formatBytes(bytes)})`,
  );
  const lines = ['Still coming, in this order; each is available once it is pulled and loaded:', ''];
  let line = '';
  for (const [index, name] of names.entries()) {
    const word = index + 1 < names.length ? `${name}, ` : name;
    if (line.length + word.length > maxWidth) {
      lines.push(`  ${line.trimEnd()}`);
      line = '';
    }
    line += word;
  }
  return [...lines, `  ${line}`, '', rest];
}

function exampleModel(wanted: ModelManifest[]): string {
  const text = wanted.filter(({ type }) => type === 'text');
  const smallest = text.sort((a, b) => (a.installedBytes ?? Infinity) - (b.installedBytes ?? Infinity))[0];
  return smallest?.id ?? 'default';
}

function curlExample(baseUrl: string, key: string, model: string): string[] {
  const body = `{"model":"${model}","messages":[{"role":"user","content":"Once upon a time"}],"stream":true}`;
  return [
    `  curl -N ${baseUrl}/chat/completions \\`,
    `    -H "Authorization: Bearer ${key}" \\`,
    '    -H "Content-Type: application/json" \\',
    `    -d '${body}'`,
  ];
}

function clientExample(baseUrl: string, key: string, model: string): string[] {
  const apiKey = key.startsWith('$') ? `process.env.${key.slice(1)}` : `'${key}'`;
  return [
    "  import OpenAI from 'openai';",
    `  const client = new OpenAI({ baseURL: '${baseUrl}', apiKey: ${apiKey} });`,
    '  const stream = await client.chat.completions.create({',
    `    model: '${model}',`,
    "    messages: [{ role: 'user', content: 'Once upon a time' }],",
    '    stream: true,',
    '  });',
    "  for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');",
  ];
}
