/** Somebody speaks from `start` to `end`, in samples. */
export interface SpeechSpan {
  start: number;
  end: number;
}

export interface SpanRules {
  /** Probability from which on a frame is speech. */
  threshold: number;
  /** Below it speech may end; between the two it goes on. */
  endThreshold: number;
  /** Silence shorter than this, in samples, is part of the speech around it. */
  shortestSilence: number;
  /** Speech shorter than this, in samples, is a click. */
  shortestSpeech: number;
  /** Added on both sides, in samples: the beginnings of words are quiet. */
  padding: number;
}

/** Silero's own thresholds; silence and padding as wide as a recogniser likes them. */
export const defaultSpanRules: SpanRules = {
  threshold: 0.5,
  endThreshold: 0.35,
  shortestSilence: 4_800,
  shortestSpeech: 1_600,
  padding: 3_200,
};

/** Where somebody speaks, from the probabilities of frames of `frameSamples`. Spans are in order and never touch. */
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
  /** Where the silence began that may end the speech. */
  let quietSince: number | null = null;
  for (const [frame, probability] of probabilities.entries()) {
    const at = frame * frameSamples;
    if (probability >= rules.threshold) {
      start ??= at;
      quietSince = null;
    } else if (start !== null && probability < rules.endThreshold) {
      quietSince ??= at;
      if (at + frameSamples - quietSince < rules.shortestSilence) continue;
      spans.push({ start, end: quietSince });
      start = null;
      quietSince = null;
    }
  }
  if (start !== null) spans.push({ start, end: quietSince ?? samples });
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
