import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createHostIdentity } from '#tee';
import { FieldOpener, isSealedField, sealText } from '#tee/sealing';
import type { EngineEvent } from '../contract/engine.js';
import type { ChatPrompt, ChatTemplateMessage, TextGenerationRequest } from '../contract/text-generation.js';
import { SealedRequests } from './sealed-requests.js';

const host = createHostIdentity();
const client = createHostIdentity();
const seal = (text: string): string => sealText(text, Buffer.from(host.publicKey, 'hex'));
const open = (field: string): string => new FieldOpener(client.sharedSecret).open(field);
const sealing = { clientPublicKey: client.publicKey, hostPublicKey: host.publicKey, stripThinking: false };

function requestOf(
  messages: ChatTemplateMessage[],
  others: Partial<TextGenerationRequest> = {},
): TextGenerationRequest {
  const settings = { n: 1, sampling: {}, stop: [], stopTokenIds: [], topLogprobs: null };
  return { id: 'a', prompt: { messages }, ...settings, sealing, ...others };
}

/** Submits one request, and returns what the engine and the worker got once it was opened or refused. */
async function submitted(request: TextGenerationRequest, { isCancelled = false } = {}) {
  const engine: TextGenerationRequest[] = [];
  const sent: [string, EngineEvent][] = [];
  const sealed = await new Promise<SealedRequests>((resolve) => {
    const requests = new SealedRequests({
      key: () => host,
      submit: (opened) => {
        engine.push(opened);
        resolve(requests);
      },
      send: (id, event) => {
        sent.push([id, event]);
        resolve(requests);
      },
    });
    requests.submit(request);
    if (isCancelled) requests.cancel(request.id);
  });
  return { sealed, engine, sent };
}

/** The messages that the engine got, of one request. */
function messagesOf([request]: TextGenerationRequest[]): ChatTemplateMessage[] {
  return request === undefined ? [] : (request.prompt as ChatPrompt).messages;
}

const question = [{ role: 'user', content: seal('What is the planted phrase?') }];

async function refusalOf(request: TextGenerationRequest) {
  const { engine, sent } = await submitted(request);
  expect(engine).toEqual([]);
  const [[, event]] = sent as [[string, EngineEvent]];
  return event.type === 'failed' ? `${event.error.code} ${event.error.message}` : event.type;
}

