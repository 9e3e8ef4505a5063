import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { ModelRequest } from '#gateway';
import type { ImageDescriber, InputTranscriber, RecordingInput } from '#gateway/inputs';
import { exampleManifest } from '#test/example-manifest';
import { tone, wavFile } from '#test/wav-file';
import { testDouble } from '#test/test-double';
import type { ChatMessage, ChatPart } from '../../contract/chat.message.js';
import { AdaptedParts } from './adapted-parts.js';
import { PromptSources } from '../job/prompt-source.js';
import { type AdaptedMessages, InputAdapters } from './input-adapters.js';

const transcriptNano = 100n;

interface Scene {
  adapter?: string;
  texts?: string[];
  adapterCacheMb?: number;
  /** Position of the part whose step fails, from 1. */
  fails?: { prepare?: number; limit?: number; run?: number };
}

/** Adapters whose transcriber records every step. */
function adaptersOn({ adapter = 'ears', texts = ['one', 'two', 'three'], fails = {}, adapterCacheMb = 0 }: Scene = {}) {
  const steps: string[] = [];
  const headers: Record<string, string> = {};
  const recordings: RecordingInput[] = [];
  const step = (name: keyof NonNullable<Scene['fails']>, position: number, detail = '') => {
    steps.push(`${name} ${position}${detail}`);
    if (fails[name] === position) throw new PlatformError('RATE_LIMIT_EXCEEDED', `${name} failed`);
  };
  const transcriber: InputTranscriber = {
    prepare: async (_model, recording) => {
      const position = recordings.push(recording);
      step('prepare', position);
      return {
        contentHash: createHash('sha256')
          .update('bytes' in recording.source ? recording.source.bytes : '')
          .digest('hex'),
        seconds: 1,
        amountNano: transcriptNano,
        limit: async () => step('limit', position),
        run: async (nano) => {
          step('run', position, ` ${nano}`);
          return texts[position - 1] ?? '';
        },
      };
    },
  };
  const opened: string[] = [];
  const pipeline = {
    openInput: async (_http: unknown, { id, type, position }: { id: string; type: string; position: number }) => {
      opened.push(`${type} ${id} ${position}`);
      return { manifest: { id } };
    },
  };
  const manifest = {
    ...exampleManifest({ id: 'm' }),
    contextLength: 40,
    inputAdapters: adapter ? { audio: adapter } : {},
  };
  const http = {
    request: { caller: { accountId: 'one' } },
    reply: { header: (name: string, value: string) => (headers[name] = value) },
  };
  const request = { manifest, http } as unknown as ModelRequest;
  const config = { chatDeadlineMs: 1_000, adapterCacheMb };
  const artifacts = { inputsOf: () => ({}) } as never;
  const videos = { of: () => ({}) } as never;
  const parts = new AdaptedParts(
    pipeline as never,
    transcriber,
    {} as ImageDescriber,
    artifacts,
    videos,
    testDouble(config),
  );
  const adapters = new InputAdapters(parts);
  const plan = (messages: ChatMessage[]) => ({ messages, adapted: adapters.plan(messages, request) });
  return { steps, headers, recordings, opened, plan };
}

function audio(bytes: Buffer = wavFile(tone(0.1)), format = 'wav'): ChatPart {
  return { type: 'input_audio', input_audio: { data: bytes.toString('base64'), format } };
}

const text: ChatPart = { type: 'text', text: 'Hi' };
const user = (...content: ChatPart[]): ChatMessage => ({ role: 'user', content });

/** Runs the adapters of a request that costs `minNano` itself. */
async function run(
  { messages, adapted }: { messages: ChatMessage[]; adapted: AdaptedMessages },
  minNano: (messages: ChatMessage[]) => bigint = () => 7n,
): Promise<ChatMessage[]> {
  const sources = new PromptSources([adapted]);
  await sources.limit();
  return await sources.runJobs(messages, { minNano, signal: new AbortController().signal });
}

