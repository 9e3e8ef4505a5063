import type { BootstrapKeys } from '#accounts';
import type { ModelManifest } from '#model-registry/manifest';

export interface BannerOptions {
  baseUrl: string;
  /** Null except at the first start. */
  keys: BootstrapKeys | null;
  wanted: ModelManifest[];
}

/** Builds the output of `npm start` once the API is ready. The keys appear only at the first start. */
export function printBanner({ baseUrl, keys, wanted }: BannerOptions): string {
  const model = exampleModel(wanted);
  const key = keys?.inferenceKey ?? '$SLUICE_API_KEY';
  const lines = [
    '',
    'Sluice is ready.',
    '',
    `  Base URL        ${baseUrl}`,
    `  Documentation   ${new URL('/docs', baseUrl).href}`,
  ];
  if (keys) {
    lines.push(
      `  Admin key       ${keys.adminKey}`,
      `  Inference key   ${keys.inferenceKey}`,
      '',
      'The keys are shown only once.',
    );
  }
  lines.push('', 'Try it:', '', ...curlExample(baseUrl, key, model), '', ...clientExample(baseUrl, key, model), '');
  lines.push('A model is available once it is pulled and loaded. Ctrl-C stops everything.', '');
  return lines.join('\n');
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
