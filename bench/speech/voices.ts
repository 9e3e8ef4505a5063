import { fileURLToPath } from 'node:url';
import { resolve } from 'node:path';
import { splitSentences } from '#inference/tasks';
import type { InstalledModel } from '#model-store';
import type { Platform } from '#test/platform';
import { bareLoad } from '../models.js';
import type { BenchSubject, Figures } from '../report.js';
import { BenchChild } from '../text/child.contender.js';
import { peakMebibytes } from '../transcription/peak-memory.js';
import { type BenchText, benchTexts } from './texts.js';
import { kokoroPhonemes, padId, symbolIds, KokoroVoices, spokenText, loadPronouncer } from '#inference';

interface SpeechTiming {
  seconds: number;
  ms: number;
  /** Time to the first byte, for streaming subjects. */
  firstMs?: number;
}

/** A subject that speaks one text at a time. */
export interface BenchVoice {
  name: string;
  say(text: BenchText): Promise<SpeechTiming>;
  /** Pid of the process with the model. */
  pid(): number;
  close(): Promise<void>;
}

function rateOf({ manifest }: InstalledModel): number {
  return Number(manifest.kindMembers?.pcm_sample_rate);
}

/** Uses HTTP, key, queue, worker, host, encoder and reply channel; `wav` complete, or `pcm` as a stream. */
export function platformVoice(
  name: string,
  platform: Platform,
  { model, voice, streaming }: { model: InstalledModel; voice: string; streaming: boolean },
): BenchVoice {
  const { id } = model.manifest;
  return {
    name,
    say: async (text) => {
      const format = { response_format: streaming ? 'pcm' : 'wav', streaming };
      const body = JSON.stringify({ model: id, voice, input: benchTexts[text], ...format });
      const headers = { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' };
      const startedAt = performance.now();
      const response = await fetch(`${platform.baseUrl}/audio/speech`, { method: 'POST', body, headers });
      if (!response.ok || response.body === null) throw new Error(`${response.status}: ${await response.text()}`);
      let bytes = 0;
      let firstMs: number | undefined;
      for await (const part of response.body as AsyncIterable<Uint8Array>) {
        firstMs ??= performance.now() - startedAt;
        bytes += part.length;
      }
      const ms = performance.now() - startedAt;
      return { seconds: bytes / 2 / rateOf(model), ms, ...(streaming && { firstMs }) };
    },
    pid: () => platform.hostPid(id),
    close: async () => undefined,
  };
}

export async function bareVoice(
  name: string,
  model: InstalledModel,
  { threads, voice }: { threads: number; voice: string },
): Promise<BenchVoice> {
  const module = fileURLToPath(new URL('./bare-voice.child.js', import.meta.url));
  const child = await BenchChild.start(module, bareLoad(model, threads));
  return childVoice(name, child, rateOf(model), (text) => Promise.resolve({ text: benchTexts[text], voice }));
}

/** Kokoro in transformers.js, which gets the phonemes of each sentence. */
export async function peerVoice(
  model: InstalledModel,
  { threads, voice }: { threads: number; voice: string },
): Promise<BenchVoice> {
  const { folder } = model;
  const [pronouncer, voices] = await Promise.all([loadPronouncer(folder), KokoroVoices.open(folder)]);
  const child = await BenchChild.start(resolve('bench/peers/transformers-voice.mjs'), { folder, threads });
  return childVoice('transformers.js', child, rateOf(model), async (text) => {
    const sentences = splitSentences(benchTexts[text]).map(async (sentence) => {
      const ids = symbolIds(kokoroPhonemes(spokenText(sentence.text, pronouncer), 'american'));
      return { ids: [padId, ...ids, padId], style: [...(await voices.style(voice, ids.length))] };
    });
    return { sentences: await Promise.all(sentences) };
  });
}

function childVoice(
  name: string,
  child: BenchChild,
  sampleRate: number,
  inputOf: (text: BenchText) => Promise<object>,
): BenchVoice {
  return {
    name,
    say: async (text) => {
      const { samples, ms } = (await child.call('run', await inputOf(text))) as { samples: number; ms: number };
      return { seconds: samples / sampleRate, ms };
    },
    pid: () => child.pid,
    close: () => child.close(),
  };
}

/** Runs every text once per round: time per second of audio, and time to the first byte. */
export function asSubject(voice: BenchVoice): BenchSubject {
  return {
    name: voice.name,
    run: async () => {
      const figures: Figures = {};
      for (const text of Object.keys(benchTexts) as BenchText[]) {
        const { seconds, ms, firstMs } = await voice.say(text);
        figures[`${text}Ms`] = ms;
        figures[`${text}SoundSeconds`] = seconds;
        figures[`${text}MsPerSecond`] = ms / seconds;
        if (firstMs !== undefined) figures[`${text}FirstByteMs`] = firstMs;
      }
      figures.peakMiB = await peakMebibytes(voice.pid());
      return figures;
    },
    close: () => voice.close(),
  };
}
