/** Speech from `start` to `end`, in samples. */
export interface SpeechSpan {
  start: number;
  end: number;
}

export interface SpanRules {
  /** Minimum probability at which speech starts. */
  threshold: number;
  /** Below it speech may end; between the two it continues. */
  endThreshold: number;
  /** Silence shorter than this, in samples, is part of the speech around it. */
  shortestSilence: number;
  /** Speech shorter than this, in samples, is a click. */
  shortestSpeech: number;
  /** Added on both sides, in samples: the beginnings of words are quiet. */
  padding: number;
}

/** Silero's thresholds, with silence and padding that suit a recognizer. */
export const defaultSpanRules: SpanRules = {
  threshold: 0.5,
  endThreshold: 0.35,
  shortestSilence: 4_800,
  shortestSpeech: 1_600,
  padding: 3_200,
};

/**
 * Returns the spans of speech from the probabilities of frames of `frameSamples`. Spans are in order and never touch.
 */
export function speechSpans(
  probabilities: Float32Array,
  { frameSamples, samples, rules = defaultSpanRules }: { frameSamples: number; samples: number; rules?: SpanRules },
): SpeechSpan[] {
  const spans = rawSpans(probabilities, { frameSamples, samples, rules }).filter(
    ({ start, end }) => end - start >= Math.min(rules.shortestSpeech, samples),
  );
  return joinTouching(
    spans.map(({ start, end }) => ({
      start: Math.max(0, start - rules.padding),
      end: Math.min(samples, end + rules.padding),
    })),
  );
}

function rawSpans(
  probabilities: Float32Array,
  { frameSamples, samples, rules }: { frameSamples: number; samples: number; rules: SpanRules },
): SpeechSpan[] {
  const spans: SpeechSpan[] = [];
  let start: number | null = null;
  /** Start of the silence that may end the speech. */
  let silenceStart: number | null = null;
  for (const [frame, probability] of probabilities.entries()) {
    const at = frame * frameSamples;
    if (probability >= rules.threshold) {
      start ??= at;
      silenceStart = null;
    } else if (start !== null && probability < rules.endThreshold) {
      silenceStart ??= at;
      if (at + frameSamples - silenceStart < rules.shortestSilence) continue;
      spans.push({ start, end: silenceStart });
      start = null;
      silenceStart = null;
    }
  }
  if (start !== null) spans.push({ start, end: silenceStart ?? samples });
  return spans;
}

function joinTouching(spans: SpeechSpan[]): SpeechSpan[] {
  const joined: SpeechSpan[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    if (last !== undefined && span.start <= last.end) last.end = Math.max(last.end, span.end);
    else joined.push({ ...span });
  }
  return joined;
}
