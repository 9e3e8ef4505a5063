import type { Session } from '../api/session.js';
import type { Place } from '../routing/place.js';

/** The properties that every view gets. */
export interface ViewProps {
  place: Place;
  session: Session;
}
