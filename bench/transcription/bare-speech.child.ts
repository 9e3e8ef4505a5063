import { loadFamilyEngine } from '#inference';
import {
  type EngineEvent,
  type HostLoadOptions,
  recognitionBlockSeconds,
  type RecognitionInput,
  type RecognitionOutput,
  recognitionSampleRate,
  recognitionTask,
  type TaskEngine,
} from '#inference/host';

/*
 * Our engine in a process of its own, without HTTP, queue, storage or decoding: what the platform costs is the
 * difference. It goes through a recording as the worker does.
 */

const blockSamples = recognitionBlockSeconds * recognitionSampleRate;
const listeners = new Map<string, (event: EngineEvent) => void>();
let engine: TaskEngine | null = null;
let blocks = 0;

async function load(options: HostLoadOptions): Promise<null> {
  const loaded = await loadFamilyEngine(options, (events) => {
    for (const [id, event] of events) listeners.get(id)?.(event);
  });
  engine = loaded.engine as TaskEngine;
  return null;
}

interface SpeechRun {
  samples: Float32Array;
  language: string | null;
  words: boolean;
}

async function run({ samples, language, words }: SpeechRun): Promise<{ text: string; ms: number }> {
  const startedAt = performance.now();
  let memory: RecognitionOutput['memory'] | null = null;
  let text = '';
  for (let at = 0; at < samples.length;) {
    const block = samples.slice(at, at + blockSamples);
    const isLast = at + block.length >= samples.length;
    const wishes = { language, prompt: null, temperature: null, timestamps: words ? 'word' : 'none' } as const;
    const output: RecognitionOutput = await recognize({ samples: block, isLast, memory, ...wishes });
    text += output.segments.map((segment) => segment.text).join('');
    ({ memory } = output);
    at += output.consumedSamples;
  }
  return { text, ms: performance.now() - startedAt };
}

function recognize(input: RecognitionInput): Promise<RecognitionOutput> {
  const id = `block-${++blocks}`;
  return new Promise((resolve, reject) => {
    listeners.set(id, (event) => {
      if (event.type !== 'task-finished' && event.type !== 'failed') return;
      listeners.delete(id);
      if (event.type === 'failed') reject(new Error(event.error.message));
      else resolve(event.output as RecognitionOutput);
    });
    engine?.submit({ id, task: recognitionTask, input });
  });
}

process.on('message', (message) => {
  const { type, options } = message as { type: 'load' | 'run'; options: unknown };
  const work = type === 'load' ? load(options as HostLoadOptions) : run(options as SpeechRun);
  work.then(
    (value) => process.send?.({ ok: true, value }),
    (error: unknown) => process.send?.({ ok: false, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.({ ok: true, value: 'hello' });
