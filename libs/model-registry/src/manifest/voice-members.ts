import type { SpeechMembersSchema } from './kind-members.schema.js';

/** Default voice of requests, if the model has it. */
const usualVoice = 'af_sky';

/** Returns the voice of requests that name none: null for a model without voices of its own. */
export function defaultVoiceOf(voices: readonly string[]): string | null {
  return voices.includes(usualVoice) ? usualVoice : (voices[0] ?? null);
}

/**
 * The formats of `known` that a model offers, all of them unless its manifest names some, and the format of requests that
 * name none: the manifest's default, or else the first.
 */
export function offeredFormats<Format extends string>(
  members: Pick<SpeechMembersSchema, 'supported_formats' | 'default_format'>,
  known: readonly [Format, ...Format[]],
): { formats: readonly Format[]; defaultFormat: Format } {
  const formats = known.filter((format) => members.supported_formats?.includes(format) ?? true);
  const usual = formats.find((format) => format === members.default_format);
  return { formats, defaultFormat: usual ?? formats[0] ?? known[0] };
}
