/** Every view of the menu, by the title that it shows. */
export const views: readonly { place: string; title: string; roles: readonly string[] }[] = [
  { place: 'overview', title: 'Overview', roles: ['operator', 'admin', 'inference'] },
  { place: 'playground', title: 'Playground', roles: ['operator', 'admin', 'inference'] },
  { place: 'models', title: 'Models', roles: ['operator', 'admin', 'inference'] },
  { place: 'api-keys', title: 'API keys', roles: ['operator', 'admin'] },
  { place: 'usage', title: 'Usage', roles: ['operator', 'admin', 'inference'] },
  { place: 'requests', title: 'Requests', roles: ['operator', 'admin', 'inference'] },
  { place: 'queue', title: 'Queue and workers', roles: ['operator'] },
  { place: 'billing', title: 'Billing', roles: ['operator', 'admin'] },
  { place: 'limits', title: 'Limits', roles: ['operator', 'admin', 'inference'] },
  { place: 'characters', title: 'Characters', roles: ['operator', 'admin', 'inference'] },
  { place: 'health', title: 'Health', roles: ['operator'] },
];

/** Pages below a view. */
export const entries: readonly string[] = [
  'playground/images',
  'playground/speech',
  'playground/transcription',
  'playground/embeddings',
  'playground/rerank',
  'playground/jobs',
  'characters/hostile',
  'usage?range=30d&groupBy=key',
  'no-such-view',
];

/** How an image of a view was taken: the screen and the theme. */
export type Look = 'desktop-light' | 'desktop-dark' | 'phone-light' | 'phone-dark';

/** The images that `docs/guides/console-views.md` shows, by view. */
export const documentedLooks: Readonly<Record<string, readonly Look[]>> = {
  overview: ['desktop-light', 'desktop-dark', 'phone-light', 'phone-dark'],
  playground: ['desktop-light', 'desktop-dark', 'phone-light', 'phone-dark'],
  models: ['desktop-light', 'phone-dark'],
  'api-keys': ['desktop-light', 'phone-dark'],
  usage: ['desktop-light', 'desktop-dark', 'phone-light', 'phone-dark'],
  requests: ['desktop-light', 'phone-dark'],
  queue: ['desktop-light', 'phone-dark'],
  billing: ['desktop-light', 'phone-dark'],
  limits: ['desktop-light', 'phone-dark'],
  characters: ['desktop-light', 'phone-dark'],
  health: ['desktop-light', 'phone-dark'],
};
