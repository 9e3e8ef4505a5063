/**
 * OpenAI's voices, which its clients name by default. No model here has them.
 */
const openaiVoices = [
  'alloy',
  'ash',
  'ballad',
  'cedar',
  'coral',
  'echo',
  'fable',
  'marin',
  'nova',
  'onyx',
  'sage',
  'shimmer',
  'verse',
] as const;

/**
 * Returns the voice of a model that stands for one of OpenAI's: the one whose name ends with it, such as `af_alloy`, else
 * always the same of the others. Null for a name that is none of theirs.
 */
export function voiceForOpenaiName(name: string, voices: readonly string[]): string | null {
  const position = openaiVoices.findIndex((known) => known === name.toLowerCase());
  if (position < 0 || voices.length === 0) return null;
  const namesake = voices.find((voice) => voice.split(/[_-]/).at(-1)?.toLowerCase() === name.toLowerCase());
  return namesake ?? voices[position % voices.length] ?? null;
}
