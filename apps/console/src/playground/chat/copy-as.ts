/* The request of the playground as a program. The programs read address and key from the environment. */

export type CopyLanguage = 'curl' | 'javascript' | 'python';

export const copyLanguages: Record<CopyLanguage, string> = {
  curl: 'curl',
  javascript: 'JavaScript',
  python: 'Python',
};

interface CopiedRequest {
  /** Such as `http://localhost:3000/api/v1`. */
  baseUrl: string;
  /** Such as `chat/completions`. */
  route: string;
  body: Record<string, unknown>;
}

export function copyAs(language: CopyLanguage, request: CopiedRequest): string {
  switch (language) {
    case 'curl':
      return asCurl(request);
    case 'javascript':
      return asJavaScript(request);
    case 'python':
      return asPython(request);
  }
}

function asCurl({ baseUrl, route, body }: CopiedRequest): string {
  const flags = body['stream'] === true ? ' -N' : '';
  return [
    `curl${flags} ${quoteForShell(`${baseUrl}/${route}`)} \\`,
    `  -H "Authorization: Bearer $SLUICE_API_KEY" \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d ${quoteForShell(JSON.stringify(body, null, 2))}`,
  ].join('\n');
}

/** In single quotes, a POSIX shell changes nothing; a quote itself ends them for a moment. */
function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function asJavaScript({ baseUrl, route, body }: CopiedRequest): string {
  const isStream = body['stream'] === true;
  // JSON is JavaScript. The escapes keep the line separators that only newer engines allow in strings.
  const json = JSON.stringify(body, null, 2)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`);
  return [
    `import OpenAI from 'openai';`,
    ``,
    `const client = new OpenAI({ baseURL: ${JSON.stringify(baseUrl)}, apiKey: process.env.SLUICE_API_KEY });`,
    `const response = await client.post(${JSON.stringify(`/${route}`)}, { body: ${json}${isStream ? ', stream: true' : ''} });`,
    ...(isStream
      ? [
          `for await (const chunk of response) {`,
          `  process.stdout.write(chunk.choices[0]?.delta?.content ?? '');`,
          `}`,
        ]
      : [`console.log(response);`]),
    ``,
  ].join('\n');
}

function asPython({ baseUrl, route, body }: CopiedRequest): string {
  const isStream = body['stream'] === true;
  return [
    `import json, os, urllib.request`,
    ``,
    `body = ${toPython(body, '')}`,
    `request = urllib.request.Request(`,
    `    ${pythonString(`${baseUrl}/${route}`)},`,
    `    data=json.dumps(body).encode(),`,
    `    headers={"authorization": f"Bearer {os.environ['SLUICE_API_KEY']}", "content-type": "application/json"},`,
    `)`,
    `with urllib.request.urlopen(request) as response:`,
    ...(isStream
      ? [
          `    for line in response:`,
          `        if line.startswith(b"data: {"):`,
          `            for choice in json.loads(line[6:])["choices"]:`,
          `                print(choice["delta"].get("content") or "", end="", flush=True)`,
        ]
      : [`    print(json.load(response))`]),
    ``,
  ].join('\n');
}

/** Returns a value of JSON as a Python literal. */
function toPython(value: unknown, indent: string): string {
  const inner = `${indent}    `;
  if (value === null || value === undefined) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value === 'string') return pythonString(value);
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((item) => `${inner}${toPython(item, inner)},\n`).join('')}${indent}]`;
  }
  if (typeof value === 'object') {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    if (entries.length === 0) return '{}';
    const lines = entries.map(([name, item]) => `${inner}${pythonString(name)}: ${toPython(item, inner)},\n`);
    return `{\n${lines.join('')}${indent}}`;
  }
  return String(value);
}

/** Escapes of JSON strings mean the same in Python, but for surrogate pairs, which stay characters here. */
function pythonString(text: string): string {
  return JSON.stringify(text);
}
