import { createRequire } from 'node:module';
import type { Sharp } from 'sharp';

// Required, not imported: an `import` of CommonJS parses each of its files once more, at each start of each process.
const sharp = createRequire(import.meta.url)('sharp') as typeof import('sharp').default;

// Pictures come and go; a cache of them would only be memory that never falls.
sharp.cache(false);

// Of all that the library can read, only what callers may send. What comes as pixels needs no loader.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp', 'VipsForeignLoadNsgif'],
});

export { sharp, type Sharp };
