import { useEffect, useState } from 'preact/hooks';
import { changeFilters, formatHash, parseHash, type Place } from './place.js';

/** The place that the address names; follows links, the back button and edits of the address. */
export function usePlace(): Place {
  const [place, setPlace] = useState(() => parseHash(location.hash));
  useEffect(() => {
    const follow = (): void => setPlace(parseHash(location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return place;
}

export function goTo(place: Place): void {
  location.hash = formatHash(place);
}

/** Changes filters of the current place without an entry in the history for every keystroke. */
export function setFilters(changes: Record<string, string | null>): void {
  const place = parseHash(location.hash);
  const hash = formatHash({ ...place, filters: changeFilters(place.filters, changes) });
  history.replaceState(null, '', hash);
  dispatchEvent(new HashChangeEvent('hashchange'));
}
