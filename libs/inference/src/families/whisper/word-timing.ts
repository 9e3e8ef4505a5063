import type { RecognizedWord } from '../../recognition/speech-recognition.js';

/** A word whose times are being corrected. Seconds from the start of the window. */
export interface TimedWord {
  word: string;
  tokens: number[];
  start: number;
  end: number;
  probability: number;
}

const opening = '"\'“¿([{-';
const closing = '"\'.。,，!！?？:：”)]}、';
const sentenceEnds = '.。!！?？';
/** Upper limit of the median word duration, in seconds. */
const longestMedian = 0.7;

/** Returns the median word duration in seconds; words without duration do not count. */
export function medianDuration(words: readonly TimedWord[]): number {
  const durations = words.map(({ start, end }) => end - start).filter((duration) => duration !== 0);
  const sorted = durations.toSorted((left, right) => left - right);
  if (sorted.length === 0) return 0;
  const [low = 0, high = 0] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return Math.min(longestMedian, (low + high) / 2);
}

/**
 * Shortens words at sentence ends to twice the median, in place. Alignment adds the pause between two sentences to one
 * of the words beside it.
 */
export function shortenAtSentenceEnds(words: TimedWord[], median: number): void {
  const max = median * 2;
  for (const [index, word] of words.entries()) {
    const before = words[index - 1];
    if (before === undefined || word.end - word.start <= max) continue;
    if (sentenceEnds.includes(word.word)) word.end = word.start + max;
    else if (sentenceEnds.includes(before.word)) word.start = word.end - max;
  }
}

/** Joins punctuation to its word. Emptied words stay, without text, so that tokens can be counted. */
export function joinPunctuation(words: TimedWord[]): void {
  for (let at = words.length - 2, next = words.length - 1; at >= 0; at--) {
    const [previous, following] = [words[at] as TimedWord, words[next] as TimedWord];
    if (previous.word.startsWith(' ') && opening.includes(previous.word.trim())) {
      following.word = previous.word + following.word;
      following.tokens = [...previous.tokens, ...following.tokens];
      Object.assign(previous, { word: '', tokens: [] });
    } else next = at;
  }
  for (let at = 1, last = 0; at < words.length; at++) {
    const [previous, following] = [words[last] as TimedWord, words[at] as TimedWord];
    if (!previous.word.endsWith(' ') && closing.includes(following.word)) {
      previous.word += following.word;
      previous.tokens = [...previous.tokens, ...following.tokens];
      Object.assign(following, { word: '', tokens: [] });
    } else last = at;
  }
}

export interface WordedSegment {
  start: number;
  end: number;
  words: RecognizedWord[];
}

/**
 * Assigns the words of a window to its segments and reconciles their start and end times. `lastSpeechEnd` is the end of
 * the previous segment, in the same seconds.
 */
export function wordsOfSegments(
  words: readonly TimedWord[],
  segments: readonly { start: number; end: number; textTokens: number }[],
  { median, lastSpeechEnd }: { median: number; lastSpeechEnd: number },
): WordedSegment[] {
  let next = 0;
  let spokenUntil = lastSpeechEnd;
  return segments.map(({ start, end, textTokens }) => {
    const timed: TimedWord[] = [];
    for (let counted = 0; next < words.length && counted < textTokens; next++) {
      const word = words[next] as TimedWord;
      if (word.word !== '') timed.push({ ...word, start: hundredths(word.start), end: hundredths(word.end) });
      counted += word.tokens.length;
    }
    const bounds = settleBounds(timed, { start, end }, { median, spokenUntil });
    if (timed.length > 0) spokenUntil = bounds.end;
    return {
      ...bounds,
      words: timed.map(({ word, start: from, end: to, probability }) => ({ word, start: from, end: to, probability })),
    };
  });
}

/** Applies the reference's rules for overlong words at segment borders. Changes `words` in place. */
function settleBounds(
  words: TimedWord[],
  segment: { start: number; end: number },
  { median, spokenUntil }: { median: number; spokenUntil: number },
): { start: number; end: number } {
  const [first, second] = words;
  const last = words.at(-1);
  if (first === undefined || last === undefined) return segment;
  let { start, end } = segment;
  const max = median * 2;
  const afterPause = first.end - spokenUntil > median * 4;
  const tooLong = first.end - first.start > max || (second !== undefined && second.end - first.start > max * 2);
  if (afterPause && tooLong) {
    if (second !== undefined && second.end - second.start > max) {
      const boundary = Math.max(second.end / 2, second.end - max);
      first.end = boundary;
      second.start = boundary;
    }
    first.start = Math.max(0, first.end - max);
  }
  if (start < first.end && start - 0.5 > first.start) {
    first.start = Math.max(0, Math.min(first.end - median, start));
  } else start = first.start;
  if (end > last.start && end + 0.5 < last.end) last.end = Math.max(last.start + median, end);
  else end = last.end;
  return { start, end };
}

function hundredths(seconds: number): number {
  return Math.round(seconds * 100) / 100;
}
