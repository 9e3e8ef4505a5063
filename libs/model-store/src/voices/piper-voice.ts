import { readFile } from 'node:fs/promises';
import { isObject } from '#common/values';
import { PlatformError } from '#common';

/** Settings of a voice are beside its graph, under the same name with this ending. */
export const settingsEnding = '.json';

/** How a voice writes what it speaks: phonemes of English, or the letters of any language. */
export type PhonemeType = 'espeak' | 'text';

/** Settings of a voice: the `.onnx.json` file beside its graph. */
export interface PiperVoice {
  sampleRate: number;
  phonemeType: PhonemeType;
  /** Ids of each symbol, as the graph takes them. */
  symbolIds: ReadonlyMap<string, readonly number[]>;
  /** Symbols that the voice wants in place of others. */
  replacements: ReadonlyMap<string, readonly string[]>;
  /** Ids by the name of the speaker. A graph of one speaker takes none. */
  speakers: ReadonlyMap<string, number>;
  takesSpeaker: boolean;
  /** The published settings of noise in timbre and pace, and of the length of a phoneme. */
  scales: { noise: number; length: number; pace: number };
}

/** Symbols around a sentence, and between all others. */
export const boundary = { start: '^', end: '$', pad: '_' } as const;

/** Rejects with `INVALID_MODEL`, naming the member of the file that is missing or cannot be served. */
export async function loadPiperVoice(path: string): Promise<PiperVoice> {
  return readPiperVoice(await storedSettings(path));
}

/** Throws `INVALID_MODEL`, as `loadPiperVoice` does. */
export function readPiperVoice(stored: Record<string, unknown>): PiperVoice {
  const audio = isObject(stored.audio) ? stored.audio : {};
  const inference = isObject(stored.inference) ? stored.inference : {};
  const symbolIds = symbolLists(stored, 'phoneme_id_map', isId);
  for (const symbol of Object.values(boundary)) {
    if (!symbolIds.has(symbol)) throw unfit(`\`phoneme_id_map\` lacks the symbol \`${symbol}\``);
  }
  const count = stored.num_speakers ?? 1;
  return {
    sampleRate: positive(audio.sample_rate, 'audio.sample_rate'),
    phonemeType: phonemeType(stored),
    symbolIds,
    replacements: symbolLists({ phoneme_map: {}, ...stored }, 'phoneme_map', isText),
    speakers: speakerIds(stored, positive(count, 'num_speakers')),
    takesSpeaker: count !== 1,
    scales: {
      noise: scale(inference.noise_scale ?? 0.667, 'inference.noise_scale'),
      length: positive(inference.length_scale ?? 1, 'inference.length_scale'),
      pace: scale(inference.noise_w ?? 0.8, 'inference.noise_w'),
    },
  };
}

async function storedSettings(path: string): Promise<Record<string, unknown>> {
  try {
    const stored: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (isObject(stored)) return stored;
  } catch (error) {
    throw new PlatformError('INVALID_MODEL', `The settings of this voice cannot be read: ${path}`, null, {
      cause: error,
    });
  }
  throw unfit('it holds no object');
}

/** A voice with phonemes has the language for which they are written; only English can be pronounced here. */
function phonemeType(stored: Record<string, unknown>): PhonemeType {
  const type = stored.phoneme_type ?? 'espeak';
  if (type === 'text') return type;
  if (type !== 'espeak') throw unfit(`\`phoneme_type\` is ${JSON.stringify(type)}; served are "espeak" and "text"`);
  const espeak = isObject(stored.espeak) ? stored.espeak : {};
  const voice = typeof espeak.voice === 'string' ? espeak.voice : '';
  if (!/^en(?:-|$)/u.test(voice)) {
    throw unfit(
      `\`espeak.voice\` is ${JSON.stringify(voice)}; of the voices with phonemes, only English can be served`,
    );
  }
  return type;
}

function speakerIds(stored: Record<string, unknown>, count: number): ReadonlyMap<string, number> {
  const named = isObject(stored.speaker_id_map) ? Object.entries(stored.speaker_id_map) : [];
  const isComplete = named.every(([, id]) => isId(id) && id < count);
  if (!isComplete) throw unfit('`speaker_id_map` holds an id beyond `num_speakers`');
  if (named.length > 0) return new Map(named as [string, number][]);
  if (count === 1) return new Map([[typeof stored.dataset === 'string' ? stored.dataset : 'default', 0]]);
  return new Map(Array.from({ length: count }, (_, id) => [`speaker-${id}`, id]));
}

function symbolLists<T>(
  stored: Record<string, unknown>,
  name: string,
  isItem: (value: unknown) => value is T,
): ReadonlyMap<string, readonly T[]> {
  const lists = stored[name];
  if (!isObject(lists)) throw unfit(`it lacks \`${name}\``);
  return new Map(
    Object.entries(lists).map(([symbol, items]) => {
      if (!Array.isArray(items) || !items.every(isItem))
        throw unfit(`\`${name}\` is wrong for ${JSON.stringify(symbol)}`);
      return [symbol.normalize('NFD'), items];
    }),
  );
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function positive(value: unknown, name: string): number {
  if (typeof value === 'number' && value > 0 && value < 1_000_000) return value;
  throw unfit(`\`${name}\` is no positive number`);
}

function scale(value: unknown, name: string): number {
  if (typeof value === 'number' && value >= 0 && value <= 10) return value;
  throw unfit(`\`${name}\` is no number from 0 to 10`);
}

function unfit(reason: string): PlatformError {
  return new PlatformError('INVALID_MODEL', `The settings of this voice do not fit: ${reason}.`);
}
