import type { SpeechMembersSchema } from './kind-members.schema.js';
import type { ModelManifest } from './manifest.js';

/** Default voice of requests, if the model has it. */
const defaultVoice = 'af_sky';

/** Returns the voice of requests that name none: null for a model without voices of its own. */
export function defaultVoiceOf(voices: readonly string[]): string | null {
  return voices.includes(defaultVoice) ? defaultVoice : (voices[0] ?? null);
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
  const declared = formats.find((format) => format === members.default_format);
  return { formats, defaultFormat: declared ?? formats[0] ?? known[0] };
}

/**
 * Returns the manifest without the audio formats that an installation cannot make. Its default becomes the first of the
 * others.
 */
export function withMadeFormats(manifest: ModelManifest, canMake: (format: string) => boolean): ModelManifest {
  const members = manifest.kindMembers as Partial<SpeechMembersSchema> | undefined;
  if (members?.supported_formats === undefined) return manifest;
  const possible = members.supported_formats.filter(canMake);
  if (possible.length === members.supported_formats.length) return manifest;
  const isKept = members.default_format !== undefined && possible.includes(members.default_format);
  const defaultFormat = isKept ? members.default_format : possible[0];
  return { ...manifest, kindMembers: { ...members, supported_formats: possible, default_format: defaultFormat } };
}
