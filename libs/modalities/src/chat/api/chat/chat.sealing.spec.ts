import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { ModelRequest } from '#gateway';
import { validateBody } from '#platform/validation';
import { createHostIdentity } from '#tee';
import { sealText } from '#tee/sealing';
import { ChatCompletionRequest } from '../../contract/chat.request.js';
import { effectiveParameters } from '../job/chat.parameters.js';
import { refuseSealed, sealingOf } from './chat.sealing.js';

const host = createHostIdentity();
const client = createHostIdentity();
const seal = (text: string): string => sealText(text, Buffer.from(host.publicKey, 'hex'));

const headers: Record<string, string | undefined> = {
  'x-service-tee-client-pub-key': client.publicKey,
  'x-service-tee-model-pub-key': host.publicKey,
  'x-service-tee-signing-algo': 'ecdsa',
};

const sealed = { model: 'tiny', stream: true, messages: [{ role: 'user', content: seal('Hello') }] };

interface Situation {
  headers?: Record<string, string | undefined>;
  suffix?: Record<string, string>;
}

function routeOf(changes: object = {}, { headers: given = headers, suffix = {} }: Situation = {}) {
  const wire = validateBody(ChatCompletionRequest, structuredClone({ ...sealed, ...changes }));
  const opened = { manifest: { id: 'tiny' }, resolved: { suffix }, requireServed: () => undefined };
  const hosts = {
    of: (modelId: string) =>
      [host, createHostIdentity()].map(({ publicKey, address }, index) => ({
        ...{ processId: `worker-${index + 1}`, modelId, publicKey, address, provider: 'software' },
      })),
  };
  const parameters = effectiveParameters(opened.resolved.suffix, wire.service_parameters);
  return sealingOf({ headers: given }, wire, { parameters, opened: opened as unknown as ModelRequest, hosts });
}

function refusalOf(changes: object, situation?: Situation): string {
  try {
    routeOf(changes, situation);
  } catch (error) {
    if (error instanceof PlatformError) return `${error.code} ${error.param} ${error.message}`;
    throw error;
  }
  throw new Error('the request was accepted');
}

const messagesOf = (...messages: object[]) => ({ messages: [...sealed.messages, ...messages] });

