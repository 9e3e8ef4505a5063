import { loadFamilyEngine } from '#inference';
import {
  type EngineEvent,
  type HostLoadOptions,
  type SpeakInput,
  type SpeakOutput,
  speakTask,
  splitSentences,
  type TaskEngine,
} from '#inference/host';

/*
 * Our engine in a process of its own, without HTTP, queue or encoding: what the platform costs is the difference. It goes
 * through a text as the worker does.
 */

const listeners = new Map<string, (event: EngineEvent) => void>();
let engine: TaskEngine | null = null;
let tasks = 0;

async function load(options: HostLoadOptions): Promise<null> {
  const loaded = await loadFamilyEngine(options, (events) => {
    for (const [id, event] of events) listeners.get(id)?.(event);
  });
  engine = loaded.engine as TaskEngine;
  return null;
}

interface VoiceRun {
  text: string;
  voice: string;
}

async function run({ text, voice }: VoiceRun): Promise<{ samples: number; ms: number }> {
  const startedAt = performance.now();
  let samples = 0;
  for (const sentence of splitSentences(text)) {
    const { before } = sentence;
    const output = await speak({ text: sentence.text, before, voice, speed: 1, language: null });
    samples += output.samples.length;
  }
  return { samples, ms: performance.now() - startedAt };
}

function speak(input: SpeakInput): Promise<SpeakOutput> {
  const id = `sentence-${++tasks}`;
  return new Promise((resolve, reject) => {
    listeners.set(id, (event) => {
      if (event.type !== 'task-finished' && event.type !== 'failed') return;
      listeners.delete(id);
      if (event.type === 'failed') reject(new Error(event.error.message));
      else resolve(event.output as SpeakOutput);
    });
    engine?.submit({ id, task: speakTask, input });
  });
}

process.on('message', (message) => {
  const { type, options } = message as { type: 'load' | 'run'; options: unknown };
  const work = type === 'load' ? load(options as HostLoadOptions) : run(options as VoiceRun);
  work.then(
    (value) => process.send?.({ ok: true, value }),
    (error: unknown) => process.send?.({ ok: false, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.({ ok: true, value: 'hello' });