describe('the input of a sealed request', () => {
  it('is opened for the engine, which sees nothing of the sealing', async () => {
    const messages: ChatTemplateMessage[] = [
      { role: 'system', content: `${seal('Be kind.')}\n\n${seal('Be brief.')}` },
      { role: 'user', content: `${seal('first part')}\n${seal('second')}`, cacheMark: seal('first part').length },
      { role: 'assistant', content: 'a plain answer', reasoning_content: seal('hm') },
      { role: 'assistant', content: seal('a sealed answer') },
      { role: 'user', content: seal('') },
    ];
    const { engine } = await submitted(requestOf(messages, { stop: ['plain', seal('sealed stop')], topLogprobs: 5 }));
    expect(messagesOf(engine)).toEqual([
      { role: 'system', content: 'Be kind.\n\nBe brief.' },
      { role: 'user', content: 'first part\nsecond', cacheMark: 10 },
      { role: 'assistant', content: 'a plain answer', reasoning_content: 'hm' },
      { role: 'assistant', content: 'a sealed answer' },
      { role: 'user', content: '' },
    ]);
    expect(engine[0]).toMatchObject({ stop: ['plain', 'sealed stop'], topLogprobs: null });
    expect(engine[0]).not.toHaveProperty('sealing');
  });

  it('may come again from the same client, and from no other', async () => {
    const { sealed, engine, sent } = await submitted(requestOf(question));
    sealed.submit(requestOf(question, { id: 'again' }));
    const other = { ...sealing, clientPublicKey: createHostIdentity().publicKey };
    sealed.submit(requestOf(question, { id: 'other', sealing: other }));
    const upper = [{ role: 'user', content: messagesOf([requestOf(question)])[0]?.content.toUpperCase() ?? '' }];
    sealed.submit(requestOf(upper, { id: 'upper', sealing: other }));
    await expect.poll(() => engine.length + sent.length).toBe(4);
    expect(engine.map(({ id }) => id)).toEqual(['a', 'again']);
    expect(sent.map(([id, event]) => `${id} ${event.type}`).toSorted()).toEqual(['other failed', 'upper failed']);
  });

  it('may be sealed with one key for all fields, many of them', async () => {
    const field = seal('again');
    const messages = Array.from({ length: 500 }, () => ({ role: 'user', content: field }));
    const { engine } = await submitted(requestOf(messages));
    expect(messagesOf(engine).every(({ content }) => content === 'again')).toBe(true);
  });

  it.each(['system', 'user'])('is refused in clear for %s', async (role) => {
    for (const content of ['in clear', '', `${seal('a')}\nin clear`]) {
      const refusal = await refusalOf(requestOf([...question, { role, content }]));
      expect(refusal).toBe('INVALID_REQUEST Encrypted field is not valid hex.');
    }
  });

  it('is refused for a key that the host has not, or has no longer', async () => {
    for (const hostPublicKey of [createHostIdentity().publicKey, client.publicKey, '', host.address]) {
      const refusal = await refusalOf(requestOf(question, { sealing: { ...sealing, hostPublicKey } }));
      expect(refusal).toMatch(/^INVALID_REQUEST Failed to decrypt field: .*attestation again/);
    }
  });

  it('is refused if it was sealed for another host, whatever key it names', async () => {
    const other = sealText('text', Buffer.from(createHostIdentity().publicKey, 'hex'));
    expect(await refusalOf(requestOf([{ role: 'user', content: other }]))).toMatch(
      /^INVALID_REQUEST Failed to decrypt/,
    );
  });

  it('is refused with a client key off the curve', async () => {
    for (const clientPublicKey of ['', `04${'11'.repeat(64)}`, `04${'00'.repeat(64)}`, `02${'11'.repeat(32)}`]) {
      const refusal = await refusalOf(requestOf(question, { sealing: { ...sealing, clientPublicKey } }));
      expect(refusal).toBe('INVALID_REQUEST Invalid public key.');
    }
  });

  it('is refused or opened whole, and never fails otherwise, in 1,000 mutations', async () => {
    const field = seal('a text');
    for (let round = 0; round < 1_000; round++) {
      const [at = 0, kind = 0, digit = 0] = randomBytes(3);
      const place = (at * 7) % field.length;
      const changed = [
        field.slice(0, place),
        field.slice(0, place) + (digit % 16).toString(16) + field.slice(place + 1),
        field.slice(place) + field.slice(0, place),
        field.slice(0, place) + field + field.slice(place),
        `${field.slice(0, place)}\n${field.slice(place)}`,
        randomBytes(at).toString('latin1'),
      ][kind % 6] as string;
      const { engine, sent } = await submitted(requestOf([{ role: 'user', content: changed }]));
      const [event] = sent.map(([, given]) => given);
      // Line breaks around a field belong to the text.
      if (engine.length === 1) expect(messagesOf(engine)[0]?.content.trim()).toBe('a text');
      else expect(event).toMatchObject({ type: 'failed', error: { code: 'INVALID_REQUEST' } });
    }
  });

  it('does not reach the engine if it is cancelled meanwhile', async () => {
    const { engine, sent } = await submitted(requestOf(question), { isCancelled: true });
    expect(engine).toEqual([]);
    expect(sent).toEqual([['a', expect.objectContaining({ type: 'finished', cancelled: true })]]);
  });
});

const usage = { promptTokens: 5, cachedTokens: 0, completionTokens: 9, reasoningTokens: 0 };
const logprobs = [{ token: 'planted', logprob: -1, bytes: null, topLogprobs: [] }];
const failed = (code: string): EngineEvent =>
  ({ type: 'failed', error: { code, message: 'planted', param: null, reason: 'planted' }, usage: null }) as never;

/** Everything that an engine can say, with the phrase in every member that can hold text. */
const everyEvent: EngineEvent[] = [
  { type: 'constraint-ready', text: 'planted' } as never,
  {
    ...{ type: 'prompt-ready', promptTokens: 5, cachedTokens: 2, opensThinking: true, promptText: 'planted' },
    relaxed: [{ param: 'planted', pointer: 'planted', reason: 'planted' }],
    reasoning: { open: '<think>', close: '</think>' },
  },
  { type: 'prompt-scores', index: 0, scores: logprobs.map((score) => ({ ...score, startsAt: 0 })) },
  { type: 'text-delta', index: 0, text: 'planted thought', tokens: 3, logprobs },
  { type: 'text-delta', index: 0, text: '</think>', tokens: 1, logprobs },
  { type: 'text-delta', index: 0, text: 'planted', tokens: 2, logprobs, pieces: [[7, 2, 1]] },
  { type: 'text-delta', index: 0, text: ' \n\t', tokens: 1, logprobs },
  { type: 'text-delta', index: 0, text: '<tool_call>{"name": "planted"}</tool_call>', tokens: 2, logprobs: null },
  { type: 'text-delta', index: 1, text: 'planted </thi', tokens: 4, logprobs: null },
  { type: 'choice-finished', index: 0, finishReason: 'stop' },
  { type: 'choice-finished', index: 1, finishReason: 'length' },
  { type: 'sealed-delta', index: 0, channel: 'content', field: 'planted', tokens: 1, reasoningTokens: 0 },
  { type: 'task-finished', result: { text: 'planted' } } as never,
  { type: 'an-event-of-tomorrow', text: 'planted' } as never,
];

