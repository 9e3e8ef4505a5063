import { Agent, request as httpRequest, type ClientRequest, type OutgoingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/* What a caller with a key, or without one, may send to hurt others. Shared by F32 and `npm run bench -- abuse`. */

/** Whom an attack is aimed at. */
export interface AttackTarget {
  port: number;
  /** Key of the attacker; not that of the others. */
  key: string;
  model: string;
}

/**
 * Repeats until the signal aborts, at most as fast as the attacker's limits allow. Never rejects. Calls `onLargest` when
 * all its connections are open, or its first body was answered.
 */
export interface Attack {
  name: string;
  run(target: AttackTarget, signal: AbortSignal, onLargest?: () => void): Promise<void>;
}

const chatPath = '/api/v1/chat/completions';

/** Pause between two requests of a sequence, in ms: 500 a minute, the default limit of a small model. */
const intervalMs = 120;

interface Sent {
  path: string;
  headers?: OutgoingHttpHeaders;
  body: string | Buffer;
  /** Without a key. */
  anonymous?: true;
}

function headersOf({ key }: AttackTarget, { headers, anonymous }: Sent): OutgoingHttpHeaders {
  return {
    'content-type': 'application/json',
    ...(anonymous ? {} : { authorization: `Bearer ${key}` }),
    ...headers,
  };
}

/** Resolves with the status when the response is read; null for a connection that ended. */
function post(target: AttackTarget, sent: Sent, signal: AbortSignal, agent: Agent): Promise<number | null> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port: target.port, path: sent.path, method: 'POST', agent, signal };
    const headers = { ...headersOf(target, sent), 'content-length': Buffer.byteLength(sent.body) };
    const request = httpRequest({ ...options, headers }, (response) => {
      response.resume().on('close', () => resolve(response.statusCode ?? null));
    });
    request.on('error', () => resolve(null));
    request.end(sent.body);
  });
}

/** Sends the same body again and again. */
function repeated(name: string, makeSent: (target: AttackTarget) => Sent): Attack {
  return {
    name,
    run: async (target, signal, onLargest) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 4 });
      const sent = makeSent(target);
      while (!signal.aborted) {
        await Promise.all([post(target, sent, signal, agent), pause(intervalMs, signal)]);
        onLargest?.();
      }
      agent.destroy();
    },
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

/** Opens requests that never end, `kilobytes` of body each, then one byte a second. */
function slowBodies(name: string, { count, kilobytes }: { count: number; kilobytes: number }): Attack {
  return {
    name,
    run: async (target, signal, onLargest) => {
      const part = Buffer.alloc(kilobytes * 1024, ' ');
      const open: ClientRequest[] = Array.from({ length: count }, () => {
        const headers = headersOf(target, { path: chatPath, body: '' });
        const options = { host: '127.0.0.1', port: target.port, path: chatPath, method: 'POST', headers, agent: false };
        const request = httpRequest(options, (response) => void response.resume());
        request.on('error', () => undefined);
        request.write(part);
        return request;
      });
      while (!signal.aborted) {
        for (const request of open) if (!request.destroyed) request.write(' ');
        await pause(1_000, signal);
        onLargest?.();
      }
      for (const request of open) request.destroy();
    },
  };
}