describe('an encrypted request', () => {
  it('goes to the worker whose host has its key', () => {
    const keys = { clientPublicKey: client.publicKey, hostPublicKey: host.publicKey };
    expect(routeOf()).toEqual({ keys, processId: 'worker-1' });
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, name.endsWith('algo') ? value : value?.toUpperCase()]),
    );
    expect(routeOf({}, { headers: upper })).toEqual({ keys, processId: 'worker-1' });
    expect(routeOf({}, { headers: { ...headers, 'x-service-tee-signing-algo': undefined } })?.keys).toEqual(keys);
  });

  it('is one in clear without its headers, and with enable_e2ee false in the body or the suffix', () => {
    expect(routeOf({ stream: false }, { headers: {} })).toBeNull();
    expect(routeOf({ stream: false, service_parameters: { enable_e2ee: false } })).toBeNull();
    expect(routeOf({ stream: false }, { suffix: { enable_e2ee: 'false' } })).toBeNull();
  });

  it('may have texts in parts, and plain or encrypted answers of the model', () => {
    const parts = [
      { type: 'text', text: seal('a') },
      { type: 'text', text: seal('b'), cache_control: { type: 'ephemeral' } },
    ];
    const answers = [
      { role: 'assistant', content: 'plain' },
      { role: 'assistant', content: seal('sealed'), reasoning_content: 'hm' },
    ];
    const others = [{ role: 'developer', content: seal('Be kind.') }, { role: 'user', content: parts }, ...answers];
    expect(routeOf(messagesOf(...others))).not.toBeNull();
  });

  it.each([{ stream: false }, { stream: null }, { stream: undefined }])('must stream: %j', (changes) => {
    expect(refusalOf(changes)).toMatch(/^INVALID_REQUEST stream E2EE requires streaming/);
  });

  it.each([
    ['messages[1].content', { role: 'user', content: 'plain' }],
    ['messages[1].content', { role: 'user', content: '' }],
    ['messages[1].content', { role: 'user', content: seal('x').slice(0, 184) }],
    ['messages[1].content', { role: 'user', content: `${seal('x')}\n${seal('y')}` }],
    ['messages[1].content', { role: 'user', content: `0x${seal('x')}` }],
    ['messages[1].content', { role: 'system', content: 'plain' }],
    ['messages[1].content', { role: 'developer', content: 'plain' }],
    [
      'messages[1].content[1].text',
      {
        role: 'user',
        content: [
          { type: 'text', text: seal('x') },
          { type: 'text', text: 'y' },
        ],
      },
    ],
  ])('is refused at %s where a text is in clear', (param, message) => {
    expect(refusalOf(messagesOf(message))).toBe(
      `INVALID_REQUEST ${param} Encrypted field is not valid hex: ${param} must be encrypted, at least 186 hex characters that begin with 04.`,
    );
  });

  it('is refused for a field whose key is off the curve', () => {
    const message = { role: 'user', content: `04${'11'.repeat(120)}` };
    expect(refusalOf(messagesOf(message))).toMatch(/^INVALID_REQUEST messages\[1\]\.content Failed to decrypt field/);
  });

  it.each([
    undefined,
    '',
    'abc',
    host.publicKey.slice(2),
    `02${host.publicKey.slice(2, 66)}`,
    `04${'00'.repeat(64)}`,
    `04${'11'.repeat(64)}`,
    `04${'ff'.repeat(64)}`,
    `${host.publicKey}, ${host.publicKey}`,
  ])('is refused with the key %j', (key) => {
    for (const name of ['x-service-tee-client-pub-key', 'x-service-tee-model-pub-key']) {
      expect(refusalOf({}, { headers: { ...headers, [name]: key } })).toMatch(
        new RegExp(`^INVALID_REQUEST ${name} Invalid public key: ${name} must be`),
      );
    }
  });

  it('is refused for a key that no host has, and says what to do', () => {
    const gone = { ...headers, 'x-service-tee-model-pub-key': createHostIdentity().publicKey };
    expect(refusalOf({}, { headers: gone })).toMatch(
      /^INVALID_REQUEST x-service-tee-model-pub-key Failed to decrypt field: .*Fetch the attestation again/,
    );
  });

  it('is refused with another algorithm', () => {
    for (const algorithm of ['ed25519', '', 'ECDSA']) {
      expect(refusalOf({}, { headers: { ...headers, 'x-service-tee-signing-algo': algorithm } })).toMatch(
        /must be ecdsa/,
      );
    }
  });

  const tool = { type: 'function', function: { name: 'f' } };
  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
  it.each([
    ['service_parameters.character_slug', { service_parameters: { character_slug: 'ada' } }],
    ['service_parameters.enable_web_search', { service_parameters: { enable_web_search: 'on' } }],
    ['service_parameters.enable_web_search', { service_parameters: { enable_web_search: 'auto' } }],
    ['service_parameters.enable_web_scraping', { service_parameters: { enable_web_scraping: true } }],
    ['service_parameters.enable_x_search', { service_parameters: { enable_x_search: true } }],
    ['tools', { tools: [tool] }],
    ['tools', { tools: [{ type: 'web_search' }] }],
    ['functions', { functions: [{ name: 'f' }] }],
    ['response_format', { response_format: { type: 'json_object' } }],
    ['response_schema', { response_schema: { type: 'object' } }],
    ['logprobs', { logprobs: true }],
    ['messages[1].role', messagesOf({ role: 'tool', content: seal('x'), tool_call_id: 'call_1' })],
    ['messages[1].role', messagesOf({ role: 'function', content: 'x', name: 'f' })],
    ['messages[1].tool_calls', messagesOf({ role: 'assistant', content: null, tool_calls: [call] })],
    ['messages[1].function_call', messagesOf({ role: 'assistant', content: null, function_call: call.function })],
    [
      'messages[1].content[0]',
      messagesOf({ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] }),
    ],
    ['messages[1].content[0]', messagesOf({ role: 'user', content: [{ type: 'file', file: { file_data: 'YQ==' } }] })],
    [
      'messages[1].content[0]',
      messagesOf({ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'YQ==' } }] }),
    ],
    [
      'messages[1].content[0]',
      messagesOf({ role: 'user', content: [{ type: 'video_url', video_url: { url: 'data:,' } }] }),
    ],
  ])('cannot use what reads texts outside of the model host: %s', (param, changes) => {
    const refusal = refusalOf(changes);
    expect(refusal).toMatch(/^INVALID_REQUEST .*E2EE does not support /);
    expect(refusal).toContain(` ${param} `);
  });

  it('has a bound of fields', () => {
    const messages = (count: number) => ({ messages: Array.from({ length: count }, () => sealed.messages[0]) });
    expect(routeOf(messages(1_000))).not.toBeNull();
    expect(refusalOf(messages(1_001))).toMatch(/^INVALID_REQUEST messages A request may have 1000 encrypted fields/);
  });

  it('never repeats a text in its refusals', () => {
    expect(refusalOf(messagesOf({ role: 'user', content: 'planted phrase' }))).not.toContain('planted');
  });

  it('is refused on routes without an encrypted form', () => {
    expect(() => refuseSealed({ headers: { 'x-service-tee-model-pub-key': 'x' } })).toThrow('E2EE does not support');
    expect(() => refuseSealed({ headers })).toThrow('use POST /chat/completions');
    expect(() => refuseSealed({ headers: { 'x-service-tee-signing-algo': 'ecdsa' } })).not.toThrow();
  });
});
