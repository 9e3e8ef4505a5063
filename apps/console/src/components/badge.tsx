import type { JSX } from 'preact';

/** A state as a word on a colored ground; the word says all that the color does. */
export function Badge({ state }: { state: string }): JSX.Element {
  return <span class={`badge badge-${state}`}>{state}</span>;
}