/** Opens connections that send `text` and then nothing. */
function idleSockets(name: string, { count, text }: { count: number; text: string }): Attack {
  return {
    name,
    run: async (target, signal, onLargest) => {
      const sockets: Socket[] = [];
      let opened = 0;
      while (!signal.aborted) {
        for (let index = 0; index < 100 && sockets.length < count; index += 1) {
          const socket = connect({ port: target.port, host: '127.0.0.1' });
          socket
            .on('error', () => undefined)
            .on('connect', () => {
              opened += 1;
              if (opened === count) onLargest?.();
            });
          if (text !== '') socket.write(text);
          sockets.push(socket);
        }
        await pause(20, signal);
      }
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Starts streams and reads nothing of them. */
const unreadStreams: Attack = {
  name: 'reads that stop',
  run: async (target, signal, onLargest) => {
    const { key, model, port } = target;
    const content = 'Tell me a long story. [[tokens=400]]';
    const body = JSON.stringify({
      model,
      stream: true,
      max_completion_tokens: 500,
      messages: [{ role: 'user', content }],
    });
    const head = [
      `POST ${chatPath} HTTP/1.1`,
      'host: localhost',
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
    ];
    const sockets: Socket[] = [];
    while (!signal.aborted) {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => undefined).pause();
      socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
      sockets.push(socket);
      await pause(intervalMs, signal);
      onLargest?.();
    }
    for (const socket of sockets) socket.destroy();
  },
};

const chat = (content: string, more = ''): string =>
  `{"model":"tiny-llama","messages":[{"role":"user","content":${JSON.stringify(content)}}]${more}}`;
const members = (count: number): string =>
  `{${Array.from({ length: count }, (_value, index) => `"k${index}":1`).join(',')}}`;
const jsonTo = (path: string, body: string) => (): Sent => ({ path, body });

function form(kilobytes: number, fields: number): Sent {
  const boundary = 'x'.repeat(40);
  const field = (name: string, value: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const file = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n`;
  const text = Array.from({ length: fields }, (_value, index) => field(`f${index}`, 'x'.repeat(1_000))).join('');
  const body = Buffer.concat([
    Buffer.from(text + file),
    Buffer.alloc(kilobytes * 1024),
    Buffer.from(`\r\n--${boundary}--`),
  ]);
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  return { path: '/api/v1/audio/transcriptions', headers, body };
}

/** A schema of 4,096 branches. */
function schemaBomb(): string {
  let schema: object = { type: 'string', pattern: '^(a|aa|aaa)+$', maxLength: 100_000 };
  for (let depth = 0; depth < 12; depth += 1) schema = { type: 'object', properties: { a: schema, b: schema } };
  return JSON.stringify({ type: 'json_schema', json_schema: { name: 'bomb', schema } });
}

/** Every attack; `sockets` is how many connections the largest of them opens. */
export function attackList({ sockets }: { sockets: number }): Attack[] {
  return [
    repeated('many members', jsonTo(chatPath, members(600_000))),
    repeated('many members, within the limit', jsonTo(chatPath, members(49_000))),
    repeated('many values', jsonTo(chatPath, `[${'1,'.repeat(4_000_000)}1]`)),
    repeated('deep JSON', jsonTo(chatPath, '[{"a":'.repeat(2_000_000))),
    repeated('a text of 30 MB', jsonTo(chatPath, chat('x'.repeat(30_000_000)))),
    repeated('escapes', jsonTo(chatPath, chat('\u0001"\\'.repeat(1_500_000)))),
    repeated('a schema bomb', jsonTo(chatPath, chat('x', `,"response_format":${schemaBomb()}`))),
    repeated('anonymous bodies', () => ({
      path: '/api/v1/api_keys/generate_web3_key',
      body: members(90_000),
      anonymous: true,
    })),
    repeated('forms', () => form(20_000, 90)),
    repeated('header floods', () => ({ path: chatPath, body: '{}', headers: { 'x-flood': 'x'.repeat(60_000) } })),
    slowBodies('slow bodies', { count: 10, kilobytes: 30_000 }),
    unreadStreams,
    idleSockets('idle sockets', { count: sockets, text: '' }),
    idleSockets('unfinished headers', { count: sockets, text: `POST ${chatPath} HTTP/1.1\r\nhost: x\r\nx-a: ` }),
  ];
}

/** Texts on which rules of the normalization of speech once took time in the square of their length: 12 s each. */
export const speechAttacks: readonly Attack[] = ["'", '_'].map((unit) =>
  repeated(`a text of 49,000 ${unit} to speak`, ({ model }) => ({
    path: '/api/v1/audio/queue',
    body: JSON.stringify({ model, prompt: `Start ${unit.repeat(49_000)} end.` }),
  })),
);
