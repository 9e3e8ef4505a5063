import { PlatformError } from '#common';
import { type ModelManifest, type MusicMembers, offeredFormats } from '#model-registry/manifest';
import { type LongAudioFormat, longAudioFormats } from '../contract/index.js';

/** What a manifest of type `music` says. */
export interface MusicModel {
  id: string;
  /** Code points of a prompt. */
  promptCharacters: { min: number; max: number };
  /** Lengths that clients may choose, in whole seconds; null without a choice. */
  choice: { options: readonly number[]; min: number; max: number } | null;
  /** Default length, in whole seconds. */
  defaultSeconds: number;
  takesInstrumental: boolean;
  format: LongAudioFormat;
}

/** Families that make music, and the longest piece of each in seconds unless the manifest sets one. */
const longestPieces: Readonly<Record<string, number>> = { musicgen: 30 };

const defaultSeconds = 10;
const defaultPromptCharacters = 1_000;

/** Throws `INVALID_MODEL` for a family that makes no music. */
export function musicModel({ id, family, familyOptions, kindMembers }: ModelManifest): MusicModel {
  const longest = longestPieces[family];
  if (longest === undefined) throw new PlatformError('INVALID_MODEL', `The model ${id} makes no music.`, 'model');
  const members = (kindMembers ?? {}) as MusicMembers;
  const possible = Math.floor(Number(familyOptions?.maxSeconds ?? longest));
  const max = Math.min(possible, Math.floor(members.max_duration ?? possible));
  const min = Math.max(1, Math.ceil(members.min_duration ?? 1));
  const options = (members.duration_options ?? []).filter((seconds) => seconds >= min && seconds <= max);
  const hasChoice = options.length > 0 || members.max_duration !== undefined;
  const wanted = Math.round(members.default_duration ?? options[0] ?? defaultSeconds);
  return {
    id,
    promptCharacters: {
      min: Math.max(1, members.min_prompt_length ?? 1),
      max: members.prompt_character_limit ?? defaultPromptCharacters,
    },
    choice: hasChoice ? { options, min, max } : null,
    defaultSeconds: Math.max(min, Math.min(max, wanted)),
    takesInstrumental: members.supports_force_instrumental ?? false,
    format: offeredFormats(members, longAudioFormats).defaultFormat,
  };
}
