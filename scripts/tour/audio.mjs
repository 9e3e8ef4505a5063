import { strict as assert } from 'node:assert';
import { toFile } from 'openai';
import { runQueued } from './queued.mjs';
import { StepSkipped } from './run-step.mjs';

const voiceModel = { type: 'tts', trait: 'default' };
const pull = 'npx sluice models pull tiny-tts';

async function speech({ client, model, spec }) {
  const response = await client.audio.speech.create({
    model,
    voice: spec.voices?.[0] ?? 'alloy',
    input: 'Once upon a time there was a small river.',
  });
  const audio = Buffer.from(await response.arrayBuffer());
  assert(audio.length > 1_000, 'the audio is empty');
  const format = response.headers.get('content-type') ?? '';
  return { bytes: audio.length, note: format, result: { audio, format } };
}

/** Of what `speech` said. */
async function transcription({ client, model, results }) {
  const spoken = results.get('speech');
  if (spoken === undefined) throw new StepSkipped('there is no speech to transcribe');
  const file = await toFile(spoken.audio, 'speech', { type: spoken.format });
  const { text } = await client.audio.transcriptions.create({ model, file });
  assert(text.length > 0, 'the transcript is empty');
  return { bytes: Buffer.byteLength(text), note: text.trim() };
}

async function longAudio({ client, model }) {
  const prompt = 'Chapter one.\n\nIt was a quiet morning.\n\n---\n\nChapter two.\n\nThen the rain came.';
  const { bytes, contentType } = await runQueued(client, 'audio', { model, prompt });
  return { bytes: bytes.length, note: contentType };
}

export const audioSteps = [
  { name: 'speech', model: voiceModel, pull, run: speech },
  {
    name: 'transcription',
    model: { type: 'asr', trait: 'default' },
    pull: 'npx sluice models pull whisper-tiny',
    run: transcription,
  },
  { name: 'long audio', model: voiceModel, pull, run: longAudio },
];
