import type { JSX } from 'preact';
import { formatTime } from '../format/time.js';

/** An instant in the viewer's zone. In a narrow cell, a line breaks only between the date and the time of day. */
export function Time({ at }: { at: string | null | undefined }): JSX.Element {
  const text = formatTime(at);
  if (at === null || at === undefined) return <>{text}</>;
  const [day, timeOfDay] = text.split(' ');
  return (
    <time dateTime={at}>
      <span class="nowrap">{day}</span> <span class="nowrap">{timeOfDay}</span>
    </time>
  );
}
