import {
  type EmbeddingInput,
  embeddingTask,
  type GenerateInput,
  type InpaintInput,
  type InterpolateInput,
  recognitionBlockSeconds,
  type RecognitionInput,
  recognitionSampleRate,
  recognitionTask,
  type RgbPixels,
  speakTask,
  type SpeakInput,
  type UpscaleInput,
} from '#inference/tasks';

/** One input of a model. */
export interface PeakCase {
  /** Model of the catalogue. */
  model: string;
  label: string;
  task: string;
  input: object;
  /** Pixels of each image that its memory grows with; 0 for other inputs. */
  pixels: number;
}

function image(width: number, height: number): RgbPixels {
  const data = Uint8Array.from({ length: width * height * 3 }, (_, index) => (index * 7_919) % 251);
  return { width, height, data };
}

function interpolation(width: number, height: number): PeakCase {
  const input: InterpolateInput = { first: image(width, height), last: image(width, height), moment: 0.5 };
  return {
    model: 'rife-4.6',
    label: `frames of ${width} × ${height}`,
    task: 'interpolate',
    input,
    pixels: width * height,
  };
}

function upscaling(model: string, [width, height]: [number, number], scale: 2 | 4): PeakCase {
  const input: UpscaleInput = { image: image(width, height), scale };
  return { model, label: `${width} × ${height}, ${scale}x`, task: 'upscale', input, pixels: width * height };
}

function onImage(model: string, task: string, [width, height]: [number, number]): PeakCase {
  return { model, label: `${width} × ${height}`, task, input: { image: image(width, height) }, pixels: width * height };
}

function repair(width: number, height: number): PeakCase {
  const mask = new Uint8Array(width * height).fill(1, 0, Math.floor((width * height) / 4));
  const input: InpaintInput = { image: image(width, height), mask };
  return { model: 'migan', label: `${width} × ${height}`, task: 'inpaint', input, pixels: width * height };
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
  return { model: 'pictogram', label: `${images} × 128 × 128`, task: 'generate', input, pixels: 128 * 128 };
}

function speech(model: string, voice: string, characters: number): PeakCase {
  const text = 'The river ran past the old mill and into the sea. '.repeat(characters / 50).trim();
  const input: SpeakInput = { text, before: 'end', voice, speed: 1, language: null };
  return { model, label: `a sentence of ${characters} characters`, task: speakTask, input, pixels: 0 };
}

function embedding(texts: number, words: number): PeakCase {
  const input: EmbeddingInput = { texts: new Array<string>(texts).fill('word '.repeat(words)), dimensions: null };
  return {
    model: 'all-minilm-l6-v2',
    label: `${texts} texts of ${words} words`,
    task: embeddingTask,
    input,
    pixels: 0,
  };
}

/** A block of a recording; a longer one is more blocks, one after another. */
function recognition(model: string): PeakCase {
  const samples = Float32Array.from({ length: recognitionBlockSeconds * recognitionSampleRate }, (_, index) =>
    Math.sin(index / 8),
  );
  const text = { prompt: null, language: 'en', temperature: 0, timestamps: 'segment' as const };
  const input: RecognitionInput = { samples, isLast: true, memory: null, ...text };
  return { model, label: `a block of ${recognitionBlockSeconds} s`, task: recognitionTask, input, pixels: 0 };
}

/** Small and large inputs of every family, up to what the routes accept. */
export const peakCases: readonly PeakCase[] = [
  drawing(1),
  drawing(4),
  interpolation(640, 360),
  interpolation(1_280, 720),
  interpolation(1_920, 1_080),
  upscaling('esrgan-slim', [512, 512], 4),
  upscaling('esrgan-slim', [1_024, 1_024], 4),
  upscaling('esrgan-slim', [2_048, 2_048], 2),
  upscaling('esrgan-medium', [512, 512], 4),
  onImage('modnet', 'matte', [512, 512]),
  onImage('modnet', 'matte', [2_048, 2_048]),
  onImage('modnet', 'matte', [4_096, 1_024]),
  onImage('u2netp', 'matte', [2_048, 2_048]),
  repair(512, 512),
  repair(2_048, 2_048),
  repair(4_096, 4_096),
  onImage('pp-ocr-v4', 'read-text', [2_048, 2_048]),
  onImage('coco-ssd', 'detect-objects', [2_048, 2_048]),
  onImage('nsfw-mobilenet', 'classify', [2_048, 2_048]),
  embedding(64, 100),
  embedding(512, 400),
  speech('kokoro-82m', 'af_sky', 200),
  speech('kokoro-82m', 'af_sky', 1_000),
  speech('tiny-tts', 'male', 200),
  speech('tiny-tts', 'male', 1_000),
  recognition('whisper-tiny'),
  recognition('moonshine-tiny'),
];
