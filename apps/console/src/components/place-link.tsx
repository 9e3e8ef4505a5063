import type { ComponentChildren, JSX } from 'preact';
import { formatHash, type Filters } from '../routing/place.js';

interface PlaceLinkProps {
  view: string;
  entry?: string | null;
  filters?: Filters;
  isCurrent?: boolean;
  children: ComponentChildren;
}

/** A link to a place of the console. */
export function PlaceLink({ view, entry = null, filters = {}, isCurrent, children }: PlaceLinkProps): JSX.Element {
  return (
    <a href={formatHash({ view, entry, filters })} aria-current={isCurrent === true ? 'page' : undefined}>
      {children}
    </a>
  );
}