describe('input adapters', () => {
  it('turn each recording into a marked transcript, in place', async () => {
    const { plan, headers, opened, recordings } = adaptersOn({ texts: ['one', ''] });
    const messages: ChatMessage[] = [{ role: 'system', content: 'Be brief.' }, user(text, audio()), user(audio())];
    expect(await run(plan(messages))).toEqual([
      messages[0],
      user(text, { type: 'text', text: '[Transcript of an audio message]\none\n[End of transcript]' }),
      user({ type: 'text', text: '[Transcript of an audio message: no speech]' }),
    ]);
    expect(opened).toEqual(['asr ears 1', 'asr ears 2']);
    expect(recordings.map(({ param }) => param)).toEqual([
      'messages[1].content[1].input_audio.data',
      'messages[2].content[0].input_audio.data',
    ]);
    expect(headers).toEqual({ 'x-service-input-adapter': 'audio=ears' });
  });

  it('leave messages alone that hold no sound, or whose model names no adapter', () => {
    const messages = [user(text)];
    const { adapted } = adaptersOn().plan(messages);
    expect([adapted.isEmpty, adapted.bound(messages)]).toEqual([true, messages]);
    const unread = [user(audio())];
    const { adapted: none } = adaptersOn({ adapter: '' }).plan(unread);
    expect([none.isEmpty, none.bound(unread)]).toEqual([true, unread]);
  });

  it('bound the prompt by the context before anything is decoded', () => {
    const { plan, steps } = adaptersOn();
    const { adapted, messages } = plan([user(text, audio(Buffer.from('not a recording')))]);
    expect(adapted.bound(messages)).toEqual([user(text, { type: 'text', text: '.'.repeat(40) })]);
    expect(steps).toEqual([]);
  });

  it('reserve first what all transcripts and the chat itself cost, then what is left', async () => {
    const { plan, steps } = adaptersOn();
    await run(plan([user(audio(), audio(), audio())]));
    expect(steps.slice(3)).toEqual(['limit 1', 'limit 2', 'limit 3', 'run 1 307', 'run 2 207', 'run 3 107']);
  });

  it('quote the chat with the longest transcripts, up to the context', async () => {
    const quoted: ChatMessage[][] = [];
    await run(adaptersOn().plan([user(audio())]), (messages) => (quoted.push(messages), 0n));
    expect(quoted).toEqual([[user({ type: 'text', text: '.'.repeat(40) })]]);
  });

  it.each([
    ['prepare', ['prepare 1', 'prepare 2']],
    ['limit', ['prepare 1', 'prepare 2', 'limit 1', 'limit 2']],
  ] as const)('run nothing if the step "%s" of one part fails', async (name, expected) => {
    const { plan, steps, headers } = adaptersOn({ fails: { [name]: 2 } });
    await expect(run(plan([user(audio(), audio())]))).rejects.toThrow(`${name} failed`);
    expect([steps, headers]).toEqual([expected, {}]);
  });

  it('run no further part after one that failed', async () => {
    const { plan, steps } = adaptersOn({ fails: { run: 1 } });
    await expect(run(plan([user(audio(), audio())]))).rejects.toThrow('run failed');
    expect(steps.at(-1)).toBe('run 1 207');
  });

  it('refuse the 17th recording and the fourth video before anything else', () => {
    const { plan, steps } = adaptersOn();
    const recordings = Array.from({ length: 17 }, () => audio());
    expect(() => plan([user(...recordings)])).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', param: 'messages[0].content[16]' }),
    );
    const video: ChatPart = { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } };
    expect(() => plan([user(video, video), user(video, video)])).toThrow(
      expect.objectContaining({ param: 'messages[1].content[1]' }),
    );
    expect(steps).toEqual([]);
  });

  it('give PCM, which has no header, a WAV header of 24 kHz', async () => {
    const { plan, recordings } = adaptersOn();
    await run(plan([user(audio(Buffer.alloc(96), 'pcm16'), audio(Buffer.alloc(97), 'pcm24'))]));
    const headers = recordings.map(({ source }) => {
      const bytes = 'bytes' in source ? source.bytes : Buffer.alloc(0);
      return [
        bytes.readUInt32LE(24),
        bytes.readUInt32LE(28),
        bytes.readUInt16LE(34),
        bytes.readUInt32LE(40),
        bytes.length,
      ];
    });
    expect(headers).toEqual([
      [24_000, 48_000, 16, 96, 140],
      [24_000, 72_000, 24, 96, 140],
    ]);
  });

  it('run and reserve nothing for what the same account sent before', async () => {
    const { plan, steps } = adaptersOn({ texts: ['one', 'two'], adapterCacheMb: 1 });
    const first = await run(plan([user(audio())]));
    expect(steps).toEqual(['prepare 1', 'limit 1', 'run 1 107']);
    const again = await run(plan([user(audio())]));
    expect(steps.slice(3)).toEqual(['prepare 2']);
    expect(again).toEqual(first);
  });
});
