import type { SpeechMembersSchema } from './kind-members.schema.js';

/** Default voice of requests, if the model has it. */
const usualVoice = 'af_sky';

/** Returns the voice of requests that name none: null for a model without voices of its own. */
export function defaultVoiceOf(voices: readonly string[]): string | null {
  return voices.includes(usualVoice) ? usualVoice : (voices[0] ?? null);
}

/** The formats of `known` that a model offers: all of them unless its manifest names some. */
export function offeredFormats<Format extends string>(
  { supported_formats: named }: Pick<SpeechMembersSchema, 'supported_formats'>,
  known: readonly Format[],
): readonly Format[] {
  return known.filter((format) => named?.includes(format) ?? true);
}

/** Returns the format of requests that name none: the manifest's default, or else the first that is offered. */
export function defaultFormatOf<Format extends string>(
  members: Pick<SpeechMembersSchema, 'supported_formats' | 'default_format'>,
  known: readonly [Format, ...Format[]],
): Format {
  const offered = offeredFormats(members, known);
  return offered.find((format) => format === members.default_format) ?? offered[0] ?? known[0];
}