describe('the output of a sealed request', () => {
  async function outputOf(events: EngineEvent[], stripThinking = false): Promise<EngineEvent[]> {
    const { sealed } = await submitted(requestOf(question, { sealing: { ...sealing, stripThinking } }));
    return sealed.translate(events.map((event) => ['a', event])).map(([, event]) => event);
  }

  it.each([false, true])(
    'is sealed in every kind of event, and nothing else leaves (strips reasoning: %s)',
    async (strips) => {
      for (const last of [{ type: 'finished', cancelled: false, usage } as const, failed('INVALID_REQUEST')]) {
        const events = await outputOf([...everyEvent, last], strips);
        expect(JSON.stringify(events)).not.toMatch(/planted|tool_call|\\n|\\t/);
        for (const event of events) {
          if (event.type !== 'sealed-delta') continue;
          expect(event.field === '' || isSealedField(event.field)).toBe(true);
          expect(Object.keys(event).toSorted()).toEqual([
            'channel',
            'field',
            'index',
            'reasoningTokens',
            'tokens',
            'type',
          ]);
        }
        const kinds = new Set<string>(events.map(({ type }) => type));
        expect([...kinds].toSorted()).toEqual(
          ['choice-finished', 'constraint-ready', last.type, 'prompt-ready', 'sealed-delta'].toSorted(),
        );
      }
    },
  );

  it('opens to the texts of the channels, with tokens as they would be counted in clear', async () => {
    const events = await outputOf([...everyEvent, { type: 'finished', cancelled: false, usage }]);
    const deltas = events.flatMap((event) => (event.type === 'sealed-delta' ? [event] : []));
    const textOf = (index: number, channel: string): string =>
      deltas
        .filter((delta) => delta.index === index && delta.channel === channel && delta.field !== '')
        .map(({ field }) => open(field))
        .join('');
    expect(textOf(0, 'reasoning')).toBe('planted thought');
    expect(textOf(0, 'content')).toBe('planted \n\t<tool_call>{"name": "planted"}</tool_call>');
    expect(textOf(1, 'reasoning')).toBe('planted ');
    expect(deltas.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(13);
    expect(deltas.reduce((sum, { reasoningTokens }) => sum + reasoningTokens, 0)).toBe(8);
    expect(events.at(-1)).toEqual({ type: 'finished', cancelled: false, usage: { ...usage, reasoningTokens: 8 } });
  });

  it('has a key of its own in each piece', async () => {
    const events = await outputOf(everyEvent);
    const fields = events.flatMap((event) =>
      event.type === 'sealed-delta' && event.field !== '' ? [event.field] : [],
    );
    expect(new Set(fields.map((field) => field.slice(0, 130))).size).toBe(fields.length);
    expect(new Set(fields.map((field) => field.slice(130, 154))).size).toBe(fields.length);
  });

  it('keeps the code of a failure and the numbers of a prompt that is too long, and no other words', async () => {
    for (const code of ['INVALID_REQUEST', 'INFERENCE_FAILED', 'DEVICE_LOST']) {
      const [event] = await outputOf([failed(code)]);
      expect(event).toMatchObject({ type: 'failed', error: { code } });
      expect(JSON.stringify(event)).not.toContain('planted');
    }
    const error = { code: 'TOO_MANY_TOKENS', message: 'The prompt is 9 tokens.', param: 'messages' } as const;
    expect(await outputOf([{ type: 'failed', error, usage: null }])).toMatchObject([{ error }]);
  });

  it('leaves the events of other requests alone', async () => {
    const { sealed } = await submitted(requestOf(question));
    const others = everyEvent.map((event): [string, EngineEvent] => ['b', event]);
    expect(sealed.translate(others)).toEqual(others);
  });
});
