import { fileURLToPath } from 'node:url';
import { resolve } from 'node:path';
import type { InstalledModel } from '#model-store';
import type { Platform } from '#test/platform';
import { bareLoad } from '../models.js';
import type { BenchSubject, Figures } from '../report.js';
import { BenchChild } from '../text/child.contender.js';
import { peakMebibytes } from './peak-memory.js';
import { type Recording, secondsOf, wordErrorRate } from './recordings.js';

interface Transcribed {
  text: string;
  ms: number;
}

/** A subject that transcribes one recording at a time. */
export interface Transcriber {
  name: string;
  transcribe(recording: Recording): Promise<Transcribed>;
  /** Pid of the process with the model. */
  pid(): number;
  close(): Promise<void>;
}

/** Uses HTTP, key, queue, storage, decoding, worker and host. */
export function platformTranscriber(name: string, platform: Platform, modelId: string, words: boolean): Transcriber {
  return {
    name,
    transcribe: async ({ file }) => {
      const body = new FormData();
      body.append('file', new Blob([new Uint8Array(file)]), 'recording.wav');
      for (const [field, value] of [
        ['model', modelId],
        ['language', 'en'],
        ['timestamps', String(words)],
      ] as const) {
        body.append(field, value);
      }
      const startedAt = performance.now();
      const headers = { authorization: `Bearer ${platform.inferenceKey}` };
      const response = await fetch(`${platform.baseUrl}/audio/transcriptions`, { method: 'POST', body, headers });
      const answer = (await response.json()) as { text?: string };
      const ms = performance.now() - startedAt;
      if (answer.text === undefined) throw new Error(`${response.status}: ${JSON.stringify(answer)}`);
      return { text: answer.text, ms };
    },
    pid: () => platform.hostPid(modelId),
    close: async () => undefined,
  };
}

export async function bareTranscriber(
  name: string,
  model: InstalledModel,
  { threads, words }: { threads: number; words: boolean },
): Promise<Transcriber> {
  const module = fileURLToPath(new URL('./bare-speech.child.js', import.meta.url));
  return childTranscriber(name, await BenchChild.start(module, bareLoad(model, threads)), words);
}

export async function peerTranscriber(
  { folder }: InstalledModel,
  { threads, words }: { threads: number; words: boolean },
): Promise<Transcriber> {
  const child = await BenchChild.start(resolve('bench/peers/transformers-speech.mjs'), { folder, threads });
  return childTranscriber('transformers.js', child, words);
}

function childTranscriber(name: string, child: BenchChild, words: boolean): Transcriber {
  return {
    name,
    transcribe: async ({ samples }) => (await child.call('run', { samples, language: 'en', words })) as Transcribed,
    pid: () => child.pid,
    close: () => child.close(),
  };
}

/** Runs every recording once per round: duration, speed relative to real time, and word error rate. */
export function asSubject(transcriber: Transcriber, recordings: readonly Recording[]): BenchSubject {
  return {
    name: transcriber.name,
    run: async () => {
      const figures: Figures = {};
      for (const recording of recordings) {
        const { text, ms } = await transcriber.transcribe(recording);
        figures[`${recording.name}Ms`] = ms;
        figures[`${recording.name}RealTime`] = (secondsOf(recording) * 1_000) / ms;
        figures[`${recording.name}WordErrors`] = wordErrorRate(recording.words, text);
      }
      figures.peakMiB = await peakMebibytes(transcriber.pid());
      return figures;
    },
    close: () => transcriber.close(),
  };
}
