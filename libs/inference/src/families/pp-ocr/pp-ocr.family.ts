import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PlatformError } from '#common';
import type { EngineLoader, HostLoadOptions } from '../../contract/engine-loader.js';
import { QueuedTaskEngine } from '../../engines/queued-task.engine.js';
import { emptyImage } from '../../images/pixel-grid.js';
import { openGraph } from '../../runtime/open-graph.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import { characterSet } from './text-characters.js';
import { TextReader } from './text-reader.js';

/**
 * PP-OCR (https://arxiv.org/abs/2009.09941): a detector of lines, a classifier of their direction and a recognizer of
 * their characters. `graphFile` names the detector; the options `recognizer`, `characters` and `direction` name the
 * others. Without `direction`, lines that stand on their head are not turned.
 */
export const loadPpOcrFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile } = options;
  const detector = await open(options, graphFile);
  const recognizer = await open(options, fileOf(options, 'recognizer'));
  const direction = options.familyOptions['direction'] ? await open(options, fileOf(options, 'direction')) : null;
  const characters = characterSet(await readFile(join(directory, fileOf(options, 'characters')), 'utf8'));
  const reader = new TextReader({ detector, recognizer, direction }, characters);
  const engine = new QueuedTaskEngine({
    handlers: { 'read-text': reader.read },
    sink,
    onClose: () => reader.close(),
  });
  const { provider, providerNote } = detector;
  const warmUp = { task: 'read-text', input: { image: emptyImage(64, 64) } };
  return { engine, provider, providerNote, slots: 1, warmUp };
};

/** The graphs take turns, so waiting threads must not spin. */
function open({ directory, providers, intraOpThreads }: HostLoadOptions, file: string): Promise<GraphSession> {
  return openGraph({ modelPath: join(directory, file), providers, intraOpThreads, spinning: false });
}

function fileOf({ familyOptions, modelId }: HostLoadOptions, option: string): string {
  const file = familyOptions[option];
  if (typeof file === 'string' && file !== '') return file;
  const text = `The manifest of ${modelId} must name the file of familyOptions.${option}.`;
  throw new PlatformError('INVALID_MODEL', text, `familyOptions.${option}`);
}
