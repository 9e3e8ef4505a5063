import type { HostLoadOptions, HostSupervisor } from '#inference/host';
import type { ModelManifest } from '#model-registry/manifest';
import { jfkRecording } from '#test/jfk-recording';
import { converse } from '#test/running-host';
import { installTinyMusicgen, installTinyTextToVideo } from '#test/tiny-generators';
import { wavSamples } from '#test/wav-file';
import { installWideReranker } from './wide-reranker.js';
import {
  type AnimateInput,
  type ComposeInput,
  composeTask,
  type EmbeddingInput,
  embeddingTask,
  type GenerateInput,
  type InpaintInput,
  type InterpolateInput,
  recognitionBlockSeconds,
  type RecognitionInput,
  recognitionSampleRate,
  recognitionTask,
  type RerankInput,
  rerankTask,
  type RgbPixels,
  speakTask,
  type SpeakInput,
  type UpscaleInput,
} from '#inference/tasks';

/** Families without a bundled model: of random weights, in the published layout. */
export const generatedModels: Record<string, (home: string) => Promise<ModelManifest>> = {
  'tiny-musicgen': installTinyMusicgen,
  'tiny-text-to-video': (home) => installTinyTextToVideo(home, { hasSizes: true }),
  'wide-reranker': installWideReranker,
};

/** One input of a model. */
export interface PeakCase {
  /** Model of the catalog, or a generated one. */
  model: string;
  label: string;
  /** `home` holds recordings. */
  run(host: HostSupervisor, home: string): Promise<unknown>;
  /** Pixels of each image that its memory grows with; 0 for other inputs. */
  pixels: number;
  /** Images of a run; default: one. */
  frames?: number;
  /** How the host of the model is loaded; a case with another use has a host of its own. */
  use?: Pick<HostLoadOptions, 'slots' | 'contextLength' | 'cacheTokens'>;
  /** Most MB beside the weights, for a family without an estimate: the measured peak and about a fifth. */
  limit?: number;
}

interface TaskCase extends Omit<PeakCase, 'run'> {
  task: string;
  input: object;
}

function taskCase({ task, input, ...rest }: TaskCase): PeakCase {
  return { ...rest, run: (host) => runTask(host, task, input) };
}

function runTask(host: HostSupervisor, task: string, input: object): Promise<unknown> {
  return host.runTask({ id: 'peak', task, input }, { signal: new AbortController().signal });
}

function image(width: number, height: number): RgbPixels {
  const data = new Uint8Array(width * height * 3);
  // A loop: building a large image through callbacks takes seconds.
  for (let index = 0; index < data.length; index += 1) data[index] = (index * 7_919) % 251;
  return { width, height, data };
}

function interpolation(width: number, height: number): PeakCase {
  const input: InterpolateInput = { first: image(width, height), last: image(width, height), moment: 0.5 };
  const label = `frames of ${width} × ${height}`;
  return taskCase({ model: 'rife-4.6', label, task: 'interpolate', input, pixels: width * height });
}

type Size = [width: number, height: number];

function upscaling(model: string, [width, height]: Size, scale: 2 | 4, limit: number): PeakCase {
  const input: UpscaleInput = { image: image(width, height), scale };
  const label = `${width} × ${height}, ${scale}x`;
  return taskCase({ model, label, task: 'upscale', input, pixels: width * height, limit });
}

function onImage(model: string, task: string, [width, height]: Size, limit: number): PeakCase {
  const input = { image: image(width, height) };
  return taskCase({ model, label: `${width} × ${height}`, task, input, pixels: width * height, limit });
}

function repair(width: number, height: number): PeakCase {
  const mask = new Uint8Array(width * height).fill(1, 0, Math.floor((width * height) / 4));
  const input: InpaintInput = { image: image(width, height), mask };
  const label = `${width} × ${height}`;
  return taskCase({ model: 'migan', label, task: 'inpaint', input, pixels: width * height });
}

function drawing(images: number): PeakCase {
  const seeds = Array.from({ length: images }, (_, index) => index + 1);
  const start = { image: null, mask: null, strength: 1, negativePrompt: '' };
  const input: GenerateInput = {
    ...start,
    prompt: 'a red apple',
    width: 128,
    height: 128,
    steps: 2,
    guidance: 4,
    seeds,
  };
  const label = `${images} × 128 × 128`;
  return taskCase({ model: 'pictogram', label, task: 'generate', input, pixels: 128 * 128 });
}

function speech(model: string, voice: string, characters: number, limit: number): PeakCase {
  const text = 'The river ran past the old mill and into the sea. '.repeat(characters / 50).trim();
  const input: SpeakInput = { text, before: 'end', voice, speed: 1, language: null };
  return taskCase({ model, label: `a sentence of ${characters} characters`, task: speakTask, input, pixels: 0, limit });
}

/** Of an embedding model, or a classifier of texts, whose vector is the probability of each class. */
function embedding(model: string, texts: number, words: number, limit: number): PeakCase {
  const input: EmbeddingInput = { texts: new Array<string>(texts).fill('word '.repeat(words)), dimensions: null };
  const label = `${texts} texts of ${words} words`;
  return taskCase({ model, label, task: embeddingTask, input, pixels: 0, limit });
}

