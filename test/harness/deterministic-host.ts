import 'reflect-metadata';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { serveModelHost } from '#inference/host';
import { DeterministicEngine } from './deterministic-engine.js';
import { DeterministicImageGenerator } from './deterministic-image-generator.js';
import { DeterministicSynthesizer } from './deterministic-synthesizer.js';
import { EngineJournalWriter } from './engine-journal.js';

/*
 * Entry of a model host with the deterministic test engine: same protocol, no model. `SLUICE_TEST_LOAD_MS` lengthens
 * its load.
 */
serveModelHost(async ({ slots, spareSlots, contextLength, family, familyOptions }, sink) => {
  await sleep(Number(process.env.SLUICE_TEST_LOAD_MS ?? 0));
  const path = process.env.SLUICE_TEST_JOURNAL;
  const about = { provider: 'cpu', providerNote: 'deterministic test engine', slots };
  if (path === undefined)
    return { engine: new DeterministicEngine({ slots, spareSlots, contextLength, sink }), ...about, spareSlots };
  const journal = new EngineJournalWriter(path);
  const notesFolder = dirname(path);
  if (family === 'kokoro' || family === 'voice-cloning') {
    return { engine: journal.attach(new DeterministicSynthesizer(journal.watch(sink), notesFolder)), ...about };
  }
  if (family === 'stable-diffusion' || family === 'rife') {
    const { delayMs } = familyOptions;
    const options = { sink: journal.watch(sink), delayMs: typeof delayMs === 'number' ? delayMs : 0 };
    return { engine: journal.attach(new DeterministicImageGenerator(options)), ...about };
  }
  const engine = new DeterministicEngine({ slots, spareSlots, contextLength, sink: journal.watch(sink), notesFolder });
  return { engine: journal.attach(engine), ...about, spareSlots };
});
