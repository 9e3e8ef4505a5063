import { createRequire } from 'node:module';
import type { Sharp } from 'sharp';

// Required, not imported: an `import` of CommonJS parses each of its files again at each process start.
const sharp = createRequire(import.meta.url)('sharp') as typeof import('sharp').default;

// Images rarely repeat, so a cache would only hold memory.
sharp.cache(false);

// Only loaders for the formats that clients may send. Raw pixels need no loader.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp', 'VipsForeignLoadNsgif'],
});

export { sharp, type Sharp };