/** Documents longer than what the model reads. */
function reranking(documents: number, limit: number): PeakCase {
  const input: RerankInput = {
    query: 'a query',
    documents: new Array<string>(documents).fill('! '.repeat(600)),
    maxTokensPerDocument: null,
  };
  const label = `${documents} documents of 512 tokens`;
  return taskCase({ model: 'wide-reranker', label, task: rerankTask, input, pixels: 0, limit });
}

/** A block of speech with the times of its words; a longer recording is more blocks, one after another. */
function recognition(model: string, limit: number): PeakCase {
  const text = { prompt: null, language: 'en', temperature: 0, timestamps: 'word' as const };
  const label = `a block of ${recognitionBlockSeconds} s`;
  const run: PeakCase['run'] = async (host, home) => {
    const speech = wavSamples(await jfkRecording(home));
    const samples = new Float32Array(recognitionBlockSeconds * recognitionSampleRate);
    for (let start = 0; start < samples.length; start += speech.length) {
      samples.set(speech.subarray(0, samples.length - start), start);
    }
    const input: RecognitionInput = { samples, isLast: true, memory: null, ...text };
    await runTask(host, recognitionTask, input);
  };
  return { model, label, run, pixels: 0, limit };
}

/** Frames of a video are computed together. */
function animation([width, height]: Size, frames: number): PeakCase {
  const input: AnimateInput = { prompt: 'a river', negativePrompt: '', width, height, frames, seed: 1 };
  const label = `${frames} frames of ${width} × ${height}`;
  return taskCase({ model: 'tiny-text-to-video', label, task: 'animate', input, pixels: width * height, frames });
}

function music(seconds: number, limit: number): PeakCase {
  const input: ComposeInput = { prompt: 'a slow waltz', seconds, seed: 1 };
  return taskCase({ model: 'tiny-musicgen', label: `${seconds} s`, task: composeTask, input, pixels: 0, limit });
}

/** Conversations that are answered together. */
function conversations(
  model: string,
  {
    count,
    words,
    answer = 8,
    ...rest
  }: { count: number; words: number; answer?: number } & Pick<PeakCase, 'limit' | 'use'>,
): PeakCase {
  const run: PeakCase['run'] = (host) => converse(host, { count, words, answer });
  return { model, label: `${count} × ${words} words`, run, pixels: 0, ...rest };
}

/** Requests of a text model, each as long as its context. */
function rows(slots: number, contextLength: number): NonNullable<PeakCase['use']> {
  return { slots, contextLength, cacheTokens: slots * contextLength };
}

/** Small and large inputs of every family, up to what the routes accept. */
export const peakCases: readonly PeakCase[] = [
  drawing(1),
  drawing(4),
  interpolation(640, 360),
  interpolation(1_280, 720),
  interpolation(1_920, 1_080),
  upscaling('esrgan-slim', [512, 512], 4, 630),
  upscaling('esrgan-slim', [1_024, 1_024], 4, 630),
  upscaling('esrgan-slim', [2_048, 2_048], 2, 630),
  upscaling('esrgan-medium', [512, 512], 4, 720),
  onImage('modnet', 'matte', [512, 512], 320),
  onImage('modnet', 'matte', [2_048, 2_048], 320),
  onImage('modnet', 'matte', [4_096, 1_024], 320),
  onImage('u2netp', 'matte', [2_048, 2_048], 300),
  repair(512, 512),
  repair(2_048, 2_048),
  repair(4_096, 4_096),
  onImage('pp-ocr-v4', 'read-text', [2_048, 2_048], 420),
  onImage('coco-ssd', 'detect-objects', [2_048, 2_048], 100),
  onImage('nsfw-mobilenet', 'classify', [2_048, 2_048], 100),
  embedding('all-minilm-l6-v2', 64, 100, 70),
  embedding('all-minilm-l6-v2', 512, 400, 70),
  embedding('toxicity-bert-tiny', 64, 100, 20),
  reranking(64, 45),
  speech('kokoro-82m', 'af_sky', 200, 320),
  speech('kokoro-82m', 'af_sky', 1_000, 320),
  speech('piper-en-us-joe', 'joe', 200, 240),
  speech('piper-en-us-joe', 'joe', 1_000, 240),
  speech('tiny-tts', 'male', 200, 640),
  speech('tiny-tts', 'male', 1_000, 640),
  recognition('whisper-tiny', 75),
  recognition('moonshine-tiny', 90),
  animation([128, 128], 16),
  animation([32, 32], 100),
  animation([32, 32], 400),
  music(4, 100),
  conversations('stories-15m', { count: 32, words: 110, answer: 120, use: rows(32, 256) }),
  conversations('stories-15m', { count: 16, words: 110, answer: 120, use: rows(16, 256) }),
  conversations('minimind2-small', { count: 4, words: 1_000, answer: 40, use: rows(4, 1_100) }),
  conversations('tinyllama-1.1b-chat', { count: 4, words: 450, answer: 20, use: rows(4, 512) }),
  conversations('tinyllama-1.1b-chat', { count: 4, words: 950, answer: 40, use: rows(4, 1_024) }),
];
